"""An explanation as lines for a terminal, and as plain data for JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wallsite import tables
from wallsite.explain.answer import BAND_WORDS, WALL_WORDS, Explanation
from wallsite.explain.text import percent, phrase


def lines(found: Explanation, language: str) -> Iterator[str]:
    """Write an explanation, a labelled line each.

    Raises:
        ValueError: there is no such language.
    """

    def say(english: str) -> str:
        return phrase(english)[language]

    rows: list[tuple[str, str]] = []
    rows += [(say("Recognised"), text[language]) for text in found.recognised]
    rows += [
        (
            say("Bound"),
            phrase("{name}: {text}", name=WALL_WORDS[bound.wall], text=bound.arithmetic)[language],
        )
        for bound in found.bounds
    ]
    if found.measured:
        rows.append((say("Measured"), found.measured[language]))
    if found.share is not None:
        rows.append(
            (
                say("Share"),
                phrase(
                    "{size} ({binary})", size=percent(found.share), binary=BAND_WORDS[found.band]
                )[language],
            )
        )
    rows.append((say("Wall"), WALL_WORDS[found.wall][language]))
    rows += [(say("Note"), text[language]) for text in found.notes]
    for place, cause in enumerate(found.causes, 1):
        rows.append((say("Cause") if place == 1 else "", f"{place}. {cause.text[language]}"))
        rows.append(("", f"   {say('Check: ')}{cause.check[language]}"))
    if found.following:
        rows.append((say("Next"), found.following[language]))
    rows += [(say("Not given"), text[language]) for text in found.missing]
    rows.append((say("Read"), found.page))
    if found.sources:
        titles = [
            f"{tables.source(name).publisher}, {tables.source(name).title}"
            for name in found.sources
        ]
        rows += [(say("Source"), title) for title in titles]
    last = ""
    for label, text in rows:
        yield _row("" if label == last else label, text)
        last = label or last


def _row(label: str, text: str) -> str:
    width = sum(2 if ord(character) > 0x2E80 else 1 for character in label)
    return f"{label}{' ' * (12 - width)}{text}".rstrip()


def data(found: Explanation, language: str) -> dict[str, Any]:
    """Return an explanation as plain data; bounds are in SI base units.

    Raises:
        ValueError: there is no such language.
    """
    return {
        "recognised": [text[language] for text in found.recognised],
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
