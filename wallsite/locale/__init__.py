"""What the site says in each language besides its pages: one TOML file a language.

A language may leave a text out; English stands in for it. `languages` is what there is a file for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
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


@cache
def _file(language: str) -> Mapping[str, Any]:
    path = files(__package__) / f"{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
