"""Time of a training step over the number of GPUs: what falls, what stays, what grows."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from wallsite import tables
from wallsite.collectives import ring_all_reduce, scaling_efficiency, step_time, turning_point
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.units import format_number, format_quantity
from wallsite.workload import training_flops, training_time

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
            scaling_efficiency(self.compute, total, ranks),
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
    params, tokens, mfu = (tables.quantity(f"q3.{name}").si for name in ("params", "tokens", "mfu"))
    peak = tables.accelerator(CHIP).peak("bf16").si
    names = ("gradient-bytes", "link", "alpha", "efficiency-rule")
    return Data(
        training_time(training_flops(params, tokens), peak, mfu),
        *(tables.quantity(f"q3.{name}").si for name in names),
    )


class Words(NamedTuple):
    """What the figure says."""

    title: str
    alt: str
    caption: str
    x: str
    y: str
    compute: str
    volume: str
    latency: str
    endless: str
    poor: str
    slower: str
    units: tuple[str, str]
    headers: tuple[str, ...]


WORDS = {
    "zh": Words(
        title="效率跌破 {rule} 只是不划算，超过 {turning} 张卡才真的变慢",
        alt=(
            "横轴是 GPU 数，对数刻度；纵轴是一步的时间，由三层叠成。计算随卡数下降；带宽项一直约 "
            "{floor} 秒；延迟项随卡数上升。总时间从 {first} 张卡的 {first_time} 秒降到 {turning} 张"
            "卡附近的最低点 {least} 秒，再升到 {last} 张卡的 {last_time} 秒。没有延迟项的虚线一直下"
            "降，不会掉头。{fades} 张卡起效率低于 {rule}，但仍在变快。"
        ),
        caption=(
            "T(N) = C/N + 2(N−1)/N·S/β + 2(N−1)·α，不计重叠。C = {compute} 秒：{params}参数、每步 "
            "{tokens} token、H100、假设 MFU {mfu}；S = {size} 的 BF16 梯度，β = 单向 {bandwidth}，"
            "α = {alpha}。全部是假设或推导，不是实测。"
        ),
        x="GPU 数 N",
        y="一步的时间（秒）",
        compute="计算 C/N",
        volume="带宽项 2(N−1)/N · S/β",
        latency="延迟项 2(N−1) · α",
        endless="若 α = 0，永不掉头",
        poor="效率低于 {rule}，但仍在变快",
        slower="真的变慢",
        units=("亿", "万"),
        headers=("GPU 数", "计算（秒）", "带宽项（秒）", "延迟项（秒）", "合计（秒）", "扩展效率"),
    ),
    "en": Words(
        title=(
            "Efficiency below {rule} is only poor value; past {turning} GPUs a step really gets "
            "slower"
        ),
        alt=(
            "Time of one step over the number of GPUs, a logarithmic axis, in three layers. "
            "Compute falls as GPUs are added, the bandwidth term stays near {floor} s, the latency "
            "term grows. The total falls from {first_time} s on {first} GPUs to its least, {least} "
            "s, near {turning}, and rises to {last_time} s on {last}. A dashed line without the "
            "latency term falls for ever. From {fades} GPUs on efficiency is below {rule}, yet the "
            "step still gets faster."
        ),
        caption=(
            "T(N) = C/N + 2(N−1)/N·S/β + 2(N−1)·α, nothing overlapped. C = {compute} s: {params} "
            "parameters, {tokens} tokens a step, H100, an assumed MFU of {mfu}; S = {size} of BF16 "
            "gradients, β = {bandwidth} per direction, α = {alpha}. All assumed or derived, "
            "nothing measured."
        ),
        x="GPUs, N",
        y="Time of one step (s)",
        compute="compute C/N",
        volume="bandwidth term 2(N−1)/N · S/β",
        latency="latency term 2(N−1) · α",
        endless="with α = 0 it never turns up",
        poor="efficiency below {rule}, yet faster",
        slower="really slower",
        units=("billion", "million"),
        headers=(
            "GPUs",
            "Compute (s)",
            "Bandwidth term (s)",
            "Latency term (s)",
            "Total (s)",
            "Scaling efficiency",
        ),
    ),
}


def draw(lang: str) -> Drawing:
    """Draw the three terms as layers, and mark where efficiency fades and where time turns up."""
    numbers, words = data(), WORDS[lang]
    first, last = RANKS[0], RANKS[-1]
    fig = style.figure(380)
    ax = style.axes(fig, 30, 36, 386, 294)
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

    quantity = {name: tables.quantity(f"q3.{name}").si for name in ("params", "tokens", "mfu")}
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
        "params": format_quantity(quantity["params"], words.units[0]),
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


def _draw_layers(ax: Axes, numbers: Data, words: Words) -> None:
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
    style.write(ax, first, 0.85, words.compute, dx=6, color=style.COMPUTE, bold=True)
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
