"""Bandwidth of three generations at three distances from the cores."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes

from wallsite import tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.units import format_number, scale

# Device and the network it shipped with, one port for each GPU, oldest first.
GENERATIONS = (
    ("A100", "a100-sxm-80gb", "ib-hdr"),
    ("H100", "h100-sxm", "ib-ndr"),
    ("B300", "b300", "ib-xdr"),
)


class Generation(NamedTuple):
    """Bandwidth per GPU and per direction, byte/s: HBM, scale-up, scale-out."""

    name: str
    network: str
    bandwidths: tuple[float, float, float]

    @property
    def steps(self) -> tuple[float, float]:
        """How many times less there is at each step away from the cores."""
        near, middle, far = self.bandwidths
        return near / middle, middle / far


def data() -> tuple[Generation, ...]:
    """Read the tables."""
    return tuple(_generation(*names) for names in GENERATIONS)


def _generation(name: str, device: str, network: str) -> Generation:
    chip, port = tables.accelerator(device), tables.link(network)
    if chip.link is None:
        raise ValueError(f"{chip.name} has no scale-up link in the tables")
    return Generation(
        name,
        network.removeprefix("ib-").upper(),
        (chip.fields["bandwidth"].si, chip.link.bandwidth.si, port.bandwidth.si),
    )


_LEFT, _TOP, _WIDTH, _HEIGHT = 55.0, 46.0, 301.0, 330.0
_RISERS = (67.0, 157.0)  # of the oldest generation; each newer one is nested outside it
_SPACING = 27.0
_UNIT = "GB/s"


def draw(lang: str) -> Drawing:
    """Draw a nested staircase for each generation, on a logarithmic axis."""
    generations, words = data(), texts(__file__, lang)
    fig = style.figure(_TOP + _HEIGHT + 14)
    ax = style.axes(fig, _LEFT, _TOP, _WIDTH, _HEIGHT)
    ax.set_xlim(0, _WIDTH)
    ax.set_yscale("log")
    ax.set_ylim(1e10, 13e12)
    decades = (1e10, 1e11, 1e12, 1e13)
    style.scale_y(ax, {value: format_number(value / scale(_UNIT)) for value in decades}, grid=False)
    style.write(ax, 0, ax.get_ylim()[1], _UNIT, dx=-8, dy=-12, align="right", color=style.MUTED)
    style.scale_x(ax, {})
    ax.spines["bottom"].set_visible(False)

    columns = (2.0, _RISERS[0] + 2 * _SPACING + 6, _RISERS[1] + 2 * _SPACING + 6)
    colors = (style.MEMORY, style.COMM, style.COMM)
    for x, place, color in zip(columns, words.places, colors, strict=True):
        style.write(ax, x, ax.get_ylim()[1], place, dy=-22, color=color, bold=True, size=style.SIZE)
    for index, generation in enumerate(generations):
        _stairs(ax, index, generation, columns)

    shown = [[labels.bandwidth(value) for value in each.bandwidths] for each in generations]
    steps = [[f"÷{labels.significant(step, 2)}" for step in each.steps] for each in generations]
    every = [step for each in generations for step in each.steps]
    chosen = tables.accelerator(GENERATIONS[-1][1]).fields["bandwidth"]
    rivals = [labels.bandwidth(other.si) for other in chosen.alternatives]
    rival = words.rival.format(
        chosen=labels.bandwidth(chosen.si), other=labels.listed(rivals, lang)
    )
    fill = {
        "rival": rival if rivals else "",
        "least": labels.significant(min(every), 2),
        "most": labels.significant(max(every), 2),
        "generations": words.stop.join(
            words.each.format(*row, name=each.name, network=each.network)
            for row, each in zip(shown, generations, strict=True)
        ),
    }
    rows = tuple(
        (each.name, near, middle, f"{each.network} {far}", *falls)
        for each, (near, middle, far), falls in zip(generations, shown, steps, strict=True)
    )
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, rows),
    )


def _stairs(ax: Axes, index: int, generation: Generation, columns: tuple[float, ...]) -> None:
    """Draw one generation: three treads, and two falls with the factor beside each."""
    edges = (2.0, *(riser + index * _SPACING for riser in _RISERS), _WIDTH)
    opacity = (0.55, 0.75, 1.0)[index]
    for step, value in enumerate(generation.bandwidths):
        color = style.MEMORY if step == 0 else style.COMM
        ax.plot(
            edges[step : step + 2],
            (value, value),
            color=color,
            lw=3.5,
            alpha=opacity,
            solid_capstyle="butt",
        )
        words = labels.bandwidth(value)
        if step == 0:
            words = f"{generation.name} {words}"
        elif step == 2:
            words = f"{generation.network} {words}"
        style.write(ax, columns[step], value, words, dy=-9, color=color)
    for step, factor in enumerate(generation.steps):
        x, (above, below) = edges[step + 1], generation.bandwidths[step : step + 2]
        ax.plot((x, x), (above, below), color=style.MUTED, lw=1)
        place = above**0.65 * below**0.35  # clear of the next tread's label
        words = f"÷{labels.significant(factor, 2)}"
        style.write(ax, x, place, words, dx=4, color=style.MUTED)
