"""An explanation as lines for a terminal, and as plain data for JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from wallsite import tables
from wallsite.explain.answer import BAND_WORDS, WALL_WORDS, Explanation
from wallsite.explain.text import percent, phrase
from wallsite.locale import columns

_NOT_FIRST = frozenset("，。；：、！？）》”’…·,.;:!?)")
_INDENT = 12


def lines(
    found: Explanation, language: str, *, brief: bool = False, width: int = 80
) -> Iterator[str]:
    """Write an explanation: a label, and beside it text that is folded at a width.

    Args:
        found: what to write.
        language: of the text.
        brief: only bounds, share, wall, the first cause and what to do next.
        width: columns; a Chinese character takes two.

    Raises:
        ValueError: there is no such language.
    """
    last = ""
    for label, text in _rows(found, language, brief):
        first = "" if label == last else label
        last = label or last
        hanging = len(text) - len(text.lstrip())
        for place, line in enumerate(_folded(text.strip(), width - _INDENT - hanging)):
            lead = first if not place else ""
            room = " " * (_INDENT - columns(lead) + hanging)
            yield f"{lead}{room}{line}".rstrip()


def _rows(found: Explanation, language: str, brief: bool) -> Iterator[tuple[str, str]]:
    def say(english: str, **values: object) -> str:
        return phrase(english, **values)[language]

    if not brief:
        yield from ((say("Recognized"), text[language]) for text in found.recognized)
    for bound in found.bounds:
        yield (
            say("Bound"),
            say("{name}: {text}", name=WALL_WORDS[bound.wall], text=bound.arithmetic),
        )
    if found.measured:
        yield say("Measured"), found.measured[language]
    if found.share is not None:
        share, words = percent(found.share), BAND_WORDS[found.band]
        yield say("Share"), say("{size} ({binary})", size=share, binary=words)
    yield say("Wall"), WALL_WORDS[found.wall][language]
    if not brief or not found.causes:
        yield from ((say("Note"), text[language]) for text in found.notes)
    for place, cause in enumerate(found.causes[: 1 if brief else None], 1):
        yield say("Cause"), f"{place}. {cause.text[language]}"
        yield say("Cause"), f"   {say('Check: ')}{cause.check[language]}"
    if found.following:
        yield say("Next"), found.following[language]
    if brief:
        return
    yield from ((say("Not given"), text[language]) for text in found.missing)
    yield say("Read"), found.page
    for name in found.sources:
        source = tables.source(name)
        yield say("Source"), f"{source.publisher}, {source.title}"


def _folded(text: str, width: int) -> Iterator[str]:
    """Fold text at spaces and between Chinese characters, never before a closing mark."""
    line = ""
    for piece in re.findall(r"[\u2e80-\uffef]|[^\s\u2e80-\uffef]+|\s+", text):
        if columns(line + piece.rstrip()) > width and piece[0] not in _NOT_FIRST and line.strip():
            yield line.rstrip()
            line = ""
        line += piece if line else piece.lstrip()
    yield line.rstrip()


def data(found: Explanation, language: str) -> dict[str, Any]:
    """Return an explanation as plain data; bounds are in SI base units.

    Raises:
        ValueError: there is no such language.
    """
    return {
        "recognized": [text[language] for text in found.recognized],
        "bounds": [
            {
                "wall": bound.wall,
                "value": bound.value,
                "unit": bound.unit,
                "arithmetic": bound.arithmetic[language],
            }
            for bound in found.bounds
        ],
        "measured": found.measured[language] if found.measured else None,
        "share": found.share,
        "band": found.band,
        "wall": found.wall,
        "causes": [
            {"cause": cause.text[language], "check": cause.check[language]}
            for cause in found.causes
        ],
        "next": found.following[language] if found.following else None,
        "page": found.page,
        "notes": [text[language] for text in found.notes],
        "missing": [text[language] for text in found.missing],
        "sources": list(found.sources),
    }
