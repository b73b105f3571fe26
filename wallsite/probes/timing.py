"""Time, read in one place.

A kernel on a GPU is only queued when its call returns, so the device is synchronised on both
sides of the clock. Where a device has events, they are recorded around the work as well and say
how long it took, without the cost of the launch and of the synchronisation; the host's clock then
tells whether they can be right. Nothing else in the package reads a clock.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from wallsite._checks import count
from wallsite.probes.errors import ClockStopped

# A sample shorter than this is mostly launch and synchronisation, so calls are repeated inside it.
SHORTEST_SAMPLE = 0.005
# Samples to take even if the time is up: fewer have no median worth the name.
LEAST_SAMPLES = 3
WARMUPS = 2
# No call takes less than a picosecond or more than a century.
SHORTEST, LONGEST = 1e-12, 3e9
# A device's clock may run this much fast, and its events this many seconds early, before it lies.
FAST, EARLY = 1.02, 20e-6


class Events(Protocol):
    """A pair of events of a device, recorded around work that is queued on it."""

    def begin(self) -> None:
        """Record the first."""

    def end(self) -> None:
        """Record the second."""

    def seconds(self) -> float:
        """Time between the two, once the device has been synchronised."""


class Deadline:
    """A time by which to be done.

    Args:
        budget: seconds from now; None for as long as it takes.
    """

    def __init__(
        self, budget: float | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.budget = budget
        self._clock = clock
        self._started = clock()

    @property
    def elapsed(self) -> float:
        """Seconds since it was set."""
        return self._clock() - self._started

    @property
    def left(self) -> float:
        """Seconds that are left, below zero once it has passed."""
        return math.inf if self.budget is None else self.budget - self.elapsed


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
        if not self.seconds or not all(SHORTEST <= each <= LONGEST for each in self.seconds):
            raise ValueError("seconds must hold durations above 0, real ones, and at least one")

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
    warmups: int = WARMUPS,
    synchronise: Callable[[], object] | None = None,
    events: Events | None = None,
    deadline: Deadline | None = None,
    agree: Callable[[int], int] | None = None,
    shortest: float = SHORTEST_SAMPLE,
    clock: Callable[[], float] = time.perf_counter,
) -> Samples:
    """Run ``call`` and keep how long every run took.

    Args:
        call: the work, without arguments.
        repeats: samples to take.
        warmups: runs before them. The last one decides how many calls make up a sample.
        synchronise: waits until the device is idle; needed wherever ``call`` only queues work.
        events: of the device, to time the work with; the host's clock checks them.
        agree: turns the calls that a sample here would have into those that all ranks make, where
            ``call`` needs the other ranks to call as well.
        shortest: seconds that a sample takes at least, by repeating the call inside it.
        deadline: after it no more samples are taken, but for the first three.
        clock: seconds, ever increasing.

    Raises:
        ValueError: ``repeats`` or ``warmups`` is not a whole number above zero.
        ClockStopped: the clock did not advance, or the events say what the host's clock refutes.
    """
    repeats, warmups = count("repeats", repeats), count("warmups", warmups)

    def elapsed(calls: int, check: bool = True) -> float:
        if synchronise:
            synchronise()
        start = clock()
        if events:
            events.begin()
        for _ in range(calls):
            call()
        if events:
            events.end()
        if synchronise:
            synchronise()
        host = clock() - start
        if not events:
            return host / calls
        return (_checked(events.seconds(), host) if check else events.seconds()) / calls

    # In the first run the host loads the kernel, of which the device's events know nothing.
    warm = [elapsed(1, check=number > 0) for number in range(warmups)]
    calls = 1 if warm[-1] >= shortest else math.ceil(shortest / max(warm[-1], 1e-6))
    calls = agree(calls) if agree else calls
    seconds: list[float] = []
    while len(seconds) < repeats:
        if deadline and deadline.left <= 0 and len(seconds) >= LEAST_SAMPLES:
            break
        seconds.append(elapsed(calls))
    if not all(0 < each < math.inf for each in seconds):
        raise ClockStopped("the clock did not advance while the kernel ran; no rate is reported")
    return Samples(tuple(seconds), tuple(warm), calls)


def _checked(device: float, host: float) -> float:
    """Return what the events say, unless the host's clock, which saw that and more, refutes it."""
    early = device > FAST * host + EARLY
    late = host >= SHORTEST_SAMPLE and device < host / 2
    if early or late:
        raise ClockStopped(
            f"the device's events say {device:.3g} s where the host's clock saw {host:.3g} s: "
            "no rate is reported"
        )
    return device
