"""Time of a step over the number of ranks, from a latency and a bandwidth that were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.probes import recorded
from wallsite.probes.scaling import (
    CONFIDENCE,
    Estimate,
    Fit,
    Step,
    fit,
    predict,
    ranks_to_show,
    turning_point,
)
from wallsite.units import format_number


class Words(NamedTuple):
    """What the figure says."""

    title: str
    title_without_end: str
    alt: str
    turns: str
    never: str
    caption: str
    x: str
    y: str
    turning: str
    ideal: str
    headers: tuple[str, ...]


WORDS = {
    "zh": Words(
        title="按实测的 α 和 β，{turning} 个 rank 时一步最快",
        title_without_end="按实测的 α 和 β，加多少 rank 都还在变快",
        alt=(
            "横轴是 rank 数，纵轴是一步的时间，都是对数刻度。单个 rank 一步 {first} 秒，最低 "
            "{least} 秒，{end}。虚线是通信不花时间的 C/N。"
        ),
        turns="{turning} 个 rank 时掉头向上",
        never="一直不掉头",
        caption=(
            "T(N) = C/N + 2(N−1)/N·S/β + 2(N−1)·α，不计重叠。α = {latency}，β = {bandwidth}，由 "
            "{ranks} 个 rank 的实测 all-reduce 拟合；色带是 {confidence} 置信范围。"
            "C = {compute} 秒，S = {size}，是给定的。"
        ),
        x="rank 数 N",
        y="一步的时间（秒）",
        turning="最快：{turning}",
        ideal="C/N",
        headers=("rank 数", "一步（秒）", "下界（秒）", "上界（秒）", "扩展效率"),
    ),
    "en": Words(
        title="By the measured α and β, a step is shortest on {turning} ranks",
        title_without_end="By the measured α and β, every added rank still helps",
        alt=(
            "Time of a step over the number of ranks, both axes logarithmic. A step takes {first} "
            "s on one rank and {least} s at best, and {end}. A dashed line shows C/N, as if "
            "communication took no time."
        ),
        turns="turns up at {turning} ranks",
        never="never turns up",
        caption=(
            "T(N) = C/N + 2(N−1)/N·S/β + 2(N−1)·α, nothing overlapped. α = {latency} and β = "
            "{bandwidth} are fitted to measured all-reduces among {ranks} ranks; the band is their "
            "{confidence} confidence range. C = {compute} s and S = {size} are given."
        ),
        x="ranks, N",
        y="Time of a step (s)",
        turning="shortest: {turning}",
        ideal="C/N",
        headers=("Ranks", "Step (s)", "Low (s)", "High (s)", "Efficiency"),
    ),
}


def data() -> tuple[Fit, float, float]:
    """Fit two recorded ranks of one machine; with the compute, s, and bytes of an example."""
    return fit(recorded()["xeon-gloo"]), 1.0, 100e6


def draw(lang: str) -> Drawing:
    """Draw the recorded ranks."""
    return compose(*data(), lang)


def compose(fitted: Fit, compute: float, size: float, lang: str) -> Drawing:
    """Draw the predicted step with the fit's uncertainty as a band.

    Must be called under `wallsite.figures.style.context`.

    Args:
        fitted: α and β.
        compute: seconds that one rank alone would compute.
        size: bytes of gradients.
        lang: ``zh`` or ``en``.

    Raises:
        ValueError: an argument is out of range.
    """
    words, turning = WORDS[lang], turning_point(fitted, compute, size)
    shown = ranks_to_show(turning.value)
    between = {round(n * 2 ** (part / 4)) for n in shown[:-1] for part in range(4)}
    steps = predict(fitted, compute, size, sorted({*shown, *between}))
    fig = style.figure(372)
    ax = style.axes(fig, 62, 36, 356, 280)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ranks = [step.ranks for step in steps]
    ax.set_xlim(1, ranks[-1])
    least = min(step.seconds.low for step in steps)
    ax.set_ylim(least / 2.5, max(step.seconds.high for step in steps) * 1.6)
    every = max(1, len(shown) // 6)
    style.scale_x(ax, {n: format_number(n) for n in shown[::every]}, words.x)
    style.scale_y(ax, _decades(*ax.get_ylim()), words.y)
    low, high = ([getattr(s.seconds, end) for s in steps] for end in ("low", "high"))
    ax.fill_between(ranks, low, high, color=style.COMM, alpha=0.25, lw=0)
    ax.plot(ranks, [step.seconds.value for step in steps], color=style.COMM, lw=2.4)
    ax.plot(ranks, [compute / n for n in ranks], color=style.MUTED, lw=1.2, ls=(0, (5, 3)))
    style.write(ax, 2, compute / 2, words.ideal, dx=-8, dy=12, align="right", color=style.MUTED)
    said = _ranks(turning)
    if turning.value <= ranks[-1]:
        best = predict(fitted, compute, size, [max(1, round(turning.value))])[0].seconds.value
        ax.plot(max(1, turning.value), best, "o", color=style.INK, ms=7)
        note = words.turning.format(turning=said)
        style.write(ax, max(1, turning.value), best, note, dy=24, align="center", bold=True)
    fill = {
        "turning": said,
        "first": labels.significant(steps[0].seconds.value),
        "least": labels.significant(min(step.seconds.value for step in steps)),
        "latency": f"{labels.significant(fitted.latency.value * 1e6)} µs",
        "bandwidth": f"{labels.significant(fitted.bandwidth.value / 1e9)} GB/s",
        "ranks": fitted.ranks,
        "confidence": f"{CONFIDENCE:.0%}",
        "compute": labels.significant(compute),
        "size": f"{labels.significant(size / 1e9)} GB",
    }
    turns = math.isfinite(turning.value)
    title = words.title if turns else words.title_without_end
    fill["end"] = (words.turns if turns else words.never).format(**fill)
    return Drawing(
        fig,
        title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, tuple(_row(step) for step in steps if step.ranks in shown)),
    )


def _ranks(turning: Estimate) -> str:
    numbers = (turning.value, turning.low, turning.high)
    value, low, high = (format_number(x) if math.isfinite(x) else "∞" for x in numbers)
    return f"{value} ({low}–{high})" if low != high else value


def _row(step: Step) -> tuple[str, ...]:
    times = (step.seconds.value, step.seconds.low, step.seconds.high)
    shown: Sequence[str] = [labels.significant(x) for x in times]
    return (format_number(step.ranks), *shown, f"{format_number(100 * step.efficiency.value, 1)}%")


def _decades(low: float, high: float) -> dict[float, str]:
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return {10.0**n: format_number(10.0**n, max(0, -n)) for n in powers}
