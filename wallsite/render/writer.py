"""The cells of a table, and the pen that fills them in one language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wallsite import locale
from wallsite.render import facts
from wallsite.render.facts import Statement
from wallsite.render.words import Basis, converted, quantity
from wallsite.tables.schema import Link, Value


class Cell(NamedTuple):
    """One cell.

    Attributes:
        text: what it shows.
        basis: what the number it shows rests on, if it shows one.
        href: where it leads.
        cited: ids of the documents that it names.
        items: a list that belongs to the text, and is folded away under it.
    """

    text: str
    basis: Basis | None = None
    href: str | None = None
    cited: tuple[str, ...] = ()
    items: tuple[str, ...] = ()


class RenderedTable(NamedTuple):
    """A table ready to be shown.

    Attributes:
        headers: one text a column.
        rows: as many cells as there are headers; the first names the row.
        notes: caveats to print below.
        caption: what the table shows.
        sources: ids of every document cited, in order of appearance.
        briefs: what stands beside the name of each row where its other cells are folded away.
    """

    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    caption: str
    sources: tuple[str, ...]
    briefs: tuple[str, ...] = ()


class Writer:
    """Makes cells in one language, and collects the notes and sources that belong below them."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.notes: dict[str, dict[str, list[str]]] = {}
        self.sources: dict[str, None] = {}

    def say(self, english: str, **values: object) -> str:
        """Say a text in the writer's language."""
        return locale.say(self.language, english, **values)

    def note(self, text: str, owner: str = "", column: str = "") -> None:
        """Keep a caveat; owners and columns that share one are listed together."""
        columns = self.notes.setdefault(text, {}).setdefault(owner, [])
        if column and column not in columns:
            columns.append(column)

    def value(self, value: Value | None, column: str, unit: str | None = None) -> Cell:
        """Show a value and its rivals: in the unit of its column, or each with its own."""
        if value is None:
            return Cell("")
        fact = facts.of(value)
        texts = []
        for one in (value, *value.alternatives):
            text = converted(one, unit, self.language) if unit else quantity(one, self.language)
            texts.append(text)
            if one.note:
                rival = f" {text}" if one is not value else ""
                owner = fact.name[self.language]
                self.note(one.note[self.language], owner, f"{column}{rival}".strip())
        return self._number(texts, Basis(value.si, value.kind, (Statement(fact),)))

    def brief(self, value: Value | None, unit: str) -> str:
        """Write a value and its rivals with their unit, where nothing more is shown of it."""
        if value is None:
            return ""
        texts = [converted(one, unit, self.language) for one in (value, *value.alternatives)]
        return self._marked(f"{' / '.join(texts)} {unit}", value.kind)

    def link(self, link: Link | None) -> tuple[Cell, Cell]:
        """Show a link: its name, and what one direction carries in GB/s."""
        if link is None:
            return Cell(""), Cell("")
        return Cell(link.name), self.value(link.bandwidth, "", "GB/s")

    def both(self, link: Link) -> Cell:
        """Show what both directions of a link carry together, in GB/s."""
        halves = (link.bandwidth, *link.bandwidth.alternatives)
        values = (link.both, *link.both.alternatives)
        computed = tuple(
            f"{quantity(value, self.language)} = 2 × {quantity(half, self.language)}"
            for value, half in zip(values, halves, strict=True)
        )
        texts = [converted(value, "GB/s", self.language) for value in values]
        inputs = (Statement(facts.of(link.bandwidth)),)
        return self._number(texts, Basis(link.both.si, link.both.kind, inputs, computed))

    def quotients(self, upper: Value, lower: Value, write: Callable[[float], str]) -> Cell:
        """Show one value over another, then what a rival of either would give."""
        pairs = [(upper, lower)]
        pairs += [(upper, rival) for rival in lower.alternatives]
        pairs += [(rival, lower) for rival in upper.alternatives]
        texts = [write(over.si / under.si) for over, under in pairs]
        computed = tuple(
            f"{text} = {quantity(over, self.language)} ÷ {quantity(under, self.language)}"
            for text, (over, under) in zip(texts, pairs, strict=True)
        )
        kind = "rumour" if "rumour" in {upper.kind, lower.kind} else "derived"
        inputs = (Statement(facts.of(upper)), Statement(facts.of(lower)))
        basis = Basis(upper.si / lower.si, kind, inputs, computed)
        return self._number(dict.fromkeys(texts), basis)

    def year(self, year: int | None, status: str) -> Cell:
        """Show a year, and the status of what does not ship yet."""
        state = locale.section(self.language, "statuses").get(status)
        if state is None or year is None:
            return Cell(state or (str(year) if year else ""))
        return Cell(self.say("{year} ({state})", year=year, state=state))

    def table(
        self,
        headers: Sequence[str],
        rows: Iterable[Sequence[Cell]],
        caption: str,
        briefs: Iterable[Iterable[str]] = (),
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
            tuple(" · ".join(filter(None, parts)) for parts in briefs),
        )

    def _number(self, texts: Iterable[str], basis: Basis) -> Cell:
        """Show a number and its rivals."""
        self.sources |= dict.fromkeys(basis.sources)
        return Cell(self._marked(" / ".join(texts), basis.kind), basis)

    def _marked(self, text: str, kind: str) -> str:
        """Wherever a rumour stands, say that it is one."""
        if kind != "rumour":
            return text
        word = locale.section(self.language, "kinds")["rumour"]
        return self.say("{text} ({word})", text=text, word=word)

    def _written(self, text: str, owners: dict[str, list[str]]) -> str:
        names = []
        for owner, columns in owners.items():
            listed = self.say(", ").join(columns)
            names.append(
                self.say("{owner} ({listed})", owner=owner, listed=listed) if listed else owner
            )
        who = self.say("; ").join(name for name in names if name)
        return f"{who}{self.say(': ')}{text}" if who else text
