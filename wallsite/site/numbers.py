"""Checked numbers: what the page shows, written beside the expression that yields it.

``[[295 FLOP/byte := ridge('h100-sxm')]]`` shows *295 FLOP/byte*. The page build and the tests
both evaluate the expression and refuse the page when the digits are not the value rounded, half
away from zero, to the digits shown. Both languages carry the same expressions, so a number
cannot differ between them.

This module knows the syntax only; `wallsite.site.expressions` knows what the names mean.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from wallsite import units
from wallsite.site import expressions

PATTERN = re.compile(r"\[\[(?P<shown>[^\[\]\n]+?)\s+:=\s+(?P<expression>[^\n]+?)\]\](?!\])")

_SHOWN = re.compile(
    r"(?P<sign>[−-]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<decimals>\d+))?"
    r"(?:\s?(?:×|\\times)\s?10(?:\^\{(?P<power>-?\d+)\}|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)))?"
    r"\s?(?P<unit>.*)"
)
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


class NumberError(ValueError):
    """A checked number that cannot be read, evaluated, or does not show its value."""


class Checked(NamedTuple):
    """A checked number found in a text: where it stands, what it shows, how it is computed."""

    start: int
    end: int
    shown: str
    expression: str

    def check(self) -> expressions.Result:
        """Evaluate the expression and compare it with the digits shown.

        Raises:
            NumberError: the shown text is not a number with a known unit, the expression fails,
                depends on no data and no model, is not finite, or rounds to other digits.
        """
        digits, decimals, size = self._read()
        try:
            result = expressions.evaluate(self.expression)
        except expressions.ExpressionError as error:
            raise NumberError(f"[[{self.shown} := {self.expression}]]: {error}") from None
        right = units.round_half_away(result.value / size, decimals)
        if right != digits:
            raise NumberError(
                f"[[{self.shown} := {self.expression}]]: shows {digits:,}, but the value is "
                f"{result.value / size:.12g}, which rounds to {right:,}"
            )
        return result

    def _read(self) -> tuple[Decimal, int, float]:
        """Split the shown text into its digits, the number of decimals, and the size of one."""
        match = _SHOWN.fullmatch(self.shown)
        if match is None:
            raise NumberError(
                f"[[{self.shown} := …]]: cannot read {self.shown!r} as a number and a unit; "
                "write 1,234.5 TB/s, 38%, 2.30× or 3.15×10²³, and 'about' or ≈ outside"
            )
        decimals = match["decimals"] or ""
        whole = match["whole"].replace(",", "")
        digits = Decimal(f"{'-' if match['sign'] else ''}{whole}{decimals and f'.{decimals}'}")
        power = int(match["power"] or (match["raised"] or "0").translate(_RAISED))
        try:
            size = units.scale(match["unit"].strip()) * 10.0**power
        except ValueError as error:
            raise NumberError(f"[[{self.shown} := {self.expression}]]: {error}") from None
        return digits, len(decimals), size


def find(text: str) -> list[Checked]:
    """Find every checked number of a text, in order."""
    return [
        Checked(match.start(), match.end(), match["shown"].strip(), match["expression"].strip())
        for match in PATTERN.finditer(text)
    ]


def plain(text: str) -> str:
    """Replace every checked number by what it shows, unchecked: for headings and search."""
    return PATTERN.sub(lambda match: match["shown"].strip(), text)
