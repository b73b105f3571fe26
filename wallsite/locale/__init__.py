"""What the site says in each language besides its pages: one TOML file a language.

A language may leave a text out; English stands in for it. `languages` is what there is a file for.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

_STANDS_IN = "en"


@cache
def languages() -> tuple[str, ...]:
    """Codes of the languages, in order."""
    names = (file.name for file in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


@cache
def section(language: str, name: str) -> Mapping[str, Any]:
    """Return the texts of a section in a language, English where it has none.

    Raises:
        ValueError: there is no such language.
    """
    if language not in languages():
        raise ValueError(f"unknown language {language!r}; known: {', '.join(languages())}")
    own, other = (_file(code).get(name, {}) for code in (language, _STANDS_IN))
    return MappingProxyType(other | own)


def say(language: str, english: str, **values: object) -> str:
    """Say a text in a language: that of its ``[words]`` for the English one, with values filled in.

    Raises:
        ValueError: there is no such language.
    """
    template: str = section(language, "words").get(english, english)
    return template.format(**values) if values else template


def columns(text: str) -> int:
    """Places that a text takes in a terminal: a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


class Phrase(Mapping[str, str]):
    """A text by language, known by its English: ``Phrase("memory bandwidth")["zh"]``.

    A value that is a text by language itself is filled in in that language.
    """

    def __init__(self, english: str, **values: object) -> None:
        self._english = english
        self._values = values

    def __getitem__(self, language: str) -> str:
        values = {
            name: value[language] if isinstance(value, Mapping) else value
            for name, value in self._values.items()
        }
        return say(language, self._english, **values)

    def __iter__(self) -> Iterator[str]:
        return iter(languages())

    def __len__(self) -> int:
        return len(languages())


@cache
def _file(language: str) -> Mapping[str, Any]:
    path = files(__package__) / f"{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
