"""Energy of arithmetic against energy of fetching an operand."""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.axes import Axes

from wallsite import lessons, tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.units import format_number, scale

ARITHMETIC = ("int8-add", "int32-add", "fp32-add", "int32-mul", "fp32-mul")
MEMORIES = ("sram-8k", "sram-32k", "sram-1m")
DRAM = ("dram-min", "dram-max")
YARDSTICK = "fp32-mul"


class Data(NamedTuple):
    """Energies in J by id, of DRAM the least and the most, and what the table says of itself."""

    energies: dict[str, float]
    dram: tuple[float, float]
    premises: dict[str, str]

    @property
    def ratios(self) -> tuple[float, float]:
        """Multiplications that one DRAM access costs, least and most."""
        least, most = self.dram
        return least / self.energies[YARDSTICK], most / self.energies[YARDSTICK]


def data() -> Data:
    """Read the table of energies."""
    least, most = (tables.energy(name).si for name in DRAM)
    return Data(
        {name: tables.energy(name).si for name in ARITHMETIC + MEMORIES},
        (least, most),
        {
            name: f"{lessons.quantity(f'intro.{quantity}').value:g}"
            for name, quantity in (("process",) * 2, ("voltage",) * 2, ("bits", "access"))
        },
    )


def _sram(name: str) -> str:
    size = lessons.quantity(f"intro.{name.replace('-', '_')}")
    return f"SRAM {size.value:g} {size.unit}"


_LEFT, _TOP, _WIDTH, _ROW = 104.0, 10.0, 248.0, 25.0


def draw(lang: str) -> Drawing:
    """Draw one dot for each operation, and a bar for the range of DRAM."""
    numbers, words = data(), texts(__file__, lang)
    called = words.names | {name: _sram(name) for name in MEMORIES}
    pico = scale("pJ")
    height = _ROW * (len(ARITHMETIC) + len(MEMORIES) + 3)
    fig = style.figure(_TOP + height + 48)
    ax = style.axes(fig, _LEFT, _TOP, _WIDTH, height)
    ax.set_xscale("log")
    ax.set_xlim(0.01, 5e3)
    ax.set_ylim(height / _ROW, 0)
    decades = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    style.scale_x(
        ax,
        {value: format_number(value) if value >= 1 else f"{value:g}" for value in decades},
        words.axis,
    )
    style.scale_y(ax, {})
    ax.grid(axis="x")

    least, most = (end / pico for end in numbers.dram)
    dram, dram_text = "dram", labels.span(numbers.dram, "pJ", 4).removesuffix(" pJ")
    groups = (
        (words.arithmetic, ARITHMETIC, style.COMPUTE),
        (words.access.format(**numbers.premises), (*MEMORIES, dram), style.MEMORY),
    )
    row = 0.0
    for heading, names, color in groups:
        style.write(ax, 0.01, row + 0.55, heading, dx=-10, align="right", color=color, bold=True)
        row += 1
        for name in names:
            y = row + 0.5
            style.write(ax, 0.01, y, called[name], dx=-10, align="right")
            if name == dram:
                ax.plot((least, most), (y, y), color=color, lw=9, solid_capstyle="butt")
                style.write(ax, least, y, dram_text, dx=-8, align="right", color=color, bold=True)
            else:
                value = numbers.energies[name] / pico
                ax.plot(value, y, "o", color=color, ms=9)
                side = {"dx": 10} if value < 5 else {"dx": -10, "align": "right"}
                style.write(ax, value, y, labels.significant(value), color=color, **side)
            row += 1
    _compare(ax, numbers, words)
    ratios = [labels.significant(ratio) for ratio in numbers.ratios]
    sram = [numbers.energies[name] / pico for name in MEMORIES]
    fill = numbers.premises | {
        "least": ratios[0],
        "most": ratios[1],
        "int8": labels.significant(numbers.energies["int8-add"] / pico),
        "mul": labels.significant(numbers.energies[YARDSTICK] / pico),
        "sram_least": labels.significant(sram[0]),
        "sram_most": labels.significant(sram[-1]),
        "dram": dram_text,
    }
    rows = [
        (
            called[name],
            labels.significant(value / pico),
            labels.significant(value / numbers.energies[YARDSTICK]),
        )
        for name, value in numbers.energies.items()
    ]
    rows.append((called[dram], dram_text, "–".join(ratios)))
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, tuple((name, f"{value} pJ", times) for name, value, times in rows)),
    )


def _compare(ax: Axes, numbers: Data, words: Any) -> None:
    """Span the gap between one multiplication and one access to DRAM."""
    pico = scale("pJ")
    start, (end, _) = numbers.energies[YARDSTICK] / pico, (value / pico for value in numbers.dram)
    multiply, between, dram = len(ARITHMETIC) + 0.5, len(ARITHMETIC) + 1.5, ax.get_ylim()[0] - 0.5
    for x, row in ((start, multiply), (end, dram)):
        ax.plot((x, x), (row, between), color=style.INK, lw=1, ls=(0, (2, 2)), zorder=1)
    ax.annotate(
        "",
        (end, between),
        (start, between),
        arrowprops={"arrowstyle": "<->", "color": style.INK, "shrinkA": 0, "shrinkB": 0},
    )
    ratio = words.ratio.format("–".join(labels.significant(value) for value in numbers.ratios))
    style.write(
        ax, (start * end) ** 0.5, between, ratio, dy=-11, align="center", bold=True, size=style.SIZE
    )
