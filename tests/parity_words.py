"""What `words.toml` says of words that stand for each other in the two languages."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from wallsite import lessons, tables

_DATA = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


def _compiled(forms: dict[str, str]) -> dict[str, re.Pattern[str]]:
    return {language: re.compile(form, re.IGNORECASE) for language, form in forms.items()}


DIRECTIONS = {way: _compiled(forms) for way, forms in _DATA["directions"].items()}
"""How each language says that a link is taken in one direction, or in both."""


class Opposites(NamedTuple):
    """Claims that a slip turns round: how each language says the one, and the other.

    Attributes:
        name: "one or other", in English.
        one: by language.
        other: by language.
        apart: whether its words count for no other pair.
        loose: whether the words often say something else.
    """

    name: str
    one: dict[str, re.Pattern[str]]
    other: dict[str, re.Pattern[str]]
    apart: bool = False
    loose: bool = False

    def count(self, text: str, language: str) -> tuple[int, int]:
        """How often a text speaks of the one and of the other."""
        one, other = (len(forms[language].findall(text)) for forms in (self.one, self.other))
        return one, other

    def without(self, text: str, language: str) -> str:
        """Take its words out of a text."""
        return self.other[language].sub(" ", self.one[language].sub(" ", text))


OPPOSITES = [
    Opposites(**pair | {side: _compiled(pair[side]) for side in ("one", "other")})
    for pair in _DATA["opposites"]
]
NEITHER = _compiled(_DATA["neither"])


def formula_in_english(text: str) -> str:
    r"""Put the words inside ``\text{…}`` of a formula in English; what is English stays."""
    words = lessons.formula_words()
    return re.sub(r"(?<=\\text\{)[^{}]*", lambda match: words.get(match[0], match[0]), text)


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b")


class Term(NamedTuple):
    """A term of the glossary: by language, how it is written, and what may stand for it."""

    name: str
    used: dict[str, re.Pattern[str]]
    accepted: dict[str, re.Pattern[str]]


def with_months_in_digits(text: str) -> str:
    """Write 11 for November, as Chinese does."""
    return _MONTH.sub(lambda match: str(_MONTHS.index(match[0]) + 1), text)


def spells_out(text: str, numeral: str, language: str) -> bool:
    """Whether a text has a whole number up to ten in words."""
    if not numeral.isdecimal() or int(numeral) > 10:
        return False
    words = _DATA["spelled"].get(language)
    if words is None:  # so that it may be
        return True
    word = words[int(numeral)]
    return bool(re.search(word if language == "zh" else rf"(?i)\b(?:{word})\b", text))


@cache
def terms() -> tuple[Term, ...]:
    """The glossary's terms. Chinese prose may keep the English word, as it does for decode."""
    found = []
    for term in tables.glossary():
        if term.zh in DIRECTIONS["one direction"]["zh"].pattern:
            continue  # counted passage by passage
        used = {"zh": _written(term.zh), "en": _written(term.en)}
        instead = _DATA["instead"].get(term.id, {})
        accepted = {
            "zh": [used["zh"], used["en"], instead.get("zh")],
            "en": [used["en"], instead.get("en")],
        }
        found.append(
            Term(
                term.id,
                {language: _whole(form) for language, form in used.items()},
                {language: _whole(*filter(None, forms)) for language, forms in accepted.items()},
            )
        )
    return tuple(found)


def mispaired(text: str) -> tuple[str, ...]:
    """Find Chinese terms that stand with other English than their own, as in 机内（scale-out）."""
    english = {term.zh: term.en.casefold() for term in tables.glossary()}
    return tuple(
        match[0]
        for match in _with_english().finditer(text)
        if not match["en"].startswith(english[match["zh"]])
    )


@cache
def _with_english() -> re.Pattern[str]:
    chinese = (term.zh for term in tables.glossary() if not term.zh.isascii())
    terms = sorted(map(re.escape, chinese), key=len, reverse=True)
    return re.compile(rf"(?P<zh>{'|'.join(terms)})域?\**（(?P<en>[a-z][a-z -]+)")


def _written(word: str) -> str:
    """Match a word in the singular or plural, with a blank, a hyphen or a line's end between."""
    return re.sub(r"\\? ", r"[\\s-]+", re.escape(word)) + "(?:s|es)?"


def _whole(*forms: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z])(?:{'|'.join(forms)})(?![A-Za-z])", re.IGNORECASE)
