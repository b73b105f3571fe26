"""Which wall a GPU is at, from two of its counters."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from wallsite import lessons
from wallsite.figures import style
from wallsite.figures.drawing import Drawing
from wallsite.figures.texts import texts
from wallsite.units import format_quantity


class Data(NamedTuple):
    """The reading that question 1 states, a fraction."""

    dram: float


def data() -> Data:
    """Read the premise of question 1."""
    return Data(lessons.quantity("q1.dram_util").si)


_HEIGHT = 372.0
_CENTRES = (72.0, 220.0, 368.0)
_WIDTH = 140.0
_COLORS = (style.MEMORY, style.COMPUTE, style.ACCENT)


def draw(lang: str) -> Drawing:
    """Draw the question, and for each answer the wall and its remedies."""
    numbers, words = data(), texts(__file__, lang)
    fig, ax = style.canvas(_HEIGHT)
    middle = style.WIDTH / 2
    _box(ax, middle, 34, 324, 52, style.MUTED, filled=False)
    style.write(ax, middle, 34, words.question, align="center", size=style.SIZE)
    fill = {
        "dram": format_quantity(numbers.dram, "%"),
        "ceiling": format_quantity(lessons.quantity("q1.dram_ceiling").si, "%"),
    }
    for x, color, branch in zip(_CENTRES, _COLORS, words.branches, strict=True):
        ax.plot((middle, middle, x, x), (60, 78, 78, 94), color=style.MUTED, lw=1.5)
        style.write(ax, x, 114, branch.reading, align="center", bold=True)
        ax.annotate(
            "",
            (x, 154),
            (x, 134),
            arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.5, "shrinkA": 0, "shrinkB": 0},
        )
        _box(ax, x, 174, _WIDTH, 40, color, filled=True)
        style.write(
            ax, x, 174, branch.wall, align="center", size=style.LARGE, color=style.PAPER, bold=True
        )
        _box(ax, x, 262, _WIDTH, 124, color, filled=False)
        style.write(ax, x, 262, branch.remedy, align="center")
    style.write(
        ax,
        _CENTRES[0],
        346,
        words.here.format(**fill),
        align="center",
        color=style.MEMORY,
        bold=True,
    )
    return Drawing(
        fig, words.title, words.alt.format(**fill), words.caption.format(**fill), table=None
    )


def _box(
    ax: Axes, x: float, y: float, width: float, height: float, color: str, *, filled: bool
) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=6",
            fc=color if filled else "none",
            ec=color,
            lw=1.5,
        )
    )
