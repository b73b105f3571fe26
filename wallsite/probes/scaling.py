"""Latency and bandwidth fitted to measured all-reduces, and what they say of more ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from wallsite import collectives
from wallsite.probes.errors import NotMeasured
from wallsite.probes.results import UNSTABLE, Measurement, Result

# Resamplings, and the share of them that the bounds enclose.
DRAWS, CONFIDENCE = 1000, 0.95
_ENDS = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2


@dataclass(frozen=True)
class Estimate:
    """A fitted number.

    Attributes:
        value: fitted to the medians.
        low: lower bound of the 95 % interval that the samples leave.
        high: its upper bound.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    """The α–β model of a ring, fitted to all-reduces among so many ranks.

    Attributes:
        ranks: that took part.
        latency: of one message, α, s.
        bandwidth: of one link, one direction, β, byte/s.
        error: median over the sizes of |predicted ÷ measured − 1|.
        draws: α and β of every resampling, as they belong together.
        sizes: how many buffer sizes it rests on.
        unstable: how many of them were marked unstable.
    """

    ranks: int
    latency: Estimate
    bandwidth: Estimate
    error: float
    draws: tuple[tuple[float, float], ...]
    sizes: int = 0
    unstable: int = 0

    def all_reduce(self, size: float) -> float:
        """Seconds that the model gives for a buffer of so many bytes among the same ranks."""
        return collectives.ring_all_reduce(
            size, self.ranks, self.bandwidth.value, self.latency.value
        )

    def between(self, model: Callable[[float, float], float]) -> Estimate:
        """Carry the fit through a model of latency and bandwidth, with its uncertainty.

        Args:
            model: takes α in s and β in byte/s.
        """
        drawn = [model(*draw) for draw in self.draws]
        low, high = np.quantile(drawn, _ENDS, method="nearest")  # which takes infinities
        return Estimate(model(self.latency.value, self.bandwidth.value), float(low), float(high))


def fit(result: Result) -> Fit:
    """Fit α and β of ``2(N−1)·α + 2(N−1)/N · S/β`` to the median time of each size.

    The sum of absolute relative errors is made least. Relative, so that small messages, which
    tell the latency, count as much as large ones, which tell the bandwidth. Absolute rather than
    squared, so that a size at which the network or its library behaves otherwise does not bend
    the line. The bounds come from fitting again to medians of samples drawn anew, with
    repetition, from those of each size.

    Raises:
        NotMeasured: fewer than two sizes were measured, the times do not grow with the size, or
            the samples scatter so much that some choices of them do not.
    """
    measured = result.select("allreduce", "all-reduce")
    if (sizes := len({x.array_bytes for x in measured})) < 2:
        raise NotMeasured(
            f"two sizes of all-reduce are needed for a latency and a bandwidth, got {sizes}"
        )
    ranks = measured[0].shape[0]
    latency, bandwidth = _solve(measured, [x.seconds.median for x in measured])
    draws = list(_draws(measured))
    return _bounded(ranks, latency, bandwidth, draws, measured)


def _draws(measured: Sequence[Measurement]) -> Iterator[tuple[float, float]]:
    """Fit again to samples drawn anew, with repetition."""
    random = np.random.default_rng(0)
    try:
        for _ in range(DRAWS):
            drawn = [random.choice(x.seconds.seconds, len(x.seconds.seconds)) for x in measured]
            yield _solve(measured, [median(each) for each in drawn])
    except NotMeasured:
        raise NotMeasured(
            "the samples scatter too much to fit a latency and a bandwidth: measure again on a "
            "quieter machine, or with more repeats"
        ) from None


def _solve(measured: Sequence[Measurement], times: Sequence[float]) -> tuple[float, float]:
    """Find the line that is best, exactly; a latency below zero is none.

    The least sum of absolute errors is that of a line through two of the points, or, without
    latency, through one: few enough to try them all.

    Raises:
        NotMeasured: the largest buffer took no longer than the smallest.
    """
    ranks = measured[0].shape[0]
    sent = np.array([collectives.ring_volume(x.array_bytes, ranks) for x in measured])
    taken = np.array(times)
    if taken[sent.argmax()] <= taken[sent.argmin()]:
        raise NotMeasured("the times do not grow with the size, so no bandwidth can be fitted")
    one, other = np.nonzero(sent[:, None] < sent)
    per_byte = (taken[other] - taken[one]) / (sent[other] - sent[one])
    start = taken[one] - per_byte * sent[one]
    per_byte = np.concatenate([per_byte, taken / sent])
    start = np.concatenate([start, np.zeros(len(taken))])
    errors = np.abs((start[:, None] + per_byte[:, None] * sent) / taken - 1).sum(axis=1)
    best = np.where((start >= 0) & (per_byte > 0), errors, np.inf).argmin()
    return float(start[best] / (2 * (ranks - 1))), float(1 / per_byte[best])


def _bounded(
    ranks: int,
    latency: float,
    bandwidth: float,
    draws: Sequence[tuple[float, float]],
    measured: Sequence[Measurement],
) -> Fit:
    (low_latency, low_bandwidth), (high_latency, high_bandwidth) = np.quantile(draws, _ENDS, axis=0)
    errors = [
        abs(
            collectives.ring_all_reduce(x.array_bytes, ranks, bandwidth, latency) / x.seconds.median
            - 1
        )
        for x in measured
    ]
    return Fit(
        ranks,
        Estimate(latency, float(low_latency), float(high_latency)),
        Estimate(bandwidth, float(low_bandwidth), float(high_bandwidth)),
        median(errors),
        tuple(draws),
        len(measured),
        sum(x.status == UNSTABLE for x in measured),
    )


@dataclass(frozen=True)
class Step:
    """A data-parallel step on so many ranks, predicted.

    Attributes:
        ranks: N.
        seconds: of the step.
        efficiency: of scaling, from one rank.
    """

    ranks: int
    seconds: Estimate
    efficiency: Estimate


def predict(fitted: Fit, compute: float, size: float, ranks: Sequence[int]) -> tuple[Step, ...]:
    """Predict a data-parallel step at a fixed global batch, nothing overlapped.

    It takes α and β to be the same for any number of ranks: a network with a slower tier beyond
    some number needs a fit of its own there.

    Args:
        fitted: α and β.
        compute: seconds that one rank alone would compute.
        size: bytes of gradients.
        ranks: numbers to predict for.

    Raises:
        ValueError: an argument is out of range.
    """

    def step(number: int) -> Step:
        def seconds(latency: float, bandwidth: float) -> float:
            return collectives.step_time(compute, size, number, bandwidth, latency)

        def efficiency(latency: float, bandwidth: float) -> float:
            many = seconds(latency, bandwidth)
            return collectives.strong_scaling_efficiency(compute, many, number)

        return Step(number, fitted.between(seconds), fitted.between(efficiency))

    return tuple(step(number) for number in ranks)


# Ranks to show go on to so many times the turning point, and where there is none, to so many.
_FURTHEST, _MOST = 4, 2**20


def ranks_to_show(turning: float) -> list[int]:
    """List powers of two from 1 to well past a turning point."""
    last = min(_FURTHEST * turning, _MOST)
    return [2**power for power in range(max(4, math.ceil(math.log2(last))) + 1)]


def turning_point(fitted: Fit, compute: float, size: float) -> Estimate:
    """Ranks at which the step is shortest, with the fit's uncertainty.

    Raises:
        ValueError: an argument is out of range.
    """
    return fitted.between(
        lambda latency, bandwidth: collectives.turning_point(compute, size, bandwidth, latency)
    )
