"""The tables as files: CSV for spreadsheets, JSON for programs, the same rows in both.

A row is a value: a device has as many as it has values, and a value that sources disagree on has
one for each of them. Only names, notes and what a document supports are in the reader's language.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from wallsite import __version__, tables
from wallsite.render.facts import Fact, Statement, facts, resting_on, statements
from wallsite.tables.schema import Accelerator, Link, Source
from wallsite.units import unit

VERSION = 1
"""Of the files' layout; a column that changes its meaning changes it."""

TABLES = (
    "accelerators",
    "catalog",
    "links",
    "clusters",
    "models",
    "more-models",
    "energy",
    "quantities",
    "sources",
)
"""The tables that can be had as files."""

FORMATS = ("csv", "json")

_OF_A_DEVICE = ("vendor", "kind", "year", "status", "memory", "lacks", "link", "network")
# Tables of things, and what a file says of a thing besides its values.
_THINGS: dict[str, tuple[Callable[[], Mapping[str, Any]], tuple[str, ...]]] = {
    "accelerators": (tables.accelerators, _OF_A_DEVICE),
    "catalog": (tables.catalog, _OF_A_DEVICE),
    "links": (tables.links, ("vendor", "tier", "counted_per", "parts", "year", "status")),
    "clusters": (tables.clusters, ("vendor", "year", "device", "link", "network")),
    "models": (tables.models, ("vendor", "year")),
    "more-models": (tables.all_models, ("vendor", "year")),
}


def path(table: str, form: str) -> str:
    """Place of a table's file on the site of a language."""
    return f"data/{table}.{form}"


def export(table: str, language: str, form: str) -> str:
    """Write one of the `TABLES` as text in one of the `FORMATS`."""
    return (_csv if form == "csv" else _json)(table, language)


def rows(table: str, language: str) -> list[dict[str, Any]]:
    """List a table's rows; what is not known is None."""
    if table == "sources":
        return [_source(source, language) for source in tables.sources().values()]
    found = [fact for fact in facts().values() if fact.table == table]
    return [_row(each, language) for fact in found for each in statements(fact)]


def _row(statement: Statement, language: str) -> dict[str, Any]:
    fact, value = statement.fact, statement.value
    return {
        "id": fact.id,
        "name": fact.name[language],
        **_about(fact, language),
        "field": fact.field,
        "alternative": statement.alt,
        "value": value.value,
        "unit": value.unit,
        "si_value": value.si,
        "si_unit": unit(value.unit).dimension,
        "kind": value.kind,
        "sources": value.sources,
        "per": value.per,
        "date": value.date,
        "note": value.note[language] if value.note else None,
    }


def _about(fact: Fact, language: str) -> dict[str, Any]:
    """Say of a device, a link, a cluster or a model what is no value."""
    if fact.table not in _THINGS:
        return {}
    things, attributes = _THINGS[fact.table]
    thing = things()[fact.id]
    found = {name: getattr(thing, name) for name in attributes}
    found = {
        name: each.id if isinstance(each, Accelerator | Link) else each
        for name, each in found.items()
    }
    return found | {"remark": thing.note[language] if thing.note else None}


def _source(source: Source, language: str) -> dict[str, Any]:
    cited = [each.key for each in resting_on(source.id)]
    return source._asdict() | {"supports": source.supports[language], "values": cited}


def _csv(table: str, language: str) -> str:
    """Write rows under their names; what is in a list is separated by spaces."""
    listed = rows(table, language)
    if not listed:
        return "\ufeffid\n"
    text = io.StringIO()
    text.write("\ufeff")  # without it Excel takes UTF-8 for something else
    writer = csv.DictWriter(text, listed[0].keys(), lineterminator="\n")
    writer.writeheader()
    for row in listed:
        lists = {k: " ".join(v) for k, v in row.items() if isinstance(v, list | tuple)}
        writer.writerow(row | lists)
    return text.getvalue()


def _json(table: str, language: str) -> str:
    """Write rows as objects, and what they are rows of."""
    content = {
        "version": VERSION,
        "package": __version__,
        "table": table,
        "language": language,
        "rows": rows(table, language),
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
