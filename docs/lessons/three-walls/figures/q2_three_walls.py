"""The walls of two NVIDIA and two Ascend chips side by side, uncertainty included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from wallsite import lessons, tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts

# Name, device, and the network port it has to itself. The 910B is sold in servers of several
# kinds, so its network has no one figure.
CHIPS = (
    ("H100", "h100-sxm", "ib-ndr"),
    ("B200", "b200", "ib-ndr"),
    ("910C", "ascend-910c", "cm384-roce"),
    ("910B", "ascend-910b", None),
)
BINNED, BINS = "910B", ("q2.lowest_bin_910b", "q2.highest_bin_910b")
BASE, PORTED = "H100", "910C"


class Chip(NamedTuple):
    """One chip. Each field holds what the sources say, the value we use first; SI units."""

    name: str
    peak: tuple[float, ...]
    bandwidth: tuple[float, ...]
    scale_up: tuple[float, ...]
    scale_out: tuple[float, ...]

    @property
    def ridge(self) -> tuple[float, ...]:
        """The ridge point, FLOP/byte, for every peak with every bandwidth."""
        return tuple(peak / bandwidth for peak in self.peak for bandwidth in self.bandwidth)


def data() -> dict[str, Chip]:
    """Read the tables, conflicts included."""
    return {name: _chip(name, device, network) for name, device, network in CHIPS}


def _chip(name: str, device: str, network: str | None) -> Chip:
    chip = tables.accelerator(device)
    if chip.link is None:
        raise ValueError(f"{chip.name} has no scale-up link in the tables")
    peak = _stated(chip.peak("fp16"))
    if name == BINNED:
        peak += tuple(lessons.quantity(each).si for each in BINS)
    scale_up = _stated(chip.link.bandwidth)
    if chip.link.quoted.per == "undeclared":
        # Nobody says whether the printed sum is one direction or both: it may be all of one.
        scale_up += (chip.link.parts * chip.link.quoted.si,)
    return Chip(
        name,
        peak,
        _stated(chip.fields["bandwidth"]),
        scale_up,
        _stated(tables.link(network).bandwidth) if network else (),
    )


def _stated(value: tables.Value) -> tuple[float, ...]:
    return value.si, *(other.si for other in value.alternatives)


_UNITS = ("TFLOP/s", "TB/s", "FLOP/byte", "GB/s", "GB/s")
_COLORS = (style.COMPUTE, style.MEMORY, style.ACCENT, style.COMM, style.COMM)
_LEFT, _LONGEST, _ROW, _PANEL = 44.0, 186.0, 19.0, 110.0


def draw(lang: str) -> Drawing:
    """Draw one group of bars for each height, in the colour of its wall."""
    chips, words = data(), texts(__file__, lang)
    panels = [
        [getattr(chip, field) for chip in chips.values()]
        for field in ("peak", "bandwidth", "ridge", "scale_up", "scale_out")
    ]
    fig, ax = style.canvas(_PANEL * len(panels))
    written = []
    for index, (heading, unit, color, values) in enumerate(
        zip(words.panels, _UNITS, _COLORS, panels, strict=True)
    ):
        top = index * _PANEL + 12
        style.write(ax, 4, top, heading, color=color, size=style.SIZE, bold=True)
        written.append([labels.span(each, unit) if each else words.unknown for each in values])
        longest = max(max(each) for each in values if each)
        for row, (name, each, text) in enumerate(zip(chips, values, written[-1], strict=True)):
            y = top + 22 + row * _ROW
            style.write(ax, 4, y, name)
            end = _bar(ax, y, each, _LONGEST / longest, color)
            style.write(ax, end, y, text, dx=6, color=color if each else style.MUTED)
    base, ported = chips[BASE], chips[PORTED]
    fill = {
        "base": base.name,
        "chip": ported.name,
        "peak": _share(ported.peak, base.peak),
        "memory": _share(ported.bandwidth, base.bandwidth),
        "up": _share(ported.scale_up, base.scale_up),
        "out": _share(ported.scale_out, base.scale_out),
        "hccs": labels.bandwidth(max(chips[BINNED].scale_up)),
        "panels": words.stop.join(
            words.each.format(
                panel=panel,
                values=labels.listed(
                    (f"{name} {text}" for name, text in zip(chips, row, strict=True)), lang
                ),
            )
            for panel, row in zip(words.panels, written, strict=True)
        ),
    }
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table((words.device, *words.panels), tuple(zip(chips, *written, strict=True))),
    )


def _share(part: Sequence[float], whole: Sequence[float]) -> str:
    return labels.span([value / whole[0] for value in part], "%", 2)


def _bar(ax: Axes, y: float, values: Sequence[float], size: float, color: str) -> float:
    """Draw the bar of one chip, and return where it ends."""
    if not values:
        return _LEFT
    low, high = _LEFT + min(values) * size, _LEFT + max(values) * size
    ax.plot((_LEFT, low), (y, y), color=color, lw=11, solid_capstyle="butt")
    if high > low:
        ax.plot((low, high), (y, y), color=color, lw=11, alpha=0.4, solid_capstyle="butt")
        used = _LEFT + values[0] * size
        ax.plot((used, used), (y - 7.5, y + 7.5), color=style.INK, lw=2, solid_capstyle="butt")
    return high
