"""Checked numbers: what the page shows, written beside the expression that yields it.

``[[295 FLOP/byte := ridge('h100-sxm')]]`` shows *295 FLOP/byte*. The page build and the tests
both evaluate the expression and refuse the page when the digits are not the value rounded, half
away from zero, to the digits shown. Both languages carry the same expressions, so a number
cannot differ between them.

A word may stand for the digits: ``[[half := …]]``, ``[[减半 := …]]``. The words are in
`wallsite.locale`; a ratio holds within 2.5 %, a count such as "two" is read as its digits.

This module knows the syntax only; `wallsite.site.checked.expressions` knows what the names mean.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from wallsite import locale, units
from wallsite.site import blocks
from wallsite.site.checked import dimensions, expressions

PATTERN = re.compile(
    r"\[\[(?P<shown>[^\[\]\n]+?)[^\S\n]+:=[^\S\n]+(?P<expression>[^\s\[\]][^\[\]\n]*)\]\]"
)
# What is left of one that does not read as the above; pages use these marks for nothing else.
_LEFT = re.compile(r"\[\[(?:.*?\]\]|.*)|:=.*")

_SHOWN = re.compile(
    r"(?P<sign>[−-]?)(?P<whole>[1-9][0-9]{0,2}(?:,[0-9]{3})+|0|[1-9][0-9]*)"
    r"(?:\.(?P<decimals>[0-9]+))?"
    r"(?:\s?(?:×|\\times)\s?10"
    r"(?:\^\{(?P<power>-?[0-9]{1,2})\}|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})))?"
    r"\s?(?P<unit>.*)"
)
# A unit right after the brackets. In a formula that is its place: ``\ \text{ms}``.
_IN_FORMULA = re.compile(r"(?:\\[ ,;:!]|~|\s)*\\text\{\s*([^{}]+?)\s*\}")
_IN_PROSE = re.compile(r"\s?([A-Za-zµ/]+|[\u4e00-\u9fff]{1,2})(?![A-Za-z0-9])")
# A difference of two years is counted, not measured.
_PHYSICAL = {name for name, unit in units.UNITS.items() if unit.dimension != "1"}
_PHYSICAL -= {"year", "years", "年"}
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


_LEEWAY = 0.025  # of a word such as "half"


class NumberError(ValueError):
    """A checked number that cannot be read, evaluated, or does not show its value.

    Attributes:
        right: the digits that it should show, if that is all that is wrong.
    """

    def __init__(self, message: str, right: str | None = None) -> None:
        super().__init__(message)
        self.right = right


class Shown(NamedTuple):
    """What a checked number shows, taken apart.

    Attributes:
        digits: the number as it stands before its unit.
        decimals: how many it has.
        unit: its unit, empty for a plain number.
        size: of the unit and any power of ten, in SI base units.
        ratio: it is a word such as "half", which holds within 2.5 %.
    """

    digits: Decimal
    decimals: int
    unit: str
    size: float
    ratio: bool

    @property
    def si(self) -> float:
        """What is shown, in SI base units."""
        return float(self.digits) * self.size


class _Word(NamedTuple):
    value: float
    unit: str
    ratio: bool


@cache
def _words() -> Mapping[str, tuple[float, bool]]:
    """Words for numbers in every language, with whether each is a ratio; the longest first."""
    found = {
        word: (float(value), kind == "ratios")
        for language in locale.languages()
        for kind in ("counts", "ratios")
        for word, value in locale.section(language, kind).items()
    }
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def _word(shown: str) -> _Word | None:
    """Read a number in words, perhaps with a unit: half, two seconds, 减半, 两小时."""
    text = shown[0].lower() + shown[1:]
    for word, (value, ratio) in _words().items():
        unit = text.removeprefix(word).strip()
        if text.startswith(word) and (not unit or unit in units.UNITS):
            return _Word(value, unit, ratio)
    return None


class Checked(NamedTuple):
    r"""A checked number found in a text.

    Attributes:
        start: where it begins in the text.
        end: where it ends.
        shown: what the reader sees, with its unit unless that is in ``beyond``.
        expression: how it is computed.
        beyond: a unit that follows in a formula, as ``\text{ms}``.
        stray: a unit of measurement that follows in prose, where it escapes the check.
    """

    start: int
    end: int
    shown: str
    expression: str
    beyond: str = ""
    stray: str = ""

    def check(self) -> expressions.Result:
        """Evaluate the expression and compare it with the digits shown.

        Raises:
            NumberError: the shown text is not a number with a known unit, the expression fails,
                depends on no data and no model, is not finite, or rounds to other digits.
        """
        shown = self.read()
        try:
            result = expressions.evaluate(self.expression)
        except expressions.ExpressionError as error:
            raise self._error(error) from None
        if shown.unit and result.dimension != dimensions.parse(units.unit(shown.unit).dimension):
            raise self._error(
                f"{shown.unit} measures {units.unit(shown.unit).dimension}, but the expression is "
                f"{dimensions.write(result.dimension)}"
            )
        value = result.value / shown.size
        if shown.ratio:
            if abs(value / float(shown.digits) - 1) > _LEEWAY:
                raise self._error(
                    f"says {shown.digits:.3g}, but the value is {value:.12g}, more than "
                    f"{_LEEWAY * 100:g}% off"
                )
            return result
        right = units.round_half_away(value, shown.decimals)
        if right != shown.digits:
            raise self._error(
                f"shows {shown.digits:,}, but the value is {value:.12g}, which rounds to {right:,}",
                f"{right:,}",
            )
        return result

    def read(self) -> Shown:
        """Take apart what the reader sees.

        Raises:
            NumberError: it is not a number, in digits or in a word, with a known unit.
        """
        if self.stray:
            raise self._error(f"the unit {self.stray!r} after it belongs inside the brackets")
        match = _SHOWN.fullmatch(self.shown)
        word = None if match else _word(self.shown)
        if match is None and word is None:
            raise self._error(
                f"cannot read {self.shown!r} as a number and a unit; write 1,234.5 TB/s, 38%, "
                "2.30×, 3.15×10²³ or a word such as half, and 'about' or ≈ outside"
            )
        if word:
            digits, decimals, power = Decimal(f"{word.value:.12g}"), 0, 0
            unit = word.unit or self.beyond
        else:
            assert match
            places = match["decimals"] or ""
            whole = match["whole"].replace(",", "")
            digits = Decimal(f"{'-' if match['sign'] else ''}{whole}{places and f'.{places}'}")
            decimals = len(places)
            power = int(match["power"] or (match["raised"] or "0").translate(_RAISED))
            unit = match["unit"].strip() or self.beyond
        try:
            size = units.unit(unit).scale * 10.0**power
        except ValueError as error:
            raise self._error(error) from None
        return Shown(digits, decimals, unit, size, ratio=bool(word and word.ratio))

    def _error(self, message: object, right: str | None = None) -> NumberError:
        return NumberError(f"[[{self.shown} := {self.expression}]]: {message}", right)


def find(text: str) -> list[Checked]:
    """Find every checked number of a text, in order."""
    return [
        Checked(
            match.start(),
            match.end(),
            match["shown"].strip(),
            match["expression"].strip(),
            _following(_IN_FORMULA, text, match.end(), units.UNITS),
            _following(_IN_PROSE, text, match.end(), _PHYSICAL),
        )
        for match in PATTERN.finditer(text)
    ]


def _following(pattern: re.Pattern[str], text: str, end: int, known: Container[str]) -> str:
    """Return the known unit that follows at a place in a text, if one does."""
    match = pattern.match(text, end)
    return match[1] if match and match[1] in known else ""


class Malformed(NamedTuple):
    """What was meant as a checked number and would be shown as it stands.

    Attributes:
        start: position in the page.
        message: what is wrong, with the text.
    """

    start: int
    message: str


def malformed(page: blocks.Page) -> Iterator[Malformed]:
    """Find what was meant as a checked number, in prose or in what a code block says of itself."""
    for match in _LEFT.finditer(PATTERN.sub(lambda match: " " * len(match[0]), page.prose)):
        written = page.prose[slice(*match.span())].strip()
        yield Malformed(
            match.start(),
            f"malformed checked number: {written}; write [[295 FLOP/byte := expression]] on one "
            "line, with blanks around :=",
        )
    lines = [match.start() for match in re.finditer(r"^", page.prose, re.MULTILINE)]
    for block in page.blocks:
        for name, text in block.attributes.items():
            if "[[" in text:
                yield Malformed(
                    lines[block.line - 1],
                    f"the {name} of a code block cannot hold a checked number: {text}",
                )


def plain(text: str) -> str:
    """Replace every checked number by what it shows, unchecked: for headings and search."""
    return PATTERN.sub(lambda match: match["shown"].strip(), text)
