"""Growth of models against growth of chips, both from the same year and over the same years."""

from __future__ import annotations

import math
from typing import NamedTuple

from wallsite import tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.units import format_number, scale

MODELS = ("bert-large", "gpt-3", "llama-3.1-405b")
RUMOUR = "gpt-4-rumour"
CHIPS = (
    ("V100", "v100-sxm2-32gb"),
    ("A100", "a100-sxm-80gb"),
    ("H100", "h100-sxm"),
    ("B200", "b200"),
)


class Point(NamedTuple):
    """A model's parameters or a chip's dense fp16 peak in FLOP/s, and its growth from the first."""

    name: str
    year: int
    value: float
    growth: float


class Data(NamedTuple):
    """Both series, and the model whose size is only rumoured."""

    models: tuple[Point, ...]
    chips: tuple[Point, ...]
    rumour: Point

    @property
    def years(self) -> int:
        """Length of the window that both series cover."""
        return self.chips[-1].year - self.chips[0].year


def yearly(growth: float, years: int) -> float:
    """Growth in one year that makes ``growth`` over ``years``."""
    return math.pow(growth, 1 / years)


def data() -> Data:
    """Read the tables."""
    models = [tables.model(name) for name in MODELS]
    chips = [(name, tables.accelerator(device)) for name, device in CHIPS]
    rumour = tables.model(RUMOUR)
    least, slowest = models[0].params.si, chips[0][1].peak("fp16").si
    return Data(
        tuple(Point(m.name, m.year, m.params.si, m.params.si / least) for m in models),
        tuple(
            Point(name, chip.year, chip.peak("fp16").si, chip.peak("fp16").si / slowest)
            for name, chip in chips
        ),
        Point("GPT-4", rumour.year, rumour.params.si, rumour.params.si / least),
    )


def _billions(params: float) -> str:
    billions = params / scale("billion")
    return (
        f"{labels.significant(billions)}B"
        if billions < 1e3
        else f"{labels.significant(billions / 1e3)}T"
    )


def draw(lang: str) -> Drawing:
    """Draw both series as growth since their common first year."""
    numbers, words = data(), texts(__file__, lang)
    models, chips, rumour = numbers
    first, last = chips[0].year, chips[-1].year
    fill = {
        "first": str(first),
        "last": str(last),
        "smallest": _billions(models[0].value),
        "models": labels.significant(models[-1].growth, 4),
        "chips": labels.significant(chips[-1].growth),
        "models_yearly": labels.significant(yearly(models[-1].growth, numbers.years), 2),
        "chips_yearly": labels.significant(yearly(chips[-1].growth, numbers.years), 2),
    }
    fig = style.figure(374)
    ax = style.axes(fig, 62, 40, 292, 300)
    ax.set_xlim(first - 0.15, last + 2.7)
    ax.set_yscale("log")
    ax.set_ylim(0.16, 1.6e4)
    decades = (1, 10, 100, 1000, 10000)
    ticks = {float(value): f"{format_number(value)}×" for value in decades}
    style.scale_y(ax, ticks, words.axis.format(**fill), grid=False)
    style.scale_x(ax, {year: str(year) for year in range(first, last + 1, 2)})

    for points, color, marker, pace in (
        (models, style.INK, "o", fill["models_yearly"]),
        (chips, style.COMPUTE, "s", fill["chips_yearly"]),
    ):
        places = [point.year for point in points], [point.growth for point in points]
        ax.plot(*places, color=color, marker=marker, ms=7)
        growth = f"{labels.significant(points[-1].growth, 4)}×"
        place = (points[-1].year, points[-1].growth)
        style.write(ax, *place, growth, dx=12, dy=-17, color=color, size=style.LARGE, bold=True)
        style.write(ax, *place, words.per_year.format(pace), dx=12, dy=0, color=color)
    ax.plot(rumour.year, rumour.growth, "o", ms=8, mfc="none", mec=style.INK, mew=1.5)

    middle = (first + last) / 2 + 0.7
    style.write(ax, middle, models[1].growth, words.models, dy=18, align="center", bold=True)
    style.write(
        ax,
        middle,
        chips[-1].growth,
        words.chips,
        dy=-8,
        align="center",
        color=style.COMPUTE,
        bold=True,
    )
    bert, gpt3, llama = models
    style.write(ax, bert.year, bert.growth, f"{bert.name} {_billions(bert.value)}", dx=-4, dy=18)
    style.write(ax, gpt3.year, gpt3.growth, gpt3.name, dx=-6, dy=-16)
    style.write(ax, llama.year, llama.growth, llama.name, dx=6, dy=-16, align="right")
    whisper = words.rumour.format(_billions(rumour.value))
    style.write(ax, rumour.year, rumour.growth, whisper, dx=-12, align="right")
    for index, chip in enumerate(chips):
        label = f"{chip.name} {labels.significant(chip.value / scale('TFLOP/s'))}"
        dx, dy = (2, 19) if index else (-4, 36)
        style.write(ax, chip.year, chip.growth, label, dx=dx, dy=dy, color=style.COMPUTE)
    rows = [
        *((p.name, str(p.year), _billions(p.value), p.growth) for p in models),
        (rumour.name + words.unconfirmed, str(rumour.year), _billions(rumour.value), rumour.growth),
        *((p.name, str(p.year), labels.rate(p.value), p.growth) for p in chips),
    ]
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(
            tuple(header.format(**fill) for header in words.headers),
            tuple((*row[:3], f"{labels.significant(row[3], 4)}×") for row in rows),
        ),
    )
