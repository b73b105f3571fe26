"""Results of all-reduces that nobody measured, with times that a test chooses."""

from dataclasses import replace

from recorded import recorded

from wallsite import probes
from wallsite.probes import allreduce
from wallsite.probes.session import unmeasured

SIZES = tuple(2**power for power in range(10, 27, 2))


def result(times, ranks=2):
    """Make a result of all-reduces among ranks of one machine.

    Args:
        times: bytes of each buffer, and the samples that it took.
        ranks: that took part.
    """
    taken = tuple(
        replace(
            measurement(ranks, size),
            samples=probes.Samples(tuple(samples), warmups=(9.0,)),
            largest_error=0.0,
        )
        for size, samples in times
    )
    (first, *_) = recorded().values()
    return replace(first, measurements=taken)


def measurement(ranks, size):
    """An all-reduce without samples."""
    return unmeasured(allreduce.all_reduce_work("all-reduce", ranks, 1, size), "ok", "")


def ring(ranks, latency, bandwidth, sizes=SIZES):
    """Times of a ring, written out: each of 2(N−1) messages carries S/N bytes."""
    messages = 2 * (ranks - 1)
    return [(size, [messages * (latency + size / ranks / bandwidth)]) for size in sizes]
