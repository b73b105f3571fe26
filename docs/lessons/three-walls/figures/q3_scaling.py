"""Time of a training step over the number of GPUs: what falls, what stays, what grows."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from wallsite import lessons, tables
from wallsite.collectives import (
    ring_all_reduce,
    step_time,
    strong_scaling_efficiency,
    turning_point,
)
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.units import format_number, format_quantity
from wallsite.workload import ELEMENT_BYTES, training_flops, training_time

CHIP = "h100-sxm"
RANKS = tuple(2**power for power in range(6, 17))


class Step(NamedTuple):
    """The terms of one step's time, in seconds, and its scaling efficiency."""

    ranks: int
    compute: float
    volume: float
    latency: float
    total: float
    efficiency: float


class Data(NamedTuple):
    """The worked example of question 3.

    Attributes:
        compute: seconds that one GPU alone would need for a step.
        size: bytes of gradients.
        bandwidth: of the slowest link, one direction, byte/s.
        latency: of one hop, s.
        rule: the scaling efficiency often taken as a warning.
    """

    compute: float
    size: float
    bandwidth: float
    latency: float
    rule: float

    def step(self, ranks: int) -> Step:
        """Split the time of a step on so many ranks into its terms."""
        volume = ring_all_reduce(self.size, ranks, self.bandwidth)
        communication = ring_all_reduce(self.size, ranks, self.bandwidth, self.latency)
        total = step_time(self.compute, self.size, ranks, self.bandwidth, self.latency)
        return Step(
            ranks,
            self.compute / ranks,
            volume,
            communication - volume,
            total,
            strong_scaling_efficiency(self.compute, total, ranks),
        )

    @property
    def turning(self) -> float:
        """Ranks at which the step is shortest."""
        return turning_point(self.compute, self.size, self.bandwidth, self.latency)

    @property
    def fades(self) -> int:
        """Fewest ranks whose efficiency is below the rule."""
        return next(n for n in itertools.count(1) if self.step(n).efficiency < self.rule)


def data() -> Data:
    """Read the quantities of question 3; one GPU's time follows from the model's FLOPs."""
    given = ("params_7b", "q3.tokens", "q3.mfu")
    params, tokens, mfu = (lessons.quantity(name).si for name in given)
    peak = tables.accelerator(CHIP).peak("bf16").si
    names = ("link", "alpha", "efficiency_rule")
    return Data(
        training_time(training_flops(params, tokens), peak, mfu),
        ELEMENT_BYTES["bf16"] * params,
        *(lessons.quantity(f"q3.{name}").si for name in names),
    )


def draw(lang: str) -> Drawing:
    """Draw the three terms as layers, and mark where efficiency fades and where time turns up."""
    numbers, words = data(), texts(__file__, lang)
    first, last = RANKS[0], RANKS[-1]
    fig = style.figure(380)
    ax = style.axes(fig, 28, 36, 304, 294)
    ax.set_xscale("log", base=2)
    ax.set_xlim(first, last)
    ax.set_ylim(0, 2.6)
    style.scale_x(ax, {ranks: format_number(ranks) for ranks in RANKS[::2]}, words.x)
    style.scale_y(ax, {value: f"{value:g}" for value in (0, 0.5, 1, 1.5, 2)}, words.y)
    _draw_layers(ax, numbers, words)

    turning, fades = numbers.turning, numbers.fades
    lowest = numbers.step(round(turning))
    ax.plot(turning, lowest.total, "o", color=style.INK, ms=8)
    style.write(
        ax,
        turning,
        lowest.total,
        f"N* = {format_number(turning)}",
        dy=-20,
        align="center",
        size=style.SIZE,
        bold=True,
    )
    rule = format_quantity(numbers.rule, "%")
    for start, end, label in (
        (fades, turning, words.poor.format(rule=rule)),
        (turning, last, words.slower),
    ):
        _draw_span(ax, start, end, label)
    for ranks, start in ((fades, numbers.step(fades).total), (turning, lowest.total + 0.28)):
        ax.plot((ranks, ranks), (start, _SPAN), color=style.MUTED, lw=0.8, ls=(0, (2, 2)))

    quantity = {name: lessons.quantity(f"q3.{name}").si for name in ("tokens", "mfu")}
    steps = [numbers.step(ranks) for ranks in RANKS]
    fill = {
        "rule": rule,
        "turning": format_number(turning),
        "fades": format_number(fades),
        "first": format_number(first),
        "last": format_number(last),
        "floor": _seconds(lowest.volume),
        "first_time": _seconds(steps[0].total),
        "least": _seconds(lowest.total),
        "last_time": _seconds(steps[-1].total),
        "compute": labels.significant(numbers.compute),
        "params": format_quantity(lessons.quantity("params_7b").si, words.units[0]),
        "tokens": format_quantity(quantity["tokens"], words.units[1]),
        "mfu": format_quantity(quantity["mfu"], "%"),
        "size": format_quantity(numbers.size, "GB"),
        "bandwidth": labels.bandwidth(numbers.bandwidth),
        "alpha": format_quantity(numbers.latency, "µs"),
    }
    rows = tuple(
        (
            format_number(step.ranks),
            *(_seconds(term) for term in (step.compute, step.volume, step.latency, step.total)),
            format_quantity(step.efficiency, "%", 1),
        )
        for step in steps
    )
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, rows),
    )


_SPAN = 2.38  # height, in seconds, at which the spans of the horizontal axis are named


def _seconds(value: float) -> str:
    return format_number(value, 3)


def _draw_layers(ax: Axes, numbers: Data, words: Any) -> None:
    """Stack the terms: the floor of bandwidth, on it the compute that falls, then latency."""
    first, last = RANKS[0], RANKS[-1]
    ranks = np.unique(np.rint(np.geomspace(first, last, 81))).astype(int)
    steps = [numbers.step(n) for n in ranks.tolist()]
    floor = np.array([step.volume for step in steps])
    smooth = floor + np.array([step.compute for step in steps])
    total = np.array([step.total for step in steps])
    for lower, upper, color in (
        (np.zeros_like(floor), floor, style.COMM),
        (floor, smooth, style.COMPUTE),
        (smooth, total, style.ACCENT),
    ):
        ax.fill_between(ranks, lower, upper, color=color, alpha=style.TINT, lw=0)
    ax.plot(ranks, floor, color=style.COMM, lw=1)
    ax.plot(ranks, smooth, color=style.MUTED, lw=1.4, ls=(0, (4, 3)))
    ax.plot(ranks, total, color=style.INK, lw=2.5)
    style.write(ax, first, 0.7, words.compute, dx=6, color=style.COMPUTE, bold=True)
    style.write(ax, first, floor[0] / 2, words.volume, dx=6, dy=8, color=style.COMM, bold=True)
    style.write(
        ax, last, total[-1], words.latency, dy=-12, align="right", color=style.ACCENT, bold=True
    )
    style.write(ax, last, floor[-1], words.endless, dx=-6, dy=20, align="right")


def _draw_span(ax: Axes, start: float, end: float, label: str) -> None:
    ax.annotate(
        "",
        (end, _SPAN),
        (start, _SPAN),
        arrowprops={"arrowstyle": "<->", "color": style.MUTED, "shrinkA": 0, "shrinkB": 0},
    )
    style.write(ax, (start * end) ** 0.5, _SPAN, label, dy=-12, align="center")
