"""Time, read in one place.

A kernel on a GPU is only queued when its call returns, so the device is synchronised on both
sides of the clock. Nothing else in the package reads a clock to time work.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from wallsite._checks import count
from wallsite.probes.errors import ClockStopped

# A sample shorter than this is mostly launch and synchronisation, so calls are repeated inside it.
SHORTEST_SAMPLE = 0.005


@dataclass(frozen=True)
class Samples:
    """Every duration of one call that was measured, in order.

    Attributes:
        seconds: each sample, for one call.
        warmups: the runs before them, kept to be looked at and never used. The first carries
            page faults, lazy loading and a clock still rising.
        calls: calls in a sample; more than one where a single call is too short to time.
    """

    seconds: tuple[float, ...]
    warmups: tuple[float, ...]
    calls: int = 1

    def __post_init__(self) -> None:
        """Refuse what no rate can be computed from."""
        if not self.seconds or not min(self.seconds) > 0:
            raise ValueError("seconds must hold durations above 0, and at least one")

    @property
    def best(self) -> float:
        """Shortest sample: the one that others on the machine disturbed least."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Median sample: what to expect of the machine as it was."""
        return statistics.median(self.seconds)

    @property
    def p10(self) -> float:
        """Tenth percentile (nearest rank)."""
        return self._rank(0.1)

    @property
    def p90(self) -> float:
        """Ninetieth percentile (nearest rank)."""
        return self._rank(0.9)

    @property
    def spread(self) -> float:
        """How far apart the samples lie: (p90 − p10) ÷ median."""
        return (self.p90 - self.p10) / self.median

    def _rank(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def sample(
    call: Callable[[], object],
    *,
    repeats: int = 10,
    warmups: int = 2,
    synchronise: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Samples:
    """Run ``call`` and keep how long every run took.

    Args:
        call: the work, without arguments.
        repeats: samples to take.
        warmups: runs before them. The last one decides how many calls make up a sample.
        synchronise: waits until the device is idle; needed wherever ``call`` only queues work.
        clock: seconds, ever increasing.

    Raises:
        ValueError: ``repeats`` or ``warmups`` is not a whole number above zero.
        ClockStopped: the clock did not advance.
    """
    repeats, warmups = count("repeats", repeats), count("warmups", warmups)

    def elapsed(calls: int) -> float:
        if synchronise:
            synchronise()
        start = clock()
        for _ in range(calls):
            call()
        if synchronise:
            synchronise()
        return (clock() - start) / calls

    warm = [elapsed(1) for _ in range(warmups)]
    calls = 1 if warm[-1] >= SHORTEST_SAMPLE else math.ceil(SHORTEST_SAMPLE / max(warm[-1], 1e-6))
    seconds = [elapsed(calls) for _ in range(repeats)]
    if not min(seconds) > 0:
        raise ClockStopped("the clock did not advance while the kernel ran; no rate is reported")
    return Samples(tuple(seconds), tuple(warm), calls)
