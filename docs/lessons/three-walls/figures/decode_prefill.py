"""Where decode and prefill of a 7B model fall on the roofline of H100."""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.axes import Axes

from wallsite import lessons, tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.roofline import attainable
from wallsite.units import format_number, format_quantity, scale
from wallsite.workload import decode, kv_bytes_per_token, prefill

from . import roofline

MODEL, GROUPED = "llama-2-7b", "llama-3-8b"
BATCHES = (1, 32, 256)


class Lane(NamedTuple):
    """One phase of inference: its intensity by weights alone, and with the KV cache, FLOP/byte.

    Attributes:
        batch: sequences decoded together; None for prefill.
        cache: bytes of KV cache read or written in the step.
        share: of the chip's peak that it can reach at most.
    """

    batch: int | None
    weights_only: float
    intensity: float
    cache: float
    share: float


class Data(NamedTuple):
    """The roof, what is placed under it, and the intensity that no decode batch exceeds.

    Attributes:
        grouped_cap: the same limit for a model with grouped-query attention.
    """

    roof: roofline.Roof
    prompt: int
    context: int
    lanes: tuple[Lane, ...]
    cap: float
    grouped_cap: float


def data() -> Data:
    """Compute from the tables and the workload model."""
    roof = roofline.data()[roofline.MAIN]
    prompt, context = (
        round(lessons.quantity(name).si) for name in ("memory.prompt", "memory.context")
    )
    params, token = _shape(MODEL)
    grouped_params, grouped_token = _shape(GROUPED)

    def share(intensity: float) -> float:
        return attainable(intensity, roof.peak, roof.bandwidth) / roof.peak

    lanes = []
    for batch in BATCHES:
        intensity = decode(params, batch, context, token).intensity
        alone = decode(params, batch).intensity
        lanes.append(Lane(batch, alone, intensity, batch * context * token, share(intensity)))
    alone, intensity = (
        prefill(params, prompt).intensity,
        prefill(params, prompt, 1, token).intensity,
    )
    lanes.append(Lane(None, alone, intensity, prompt * token, share(intensity)))
    return Data(
        roof,
        prompt,
        context,
        tuple(lanes),
        cap=2 * params / (context * token),
        grouped_cap=2 * grouped_params / (context * grouped_token),
    )


def _shape(name: str) -> tuple[float, float]:
    """Parameters of a model, and bytes of KV cache for each of its tokens."""
    model = tables.model(name)
    if not (model.layers and model.kv_heads and model.head_dim):
        raise ValueError(f"the tables lack the shape of {model.name}")
    shape = (model.layers, model.kv_heads, model.head_dim)
    return model.params.si, kv_bytes_per_token(*(round(part.si) for part in shape))


_LEFT, _WIDTH, _ROOF, _LANE, _GAP = 93.0, 257.0, 150.0, 40.0, 26.0
_INTENSITIES = (0.5, 4e4)


def draw(lang: str) -> Drawing:
    """Draw the roof above, and the workloads in lanes below it on the same axis."""
    numbers, words = data(), texts(__file__, lang)
    roof = numbers.roof
    lanes_top, lanes_height = 36 + _ROOF + _GAP, _LANE * len(numbers.lanes)
    fig = style.figure(lanes_top + lanes_height + 46)
    top = style.axes(fig, _LEFT, 36, _WIDTH, _ROOF)
    roofline.prepare(top, _INTENSITIES, (1, 2500))
    roofline.draw_roof(top, roof, main=True)
    style.scale_x(top, {})
    style.scale_y(top, {10.0**n: format_number(10**n) for n in range(4)}, words.y, grid=False)
    ridge = labels.significant(roof.ridge)
    style.write(
        top,
        roof.ridge,
        roof.peak / scale("TFLOP/s"),
        f"{roof.name} {ridge}",
        dx=10,
        dy=-12,
        bold=True,
    )
    for lane in numbers.lanes:
        top.plot(
            lane.intensity, lane.share * roof.peak / scale("TFLOP/s"), "o", color=_color(lane), ms=6
        )

    ax = style.axes(fig, _LEFT, lanes_top, _WIDTH, lanes_height)
    ax.set_xscale("log")
    ax.set_xlim(*_INTENSITIES)
    ax.set_ylim(len(numbers.lanes), 0)
    style.scale_x(ax, {10.0**n: format_number(10**n) for n in range(5)}, words.x)
    style.scale_y(ax, {})
    ax.plot(
        (roof.ridge, roof.ridge),
        (-_GAP / _LANE, len(numbers.lanes)),
        color=style.INK,
        lw=1,
        ls=(0, (4, 3)),
        clip_on=False,
    )
    ax.plot(
        (numbers.cap, numbers.cap),
        (-_GAP / _LANE, len(BATCHES)),
        color=style.MEMORY,
        lw=1.2,
        clip_on=False,
    )
    style.write(ax, _INTENSITIES[0], len(BATCHES) + 0.5, words.key, dx=6, color=style.MUTED)
    names = [_name(words, numbers, lane) for lane in numbers.lanes]
    shares = [
        format_quantity(lane.share, "%", 0 if lane.share > 0.1 else 1) for lane in numbers.lanes
    ]
    for index, lane in enumerate(numbers.lanes):
        _draw_lane(ax, index, lane, names[index], shares[index])
    fill = {
        "chip": roof.name,
        "model": tables.model(MODEL).name,
        "grouped": tables.model(GROUPED).name,
        "grouped_cap": labels.significant(numbers.grouped_cap, 2),
        "ridge": ridge,
        "cap": labels.significant(numbers.cap, 2),
        "best": format_quantity(numbers.cap / roof.ridge, "%", 1),
        "context": format_number(numbers.context),
        "prompt": format_number(numbers.prompt),
        "batches": labels.listed(map(str, BATCHES), lang),
        "largest": BATCHES[-1],
        "alone": labels.listed(
            (labels.significant(lane.weights_only) for lane in numbers.lanes[:-1]), lang
        ),
        "intensities": labels.listed(
            (labels.significant(lane.intensity, 2) for lane in numbers.lanes[:-1]), lang
        ),
        "prefill": labels.significant(numbers.lanes[-1].intensity),
        "cache": format_quantity(numbers.lanes[-2].cache, "GB"),
    }
    style.write(
        ax,
        numbers.cap,
        0,
        words.cap.format(fill["cap"]),
        dx=4,
        dy=-9,
        color=style.MEMORY,
        bold=True,
    )
    style.write(ax, _INTENSITIES[1], 0, words.share, dy=-9, align="right", color=style.MUTED)
    rows = tuple(
        (
            name.replace("\n", " "),
            labels.significant(lane.weights_only),
            labels.significant(lane.intensity),
            format_quantity(lane.cache, "GB", 1),
            share,
        )
        for name, lane, share in zip(names, numbers.lanes, shares, strict=True)
    )
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, rows),
    )


def _name(words: Any, numbers: Data, lane: Lane) -> str:
    if lane.batch is None:
        return words.prefill.format(format_number(numbers.prompt))
    return words.decode.format(lane.batch)


def _color(lane: Lane) -> str:
    return style.COMPUTE if lane.batch is None else style.MEMORY


def _draw_lane(ax: Axes, index: int, lane: Lane, name: str, share: str) -> None:
    y = index + 0.5
    color = _color(lane)
    ax.axhline(index + 1, color=style.MUTED, lw=0.8, alpha=style.GRID)
    ax.plot((lane.intensity, lane.weights_only), (y, y), color=color, lw=1.5)
    ax.plot(lane.weights_only, y, "o", mfc=style.PAPER, mec=color, mew=1.5, ms=8)
    ax.plot(lane.intensity, y, "o", color=color, ms=9)
    style.write(ax, _INTENSITIES[0], y, name, dx=-10, align="right")
    style.write(ax, _INTENSITIES[1], y, f"≤ {share}", dx=-2, align="right", color=color, bold=True)
