"""Mistakes in the data files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from wallsite import tables
from wallsite.tables.load import COUNTED_PER, TIERS
from wallsite.tables.schema import KINDS as STATEMENTS
from wallsite.units import UNITS

from .edits import BARE_UNIT, NUMERAL, OTHERS, Edit, File, digit


def _assigned(file: File, name: str, value: str) -> Iterator[re.Match[str]]:
    """Every value that a name is given, comments aside."""
    pattern = rf"(?<![\w-]){name}\s*=\s*(?P<value>{value})"
    for match in re.finditer(pattern, file.text):
        if "#" not in file.text[file.text.rfind("\n", 0, match.start()) + 1 : match.start()]:
            yield match


def values(file: File) -> Iterator[Edit]:
    """A digit of a value, or of a year."""
    for name in ("value", "year", "parts"):
        for match in _assigned(file, name, r"-?\d[\d_]*(?:\.\d+)?"):
            yield digit(file, NUMERAL.search(match["value"]), match.start("value"))


def units(file: File) -> Iterator[Edit]:
    """A unit, replaced by one it is confused with, or by another of its dimension."""
    for match in _assigned(file, "unit", r'"[^"]*"'):
        old = match["value"].strip('"')
        others = OTHERS.get(old) or [
            name for name, unit in UNITS.items() if unit.dimension == UNITS[old].dimension
        ]
        others = [name for name in others if name in UNITS and UNITS[name] != UNITS[old]]
        if others:
            yield *match.span("value"), f'"{file.random.choice(others)}"'


def _replaced(file: File, name: str, choices: Iterable[str]) -> Iterator[Edit]:
    """One of a few words, replaced by another."""
    known = tuple(choices)
    for match in _assigned(file, name, r'"[^"]*"'):
        old = match["value"].strip('"')
        if old in known:
            other = file.random.choice([x for x in known if x != old])
            yield *match.span("value"), f'"{other}"'


def statements(file: File) -> Iterator[Edit]:
    """What kind of statement a value is."""
    if not file.path.endswith("sources.toml"):
        yield from _replaced(file, "kind", STATEMENTS)


def ways(file: File) -> Iterator[Edit]:
    """Whether a link's bandwidth is per direction, and whether a peak is dense."""
    yield from _replaced(file, "per", ("direction", "both", "undeclared"))
    for match in _assigned(file, "dense", "false"):
        yield *match.span("value"), "true"


def cited(file: File) -> Iterator[Edit]:
    """The source of a value."""
    names = sorted(tables.sources())
    for match in _assigned(file, "source", r'"[^"]*"|\[[^\]]*\]'):
        name = file.random.choice([*re.finditer(r'"([^"]*)"', match["value"])])
        start = match.start("value")
        other = file.random.choice([x for x in names if x != name[1]])
        yield start + name.start(1), start + name.end(1), other


def attributes(file: File) -> Iterator[Edit]:
    """What else a table of the site shows of a thing: its link, its tier, its types."""
    links = tuple(tables.links())
    yield from _replaced(file, "link", links)
    yield from _replaced(file, "network", links)
    yield from _replaced(file, "tier", TIERS)
    yield from _replaced(file, "counted_per", COUNTED_PER)
    for match in _assigned(file, "lacks", r"\[[^\]]+\]"):
        yield *match.span("value"), "[]"


def notes(file: File) -> Iterator[Edit]:
    """A digit or a unit in a note or a label, in one language."""
    for match in re.finditer(r'(?<![\w-])(?:zh|en) = "([^"]*)"', file.text):
        places = [digit(file, x, match.start(1)) for x in NUMERAL.finditer(match[1])]
        places += [
            (match.start(1) + x.start(), match.start(1) + x.end(), file.random.choice(other))
            for x in BARE_UNIT.finditer(match[1])
            if (other := OTHERS.get(x[0]))
        ]
        if places:
            yield file.random.choice(places)
