"""What a figure module returns."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure


class Table(NamedTuple):
    """The numbers behind a figure, as text in the figure's language."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Drawing(NamedTuple):
    """A figure and what is said about it.

    Attributes:
        title: its one message, as a sentence.
        alt: what a reader who cannot see it should know.
        caption: how to read it, and what its numbers are.
        table: the numbers behind it; None where the figure carries none.
    """

    figure: Figure
    title: str
    alt: str
    caption: str
    table: Table | None = None
