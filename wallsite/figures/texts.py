"""A figure's words, which stand beside its module in a file for each language."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from wallsite import lessons
from wallsite.tables import DataError


def texts(module: str, language: str) -> Any:
    """Read the words of a figure, as attributes.

    Args:
        module: ``__file__`` of the figure; ``name.py`` has its words in ``name.<language>.toml``.
        language: code of the language.

    Raises:
        DataError: the file is missing or is not TOML.
    """
    path = Path(module).with_suffix(f".{language}.toml")
    if not path.is_file():
        raise DataError(f"{lessons.shown(path)} is missing: the figure’s words in {language!r}")
    return _attributes(lessons.toml(path))


def _attributes(words: Any) -> Any:
    """Turn tables into attributes, but for those whose names are no identifiers."""
    if isinstance(words, list):
        return tuple(map(_attributes, words))
    if isinstance(words, dict) and all(name.isidentifier() for name in words):
        return SimpleNamespace(**{name: _attributes(value) for name, value in words.items()})
    return words
