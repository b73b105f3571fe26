"""The cells of a table, and the pen that fills them in one language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wallsite.tables.provenance import KINDS, converted, quantity, statement
from wallsite.tables.schema import Link, Value

STATUSES = {
    "zh": {"preliminary": "规格初步", "announced": "已公布", "roadmap": "路线图"},
    "en": {"preliminary": "preliminary", "announced": "announced", "roadmap": "roadmap"},
}


class Cell(NamedTuple):
    """One cell.

    Attributes:
        text: what it shows.
        value: the value it shows, if it shows one.
        title: where the value comes from, a statement a line.
        href: where it leads.
    """

    text: str
    value: Value | None = None
    title: str = ""
    href: str | None = None


class RenderedTable(NamedTuple):
    """A table ready to be shown.

    Attributes:
        headers: one text a column.
        rows: as many cells as there are headers; the first names the row.
        notes: caveats to print below.
        caption: what the table shows.
        sources: ids of every document cited, in order of appearance.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    caption: str
    sources: tuple[str, ...]


class Writer:
    """Makes cells in one language, and collects the notes and sources that belong below them."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.notes: dict[str, dict[str, list[str]]] = {}
        self.sources: dict[str, None] = {}

    def pick(self, zh: str, en: str) -> str:
        """Choose the text in the writer's language."""
        return zh if self.language == "zh" else en

    def note(self, text: str, owner: str = "", column: str = "") -> None:
        """Keep a caveat; owners and columns that share one are listed together."""
        columns = self.notes.setdefault(text, {}).setdefault(owner, [])
        if column and column not in columns:
            columns.append(column)

    def value(self, value: Value | None, owner: str, column: str, unit: str | None = None) -> Cell:
        """Show a value and its rivals: in the unit of its column, or each with its own."""
        if value is None:
            return Cell("")
        texts = []
        for one in (value, *value.alternatives):
            text = converted(one, unit, self.language) if unit else quantity(one, self.language)
            texts.append(text)
            if one.note:
                rival = f" {text}" if one is not value else ""
                self.note(one.note[self.language], owner, f"{column}{rival}".strip())
            self.sources |= dict.fromkeys(one.sources)
        shown = self._marked(" / ".join(texts), value.kind)
        return Cell(shown, value, statement(value, self.language))

    def link(self, link: Link | None) -> tuple[Cell, Cell]:
        """Show a link: its name, and what one direction carries in GB/s."""
        if link is None:
            return Cell(""), Cell("")
        return Cell(link.name), self.value(link.bandwidth, link.name, "", "GB/s")

    def quotients(
        self, upper: Value, lower: Value, unit: str, write: Callable[[float], str]
    ) -> Cell:
        """Show one value over another, then what a rival of either would give."""
        pairs = [(upper, lower)]
        pairs += [(upper, rival) for rival in lower.alternatives]
        pairs += [(rival, lower) for rival in upper.alternatives]
        texts = [write(over.si / under.si) for over, under in pairs]
        rumour = any(value.kind == "rumour" for value in (upper, lower))
        kind = "rumour" if rumour else "derived"
        sources = tuple(dict.fromkeys(upper.sources + lower.sources))
        self.sources |= dict.fromkeys(sources)
        lines = [KINDS[self.language][kind]]
        for text, (over, under) in zip(texts, pairs, strict=True):
            inputs = f"{quantity(over, self.language)} ÷ {quantity(under, self.language)}"
            lines.append(f"{text} = {inputs}")
        value = Value(upper.si / lower.si, unit, kind, sources)
        shown = " / ".join(dict.fromkeys(texts))
        return Cell(self._marked(shown, kind), value, "\n".join(lines))

    def year(self, year: int | None, status: str) -> Cell:
        """Show a year, and the status of what does not ship yet."""
        state = STATUSES[self.language].get(status)
        if state is None or year is None:
            return Cell(state or (str(year) if year else ""))
        return Cell(self.pick(f"{year}（{state}）", f"{year} ({state})"))

    def table(
        self, headers: Sequence[str], rows: Iterable[Sequence[Cell]], caption: str
    ) -> RenderedTable:
        """Put the table together, without the columns in which every cell is blank."""
        grid = [tuple(row) for row in rows]
        kept = [i for i in range(len(headers)) if any(row[i].text for row in grid)]
        return RenderedTable(
            tuple(headers[i] for i in kept),
            tuple(tuple(row[i] for i in kept) for row in grid),
            tuple(self._written(text, owners) for text, owners in self.notes.items()),
            caption,
            tuple(self.sources),
        )

    def _marked(self, text: str, kind: str) -> str:
        """Say of a rumour, wherever it stands, that it is one."""
        if kind != "rumour":
            return text
        word = KINDS[self.language][kind]
        return self.pick(f"{text}（{word}）", f"{text} ({word})")

    def _written(self, text: str, owners: dict[str, list[str]]) -> str:
        names = []
        for owner, columns in owners.items():
            listed = self.pick(f"（{'、'.join(columns)}）", f" ({', '.join(columns)})")
            names.append(owner + listed if columns else owner)
        who = self.pick("；", "; ").join(name for name in names if name)
        return f"{who}{self.pick('：', ': ')}{text}" if who else text
