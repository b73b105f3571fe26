"""Time of a step over the number of ranks, from a latency and a bandwidth that were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.probes.scaling import (
    CONFIDENCE,
    Estimate,
    Fit,
    Step,
    predict,
    ranks_to_show,
    turning_point,
)
from wallsite.units import format_number


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
    words, turning = texts(__file__, lang), turning_point(fitted, compute, size)
    shown = ranks_to_show(turning.value)
    between = {round(n * 2 ** (part / 4)) for n in shown[:-1] for part in range(4)}
    steps = predict(fitted, compute, size, sorted({*shown, *between}))
    fig = style.figure(372)
    ax = style.axes(fig, 52, 36, 296, 280)
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
