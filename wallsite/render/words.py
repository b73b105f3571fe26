"""Saying in words, in either language, what a value is and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from wallsite import locale
from wallsite.locale import say
from wallsite.render.facts import Statement
from wallsite.tables.schema import Source, Value
from wallsite.units import scale, significant, unit

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: Value, language: str) -> str:
    """Write a value's number with the digits of its data file; large counts in words."""
    if unit(value.unit).dimension == "1" and abs(value.si) >= 1e6:
        sizes = locale.section(language, "sizes")["words"]
        size, word = next(pair for pair in sizes if abs(value.si) >= pair[0])
        return f"{value.si / size:.10g}{word}"
    if abs(value.value) >= 1e12:
        digits, exponent = f"{value.value:.10e}".split("e")
        return f"{float(digits):.10g} × 10{exponent.lstrip('+').translate(_SUPERSCRIPT)}"
    if abs(value.value) >= 1e3:
        return f"{value.value:,.10g}"
    return str(value.value)


def converted(value: Value, name: str, language: str) -> str:
    """Write a value in the unit of a table's column, to four digits if it has to be converted."""
    if value.unit == name:
        return number(value, language)
    return significant(value.si / scale(name), 4)


def quantity(value: Value, language: str) -> str:
    """Write a value with its unit and, for a link, its direction."""
    digits = number(value, language)
    counted = digits[-1].isalpha()  # the word already says the size that the unit stands for
    name = "" if counted and value.unit not in {"tokens", "token"} else value.unit
    words = f"{digits}{'' if name in {'%', '×'} else ' '}{name}".rstrip()
    if value.per:
        direction = locale.section(language, "directions")[value.per]
        words = say(language, "{number}, {direction}", number=words, direction=direction)
    return words


def citation(source: Source) -> str:
    """Name a document: publisher, title and date."""
    return f"{source.publisher}, {source.title} ({source.date})"


class Basis(NamedTuple):
    """What a number that somebody reads rests on.

    Attributes:
        value: the number in SI base units.
        kind: the kind of statement it makes, see `wallsite.tables.schema.KINDS`.
        inputs: what it was computed from, or the one fact that it quotes.
        computed: how, a line for each result; nothing where a fact is quoted as it stands.
    """

    value: float
    kind: str
    inputs: tuple[Statement, ...]
    computed: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of all documents that its inputs cite."""
        values = (value for item in self.inputs for value in (item.value, *item.rivals))
        return tuple(dict.fromkeys(name for value in values for name in value.sources))


def summary(basis: Basis, language: str) -> str:
    """Say briefly what a number rests on: its kind, how it is computed, and each input, by lines.

    Rivals of an input follow it: ``B200 (HGX) memory bandwidth: 7.7 TB/s / 8.0 TB/s``. What an
    input is goes without saying where the number just quotes it.
    """
    lines = [locale.section(language, "kinds")[basis.kind], *basis.computed]
    colon = say(language, ": ")
    for item in basis.inputs:
        label = f"{item.fact.label(language)}{colon}" if basis.computed else ""
        values = (quantity(value, language) for value in (item.value, *item.rivals))
        lines.append(label + " / ".join(values))
    return "\n".join(lines)
