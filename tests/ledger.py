"""The data written a second time, one value a line, so that none can change unseen.

A value stands once in ``wallsite/tables/data`` and is shown on many pages, and no page can tell
that it is wrong. ``tests/ledger.csv`` holds it again. After a change that is meant::

    python -m tests.ledger

writes the file anew; what changed is then in the diff for a second pair of eyes, a value a line.
"""

import csv
import io
import tomllib
from collections.abc import Iterator
from pathlib import Path

DATA = Path(__file__).parents[1] / "wallsite" / "tables" / "data"
LEDGER = Path(__file__).with_name("ledger.csv")
COLUMNS = ("file", "entry", "field", "value", "unit", "kind", "per", "dense", "source")

_NO_VALUES = {"sources.toml", "glossary.toml"}


def rows() -> Iterator[tuple[str, ...]]:
    """Every value of the data files, and every other field that is not prose."""
    for path in sorted(DATA.rglob("*.toml")):
        if path.name not in _NO_VALUES:
            file = path.relative_to(DATA).as_posix()
            # As they are written: 8.0 is not 8.
            data = tomllib.loads(path.read_text("utf-8"), parse_float=str)
            for entry, fields in data.items():
                yield from ((file, entry, *row) for row in _of_entry(fields))


def text() -> str:
    """What the ledger ought to hold."""
    table = io.StringIO(newline="")
    csv.writer(table, lineterminator="\n").writerows([COLUMNS, *rows()])
    return table.getvalue()


def _of_entry(fields: dict, field: str = "") -> Iterator[tuple[str, ...]]:
    if "value" in fields:
        stated = (fields.get(name, "") for name in COLUMNS[3:])
        yield (field, *(" ".join(x) if isinstance(x, list) else str(x) for x in stated))
        for number, rival in enumerate(fields.get("alternatives", ()), start=1):
            yield from _of_entry(rival, f"{field}, alternative {number}".removeprefix(", "))
        return
    for name, value in fields.items():
        if isinstance(value, list):
            yield (name, " ".join(value), *[""] * 5)
        elif not isinstance(value, dict):
            yield (name, str(value), *[""] * 5)
        elif "value" in value:
            yield from _of_entry(value, name)


if __name__ == "__main__":
    LEDGER.write_text(text(), "utf-8")
