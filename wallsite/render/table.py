"""The tables that pages show, in either language, each cell with the value it was made from.

`render` returns plain text in rows; turning it into HTML is for `wallsite.site`. A blank cell is
a value nobody published; a dash is something the hardware does not have. Where sources disagree
the default comes first: ``7.7 / 8.0``.
"""

from __future__ import annotations

from typing import Any

from wallsite import locale
from wallsite.render.views import TABLES
from wallsite.render.writer import Cell, RenderedTable, Writer
from wallsite.tables.names import unknown

__all__ = ["Cell", "RenderedTable", "render"]


def render(name: str, language: str, **options: Any) -> RenderedTable:
    """Make one of the tables in `TABLES`.

    Options select rows: ``devices`` (names, in the order to show), ``vendor`` (one or several),
    ``tier`` of links, ``dtype`` of ridge points. A table takes those that mean something to it.

    Raises:
        UnknownName: no such table, device or dtype.
        TypeError: the table does not take that option.
        ValueError: no such language, or nothing is left to show.
    """
    if language not in locale.languages():
        known = " and ".join(locale.languages())
        raise ValueError(f"unknown language {language!r}; tables are in {known}")
    if name not in TABLES:
        raise unknown("table", name, {known: known for known in TABLES})
    make = TABLES[name]
    accepted = make.__kwdefaults__ or {}
    for option in options:
        if option not in accepted:
            takes = f"takes {', '.join(accepted)}" if accepted else "takes none"
            raise TypeError(f"table {name!r} has no option {option!r}; it {takes}")
    table = make(Writer(language), **options)
    if not table.rows:
        raise ValueError(f"table {name!r} is empty with {options}")
    return table
