"""A GPU as a floor plan: where its operations are done, and what brings the bytes to them.

The same plan stands on the page of each wall, with the part at stake lit: `floor_plan_compute`,
`floor_plan_memory` and `floor_plan_communication`.
"""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from wallsite import lessons, tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.units import format_number, scale

CHIP, SCALE_UP, SCALE_OUT = "h100-sxm", "nvlink4", "ib-ndr"
COMPUTE, MEMORY, COMMUNICATION = "compute", "memory", "communication"


class Data(NamedTuple):
    """What an H100 holds, in byte, and what it does and moves each second, per direction."""

    sms: int
    peak: float
    registers: float
    sram: float
    l2: float
    hbm: float
    bandwidth: float
    link: float
    network: float


def data() -> Data:
    """Read the tables; registers and SRAM are those of all SMs together."""
    chip = tables.accelerator(CHIP)
    sms = round(_stated("sms"))
    return Data(
        sms,
        chip.peak("bf16").si,
        sms * _stated("registers"),
        sms * _stated("sram"),
        _stated("l2"),
        chip.capacity.si,
        chip.bandwidth.si,
        *(tables.link(name).bandwidth.si for name in (SCALE_UP, SCALE_OUT)),
    )


def _stated(name: str) -> float:
    return lessons.quantity(f"intro.h100_{name}").si


_COLUMNS, _CELL, _STEP = 12, 10.5, 13.0
_DIE = (4.0, 34.0, 174.0, 220.0)  # left, top, width, height
_HBM = (256.0, 34.0, 100.0, 150.0)
_STACKS = 5
_HEIGHT = 362.0
_THICKEST = 40.0


def draw(lang: str) -> Drawing:
    """Draw the whole plan lit."""
    return drawing(lang, __file__, {COMPUTE, MEMORY, COMMUNICATION})


def drawing(lang: str, module: str, lit: set[str]) -> Drawing:
    """Draw the plan with some of its parts lit; the words of a module say which."""
    numbers, words, common = data(), texts(module, lang), texts(__file__, lang)
    fig, ax = style.canvas(_HEIGHT)
    mib = scale("MiB")
    fill = {
        "sms": format_number(numbers.sms),
        "peak": labels.rate(numbers.peak),
        "registers": f"{numbers.registers / mib:.0f} MiB",
        "sram": f"{numbers.sram / mib:.0f} MiB",
        "l2": f"{numbers.l2 / mib:.0f} MiB",
        "hbm": f"{numbers.hbm / 1e9:.0f} GB",
        "bandwidth": labels.bandwidth(numbers.bandwidth),
        "link": labels.bandwidth(numbers.link),
        "network": labels.bandwidth(numbers.network),
    }

    def color(part: str, own: str) -> str:
        return own if part in lit else style.MUTED

    compute, memory = color(COMPUTE, style.COMPUTE), color(MEMORY, style.MEMORY)
    comm = color(COMMUNICATION, style.COMM)
    left, top, width, height = _DIE
    _box(ax, _DIE, style.INK, filled=False)
    style.write(ax, left, top - 16, common.die, bold=True)
    places = (divmod(i, _COLUMNS) for i in range(numbers.sms))
    cells = (_cell(left + 10 + column * _STEP, top + 12 + row * _STEP) for row, column in places)
    together = Path.make_compound_path(*cells)  # a drawing with a box for each is twice as heavy
    ax.add_patch(PathPatch(together, fc=(compute, style.TINT), ec=compute, lw=1))
    middle = left + width / 2
    style.write(
        ax, middle, top + 174, common.sms.format(**fill), align="center", color=compute, bold=True
    )
    _box(ax, (left + 12, top + 190, width - 24, 22), memory, filled=True)
    style.write(ax, middle, top + 201, common.l2.format(**fill), align="center", color=memory)

    x, y, wide, high = _HBM
    style.write(ax, x, y - 16, common.hbm.format(**fill), color=memory, bold=True)
    for i in range(_STACKS):
        step = high / _STACKS
        _box(ax, (x, y + i * step, wide, step - 6), memory, filled=True)
    _wire(ax, (left + width, x), y + high / 2, _THICKEST, memory)
    style.write(
        ax,
        (left + width + x) / 2,
        y + high / 2,
        common.bandwidth.format(**fill),
        align="center",
        color=style.PAPER,
        bold=True,
    )
    style.write(ax, x, y + high + 34, common.inside.format(**fill), color=compute)

    for name, row in (("link", 278.0), ("network", 322.0)):
        thickness = max(1.0, _THICKEST * getattr(numbers, name) / numbers.bandwidth)
        ax.plot((left + 40, left + 40), (top + height, row), color=comm, lw=thickness)
        _wire(ax, (left + 40, x), row, thickness, comm)
        style.write(ax, left + 56, row - 14, fill[name], color=comm, bold=True)
        style.write(ax, x + 4, row, getattr(common, name), color=comm)
    return Drawing(
        fig,
        words.title,
        common.alt.format(**fill) + words.lit,
        common.caption,
        Table(
            common.headers,
            tuple(
                (name, *cells.format(**fill).split("|"))
                for name, cells in zip(common.parts, common.cells, strict=True)
            ),
        ),
    )


def _box(ax: Axes, frame: tuple[float, float, float, float], color: str, *, filled: bool) -> None:
    x, y, width, height = frame
    fill = (color, style.TINT) if filled else "none"
    ax.add_patch(Rectangle((x, y), width, height, fc=fill, ec=color, lw=1))


def _cell(x: float, y: float) -> Path:
    corners = [(x, y), (x + _CELL, y), (x + _CELL, y + _CELL), (x, y + _CELL), (x, y)]
    return Path(corners, closed=True)


def _wire(ax: Axes, ends: tuple[float, float], y: float, thickness: float, color: str) -> None:
    start, end = ends
    ax.add_patch(Rectangle((start, y - thickness / 2), end - start, thickness, fc=color, ec="none"))
