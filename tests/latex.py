r"""Evaluate the LaTeX of the pages: as much of it as their formulas need, and nothing by guess.

A symbol is a letter with its subscript, or words: ``\beta_{\text{in}}`` has the name ``beta_in``
and ``\text{transfer rate}`` the name ``transfer_rate``. A letter before a parenthesis is a factor.
A checked number has the value of its expression, in SI base units, whatever unit follows it.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from wallsite.site.checked import expressions, numbers

_WORDS = r"\\text\{[^{}]*\}"
SYMBOL = (
    r"(?:(?:(?:\\Delta )?(?:[A-Za-z]|\\(?:alpha|beta)(?![A-Za-z])))"
    rf"(?:_(?:{_WORDS}|\{{{_WORDS}\}}|[A-Za-z]))?|{_WORDS})"
)
_TOKEN = re.compile(
    rf"(?P<blank>\s+|\\[,;: ]|\\(?:left|right)(?![A-Za-z])|,\s*\\qquad\s*{_WORDS})"
    rf"|(?P<checked>{numbers.PATTERN.pattern}(?:\\ {_WORDS})?)"
    r"|(?P<number>\d+(?:\.\d+)?)"
    rf"|(?P<symbol>{SYMBOL})"
    r"|(?P<operator>\\(?:[dt]?frac|sqrt|min|max|times|cdot|log_2)(?![A-Za-z])|[-+/^(){},])"
    r"|(?P<unknown>\\[A-Za-z]+|.)"
)
_KINDS = ("blank", "checked", "number", "symbol", "operator", "unknown")
_RELATION = re.compile(rf"{numbers.PATTERN.pattern}|(?P<relation>[=<>]|\\(?:ge|le|approx)(?!\w))")


def _root(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan


_UNARY: dict[str, Callable[..., float]] = {r"\sqrt": _root, r"\log_2": math.log2}
_CHOICE: dict[str, Callable[..., float]] = {r"\min": min, r"\max": max}
_FRACTION = {r"\frac", r"\tfrac", r"\dfrac"}
_OPENS_A_FACTOR = {"(", *_FRACTION, *_UNARY, *_CHOICE}


class LatexError(ValueError):
    """LaTeX that has no value, or more than one reading."""


class Side(NamedTuple):
    """What stands on one side of a relation; the first has none before it."""

    relation: str
    latex: str


def sides(latex: str) -> list[Side]:
    """Split a formula at its relations."""
    found, start, relation = [], 0, ""
    for match in _RELATION.finditer(latex):
        if match["relation"]:
            found.append(Side(relation, latex[start : match.start()].strip()))
            start, relation = match.end(), match["relation"]
    return [*found, Side(relation, latex[start:].strip())]


def symbols(latex: str) -> set[str]:
    """Names of the symbols of a formula."""
    return {name(match["symbol"]) for match in _TOKEN.finditer(latex) if match["symbol"]}


def name(symbol: str) -> str:
    """Name of a symbol, such that it can name a parameter in Python."""
    return re.sub(r"[\W_]+", "_", symbol.replace(r"\text", "")).strip("_")


def evaluate(latex: str, values: Mapping[str, float]) -> float:
    """Evaluate one side of a formula.

    Raises:
        LatexError: it cannot be read, can be read in two ways, or has a symbol without a value.
    """
    parser = _Parser(latex, values)
    try:
        value = parser.sum()
    except (ArithmeticError, expressions.ExpressionError) as error:
        raise LatexError(f"{latex!r} has no value: {error}") from None
    if parser.tokens:
        raise LatexError(f"cannot read {parser.tokens[0][1]!r} in {latex!r}")
    return value


class _Parser:
    def __init__(self, latex: str, values: Mapping[str, float]) -> None:
        self.latex, self.values = latex, values
        self.tokens = [
            (kind, match[0])
            for match in _TOKEN.finditer(latex)
            if (kind := next(kind for kind in _KINDS if match[kind])) != "blank"
        ]

    def sum(self) -> float:
        sign = -1.0 if self._take("-") else 1.0
        total = sign * self._product()
        while operator := self._take("+", "-"):
            total += self._product() if operator == "+" else -self._product()
        return total

    def _product(self) -> float:
        value, _ = self._factors()
        while operator := self._take(r"\times", r"\cdot", "/"):
            other, number = self._factors()
            if operator == "/" and number > 1:
                raise LatexError(f"two readings: what all does / divide by in {self.latex!r}?")
            value = value / other if operator == "/" else value * other
        return value

    def _factors(self) -> tuple[float, int]:
        """Read what stands side by side: its product, and the number of factors."""
        value, number = self._power(), 1
        while self.tokens and (
            self.tokens[0][0] != "operator" or self.tokens[0][1] in _OPENS_A_FACTOR
        ):
            value, number = value * self._power(), number + 1
        return value, number

    def _power(self) -> float:
        base = self._atom()
        return math.pow(base, self._argument()) if self._take("^") else base

    def _argument(self) -> float:
        """Read what a command or a ^ takes: a group, or what comes next."""
        if not self._take("{"):
            if self.tokens and self.tokens[0][0] == "number" and len(self.tokens[0][1]) > 1:
                raise LatexError(f"TeX takes one digit of {self.tokens[0][1]}: {self.latex!r}")
            return self._atom()
        value = self.sum()
        self._need("}")
        return value

    def _atom(self) -> float:
        kind, text = self.tokens.pop(0) if self.tokens else ("end", "the end")
        match kind:
            case "number":
                return float(text)
            case "checked":
                return expressions.evaluate(numbers.find(text)[0].expression).value
            case "symbol" if name(text) in self.values:
                return self.values[name(text)]
            case "operator" if text in _OPENS_A_FACTOR:
                return self._after(text)
        raise LatexError(f"no value for {text!r} in {self.latex!r}")

    def _after(self, operator: str) -> float:
        """Read what belongs to a command or a parenthesis."""
        if operator in _FRACTION:
            return self._argument() / self._argument()
        if operator in _UNARY:
            return _UNARY[operator](self._argument())
        if operator in _CHOICE:
            self._need("(")
        values = [self.sum()]
        while operator in _CHOICE and self._take(","):
            values.append(self.sum())
        self._need(")")
        return _CHOICE.get(operator, sum)(values)

    def _take(self, *operators: str) -> str:
        if self.tokens and self.tokens[0][0] == "operator" and self.tokens[0][1] in operators:
            return self.tokens.pop(0)[1]
        return ""

    def _need(self, operator: str) -> None:
        if not self._take(operator):
            raise LatexError(f"no {operator!r} where one belongs in {self.latex!r}")
