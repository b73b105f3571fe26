"""Rows of a report, each held against a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What was found.

    Attributes:
        cells: text of the columns, without target and verdict.
        target: in words, or empty where the row is only reported.
        met: None where the row is only reported.
    """

    cells: tuple[str, ...]
    target: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Target:
    """What a number must be.

    Attributes:
        words: how it reads in the report.
        holds: whether a number is it.
    """

    words: str
    holds: Callable[[float], bool]


def at_least(least: float) -> Target:
    return Target(f"≥ {least:g}", lambda x: x >= least)


def below(bound: float) -> Target:
    return Target(f"< {bound:g}", lambda x: x < bound)


def at_most(most: float, unit: str = "") -> Target:
    return Target(f"≤ {most:g} {unit}".rstrip(), lambda x: x <= most)


def near_one(distance: float) -> Target:
    return Target(f"1 ± {distance:g}", lambda x: abs(x - 1) <= distance)


def row(cells: Iterable[str], value: float, target: Target | None) -> Row:
    """Hold a value against its target, if it has one."""
    if target is None:
        return Row(tuple(cells))
    return Row(tuple(cells), target.words, target.holds(value))


def show(header: Sequence[str], rows: Iterable[Row]) -> None:
    """Print rows in columns: words to the left, numbers to the right."""
    verdict = {True: "met", False: "MISSED", None: ""}
    lines = [(*header, "target", "")]
    lines += [(*row.cells, row.target, verdict[row.met]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, lines[1] if lines[1:] else line, widths, strict=True)
        print("  ".join(_put(cell, like, width) for cell, like, width in cells).rstrip())


def _put(cell: str, like: str, width: int) -> str:
    return cell.rjust(width) if like[:1].isdigit() else cell.ljust(width)
