"""What changed between two runs, or two sets of runs, beyond what one machine does by itself.

Samples within a run lie close together; runs do not. On a shared virtual machine with nothing else
running, medians of quick runs differed by up to 1.9 times (six runs, every pair, nine kernels), so
that two single runs can tell no less than a factor of two. Four runs of each, taken in turns, can:
if nothing changed, all of one kind lie beyond all of the other once in 35 times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from wallsite.probes.results import UNSTABLE, Measurement, Result

NOISE = 0.05
"""A change that is too small to matter, however certain."""
ALONE = 2.0
"""What one run of each has to differ by."""
ENOUGH = 4
"""Runs of each with which order alone tells."""
CROWDED = 160.0
"""Involuntary context switches for each second of CPU time. On two quiet cores the memory probe has
up to 55, and all probes, whose own threads take turns, up to 159; beside one busy process they had
169 and 184 or more."""

SAME, FASTER, SLOWER = "within noise", "faster", "slower"
BUSY, UNSURE = "machine busy", "unstable"


Key = tuple[str, str, str]


@dataclass(frozen=True)
class Change:
    """One kernel in both runs.

    Attributes:
        before: in the first run.
        after: in the second.
        ratio: median rate after ÷ before, of the median runs.
        verdict: `BUSY` or `UNSURE` where a number is not to be built on. `FASTER` or `SLOWER` if
            there are `ENOUGH` runs of each and all of one kind lie beyond all of the other, by more
            than `NOISE`; with fewer, if they differ by `ALONE`. Else `SAME`.
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


def compare(
    before: Result,
    after: Result,
    more_before: Sequence[Result] = (),
    more_after: Sequence[Result] = (),
) -> Comparison:
    """Compare each kernel that two runs share, and the circumstances of the runs.

    Kernels are the same if probe, name, type and shape are. Where a probe chose its shape itself
    and chose another one, the largest of each run is compared.

    Args:
        before: a run.
        after: another.
        more_before: runs in the circumstances of the first.
        more_after: runs in the circumstances of the second.
    """
    left, right = (_by_kernel(result) for result in (before, after))
    changes: list[Change] = []
    for key in left.keys() & right.keys():
        mine, other = left[key], right[key]
        shared = [shape for shape in mine if shape in other]
        pairs = [(mine.pop(shape), other.pop(shape)) for shape in shared]
        if not pairs:
            pairs = [(mine.popitem()[1], other.popitem()[1])]
        changes += [
            _change(one, two, _again(key, one, more_before), _again(key, two, more_after))
            for one, two in pairs
        ]
    if any(_crowded(result) for result in (before, after, *more_before, *more_after)):
        changes = [replace(change, verdict=BUSY) for change in changes]
    order = list(before.measurements)
    return Comparison(
        before,
        after,
        tuple(sorted(changes, key=lambda change: order.index(change.before))),
        tuple(x for shapes in left.values() for x in shapes.values()),
        tuple(x for shapes in right.values() for x in shapes.values()),
        tuple(_differences(before, after)),
    )


def _crowded(result: Result) -> bool:
    switches = result.environment.switches
    return switches is not None and switches > CROWDED


def _again(key: Key, like: Measurement, results: Sequence[Result]) -> list[Measurement]:
    """The same kernel in other runs, at the same shape or else the largest."""
    found = (_by_kernel(result).get(key, {}) for result in results)
    return [shapes.get(like.shape) or list(shapes.values())[-1] for shapes in found if shapes]


def _by_kernel(result: Result) -> dict[Key, dict[tuple[int, ...], Measurement]]:
    """Group what holds numbers by probe, kernel and type; the largest shape comes last."""
    kernels: dict[Key, dict[tuple[int, ...], Measurement]] = {}
    for x in sorted(result.measurements, key=lambda x: x.array_bytes):
        if x.samples is not None:
            kernels.setdefault((x.probe, x.kernel, x.dtype), {})[x.shape] = x
    return kernels


def _change(
    before: Measurement,
    after: Measurement,
    more_before: Sequence[Measurement],
    more_after: Sequence[Measurement],
) -> Change:
    # Rates and not seconds, since the shapes may differ.
    old, new = (
        sorted(x.rate(x.seconds.median) for x in group)
        for group in ((before, *more_before), (after, *more_after))
    )
    ratio = median(new) / median(old)
    if any(x.status == UNSTABLE for x in (before, after, *more_before, *more_after)):
        return Change(before, after, ratio, UNSURE)
    if min(len(old), len(new)) >= ENOUGH:
        apart = (old[-1] < new[0] or new[-1] < old[0]) and abs(ratio - 1) > NOISE
    else:
        apart = max(ratio, 1 / ratio) >= ALONE
    verdict = SAME if not apart else FASTER if ratio > 1 else SLOWER
    return Change(before, after, ratio, verdict)


_CIRCUMSTANCES: dict[str, Callable[[Result], object]] = {
    "processor": lambda x: x.machine.cpu,
    "device": lambda x: f"{x.device} ({x.device.name})",
    "backend": lambda x: f"{x.backend} {x.backend_version}",
    "threads": lambda x: x.threads,
    "cores": lambda x: x.machine.cores,
    "CPUs": lambda x: len(x.environment.affinity),
    "CPU quota": lambda x: x.environment.cpu_quota or "none",
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
    ours, theirs = before.environment.variables, after.environment.variables
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield name, ours.get(name, "not set"), theirs.get(name, "not set")
