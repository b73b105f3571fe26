"""Latency and bandwidth fitted to measured all-reduces, and what they say of more ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from wallsite import collectives
from wallsite.probes.errors import NotMeasured
from wallsite.probes.results import Measurement, Result

# Resamplings, and the share of them that the bounds enclose.
DRAWS, CONFIDENCE = 1000, 0.95


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
    """

    ranks: int
    latency: Estimate
    bandwidth: Estimate
    error: float
    draws: tuple[tuple[float, float], ...]

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
        low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return Estimate(model(self.latency.value, self.bandwidth.value), float(low), float(high))


def fit(result: Result, kernel: str = "all-reduce") -> Fit:
    """Fit α and β of ``2(N−1)·α + 2(N−1)/N · S/β`` to the median time of each size.

    Relative errors are made least, so that small messages, which tell the latency, count as much
    as large ones, which tell the bandwidth. The bounds come from fitting again to medians of
    samples drawn anew, with repetition, from those of each size.

    Raises:
        NotMeasured: fewer than two sizes were measured, or the times do not grow with the size.
    """
    measured = result.select("allreduce", kernel)
    if len(measured) < 2:
        raise NotMeasured(
            f"two sizes of {kernel} are needed for a latency and a bandwidth, got {len(measured)}"
        )
    ranks = measured[0].shape[0]
    latency, bandwidth = _solve(measured, [x.seconds.median for x in measured])
    random = np.random.default_rng(0)
    draws = []
    for _ in range(DRAWS):
        times = [median(random.choice(x.seconds.seconds, len(x.seconds.seconds))) for x in measured]
        draws.append(_solve(measured, times))
    return _bounded(ranks, latency, bandwidth, draws, measured)


def _solve(measured: Sequence[Measurement], times: Sequence[float]) -> tuple[float, float]:
    """Least squares of relative errors; a latency below zero is none."""
    ranks = measured[0].shape[0]
    messages = np.full(len(measured), 2.0 * (ranks - 1))
    carried = np.array([collectives.ring_volume(x.array_bytes, ranks) for x in measured])
    terms = np.column_stack([messages, carried]) / np.array(times)[:, None]
    (latency, per_byte), *_ = np.linalg.lstsq(terms, np.ones(len(times)), rcond=None)
    if latency < 0:
        latency = 0.0
        per_byte = terms[:, 1].sum() / (terms[:, 1] ** 2).sum()
    if not per_byte > 0:
        raise NotMeasured("the times do not grow with the size, so no bandwidth can be fitted")
    return float(latency), float(1 / per_byte)


def _bounded(
    ranks: int,
    latency: float,
    bandwidth: float,
    draws: Sequence[tuple[float, float]],
    measured: Sequence[Measurement],
) -> Fit:
    ends = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    (low_latency, low_bandwidth), (high_latency, high_bandwidth) = np.quantile(draws, ends, axis=0)
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
            return collectives.scaling_efficiency(compute, many, number)

        return Step(number, fitted.between(seconds), fitted.between(efficiency))

    return tuple(step(number) for number in ranks)


def turning_point(fitted: Fit, compute: float, size: float) -> Estimate:
    """Ranks at which the step is shortest, with the fit's uncertainty.

    Raises:
        ValueError: an argument is out of range.
    """
    return fitted.between(
        lambda latency, bandwidth: collectives.turning_point(compute, size, bandwidth, latency)
    )
