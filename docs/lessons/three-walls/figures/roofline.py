"""The roofline of H100, with three other chips' behind it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from wallsite import tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.roofline import attainable, ridge_point
from wallsite.units import format_number, scale

CHIPS = (
    ("A100", "a100-sxm-80gb"),
    ("H100", "h100-sxm"),
    ("H200", "h200-sxm"),
    ("B200", "b200"),
)
MAIN = "H100"


class Roof(NamedTuple):
    """A chip's dense bf16 peak, FLOP/s, and memory bandwidth, byte/s."""

    name: str
    peak: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """Intensity where its two ceilings meet, FLOP/byte."""
        return ridge_point(self.peak, self.bandwidth)


def data() -> dict[str, Roof]:
    """Read the tables."""
    chips = ((name, tables.accelerator(device)) for name, device in CHIPS)
    return {
        name: Roof(name, chip.peak("bf16").si, chip.fields["bandwidth"].si) for name, chip in chips
    }


def prepare(ax: Axes, intensities: tuple[float, float], rates: tuple[float, float]) -> None:
    """Set up the two logarithmic axes of a roofline, the vertical one in TFLOP/s."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*intensities)
    ax.set_ylim(*rates)


def draw_roof(ax: Axes, roof: Roof, *, main: bool) -> None:
    """Draw one roof: slope in the colour of memory, flat in the colour of compute, or both grey."""
    tera = scale("TFLOP/s")
    left, right = ax.get_xlim()
    x = np.array([left, roof.ridge, right])
    y = np.array([attainable(value, roof.peak, roof.bandwidth) for value in x]) / tera
    if not main:
        ax.plot(x, y, color=style.MUTED, lw=1.2, alpha=0.8)
        ax.plot(x[1], y[1], "o", color=style.MUTED, ms=4.5)
        return
    bottom = ax.get_ylim()[0]
    ax.fill_between(x[:2], y[:2], bottom, color=style.MEMORY, alpha=style.TINT, lw=0)
    ax.fill_between(x[1:], y[1:], bottom, color=style.COMPUTE, alpha=style.TINT, lw=0)
    ax.plot(x[:2], y[:2], color=style.MEMORY, lw=3, solid_capstyle="butt")
    ax.plot(x[1:], y[1:], color=style.COMPUTE, lw=3, solid_capstyle="butt")
    ax.plot((x[1], x[1]), (bottom, y[1]), color=style.INK, lw=1, ls=(0, (4, 3)))
    ax.plot(x[1], y[1], "o", color=style.INK, ms=8)


def draw(lang: str) -> Drawing:
    """Draw all roofs, and name the two sides of the main one."""
    roofs, words = data(), texts(__file__, lang)
    main = roofs[MAIN]
    tera = scale("TFLOP/s")
    fig = style.figure(384)
    ax = style.axes(fig, 44, 36, 290, 292)
    prepare(ax, (1, 1e4), (1, 5000))
    style.scale_x(ax, {10.0**n: format_number(10**n) for n in range(5)}, words.x)
    style.scale_y(ax, {10.0**n: format_number(10**n) for n in range(4)}, words.y, grid=False)
    for roof in roofs.values():
        draw_roof(ax, roof, main=roof is main)

    ridge = {name: labels.significant(roof.ridge) for name, roof in roofs.items()}
    for name, dy in (("B200", -9), ("H100", -11), ("H200", 11), ("A100", -9)):
        style.write(
            ax,
            1e4,
            roofs[name].peak / tera,
            f"{name} {words.short} {ridge[name]}",
            dx=-6,
            dy=dy,
            align="right",
            color=style.INK if name == MAIN else style.MUTED,
            bold=name == MAIN,
        )
    rivals = [
        x.si for x in tables.accelerator(dict(CHIPS)["B200"]).fields["bandwidth"].alternatives
    ]
    ridges = [labels.significant(ridge_point(roofs["B200"].peak, rival)) for rival in rivals]
    rival = words.rival.format(
        chosen=labels.bandwidth(roofs["B200"].bandwidth),
        other=labels.listed(map(labels.bandwidth, rivals), lang),
        other_ridge=labels.listed(ridges, lang),
    )
    fill = {
        "rival": rival if rivals else "",
        "chip": main.name,
        "ridge": ridge[MAIN],
        "peak": labels.rate(main.peak),
        "bandwidth": labels.bandwidth(main.bandwidth),
        "others": labels.listed((ridge[name] for name in roofs if name != MAIN), lang),
    }
    style.write(ax, main.ridge, 40, words.ridge.format(**fill), dx=8, bold=True)
    style.write(
        ax, main.ridge, 4, words.memory, dx=-8, align="right", color=style.MEMORY, bold=True
    )
    style.write(ax, main.ridge, 4, words.compute, dx=8, color=style.COMPUTE, bold=True)
    rows = tuple(
        (name, labels.rate(roof.peak), labels.bandwidth(roof.bandwidth), f"{ridge[name]} FLOP/byte")
        for name, roof in roofs.items()
    )
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, rows),
    )
