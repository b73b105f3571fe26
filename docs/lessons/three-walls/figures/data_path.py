"""Home page: how many operations a chip could do while one byte arrives, by where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

from wallsite import tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.roofline import ridge_point
from wallsite.units import format_number

CHIP, SCALE_UP, SCALE_OUT = "h100-sxm", "nvlink4", "ib-ndr"


class Data(NamedTuple):
    """The chip's dense bf16 peak, FLOP/s, and bandwidths toward it, byte/s, nearest first."""

    chip: str
    peak: float
    bandwidths: tuple[float, ...]

    @property
    def waiting(self) -> tuple[float, ...]:
        """FLOPs the chip could do while one byte arrives."""
        return tuple(ridge_point(self.peak, bandwidth) for bandwidth in self.bandwidths)


def data() -> Data:
    """Read the tables."""
    chip = tables.accelerator(CHIP)
    links = (tables.link(SCALE_UP), tables.link(SCALE_OUT))
    return Data(
        "H100",
        chip.peak("bf16").si,
        (chip.fields["bandwidth"].si, *(link.bandwidth.si for link in links)),
    )


_CHIP_LEFT, _CHIP_RIGHT = 6.0, 98.0
_ROWS = (92.0, 200.0, 288.0)
_ENDS = (236.0, 250.0, 244.0)
_HEIGHT = 318.0
_THICKEST = 92.0


def draw(lang: str) -> Drawing:
    """Draw arrows into the chip, as thick as their bandwidth, and the price of a byte on each."""
    numbers, words = data(), texts(__file__, lang)
    fig, ax = style.canvas(_HEIGHT)
    bandwidths = [labels.bandwidth(value) for value in numbers.bandwidths]
    waiting = [format_number(value) for value in numbers.waiting]

    chip = (_CHIP_RIGHT - _CHIP_LEFT, _HEIGHT - 24)
    ax.add_patch(Rectangle((_CHIP_LEFT, 12), *chip, fc=style.COMPUTE, ec="none", alpha=style.TINT))
    ax.add_patch(Rectangle((_CHIP_LEFT, 12), *chip, fc="none", ec=style.COMPUTE, lw=1.5))
    middle = (_CHIP_LEFT + _CHIP_RIGHT) / 2
    style.write(ax, middle, _HEIGHT / 2 - 22, numbers.chip, align="center", size=22, bold=True)
    style.write(
        ax,
        middle,
        _HEIGHT / 2 + 12,
        f"{labels.rate(numbers.peak)}\n{words.dtype}",
        align="center",
        color=style.COMPUTE,
    )
    style.write(ax, style.WIDTH - 6, 24, words.question, align="right", color=style.MUTED)

    for index, (y, end) in enumerate(zip(_ROWS, _ENDS, strict=True)):
        color = style.MEMORY if index == 0 else style.COMM
        thickness = _THICKEST * numbers.bandwidths[index] / numbers.bandwidths[0]
        _arrow(ax, _CHIP_RIGHT + 4, end, y, thickness, color)
        label = f"{words.sources[index]}\n{bandwidths[index]}"
        if index == 0:
            style.write(
                ax,
                (_CHIP_RIGHT + end) / 2 + 10,
                y,
                label,
                align="center",
                color=style.PAPER,
                bold=True,
            )
        else:
            style.write(ax, _CHIP_RIGHT + 34, y, label, dy=-thickness / 2 - 22, color=color)
        style.write(
            ax,
            style.WIDTH - 6,
            y,
            waiting[index],
            dy=-8,
            align="right",
            size=26,
            color=color,
            bold=True,
        )
        style.write(ax, style.WIDTH - 6, y, words.unit, dy=15, align="right", color=style.MUTED)

    fill = {
        "chip": numbers.chip,
        "peak": labels.rate(numbers.peak),
        "near": waiting[0],
        "far": waiting[-1],
        "bandwidths": bandwidths,
        "waiting": waiting,
    }
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, tuple(zip(words.sources, bandwidths, waiting, strict=True))),
    )


def _arrow(ax: Axes, tip: float, end: float, y: float, thickness: float, color: str) -> None:
    """Draw an arrow that ends at the chip; its shaft is to scale, its head only shows the way."""
    half, head = thickness / 2, max(4.0, thickness / 2 + 8)
    neck = tip + min(26.0, 2 * head)
    corners = [
        (tip, y),
        (neck, y - head),
        (neck, y - half),
        (end, y - half),
        (end, y + half),
        (neck, y + half),
        (neck, y + head),
    ]
    ax.add_patch(Polygon(corners, fc=color, ec="none"))
