"""Lessons: what belongs to a lesson and to no language, a folder each.

``docs/lessons/<name>/`` may hold

- ``quantities/*.toml``: the numbers of its pages, assumed, quoted, or derived from others;
- ``figures/*.py``, each with its words in ``*.zh.toml`` and ``*.en.toml`` beside it;
- ``formulas.toml``: what each formula of its pages must equal;
- ``names.toml``: families of names with a number, and words inside its formulas;
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
from typing import Any

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
    """What each formula must equal: page, formula with its words in English, expression.

    Raises:
        DataError: an entry is not a formula and an expression.
    """
    merged: dict[str, dict[str, str]] = {}
    for file, pages in _tables("formulas.toml").items():
        for page, entries in pages.items():
            if page == "symbols":
                continue
            for entry in entries if isinstance(entries, list) else [entries]:
                if not (isinstance(entry, dict) and entry.keys() == {"formula", "is"}):
                    raise DataError(f"{file}: [[{page!r}]]: expected formula = '…' and is = '…'")
                merged.setdefault(page, {})[entry["formula"]] = entry["is"]
    return MappingProxyType(merged)


@cache
def symbols() -> Mapping[str, tuple[float, float]]:
    """Between which numbers a symbol of the formulas lies where they are tried."""
    found: dict[str, tuple[float, float]] = {}
    for table in _tables("formulas.toml").values():
        found |= {name: (low, high) for name, (low, high) in table.get("symbols", {}).items()}
    return MappingProxyType(found)


@cache
def families() -> tuple[str, ...]:
    """Names before a number that may stand bare, such as the NVLink of NVLink 5.

    Raises:
        DataError: a file holds something else than a list of names.
    """
    found: list[str] = []
    for file, table in _tables("names.toml").items():
        listed = table.get("families", [])
        if not (isinstance(listed, list) and all(isinstance(x, str) and x for x in listed)):
            raise DataError(f'{file}: families must be a list such as ["NVLink", "PCIe"]')
        found += listed
    return tuple(dict.fromkeys(found))


@cache
def formula_words() -> Mapping[str, str]:
    """Words inside formulas of the pages, in English, by what other languages call them.

    Raises:
        DataError: a file holds something else than texts.
    """
    found: dict[str, str] = {}
    for file, table in _tables("names.toml").items():
        words = table.get("formula_words", {})
        if not (isinstance(words, dict) and all(isinstance(x, str) for x in words.values())):
            raise DataError(f'{file}: [formula_words]: expected "…" = "…" lines')
        found |= words
    return MappingProxyType(found)


@cache
def _read() -> Mapping[str, Value | Definition]:
    texts = {shown(path): _text(path) for path in files("quantities/*.toml")}
    return load.read_quantities(texts, tables.sources())


@cache
def _tables(name: str) -> Mapping[str, Mapping[str, Any]]:
    """The file of that name of each lesson, by its path as its author knows it."""
    return {shown(path): toml(path) for path in files(name)}


def toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of a lesson.

    Raises:
        DataError: it is no TOML in UTF-8; the message names file and line.
    """
    return load.parsed(_text(path), shown(path))


def _text(path: Path) -> str:
    return load.decoded(path.read_bytes(), shown(path))


def shown(path: Path) -> str:
    """Write the path of a lesson's file as its author knows it: ``docs/lessons/…``."""
    root = folder().parent.parent
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
