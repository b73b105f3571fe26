"""The roofline of the recorded machine with a slope for each level of its memory."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from wallsite import lessons
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.probes.results import Result
from wallsite.roofline import attainable, ridge_point
from wallsite.units import format_number, scale

RECORD = "xeon-numpy"
OPERANDS = 3  # of an addition: two arrays are read, one is written


class Level(NamedTuple):
    """A level of memory: the bandwidth measured from it, byte/s, over arrays of so many bytes."""

    array_bytes: int
    bandwidth: float


class Data(NamedTuple):
    """Peak of a matrix product, FLOP/s; intensity of the addition; levels, the nearest first."""

    peak: float
    intensity: float
    levels: tuple[Level, ...]


def data() -> Data:
    """Read the record: for each level the fastest addition whose arrays fit it and no nearer one.

    The first level is left out: its arrays are too short to be timed well. All cores add at once,
    so that a cache counts as often as there is one.
    """
    result = Result.from_json(lessons.recorded()[RECORD].read_text("utf-8"))
    sweeps = result.select("cache")
    caches = [cache.size * cache.instances for cache in result.machine.caches]
    levels = []
    for nearer, limit in pairwise([*caches, float("inf")]):
        # Arrays that barely outgrow a cache still find half of themselves there.
        fits = [x for x in sweeps if 2 * nearer < OPERANDS * x.array_bytes <= limit]
        best = max(fits, key=lambda sweep: sweep.bandwidth)
        levels.append(Level(best.array_bytes, best.bandwidth))
    peak = max(x.performance for x in result.select("operations"))
    return Data(peak, sweeps[0].intensity, tuple(levels))


def draw(lang: str) -> Drawing:
    """Draw the slopes above each other under one ceiling."""
    (peak, add, levels), words = data(), texts(__file__, lang)
    giga = scale("GFLOP/s")
    fig = style.figure(352)
    ax = style.axes(fig, 44, 36, 300, 260)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(0.02, 100)
    ax.set_ylim(0.3, 1000)
    style.scale_x(ax, {0.1: "0.1", 1.0: "1", 10.0: "10", 100.0: "100"}, words.x)
    style.scale_y(ax, {1.0: "1", 10.0: "10", 100.0: "100", 1000.0: "1,000"}, words.y, grid=False)
    colors = (style.COMM, style.ACCENT, style.MEMORY)
    left, right = ax.get_xlim()
    ridges = [ridge_point(peak, level.bandwidth) for level in levels]
    ax.plot((ridges[0], right), (peak / giga,) * 2, color=style.COMPUTE, lw=3)
    ceiling = f"{labels.significant(peak / giga)} GFLOP/s"
    style.write(ax, right, peak / giga, ceiling, dy=-12, align="right", color=style.COMPUTE)
    shown = [labels.bandwidth(level.bandwidth) for level in levels]
    for level, ridge, color in zip(levels, ridges, colors, strict=True):
        ends = [attainable(x, peak, level.bandwidth) / giga for x in (left, ridge)]
        ax.plot((left, ridge), ends, color=color, lw=2.4)
        ax.plot(ridge, peak / giga, "o", color=color, ms=6)
        ax.plot(add, attainable(add, peak, level.bandwidth) / giga, "s", color=color, ms=7)
    for name, bandwidth, color, row in zip(
        words.levels, shown, colors, (6.0, 2.6, 1.1), strict=True
    ):
        style.write(ax, 1.3, row, f"{name} {bandwidth}", color=color, bold=True)
    line = (ax.get_ylim()[0], levels[0].bandwidth * add / giga)
    ax.plot((add, add), line, color=style.MUTED, lw=1, ls=(0, (4, 3)))
    style.write(ax, add, 0.5, words.add, dx=8, color=style.MUTED)
    fill = {
        "near": shown[0],
        "middle": shown[1],
        "far": shown[2],
        "times": labels.significant(levels[0].bandwidth / levels[-1].bandwidth, 2),
        "ridges": labels.listed(map(labels.significant, ridges), lang),
    }
    rows = tuple(
        (
            name,
            format_number(level.array_bytes / scale("MiB"), 1),
            bandwidth,
            labels.significant(ridge),
        )
        for name, level, bandwidth, ridge in zip(words.levels, levels, shown, ridges, strict=True)
    )
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, rows),
    )
