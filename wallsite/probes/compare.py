"""What changed between two runs beyond the noise of either."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from wallsite.probes.results import Measurement, Result

# Medians of runs on a quiet machine lie this close together.
NOISE = 0.05

SAME, FASTER, SLOWER = "within noise", "faster", "slower"


@dataclass(frozen=True)
class Change:
    """One kernel in both runs.

    Attributes:
        before: in the first run.
        after: in the second.
        ratio: median rate after ÷ before.
        verdict: `FASTER` or `SLOWER` if the middle four fifths of the samples of the two runs do
            not meet and their medians differ by more than `NOISE`, else `SAME`.
    """

    before: Measurement
    after: Measurement
    ratio: float
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        before: the first run.
        after: the second.
        changes: kernels that both measured.
        missing: measured in the first run only.
        added: measured in the second run only.
        differences: of the circumstances, each with its value before and after.
    """

    before: Result
    after: Result
    changes: tuple[Change, ...]
    missing: tuple[Measurement, ...]
    added: tuple[Measurement, ...]
    differences: tuple[tuple[str, str, str], ...]


def compare(before: Result, after: Result) -> Comparison:
    """Compare each kernel that two runs share, and the circumstances of the runs.

    Kernels are the same if probe, name, type and shape are. Where a probe chose its shape itself
    and chose another one, the largest of each run is compared.
    """
    left, right = (_by_kernel(result) for result in (before, after))
    changes: list[Change] = []
    for key in left.keys() & right.keys():
        mine, other = left[key], right[key]
        shared = [shape for shape in mine if shape in other]
        pairs = [(mine.pop(shape), other.pop(shape)) for shape in shared]
        if not pairs:
            pairs = [(mine.popitem()[1], other.popitem()[1])]
        changes += [_change(*pair) for pair in pairs]
    order = list(before.measurements)
    return Comparison(
        before,
        after,
        tuple(sorted(changes, key=lambda change: order.index(change.before))),
        tuple(x for shapes in left.values() for x in shapes.values()),
        tuple(x for shapes in right.values() for x in shapes.values()),
        tuple(_differences(before, after)),
    )


Key = tuple[str, str, str]


def _by_kernel(result: Result) -> dict[Key, dict[tuple[int, ...], Measurement]]:
    """Group what holds numbers by probe, kernel and type; the largest shape comes last."""
    kernels: dict[Key, dict[tuple[int, ...], Measurement]] = {}
    for x in sorted(result.measurements, key=lambda x: x.array_bytes):
        if x.samples is not None:
            kernels.setdefault((x.probe, x.kernel, x.dtype), {})[x.shape] = x
    return kernels


def _change(before: Measurement, after: Measurement) -> Change:
    # Rates and not seconds, since the shapes may differ.
    old, new = before.rate(before.seconds.median), after.rate(after.seconds.median)
    if after.rate(after.seconds.p90) > before.rate(before.seconds.p10):
        verdict = FASTER
    elif after.rate(after.seconds.p10) < before.rate(before.seconds.p90):
        verdict = SLOWER
    else:
        verdict = SAME
    ratio = new / old
    return Change(before, after, ratio, verdict if abs(ratio - 1) > NOISE + 1e-9 else SAME)


_CIRCUMSTANCES: dict[str, Callable[[Result], object]] = {
    "processor": lambda x: x.machine.cpu,
    "device": lambda x: f"{x.device} ({x.device.name})",
    "backend": lambda x: f"{x.backend} {x.backend_version}",
    "threads": lambda x: x.threads,
    "cores": lambda x: x.machine.cores,
    "CPUs": lambda x: len(x.environment.affinity),
    "huge pages": lambda x: x.environment.huge_pages,
    "system": lambda x: x.machine.system,
    "Python": lambda x: x.environment.python,
    "wallsite": lambda x: x.wallsite,
}


def _differences(before: Result, after: Result) -> Iterator[tuple[str, str, str]]:
    for name, of in _CIRCUMSTANCES.items():
        old, new = str(of(before)), str(of(after))
        if old != new:
            yield name, old, new
