"""Growth of models against growth of chips, both from the same year and over the same years."""

from __future__ import annotations

import math
from typing import NamedTuple

from wallsite import tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
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


class Words(NamedTuple):
    """What the figure says."""

    title: str
    alt: str
    caption: str
    axis: str
    models: str
    chips: str
    per_year: str
    rumour: str
    headers: tuple[str, ...]
    unconfirmed: str


WORDS = {
    "zh": Words(
        title="{first} 到 {last} 年，模型参数涨到 {models} 倍，单卡算力涨到 {chips} 倍",
        alt=(
            "折线图，横轴是年份，纵轴是相对 {first} 年的倍数，对数刻度。模型参数从 BERT-Large 的 "
            "{smallest} 到 Llama 3.1 405B，{models} 倍，每年 {models_yearly} 倍；单卡稠密 FP16/"
            "BF16 算力从 V100 到 B200，{chips} 倍，每年 {chips_yearly} 倍。GPT-4 的参数量只是传闻，"
            "用空心点画在折线之外。"
        ),
        caption=(
            "两条线取同一时间窗，以 {first} 年的 BERT-Large 和 V100 为一。算力只取稠密 FP16/BF16。"
            "纵轴是对数，直线就是指数增长：两条线都在指数增长，只是底数不同。GPT-4 的参数量从未获官"
            "方证实，不参与计算。"
        ),
        axis="相对 {first} 年的倍数",
        models="模型参数",
        chips="单卡算力（TFLOP/s）",
        per_year="每年 {0} 倍",
        rumour="GPT-4 {0}（传闻）",
        headers=("名称", "年份", "数值", "相对 {first} 年"),
        unconfirmed="（传闻）",
    ),
    "en": Words(
        title=(
            "From {first} to {last} model parameters grew {models}-fold and the FLOP/s of one "
            "chip {chips}-fold"
        ),
        alt=(
            "Lines over years on a logarithmic axis of growth since {first}. Parameters go from "
            "BERT-Large’s {smallest} to Llama 3.1 405B, {models} times, or {models_yearly} times a "
            "year. The dense FP16/BF16 peak of one chip goes from V100 to B200, {chips} times, or "
            "{chips_yearly} times a year. GPT-4, whose size is a rumor, is a hollow dot off the "
            "line."
        ),
        caption=(
            "Both lines cover the same years and start at one with BERT-Large and V100 in {first}. "
            "Peaks are dense FP16/BF16. On a logarithmic axis a straight line is exponential "
            "growth: both are exponential, with different bases. OpenAI never confirmed the size "
            "of GPT-4, and no ratio here uses it."
        ),
        axis="Growth since {first}",
        models="Model parameters",
        chips="One chip’s TFLOP/s",
        per_year="{0}× a year",
        rumour="GPT-4 {0} (rumor)",
        headers=("Name", "Year", "Value", "Against {first}"),
        unconfirmed=" (rumor)",
    ),
}


def _billions(params: float) -> str:
    billions = params / scale("billion")
    return (
        f"{labels.significant(billions)}B"
        if billions < 1e3
        else f"{labels.significant(billions / 1e3)}T"
    )


def draw(lang: str) -> Drawing:
    """Draw both series as growth since their common first year."""
    numbers, words = data(), WORDS[lang]
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
    fig = style.figure(360)
    ax = style.axes(fig, 62, 40, 372, 286)
    ax.set_xlim(first - 0.15, last + 2.1)
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
