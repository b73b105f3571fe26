"""A kernel with counted FLOPs and bytes: its point under the roofline."""

from __future__ import annotations

from dataclasses import dataclass

from wallsite._checks import not_negative, positive
from wallsite.explain import text
from wallsite.explain.answer import ABOVE, HEALTHY, NEAR, Bound, Explanation, band, judged
from wallsite.explain.causes import causes
from wallsite.explain.machine import Machine
from wallsite.explain.text import phrase


@dataclass(frozen=True)
class Kernel:
    """What a kernel did.

    Attributes:
        flops: operations, FLOP; 0 for pure movement.
        traffic: bytes between memory and chip, reads and writes added; 0 if not counted.
        seconds: it took; None if it was not measured.
        name: for people.
    """

    flops: float
    traffic: float
    seconds: float | None = None
    name: str = ""


def kernel(run: Kernel, machine: Machine) -> Explanation:
    """Explain a kernel: its arithmetic at the peak, its bytes at the bandwidth, the longer counts.

    Raises:
        ValueError: nothing is counted, or what it is compared with is not known.
    """
    flops, traffic = not_negative("flops", run.flops), not_negative("bytes", run.traffic)
    bounds = []
    if traffic:
        if not machine.all_bandwidth:
            raise ValueError("no memory bandwidth: give --device, --bandwidth or --memory")
        seconds = traffic / machine.all_bandwidth
        arithmetic = phrase(
            "{bytes} ÷ {bandwidth} = {time}",
            bytes=text.size(traffic),
            bandwidth=text.rate(machine.all_bandwidth),
            time=text.duration(seconds),
        )
        bounds.append(Bound("memory", seconds, "s", arithmetic))
    if flops:
        if not machine.all_peak:
            raise ValueError("no peak: give --device or --peak")
        seconds = flops / machine.all_peak
        arithmetic = phrase(
            "{flops} ÷ {peak} = {time}",
            flops=text.prefixed(flops, "FLOP"),
            peak=text.prefixed(machine.all_peak, "FLOP/s"),
            time=text.duration(seconds),
        )
        bounds.append(Bound("compute", seconds, "s", arithmetic))
    if not bounds:
        raise ValueError("nothing is counted: give --flops, --bytes or both")
    bounds.sort(key=lambda bound: -bound.value)
    taken = positive("seconds", run.seconds) if run.seconds is not None else None
    share = bounds[0].value / taken if taken else None
    notes = list(machine.warnings)
    if flops and traffic and machine.all_peak and machine.all_bandwidth:
        notes.append(
            phrase(
                "intensity {intensity} FLOP/byte, ridge point {ridge} FLOP/byte",
                intensity=text.significant(flops / traffic),
                ridge=text.significant(machine.all_peak / machine.all_bandwidth),
            )
        )
    if taken:
        done = [text.rate(traffic / taken)] * bool(traffic)
        done += [text.prefixed(flops / taken, "FLOP/s")] * bool(flops)
        notes.append(phrase("reached: {done}", done=", ".join(done)))
    name = band(share)
    return Explanation(
        recognized=(*machine.lines, phrase("kernel {name}", name=run.name or "")),
        bounds=tuple(bounds),
        measured=phrase("{time}", time=text.duration(taken)) if taken else None,
        share=share,
        wall=judged(bounds, share),
        causes=causes("kernel", machine.kind, name) if share else (),
        following={
            ABOVE: phrase("Find out which line of the list is true before you use the number."),
            HEALTHY: phrase(
                "Move fewer bytes, or use a lower type: tuning at the wall gains little."
            ),
            NEAR: phrase("Move fewer bytes, or use a lower type: tuning at the wall gains little."),
        }.get(name, phrase("Run it at twice the size and see whether the share rises.")),
        page="three-walls/memory.md#roofline",
        notes=tuple(notes),
        missing=() if taken else (phrase("--time: what it took"),),
        sources=machine.sources,
    )
