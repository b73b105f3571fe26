"""A matrix product in tiles, step by step: what is read, what stays on the chip."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from wallsite import lessons
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.units import format_number, scale
from wallsite.workload import ELEMENT_BYTES

SIDES = (16, 64, 128, 256)


class Tile(NamedTuple):
    """Side of a square tile; intensity of the product, FLOP/byte; room of three tiles, byte."""

    side: int
    intensity: float
    room: float


def data() -> tuple[Tile, ...]:
    """Compute tiles of two factors in BF16, whose sums are in FP32.

    A step does 2·t³ operations on the 2·t² numbers it reads.
    """
    factor, total = ELEMENT_BYTES["bf16"], ELEMENT_BYTES["fp32"]
    return tuple(
        Tile(t, 2 * t**3 / (2 * t**2 * factor), t**2 * (2 * factor + total)) for t in SIDES
    )


_TILES = 3
_CELL = 14.5
_PANEL = (168.0, 112.0)  # width and height
_MATRICES = (0.0, 56.0, 112.0)  # left edges of A, B, C in a panel
_TARGET = 1  # row and column of the tile of C that is computed


def draw(lang: str) -> Drawing:
    """Draw the steps beside each other; the page lets a reader go through them."""
    words, tiles = texts(__file__, lang), data()
    width, height = _PANEL
    fig = style.figure(2 * height + 10)
    for step, heading in enumerate(words.steps):
        down, right = divmod(step, 2)
        ax = style.axes(fig, 6 + right * (width + 16), 10 + down * height, width, height)
        ax.set_axis_off()
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        ax.set_gid(f"step-{step}")
        _panel(ax, step, heading)
    sram = lessons.quantity("intro.h100_sram").si
    kib = scale("KiB")
    fits = max((tile for tile in tiles if tile.room <= sram), key=lambda tile: tile.side)
    fill = {
        "side": format_number(fits.side),
        "intensity": labels.significant(fits.intensity),
        "room": f"{fits.room / kib:.0f} KiB",
        "sram": f"{sram / kib:.0f} KiB",
    }
    rows = tuple(
        (format_number(t.side), labels.significant(t.intensity), f"{t.room / kib:.0f} KiB")
        for t in tiles
    )
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, rows),
    )


def _panel(ax: Axes, step: int, heading: str) -> None:
    """Draw A, B and C; the step reads a tile of A and one of B, the last writes that of C."""
    style.write(ax, 0, 8, heading, bold=True)
    for name, x in zip("ABC", _MATRICES, strict=True):
        side = _TILES * _CELL
        lines = [i * _CELL for i in range(_TILES + 1)]
        grid = [Path([(x + at, 24), (x + at, 24 + side)]) for at in lines]
        grid += [Path([(x, 24 + at), (x + side, 24 + at)]) for at in lines]
        ax.add_patch(PathPatch(Path.make_compound_path(*grid), fc="none", ec=style.MUTED, lw=1))
        for row, column, color, shade in _filled(name, step):
            place = (x + column * _CELL, 24 + row * _CELL)
            ax.add_patch(Rectangle(place, _CELL, _CELL, fc=(color, shade), ec=color, lw=1))
        style.write(ax, x + side / 2, 34 + side, name, align="center")
    for sign, x in (("×", 49.75), ("=", 105.75)):
        style.write(ax, x, 24 + _TILES * _CELL / 2, sign, align="center")


def _filled(matrix: str, step: int) -> list[tuple[int, int, str, float]]:
    """Row, column, colour and opacity of the tiles of a matrix that are on the chip or were."""
    if matrix == "C":
        done = step == _TILES
        color, shade = (style.MEMORY, 1.0) if done else (style.COMPUTE, (step + 1) / _TILES)
        return [(_TARGET, _TARGET, color, shade)]
    places = [(_TARGET, i) if matrix == "A" else (i, _TARGET) for i in range(min(step + 1, _TILES))]
    return [
        (*place, style.MEMORY, 1.0 if i == step else style.TINT) for i, place in enumerate(places)
    ]
