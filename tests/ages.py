"""What the site states, by how soon it goes stale: ``python -m tests.ages``.

A statement ages from the day its document was read or dated. How long it keeps is a rule of thumb
(`KEEPS`): what is announced is overtaken by what ships, pages and documentation are rewritten in
place, a datasheet changes little, and of a device no longer sold nothing new is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import click

from wallsite import tables
from wallsite.render import facts

ROOT = Path(__file__).parents[1]
KEEPS = {
    "as of": 6,
    "announced": 3,
    "roadmap": 6,
    "preliminary": 3,
    "page": 12,
    "press": 24,
    "site": 12,
    "docs": 12,
    "code": 12,
    "datasheet": 36,
    "whitepaper": 36,
    "paper": 60,
}
"""Months that a statement keeps, by what it is or by the kind of its document."""
UNDATED = date(2000, 1, 1)
"""Of a document whose age nobody wrote down: the first to be read again."""

_MONTHS = "January February March April May June July August September October November December"
_MONTH = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
_AS_OF = {
    "zh": re.compile(r"(?<!\d )(?<!年)(?:到|截至) ?(?P<year>20\d\d) 年(?: ?(?P<month>\d+) 月)?"),
    "en": re.compile(
        rf"\b(?:[Aa]s of|[Bb]y)(?: (?:\d+|late|the end of))? ?(?P<month>{'|'.join(_MONTH)})? ?"
        r"(?P<year>20\d\d)\b"
    ),
}


class Statement(NamedTuple):
    """Something the site states.

    Attributes:
        since: the day it was known to hold, as early as its date allows.
        kind: a key of `KEEPS`.
        where: file and line, or the table’s entry.
        what: it says.
    """

    since: date
    kind: str
    where: str
    what: str

    @property
    def due(self) -> date:
        """The month from which it should be read again."""
        months = self.since.year * 12 + self.since.month - 1 + KEEPS[self.kind]
        return date(months // 12, months % 12 + 1, 1)


def dated(text: str) -> date:
    """The latest day that the date of a document names; a year alone is its January."""
    found = [
        date(int(year), int(month or 1), int(day or 1))
        for year, month, day in re.findall(r"\b(20\d\d)(?:-(\d\d))?(?:-(\d\d))?\b", text)
    ]
    return max(found, default=UNDATED)


def statements() -> Iterator[Statement]:
    """Everything that ages: devices and links that do not ship, documents, pages that say when."""
    things = (*tables.accelerators().values(), *tables.links().values())
    for thing in things:
        if thing.status in KEEPS:
            mine = (fact for fact in facts.facts().values() if fact.id == thing.id)
            known = {name for fact in mine for name in _cited(fact)}
            since = max((dated(tables.source(name).date) for name in known), default=UNDATED)
            yield Statement(since, thing.status, thing.id, f"{thing.name}: {thing.status}")
    for source in tables.sources().values():
        resting = {each.key for each in facts.resting_on(source.id)}
        if resting and not all(map(_ended, resting)):
            what = f"{len(resting)} values rest on “{source.title}”, {source.date}"
            yield Statement(dated(source.date), source.kind, source.id, what)
    for language in _AS_OF:
        for path in sorted((ROOT / "docs" / language).rglob("*.md")):
            yield from said(path.read_text("utf-8"), path.relative_to(ROOT), language)


def said(text: str, path: Path, language: str) -> Iterator[Statement]:
    """Each time that a page says as of when it speaks; a year alone means its end."""
    for number, line in enumerate(text.splitlines(), 1):
        for found in _AS_OF[language].finditer(line):
            month = found["month"] or "12"
            since = date(int(found["year"]), _MONTH.get(month) or int(month), 1)
            yield Statement(since, "as of", f"{path}:{number}", found[0])


def _cited(fact: facts.Fact) -> Iterator[str]:
    for each in facts.statements(fact):
        yield from each.value.sources


def _ended(key: str) -> bool:
    device = tables.accelerators().get(facts.facts()[key.partition("/")[0]].id)
    return device is not None and device.status == "ended"


def lines(found: Sequence[Statement], today: date, by: str) -> Iterator[str]:
    """A line for each statement, the one to look at first on top."""
    for each in sorted(found, key=lambda each: (getattr(each, by), each.where)):
        age = (today.year - each.since.year) * 12 + today.month - each.since.month
        old = "undated" if each.since == UNDATED else f"{age} months"
        due = "now" if each.due <= today else f"{each.due:%Y-%m}"
        yield f"{due:8}{old:>10}  {each.kind:12}{each.where:34} {each.what}"


@click.command()
@click.option("--by", type=click.Choice(["due", "since"]), default="due", show_default=True)
@click.option("--until", type=click.DateTime(["%Y-%m"]), help="Only what is due by this month.")
def main(by: str, until: date | None) -> None:
    """List what the site states, by how soon it goes stale or by age."""
    every = [each for each in statements() if until is None or each.due <= until.date()]
    click.echo("\n".join(lines(every, date.today(), by)))
    click.echo(f"{len(every)} statements")


if __name__ == "__main__":
    main()
