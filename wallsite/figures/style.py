"""How every figure looks: palette, type and canvas.

Lengths are in SVG user units, with y running down. A figure is `WIDTH` units wide. The page shows
it whole and no wider than `MAX_WIDTH`. On a phone it takes all of the screen: on the narrowest, of
320 pixels, `SMALL` text then measures 11.

Colours are the light theme's. `wallsite.figures.svg` turns each into the CSS variable of the
same name, so a drawing may use these and no others.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal

import matplotlib as mpl
import pylopdf_fonts_zh_cn
from cycler import cycler
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Transform
from matplotlib.typing import RcKeyType

# CSS variable → (light, dark). Each reads at 4.5:1 or better on the paper of its theme, also
# through a tint of itself, and eyes that see no red or no green still tell the walls apart.
PALETTE = {
    "ink": ("#1f2430", "#e4e6ee"),
    "muted": ("#5d6472", "#a3a9b8"),
    "paper": ("#ffffff", "#1e2129"),
    "compute": ("#0067a8", "#62b5f0"),
    "memory": ("#b8470b", "#ff9d5c"),
    "comm": ("#00755a", "#40cfa0"),
    "accent": ("#8a3c86", "#e08fdc"),
}
INK, MUTED, PAPER, COMPUTE, MEMORY, COMM, ACCENT = (light for light, _ in PALETTE.values())

WIDTH = 360.0
MAX_WIDTH = 480  # CSS pixels
SIZE, SMALL, LARGE = 13.0, 12.5, 18.0
TINT = 0.11  # opacity of a filled region
GRID = 0.28  # opacity of a grid line

LEADING = 1.35  # distance of baselines, in sizes
CAP_HEIGHT = 0.73  # height of capitals and digits, in sizes, as in most sans-serif fonts

FAMILY = "wallsite"


@functools.cache
def _register_font() -> None:
    """Make the declared font known under a name of our own.

    A family name could be answered by whatever the machine has installed, and the layout would
    then differ from machine to machine. The file's one weight stands for bold as well.
    """
    for weight in (400, 700):
        font_manager.fontManager.ttflist.append(
            font_manager.FontEntry(
                fname=str(pylopdf_fonts_zh_cn.sans_path()),
                name=FAMILY,
                style="normal",
                variant="normal",
                weight=weight,
                stretch="normal",
                size="scalable",
            )
        )


_RC: dict[RcKeyType, Any] = {
    "font.family": [FAMILY],
    "font.size": SMALL,
    "text.color": INK,
    "text.hinting": "none",
    "axes.prop_cycle": cycler(color=[COMPUTE, MEMORY, COMM, ACCENT, MUTED]),
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.labelsize": SMALL,
    "axes.titlesize": SIZE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.unicode_minus": True,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "figure.dpi": 72,
    "figure.figsize": (WIDTH / 72, 300 / 72),
    "figure.constrained_layout.use": True,  # for page code; our own figures place their axes
    "grid.color": MUTED,
    "grid.alpha": GRID,
    "grid.linewidth": 0.8,
    "mathtext.default": "regular",
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "lines.linewidth": 2.0,
    "patch.linewidth": 1.0,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.size": 4,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
}


def context() -> AbstractContextManager[None]:
    """Matplotlib settings under which a figure must be made, figures of page code included."""
    _register_font()
    return mpl.rc_context(_RC)


def figure(height: float) -> Figure:
    """Make an empty figure of the common width."""
    fig = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
    fig.set_layout_engine("none")
    return fig


def axes(fig: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add axes whose frame is given in units, measured from the upper left corner."""
    full = fig.get_figheight() * 72
    return fig.add_axes((left / WIDTH, 1 - (top + height) / full, width / WIDTH, height / full))


def canvas(height: float) -> tuple[Figure, Axes]:
    """Make a figure to draw on freely: data coordinates are units, y runs down."""
    fig = figure(height)
    ax = axes(fig, 0, 0, WIDTH, height)
    ax.set_axis_off()
    ax.set_xlim(0, WIDTH)
    ax.set_ylim(height, 0)
    return fig, ax


def write(
    ax: Axes,
    x: float,
    y: float,
    words: str,
    *,
    dx: float = 0,
    dy: float = 0,
    align: Literal["left", "center", "right"] = "left",
    size: float = SMALL,
    color: str = INK,
    bold: bool = False,
) -> None:
    """Write lines of text around a point in data coordinates, shifted by units.

    The lines are centred on the point by the height of capitals and digits, not by the metrics
    of one font, so they sit right in whichever font the reader's page uses.
    """
    lines = words.split("\n")
    for index, line in enumerate(lines):
        middle = dy + (index - (len(lines) - 1) / 2) * LEADING * size
        ax.annotate(
            line,
            (x, y),
            (dx, -middle - CAP_HEIGHT / 2 * size),
            textcoords="offset points",
            ha=align,
            va="baseline",
            fontsize=size,
            color=color,
            fontweight=700 if bold else 400,
            annotation_clip=False,
            parse_math=False,  # a name may hold a dollar
        )


def scale_x(ax: Axes, ticks: Mapping[float, str], title: str = "") -> None:
    """Label the horizontal axis below its frame, with a short tick at each label."""
    ax.set_xticks(list(ticks), labels=[])
    below = -8 - CAP_HEIGHT * SMALL
    for value, words in ticks.items():
        _label(ax, (value, 0), ax.get_xaxis_transform(), words, (0, below), "center")
    if title:
        _label(ax, (0.5, 0), ax.transAxes, title, (0, below - LEADING * SMALL - 2), "center")


def scale_y(ax: Axes, ticks: Mapping[float, str], title: str = "", *, grid: bool = True) -> None:
    """Label the vertical axis left of its frame, with a grid line or a tick at each label.

    The title stands above the axis, where it can be read without turning one's head.
    """
    ax.set_yticks(list(ticks), labels=[])
    ax.grid(grid, axis="y")
    ax.tick_params(axis="y", length=0 if grid else 4)
    ax.spines["left"].set_visible(not grid)
    for value, words in ticks.items():
        middle = (-8, -CAP_HEIGHT / 2 * SMALL)
        _label(ax, (0, value), ax.get_yaxis_transform(), words, middle, "right")
    if title:
        _label(ax, (0, 1), ax.transAxes, title, (0, 10), "left")


def _label(
    ax: Axes,
    point: tuple[float, float],
    frame: Transform,
    words: str,
    shift: tuple[float, float],
    align: Literal["left", "center", "right"],
) -> None:
    ax.annotate(
        words,
        point,
        shift,
        xycoords=frame,
        textcoords="offset points",
        ha=align,
        va="baseline",
        color=MUTED,
        fontsize=SMALL,
        annotation_clip=False,
    )
