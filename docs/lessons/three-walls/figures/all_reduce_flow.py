"""How a ring all-reduce moves data, step by step, and how a hierarchy spares the network."""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path

from wallsite.collectives import ring_volume
from wallsite.figures import labels, style
from wallsite.figures.drawing import Drawing, Table
from wallsite.figures.texts import texts

RANKS, NODES = 4, 2


class State(NamedTuple):
    """Buffers of all ranks after a step.

    Attributes:
        summed: for each rank and chunk, how many ranks' gradients its value adds up.
        received: the (rank, chunk) pairs that the step brought in.
    """

    summed: tuple[tuple[int, ...], ...]
    received: frozenset[tuple[int, int]]


class Data(NamedTuple):
    """The states of a ring, and what one rank sends, in units of the buffer's size S.

    Attributes:
        sent: in the whole ring.
        inside: to its own node under the hierarchy.
        across: to the network under the hierarchy.
        flat: over the network by a ring that ignores nodes.
    """

    states: tuple[State, ...]
    sent: float
    inside: float
    across: float
    flat: float


def data() -> Data:
    """Simulate the ring, and take the volumes from the cost model."""
    return Data(
        ring(RANKS),
        sent=ring_volume(1, RANKS),
        inside=ring_volume(1, RANKS),
        across=ring_volume(1, NODES) / RANKS,
        flat=ring_volume(1, RANKS * NODES),
    )


def ring(ranks: int) -> tuple[State, ...]:
    """Simulate a ring all-reduce of as many chunks as ranks: the start, then 2(N−1) steps."""
    held = [[{rank} for _ in range(ranks)] for rank in range(ranks)]
    states = [_state(held, frozenset())]
    for step in range(2 * (ranks - 1)):
        # Each rank sends one chunk to the next. Going round once, a chunk collects every rank's
        # share; going round again, the finished chunk replaces the partial ones.
        messages = [
            ((rank + 1) % ranks, (rank - step) % ranks, held[rank][(rank - step) % ranks])
            for rank in range(ranks)
        ]
        for receiver, chunk, value in messages:
            held[receiver][chunk] = held[receiver][chunk] | value
        states.append(_state(held, frozenset((to, chunk) for to, chunk, _ in messages)))
    return tuple(states)


def _state(held: list[list[set[int]]], received: frozenset[tuple[int, int]]) -> State:
    return State(tuple(tuple(len(chunk) for chunk in rank) for rank in held), received)


_CELL, _PITCH, _LEFT = 15.5, 82.0, 50.0
_ROWS = (78.0, 200.0)  # top of the grids of the start and reduce-scatter, and of all-gather
_GPUS = tuple(26.0 + 47 * rank for rank in range(RANKS))
_MACHINES = (364.0, 452.0)


def draw(lang: str) -> Drawing:
    """Draw the buffers after each step of a ring, and below them the two-level scheme."""
    numbers, words = data(), texts(__file__, lang)
    half = RANKS - 1
    volumes = (numbers.sent, numbers.inside, numbers.across, numbers.flat)
    sent, inside, across, flat = (labels.significant(volume) for volume in volumes)
    fill = {
        "ranks": RANKS,
        "nodes": NODES,
        "half": half,
        "all": RANKS * NODES,
        "sent": sent,
        "inside": inside,
        "across": across,
        "flat": flat,
    }
    fig, ax = style.canvas(506)
    style.write(ax, 4, 18, words.ring.format(**fill), size=style.SIZE, bold=True)
    for step, state in enumerate(numbers.states):
        row, column = (0, step) if step <= half else (1, step - half)
        left, top = _LEFT + column * _PITCH, _ROWS[row]
        _grid(ax, left, top, state)
        label = words.step.format(step) if step else words.start
        style.write(
            ax, left + RANKS * _CELL / 2, top - 11, label, align="center", color=style.MUTED
        )
    for rank in range(RANKS):
        y = _ROWS[0] + (rank + 0.5) * _CELL
        style.write(ax, _LEFT, y, words.rank.format(rank), dx=-8, align="right", color=style.MUTED)
    middle = _LEFT + 2 * _PITCH + RANKS * _CELL / 2
    for top, phase in zip(_ROWS, (words.scatter, words.gather), strict=True):
        style.write(ax, middle, top - 31, phase, align="center", color=style.COMM, bold=True)
    style.write(ax, 4, _ROWS[1] + RANKS * _CELL / 2, words.key.format(**fill), bold=True)

    style.write(ax, 4, 304, words.levels.format(**fill), size=style.SIZE, bold=True)
    _draw_levels(ax, words)
    right = _GPUS[-1] + 34
    style.write(ax, right, _MACHINES[0] - 8, words.inside.format(**fill), color=style.COMM)
    style.write(ax, right, sum(_MACHINES) / 2 + 14, words.across.format(**fill), color=style.ACCENT)
    rows = zip(
        (row.format(**fill) for row in words.rows), (sent, inside, across, flat), strict=True
    )
    return Drawing(
        fig,
        words.title.format(**fill),
        words.alt.format(**fill),
        words.caption.format(**fill),
        Table(words.headers, tuple((name, f"{volume} S") for name, volume in rows)),
    )


def _grid(ax: Axes, left: float, top: float, state: State) -> None:
    """Draw one state: a row for each rank, a column for each chunk, darker with each share."""
    cells: dict[int, list[Path]] = {}
    for rank, chunks in enumerate(state.summed):
        for chunk, shares in enumerate(chunks):
            x, y = left + chunk * _CELL, top + rank * _CELL
            cells.setdefault(shares, []).append(_square(x, y, inset=0.75))
            style.write(
                ax,
                x + _CELL / 2,
                y + _CELL / 2,
                str(shares),
                align="center",
                color=style.PAPER if shares == RANKS else style.INK,
            )
    for shares, squares in cells.items():
        opacity = 1.0 if shares == RANKS else 0.14 * shares
        ax.add_patch(
            PathPatch(Path.make_compound_path(*squares), fc=style.COMM, ec="none", alpha=opacity)
        )
    frames = [
        _square(left + chunk * _CELL, top + rank * _CELL, inset=1)
        for rank, chunk in sorted(state.received)
    ]
    if frames:
        ax.add_patch(PathPatch(Path.make_compound_path(*frames), fc="none", ec=style.INK, lw=1.6))


def _square(x: float, y: float, *, inset: float) -> Path:
    near, far = inset, _CELL - inset
    corners = [(x + near, y + near), (x + far, y + near), (x + far, y + far), (x + near, y + far)]
    return Path([*corners, corners[0]], closed=True)


def _draw_levels(ax: Axes, words: Any) -> None:
    """Draw two machines: a thick line inside each, a thin one from each GPU to its peer."""
    upper, lower = _MACHINES
    for x in _GPUS:
        ax.plot((x, x), (upper + 16, lower - 16), color=style.ACCENT, lw=1.5, zorder=1)
    for index, y in enumerate(_MACHINES):
        outward = -1 if index == 0 else 1
        ax.add_patch(
            FancyBboxPatch(
                (_GPUS[0] - 24, min(y - 26, y - 26 + outward * 18)),
                _GPUS[-1] - _GPUS[0] + 48,
                70,
                boxstyle="round,pad=0,rounding_size=6",
                fc="none",
                ec=style.MUTED,
            )
        )
        style.write(
            ax, _GPUS[0] - 18, y + outward * 30, words.node.format(index), color=style.MUTED
        )
        ax.plot((_GPUS[0], _GPUS[-1]), (y, y), color=style.COMM, lw=9, zorder=1)
        for rank, x in enumerate(_GPUS):
            ax.add_patch(
                FancyBboxPatch(
                    (x - 20, y - 15),
                    40,
                    30,
                    boxstyle="round,pad=0,rounding_size=4",
                    fc=style.PAPER,
                    ec=style.INK,
                    lw=1.2,
                    zorder=2,
                )
            )
            style.write(ax, x, y, words.rank.format(rank), align="center")
