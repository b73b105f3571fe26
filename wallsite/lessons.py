"""Lessons: what belongs to a lesson and to no language, a folder each.

``docs/lessons/<name>/`` may hold

- ``quantities/*.toml``: the numbers of its pages, assumed, quoted, or derived from others;
- ``figures/*.py``, each with its words in ``*.zh.toml`` and ``*.en.toml`` beside it;
- ``formulas.toml``: what each formula of its pages must equal;
- ``names.toml``: names with a number in them that may stand bare in its prose;
- ``recorded/*.json``: results of real machines.

All lessons share one space of names, so that any page may use any of them. The folder of lessons is
that of the checkout this package runs from, unless ``WALLSITE_LESSONS`` names another. A package
installed alone has none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from wallsite import tables
from wallsite.tables import load
from wallsite.tables.entry import DataError
from wallsite.tables.names import find
from wallsite.tables.schema import Definition, Value

VARIABLE = "WALLSITE_LESSONS"
"""Environment variable that names the folder of lessons."""


def folder() -> Path:
    """Folder that holds a folder for each lesson; it need not exist."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(__file__).parents[1] / "docs" / "lessons"


def files(pattern: str) -> list[Path]:
    """Files of all lessons, lesson by lesson, in the order of their names."""
    return sorted(folder().glob(f"*/{pattern}"))


@cache
def quantities() -> Mapping[str, Value]:
    """Numbers that the lessons assume or quote, by id.

    Raises:
        DataError: a file breaks a rule.
    """
    return MappingProxyType({k: v for k, v in _read().items() if isinstance(v, Value)})


@cache
def definitions() -> Mapping[str, Definition]:
    """Quantities that the lessons derive from others, by id.

    Raises:
        DataError: a file breaks a rule.
    """
    return MappingProxyType({k: v for k, v in _read().items() if isinstance(v, Definition)})


def quantity(name: str) -> Value:
    """Look up a number that a lesson assumes or quotes.

    Raises:
        UnknownName: no such quantity; the message lists near matches.
    """
    return find("quantity", name, quantities(), {key.casefold(): key for key in quantities()})


@cache
def recorded() -> Mapping[str, Path]:
    """Files of recorded machines, by name."""
    return MappingProxyType({path.stem: path for path in files("recorded/*.json")})


@cache
def figures() -> Mapping[str, Path]:
    """Modules of figures, by the name that pages use.

    Raises:
        DataError: two lessons have a figure of one name.
    """
    found: dict[str, Path] = {}
    for path in files("figures/*.py"):
        name = path.stem.replace("_", "-")
        if name in found:
            raise DataError(f"{shown(path)}: {shown(found[name])} has that name already")
        found[name] = path
    return MappingProxyType(found)


@cache
def formulas() -> Mapping[str, Mapping[str, str]]:
    """What each formula must equal: page, formula as written in English, expression.

    Raises:
        DataError: a file is not a table of such tables.
    """
    merged: dict[str, dict[str, str]] = {}
    for path in files("formulas.toml"):
        for page, entries in load.parsed(_text(path), shown(path)).items():
            if not (
                isinstance(entries, dict) and all(isinstance(x, str) for x in entries.values())
            ):
                raise DataError(f"{shown(path)}: [{page}]: expected formula = 'expression' lines")
            merged.setdefault(page, {}).update(entries)
    return MappingProxyType(merged)


@cache
def names() -> tuple[str, ...]:
    """Names before a number that may stand bare, such as the NVLink of NVLink 5.

    Raises:
        DataError: a file holds something else than a list of families.
    """
    found: list[str] = []
    for path in files("names.toml"):
        families = load.parsed(_text(path), shown(path)).get("families")
        if not (isinstance(families, list) and all(isinstance(x, str) and x for x in families)):
            raise DataError(f'{shown(path)}: families must be a list such as ["NVLink", "PCIe"]')
        found += families
    return tuple(dict.fromkeys(found))


@cache
def _read() -> Mapping[str, Value | Definition]:
    texts = {shown(path): _text(path) for path in files("quantities/*.toml")}
    return load.read_quantities(texts, tables.sources())


def _text(path: Path) -> str:
    return load.decoded(path.read_bytes(), shown(path))


def shown(path: Path) -> str:
    """Write the path of a lesson's file as its author knows it: ``docs/lessons/…``."""
    root = folder().parent.parent
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
