"""One table of a data file, taken apart field by field with every field checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from wallsite._checks import did_you_mean, near_matches, positive, shown
from wallsite.tables.schema import KINDS, NO_TEXT, PER, STATED_IN, Link, Source, Text, Value, Words
from wallsite.units import unit


class DataError(ValueError):
    """A data file breaks a rule; the message names the file, the entry and the field."""


class Entry:
    """A table of a data file, or a value within one.

    Fields are taken out one at a time. One that is left when the entry is closed is a mistake.
    """

    def __init__(
        self, file: str, name: str, fields: Any, sources: Mapping[str, Source], within: str = ""
    ) -> None:
        self.file = file
        self.name = name
        self.sources = sources
        self.within = within
        if not isinstance(fields, dict):
            self.fail("", f"expected a table, found {shown(fields)}")
        self.left = dict(fields)
        self.known: list[str] = []

    def fail(self, field: str, problem: str) -> NoReturn:
        """Raise the error for one field."""
        path = ".".join(part for part in (self.within, field) if part)
        where = f"[{self.name}] {path}".rstrip()
        raise DataError(f"{self.file}: {where}: {problem}")

    def close(self) -> None:
        """Reject fields that nothing asked for."""
        for field in self.left:
            self.fail(field, f"unknown field{hint(field, self.known)}")

    def take(self, field: str) -> Any:
        """Take a field out; None if it is absent."""
        self.known.append(field)
        return self.left.pop(field, None)

    def text(self, field: str, choices: tuple[str, ...] = ()) -> str:
        """Take a string that must be there."""
        text = self.optional_text(field, choices)
        if text is None:
            self.fail(field, "is missing")
        return text

    def optional_text(self, field: str, choices: tuple[str, ...] = ()) -> str | None:
        """Take a string."""
        text = self.take(field)
        if text is None:
            return None
        if not _is_text(text):
            self.fail(field, f"expected text, found {shown(text)}")
        if choices and text not in choices:
            self.fail(field, f"{text!r} is not one of {', '.join(choices)}")
        return str(text)

    def optional_address(self, field: str) -> str | None:
        """Take the address of a web page."""
        text = self.optional_text(field)
        if text is not None and not text.startswith(("https://", "http://")):
            self.fail(field, f"expected an address that starts with https://, found {text!r}")
        return text

    def both(self, field: str) -> Text:
        """Take a text in both languages that must be there."""
        text = self.optional_both(field)
        if not text:
            self.fail(field, "is missing")
        return text

    def optional_both(self, field: str) -> Text:
        """Take a text in both languages, ``{ zh = "…", en = "…" }``; empty if absent."""
        text = self.take(field)
        if text is None:
            return NO_TEXT
        if not (
            isinstance(text, dict)
            and text.keys() >= {"zh", "en"}
            and all(map(_is_text, text.values()))
        ):
            self.fail(field, f'expected {{ zh = "…", en = "…" }}, found {shown(text)}')
        return Words(text)

    def strings(self, field: str, choices: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Take a list of strings; empty if absent."""
        items = self.take(field)
        if items is None:
            return ()
        if not (isinstance(items, list) and all(map(_is_text, items))):
            self.fail(field, f"expected a list of strings, found {shown(items)}")
        for item in items:
            if choices and item not in choices:
                self.fail(field, f"{item!r} is not one of {', '.join(choices)}")
        return tuple(items)

    def integer(self, field: str) -> int:
        """Take a positive whole number that must be there."""
        number = self.optional_integer(field)
        if number is None:
            self.fail(field, "is missing")
        return number

    def optional_integer(self, field: str) -> int | None:
        """Take a positive whole number."""
        number = self.take(field)
        if number is None:
            return None
        if isinstance(number, bool) or not isinstance(number, int) or number <= 0:
            self.fail(field, f"expected a positive whole number, found {shown(number)}")
        return number

    def link(self, field: str, links: Mapping[str, Link]) -> Link | None:
        """Take the id of a link."""
        name = self.optional_text(field)
        if name is None:
            return None
        if name not in links:
            self.fail(field, f"unknown link {name!r}{hint(name, links)}")
        return links[name]

    def value(self, field: str, dimension: str, per: tuple[str, ...] = ()) -> Value:
        """Take a value that must be there; the arguments are those of `optional_value`."""
        value = self.optional_value(field, dimension, per)
        if value is None:
            self.fail(field, "is missing")
        return value

    def optional_value(
        self, field: str, dimension: str = "", per: tuple[str, ...] = (), *, dense: bool = True
    ) -> Value | None:
        """Take a value of a device, a link or a model.

        Args:
            field: its name.
            dimension: what its unit must measure; empty for anything.
            per: what its direction must be one of; empty if it must not have one.
            dense: what it must say about sparsity.
        """
        fields = self.take(field)
        if fields is None:
            return None
        value = Entry(self.file, self.name, fields, self.sources, field).as_value(dimension)
        for one in (value, *value.alternatives):
            if one.dense is not dense:
                self.fail(field, f"dense must be {str(dense).lower()} here")
            if per and one.per not in per:
                self.fail(field, f"per must be {' or '.join(map(repr, per))}, found {one.per!r}")
            if one.per and not per:
                self.fail(field, "per is for links only")
        return value

    def as_value(self, dimension: str = "") -> Value:
        """Read the whole entry as a value."""
        name = self._unit("unit", dimension)
        value = Value(
            key=".".join(part for part in (self.name, self.within) if part),
            value=self._number("value"),
            unit=name,
            kind=self.text("kind", KINDS),
            sources=self._cited("source"),
            date=self.optional_text("date"),
            per=self.optional_text("per", PER),
            note=self.optional_both("note"),
            label=self.optional_both("label"),
            alternatives=self._alternatives("alternatives", unit(name).dimension),
            dense=self._flag("dense"),
        )
        if not value.sources and value.kind != "assumed":
            self.fail("source", f"is missing; only kind = 'assumed' needs none, not {value.kind!r}")
        cited = [self.sources[name].kind for name in value.sources]
        needed = STATED_IN.get(value.kind)
        if needed and not set(needed) & set(cited):
            self.fail(
                "kind",
                f"{value.kind!r} rests on {' or '.join(needed)}, and {value.sources[0]!r} "
                f"is {cited[0]!r}",
            )
        self.close()
        return value

    def _number(self, field: str) -> float:
        number = self.take(field)
        if number is None:
            self.fail(field, "is missing")
        try:
            return positive(field, number)
        except ValueError as error:
            self.fail(field, str(error).removeprefix(f"{field} "))

    def _unit(self, field: str, dimension: str) -> str:
        name = self.take(field)
        if name is None:
            self.fail(field, "is missing")
        if not isinstance(name, str):
            self.fail(field, f"expected a unit, found {shown(name)}")
        try:
            measured = unit(name).dimension
        except ValueError as error:
            self.fail(field, str(error))
        if dimension and measured != dimension:
            self.fail(field, f"{name!r} measures {measured}, not {dimension}")
        return name

    def _cited(self, field: str) -> tuple[str, ...]:
        cited = self.take(field)
        if cited is None:
            return ()
        names = [cited] if isinstance(cited, str) else cited
        if not isinstance(names, list) or not names:
            self.fail(field, f"expected a source or a list of sources, found {shown(cited)}")
        for name in names:
            if not isinstance(name, str) or name not in self.sources:
                self.fail(field, f"unknown source {name!r}{hint(name, self.sources)}")
        return tuple(names)

    def _alternatives(self, field: str, dimension: str) -> tuple[Value, ...]:
        rivals = self.take(field)
        if rivals is None:
            return ()
        if not isinstance(rivals, list) or not rivals:
            self.fail(field, f"expected a list of values, found {shown(rivals)}")
        within = f"{self.within}.{field}".lstrip(".")
        owner = ".".join(part for part in (self.name, self.within) if part)
        values = tuple(
            Entry(self.file, self.name, rival, self.sources, within)
            .as_value(dimension)
            ._replace(key=f"{owner}/{number}")
            for number, rival in enumerate(rivals, start=1)
        )
        if any(value.alternatives for value in values):
            self.fail(field, "an alternative has no alternatives of its own")
        return values

    def _flag(self, field: str) -> bool:
        flag = self.take(field)
        if flag is not None and not isinstance(flag, bool):
            self.fail(field, f"expected true or false, found {shown(flag)}")
        return flag is not False


def _is_text(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip())


def hint(name: object, known: Iterable[str]) -> str:
    """Say which known names are near an unknown one."""
    return did_you_mean(near_matches(name, known))
