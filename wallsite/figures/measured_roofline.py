"""Rooflines of measured machines, with the operations that were measured on them.

A roof is drawn from what was measured: the bandwidth of add or triad and the peak of a matrix
product. Devices of the catalog stand beside them with their specifications.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from wallsite import tables
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts
from wallsite.probes.results import Measurement, Result
from wallsite.roofline import attainable, ridge_point
from wallsite.units import format_number

# In this order; so many are told apart.
COLOURS = (style.MEMORY, style.COMPUTE, style.COMM, style.ACCENT)
MARKERS = {"axpy": "o", "softmax": "s", "gemv": "^", "gemm": "D"}
ROW = 18.0  # height of a line of the legend
PLOT = 260.0
LONGEST = 42  # letters of a name in the legend


class Machine(NamedTuple):
    """A roof, and the points under it.

    Attributes:
        name: of the device.
        dtype: of the roof's peak and of the points.
        peak: measured or specified, FLOP/s; None where none is published.
        bandwidth: measured or specified, byte/s.
        day: when it was measured, ``2026-12-01``; None for a device of the catalog.
        points: operations measured on it.
        cache: bytes of its last-level cache, None if not known.
    """

    name: str
    dtype: str
    peak: float | None
    bandwidth: float
    day: str | None
    points: tuple[Measurement, ...]
    cache: int | None

    @property
    def ridge(self) -> float | None:
        """Intensity where its two ceilings meet, FLOP/byte; None without a peak."""
        return None if self.peak is None else ridge_point(self.peak, self.bandwidth)

    def roof(self, intensity: float) -> float:
        """Attainable performance at an intensity, FLOP/s."""
        if self.peak is None:
            return intensity * self.bandwidth
        return attainable(intensity, self.peak, self.bandwidth)

    def cached(self, point: Measurement) -> bool:
        """Whether the operands stay in the cache, so that memory is no roof for the point."""
        return self.cache is not None and point.bytes_counted <= self.cache


def machines(
    results: Sequence[Result], devices: Sequence[str] = (), dtype: str | None = None
) -> list[Machine]:
    """Read the roofs and points off results and off the catalog.

    Args:
        results: each with a bandwidth and a matrix product in the type.
        devices: of the catalog, by id, name or alias.
        dtype: of peaks and points, in either case of letters; None takes that of the first
            result's operations, or of its first matrix product.

    Raises:
        ValueError: there are no results, or more roofs than can be told apart.
        NotMeasured: a result lacks the bandwidth or the product.
        UnknownName: no such device.
    """
    if not results:
        raise ValueError("results must hold at least one")
    if (count := len(results) + len(devices)) > len(COLOURS):
        raise ValueError(f"{len(COLOURS)} roofs at most can be told apart, got {count}")
    first = results[0]
    dtype = dtype and dtype.lower()
    if dtype is None:
        known = [x.dtype for x in first.select("operations")] or [*first.matmul_dtypes, "fp32"]
        dtype = known[0]
    found = [
        Machine(
            _name(result),
            dtype,
            result.matmul(dtype).performance,
            result.headline.bandwidth,
            result.started[:10],
            tuple(
                x for x in result.select("operations") if x.dtype == dtype and x.kernel in MARKERS
            ),
            result.device.last_level_cache,
        )
        for result in results
    ]
    for device in devices:
        chip = tables.accelerator(device)
        if chip.bandwidth is None:
            raise ValueError(f"no memory bandwidth is known for {chip.name}")
        peak = chip.peak(dtype).si if dtype in chip.dtypes else None
        found.append(Machine(chip.name, dtype, peak, chip.bandwidth.si, None, (), None))
    return found


def _name(result: Result) -> str:
    """Name of what was measured, without the marks that its vendor put into it."""
    name = result.device.name
    for mark in ("(R)", "(TM)", "(r)", "(tm)", " CPU", " Processor"):
        name = name.replace(mark, "")
    return f"{' '.join(name.split('@')[0].split())} / {result.backend}"


def compose(
    results: Sequence[Result],
    devices: Sequence[str] = (),
    lang: str = "en",
    dtype: str | None = None,
) -> Drawing:
    """Draw the roofs of results and devices over each other, and list them below.

    Must be called under `wallsite.figures.style.context`.

    Raises:
        ValueError, NotMeasured, UnknownName: as `machines`.
    """
    found, words = machines(results, devices, dtype), texts(__file__, lang)
    points = [point for machine in found for point in machine.points]
    kernels = [name for name in MARKERS if any(point.kernel == name for point in points)]
    hollow = any(machine.cached(point) for machine in found for point in machine.points)
    legend = ROW * (3 * len(found) + bool(kernels) + hollow)
    fig = style.figure(36 + PLOT + 52 + legend)
    ax = style.axes(fig, 56, 36, 284, PLOT)
    _scales(ax, found, points, words)
    for machine, colour in zip(found, COLOURS, strict=False):
        _draw(ax, machine, colour)
    frame = style.axes(fig, 0, 36 + PLOT + 46, style.WIDTH, legend)
    _legend(frame, found, kernels, words, words.hollow_short if hollow else "")

    measured, quoted = (
        [m.name for m in found if (m.day is not None) is own] for own in (True, False)
    )
    ridge = found[0].ridge
    assert ridge is not None  # what was measured has a peak
    fill = {
        "name": measured[0],
        "ridge": labels.significant(ridge),
        "roofs": words.semicolon.join(
            f"{m.name} {words.comma.join(_described(m, words, words.comma))}" for m in found
        ),
        "measured": labels.listed(measured, lang),
    }
    parts = [words.caption, words.quoted if quoted else "", words.hollow if hollow else ""]
    captions = (part.format(**fill, quoted=labels.listed(quoted, lang)) for part in parts if part)
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.space.join(captions),
        Table(words.headers, tuple(_rows(found))),
    )


def _described(machine: Machine, words: Any, between: str) -> tuple[str, str]:
    """Its rates, and its ridge point or why it has none."""
    rates = labels.bandwidth(machine.bandwidth)
    if machine.peak is None or machine.ridge is None:
        return rates, words.no_peak.format(dtype=machine.dtype)
    rates += f"{between}{_rate(machine.peak)} {machine.dtype}"
    return rates, f"{words.ridge} {labels.significant(machine.ridge)} FLOP/byte"


def _short(name: str) -> str:
    """Cut a name to what the legend has room for."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1].rstrip()}…"


def _rate(value: float) -> str:
    """FLOP/s in the unit that fits: a laptop and a GPU stand side by side."""
    return labels.rate(value) if value >= 1e12 else f"{labels.significant(value / 1e9)} GFLOP/s"


def _rows(found: Iterable[Machine]) -> Iterator[tuple[str, ...]]:
    for machine in found:
        yield _row(machine.name, machine.dtype, machine.ridge, machine.bandwidth, machine.peak)
        for x in machine.points:
            shape = " × ".join(map(format_number, x.shape))
            name = f"{x.kernel} {shape}"
            yield _row(name, x.dtype, x.intensity, x.bandwidth, x.performance)


def _row(
    name: str, dtype: str, intensity: float | None, bandwidth: float, performance: float | None
) -> tuple[str, ...]:
    numbers = (intensity, bandwidth / 1e9, performance and performance / 1e9)
    return (name, dtype, *("" if x is None else labels.significant(x) for x in numbers))


def _scales(ax: Axes, found: Sequence[Machine], points: Sequence[Measurement], words: Any) -> None:
    """Set the axes so that every roof bends inside them and every point lies inside."""
    ridges = [machine.ridge for machine in found if machine.ridge]
    rates = [x.performance for x in points] + [m.peak for m in found if m.peak]
    intensities = [x.intensity for x in points]
    left, right = min([*intensities, min(ridges) / 8]) / 2, max([*intensities, *ridges]) * 3
    bottom = min(rates + [machine.roof(left) for machine in found]) / 1.5
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(_widened(left, right))
    ax.set_ylim(_widened(bottom / 1e9, max(rates) * 2 / 1e9))
    style.scale_x(ax, _decades(*ax.get_xlim()), words.x)
    style.scale_y(ax, _decades(*ax.get_ylim()), words.y, grid=False)


def _widened(low: float, high: float) -> tuple[float, float]:
    """Move the ends of a scale out to whole decades, if fewer than two lie between them."""
    if len(_decades(low, high)) >= 2:
        return low, high
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def _decades(low: float, high: float) -> dict[float, str]:
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return {10.0**n: format_number(10.0**n, max(0, -n)) for n in powers}


def _draw(ax: Axes, machine: Machine, colour: str) -> None:
    left, right = ax.get_xlim()
    top = 1e9 * ax.get_ylim()[1]
    bend = machine.ridge or top / machine.bandwidth
    x = (left, bend) if machine.ridge is None else (left, bend, right)
    _line(ax, x, [machine.roof(value) / 1e9 for value in x], machine, colour)
    if machine.peak:
        ax.plot(bend, machine.peak / 1e9, "o", color=colour, ms=6)
    for point in machine.points:
        _mark(
            ax,
            point.intensity,
            point.performance / 1e9,
            point.kernel,
            colour,
            machine.cached(point),
        )


def _line(ax: Axes, x: Sequence[float], y: Sequence[float], machine: Machine, colour: str) -> None:
    """Draw what was measured in one piece, and what is quoted in dashes."""
    if machine.day is not None:
        ax.plot(x, y, color=colour, lw=2.4)
    else:
        ax.plot(x, y, color=colour, lw=1.6, ls=(0, (5, 3)))


def _mark(ax: Axes, x: float, y: float, kernel: str, colour: str, hollow: bool) -> None:
    fill = style.PAPER if hollow else colour
    ax.plot(x, y, MARKERS[kernel], color=colour, mfc=fill, mew=1.4, ms=6.5, clip_on=False)


def _legend(
    ax: Axes, found: Sequence[Machine], kernels: Sequence[str], words: Any, hollow: str
) -> None:
    """List the roofs and the kinds of points below the plot, where nothing can cover them."""
    rows = 3 * len(found) + bool(kernels) + bool(hollow)
    ax.set_axis_off()
    ax.set_xlim(0, style.WIDTH)
    ax.set_ylim(rows, 0)
    for i, (machine, colour) in enumerate(zip(found, COLOURS, strict=False)):
        top = 3 * i + 0.5
        _line(ax, (8, 34), (top, top), machine, colour)
        style.write(ax, 42, top, _short(machine.name), bold=True)
        rates, ridge = _described(machine, words, ", ")
        said = words.catalog if machine.day is None else words.measured.format(day=machine.day)
        style.write(ax, 42, top + 1, rates, color=style.MUTED)
        style.write(ax, 42, top + 2, f"{said}{words.colon}{ridge}", color=style.MUTED)
    for i, kernel in enumerate(kernels):
        _mark(ax, 25 + 80 * i, 3 * len(found) + 0.5, kernel, style.INK, hollow=False)
        style.write(ax, 38 + 80 * i, 3 * len(found) + 0.5, kernel)
    if hollow:
        style.write(ax, 42, rows - 0.5, hollow)
