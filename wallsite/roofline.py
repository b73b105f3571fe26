"""The roofline model: two ceilings and the point where they meet.

A kernel that performs ``flops`` operations and moves ``traffic`` bytes cannot finish before the
slower of two things is done: the arithmetic, at the chip's peak, and the moving, at its memory
bandwidth. Everything in this module follows from that one sentence.

Units: FLOP, byte, s, FLOP/s, byte/s and FLOP/byte throughout. Peaks are dense.

Source: Williams, Waterman, Patterson, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures", CACM 52(4), 2009.
"""

from __future__ import annotations

from wallsite._checks import not_negative, positive, rate, share
from wallsite.units import Byte, BytePerSecond, Flop, FlopPerByte, FlopPerSecond, Number, Second

# Why a share comes out above 1. `wallsite.explain` says the same, with the check that tells.
ABOVE_THE_PEAK = (
    "FLOPs counted that the model does not need: causal attention in full, recomputation, or what "
    "sparsity skips.",
    "The peak is another card’s or another type’s, or the card ran above the clock of the sheet.",
    "The throughput is of all devices, the peak of fewer.",
    "The clock stopped before the kernel did: no synchronization.",
)
ABOVE_THE_BANDWIDTH = (
    "The rate is that of several sequences added up, while the bound is for fewer.",
    "A cache served part of it: the array fits, or nearly.",
    "The clock stopped before the work did, or GiB were taken for GB (7%), or bytes counted that "
    "did not move.",
    "Both directions were added, while the bound is for one.",
)


def ridge_point(peak: FlopPerSecond, bandwidth: BytePerSecond) -> FlopPerByte:
    """Arithmetic intensity, in FLOP/byte, at which the two ceilings meet.

    Below it a kernel waits for memory, above it for arithmetic. It is a property of the machine
    and the data type, never of the kernel.

    Args:
        peak: dense peak for the data type, FLOP/s.
        bandwidth: memory bandwidth, byte/s.

    Raises:
        ValueError: an argument is not a finite number above zero, or a rate lacks its prefix.
    """
    peak, bandwidth = rate("peak", peak), rate("bandwidth", bandwidth)
    return peak / bandwidth


def attainable(
    intensity: FlopPerByte, peak: FlopPerSecond, bandwidth: BytePerSecond
) -> FlopPerSecond:
    """Attainable performance, in FLOP/s, at an arithmetic intensity: ``min(peak, I · bandwidth)``.

    An upper bound. A real kernel reaches some fraction of it.

    Raises:
        ValueError: an argument is not a finite number above zero, or a rate lacks its prefix.
    """
    intensity = positive("intensity", intensity)
    peak, bandwidth = rate("peak", peak), rate("bandwidth", bandwidth)
    return min(peak, intensity * bandwidth)


def bound(intensity: FlopPerByte, peak: FlopPerSecond, bandwidth: BytePerSecond) -> str:
    """Which ceiling limits a kernel: ``"memory"`` left of the ridge point, else ``"compute"``.

    Raises:
        ValueError: an argument is not a finite number above zero, or a rate lacks its prefix.
    """
    intensity = positive("intensity", intensity)
    return "memory" if intensity < ridge_point(peak, bandwidth) else "compute"


def time_floor(flops: Flop, traffic: Byte, peak: FlopPerSecond, bandwidth: BytePerSecond) -> Second:
    """Least time, in seconds, for a kernel: the longer of its arithmetic and its traffic.

    It assumes perfect overlap of the two and full use of the longer one, so a kernel cannot be
    faster than this; it says nothing about how close a kernel comes.

    Args:
        flops: operations, FLOP.
        traffic: bytes moved between memory and chip, reads and writes added.
        peak: dense peak, FLOP/s.
        bandwidth: memory bandwidth, byte/s.

    Raises:
        ValueError: ``flops`` or ``traffic`` is negative, or a rate is not above zero.
    """
    flops, traffic = not_negative("flops", flops), not_negative("traffic", traffic)
    peak, bandwidth = rate("peak", peak), rate("bandwidth", bandwidth)
    return max(flops / peak, traffic / bandwidth)


def mfu(flops: Flop, seconds: Second, peak: FlopPerSecond) -> Number:
    """Model FLOPs utilisation: useful FLOP/s as a fraction of the dense peak.

    ``flops`` counts what the model's mathematics needs, not what recomputation adds.

    Raises:
        ValueError: an argument is not a finite number above zero, a rate lacks its prefix, or the
            share is above 1.02, which no chip reaches.

    Source: Chowdhery et al., "PaLM", 2022, appendix B.
    """
    flops, seconds = positive("flops", flops), positive("seconds", seconds)
    peak = rate("peak", peak)
    return share("mfu", flops / seconds / peak, ABOVE_THE_PEAK)


def mbu(traffic: Byte, seconds: Second, bandwidth: BytePerSecond) -> Number:
    """Model bandwidth utilisation: bytes that had to move, per second, as a fraction of peak.

    Raises:
        ValueError: an argument is not a finite number above zero, a rate lacks its prefix, or the
            share is above 1.02, which no memory reaches.
    """
    traffic, seconds = positive("traffic", traffic), positive("seconds", seconds)
    bandwidth = rate("bandwidth", bandwidth)
    return share("mbu", traffic / seconds / bandwidth, ABOVE_THE_BANDWIDTH)
