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


_TOP, _ROW = 80.0, 124.0  # of the first branch, and from one to the next
_HEIGHT = _TOP + 3 * _ROW
_STEM = 14.0
_WALL = (26.0, 124.0)  # left and width of what names the wall
_REMEDY = (162.0, 194.0)
_COLORS = (style.MEMORY, style.COMPUTE, style.ACCENT)


def draw(lang: str) -> Drawing:
    """Draw the question, and below it for each answer the wall and its remedies."""
    numbers, words = data(), texts(__file__, lang)
    fig, ax = style.canvas(_HEIGHT)
    _box(ax, (4, 8), (style.WIDTH - 8, 52), style.MUTED, filled=False)
    style.write(ax, style.WIDTH / 2, 34, words.question, align="center")
    fill = {
        "dram": format_quantity(numbers.dram, "%"),
        "ceiling": format_quantity(lessons.quantity("q1.dram_ceiling").si, "%"),
    }
    left, width = _WALL
    for index, (color, branch) in enumerate(zip(_COLORS, words.branches, strict=True)):
        top = _TOP + index * _ROW
        wall = top + 62
        ax.plot((_STEM, _STEM, left), (60, wall, wall), color=style.MUTED, lw=1.5)
        style.write(ax, left, top + 22, branch.reading, bold=True)
        _box(ax, (left, wall - 18), (width, 36), color, filled=True)
        style.write(
            ax,
            left + width / 2,
            wall,
            branch.wall,
            align="center",
            size=style.SIZE,
            color=style.PAPER,
            bold=True,
        )
        ax.plot((left + width, _REMEDY[0]), (wall, wall), color=color, lw=1.5)
        _box(ax, (_REMEDY[0], top), (_REMEDY[1], _ROW - 12), color, filled=False)
        style.write(ax, _REMEDY[0] + 10, top + (_ROW - 12) / 2, branch.remedy)
    style.write(ax, left, _TOP + 98, words.here.format(**fill), color=style.MEMORY, bold=True)
    return Drawing(
        fig, words.title, words.alt.format(**fill), words.caption.format(**fill), table=None
    )


def _box(
    ax: Axes, corner: tuple[float, float], size: tuple[float, float], color: str, *, filled: bool
) -> None:
    """Draw a rounded box from its upper left corner."""
    ax.add_patch(
        FancyBboxPatch(
            corner,
            *size,
            boxstyle="round,pad=0,rounding_size=6",
            fc=color if filled else "none",
            ec=color,
            lw=1.5,
        )
    )
