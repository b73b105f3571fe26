"""Mistakes in the prose of a page: numbers, and the words that say what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wallsite.site.checked import numbers

from .edits import (
    BARE_UNIT,
    FORMULA,
    NUMERAL,
    OPERATORS,
    OTHERS,
    UNIT_WORDS,
    Edit,
    File,
    blank,
    digit,
)

# Where a numeral is no part of what the page says.
_NOT_SAID = re.compile(
    r"\]\([^()]*\)|<https?:[^>]*>|\[\^[^\]]+\]|\{[^{}\n]*#[^{}\n]*\}|^[ \t>]*\d+[.)] "
    r"|^[ \t]*/{3,}.*|^[ \t]+(?:devices|vendor|tier|dtype): .*",
    re.MULTILINE,
)


def _prose(file: File) -> str:
    """The page's prose; checked numbers, formulas and what is not said are blank."""
    prose = numbers.PATTERN.sub(blank, file.page.prose)
    return _NOT_SAID.sub(blank, FORMULA.sub(blank, prose))


def shown_digits(file: File) -> Iterator[Edit]:
    """A digit of what a checked number shows."""
    for number in numbers.PATTERN.finditer(file.page.prose):
        if match := NUMERAL.search(number["shown"]):
            yield digit(file, match, number.start("shown"))


def bare_digits(file: File) -> Iterator[Edit]:
    """A digit in prose that no expression stands behind: a year, a name."""
    for match in NUMERAL.finditer(_prose(file)):
        yield digit(file, match)


def units(file: File) -> Iterator[Edit]:
    """The unit of a checked number, or one that stands in prose."""
    for number in numbers.PATTERN.finditer(file.page.prose):
        if match := re.search(rf"(?<![A-Za-z/])(?:{UNIT_WORDS})\Z", number["shown"]):
            start = number.start("shown")
            new = file.random.choice(OTHERS[match[0]])
            yield start + match.start(), start + match.end(), new
    for match in BARE_UNIT.finditer(_prose(file)):
        yield match.start(), match.end(), file.random.choice(OTHERS[match[0]])


_SIGNS = {"−": "", "+": "−", "≈": "≥", "≥": "≤", "≤": "≥", "<": ">", ">": "<", "1/": ""}
_SIGN = re.compile(r"(?<![\w−+/])(?:[−+≈≥≤<>]|1/)(?=\s?(?:\d|\[\[))")


def signs(file: File) -> Iterator[Edit]:
    """The sign of a number, a relation before one, or the 1/ that makes it a reciprocal."""
    for number in numbers.PATTERN.finditer(file.page.prose):
        start = number.start("shown")
        yield (start, start + 1, "") if number["shown"][0] in "−-" else (start, start, "−")
    for match in _SIGN.finditer(_NOT_SAID.sub(blank, file.page.prose)):
        yield match.start(), match.end(), _SIGNS[match[0]]


_DIRECTIONS = {
    "单向": "双向",
    "双向": "单向",
    "一个方向": "两个方向",
    "两个方向": "一个方向",
    "只读": "只写",
    "读一": "写一",
    "读两": "写两",
    "读进来": "写进去",
    "写一": "读一",
    "写回": "读回",
    "写分配": "读分配",
    "机内": "机间",
    "机间": "机内",
    "per direction": "both directions",
    "in one direction": "in both directions",
    "both directions": "one direction",
    "one way": "both ways",
    "one-way": "two-way",
    "each way": "both ways",
    "reads": "writes",
    "writes": "reads",
    "read once": "written once",
    "read from": "written to",
    "read in full": "written in full",
    "written once": "read once",
    "write-allocate": "read-allocate",
    "scale-up": "scale-out",
    "scale-out": "scale-up",
}
_DIRECTION = re.compile(
    "|".join(
        rf"(?<!site )\b{word}\b(?! high| it as)" if word.isascii() else f"(?<!主){word}"
        for word in sorted(_DIRECTIONS, key=len, reverse=True)
    )
)


def directions(file: File) -> Iterator[Edit]:
    """A word that says which way: one direction or both, read or write, inside or outside."""
    for match in _DIRECTION.finditer(_prose(file)):
        yield match.start(), match.end(), _DIRECTIONS[match[0]]


_OPPOSITE = (
    ("memory-bound", "compute-bound"),
    ("faster", "slower"),
    ("fastest", "slowest"),
    ("above", "below"),
    ("rises", "falls"),
    ("grows", "shrinks"),
    ("grew", "shrank"),
    ("increases", "decreases"),
    ("larger", "smaller"),
    ("largest", "smallest"),
    ("longer", "shorter"),
    ("higher", "lower"),
    ("more than", "less than"),
    ("left of", "right of"),
    ("更快", "更慢"),
    ("快了", "慢了"),
    ("变快", "变慢"),
    ("最快", "最慢"),
    ("高于", "低于"),
    ("更高", "更低"),
    ("大于", "小于"),
    ("以上", "以下"),
    ("上升", "下降"),
    ("涨到", "降到"),
    ("变大", "变小"),
    ("更大", "更小"),
    ("最大", "最小"),
    ("更长", "更短"),
    ("更多", "更少"),
    ("左边", "右边"),
    ("访存受限", "算力受限"),
    ("受限于带宽", "受限于算力"),
)
_TURNED = {word: other for a, b in _OPPOSITE for word, other in ((a, b), (b, a))}
_TURNED |= {"超过": "不到", "增长": "下降"}
# No slip of the pen makes "no shorter" of "no longer"; "falls into" is no fall, 可以下载 no 以下.
_TURNING = re.compile(
    "|".join(
        rf"(?<!no )(?<!as )\b{word}\b(?! short| into| N\b)"
        if word.isascii()
        else f"(?<!不)(?<!可){word}(?!没有|值|载)"
        for word in _TURNED
    )
)


def opposites(file: File) -> Iterator[Edit]:
    """A word turned into its opposite."""
    for match in _TURNING.finditer(_prose(file)):
        yield match.start(), match.end(), _TURNED[match[0]]


def operators(file: File) -> Iterator[Edit]:
    """An operator of an expression."""
    for number in numbers.PATTERN.finditer(file.page.prose):
        expression, start = number["expression"], number.start("expression")
        for match in re.finditer(r"\*\*|(?<=[\w)]) ?[-+*/] ?(?=[\w(])", _unquoted(expression)):
            operator = match[0].strip()
            new = match[0].replace(operator, OPERATORS[operator])
            yield start + match.start(), start + match.end(), new


def arguments(file: File) -> Iterator[Edit]:
    """A numeral of an expression, the thing it names, or link against both."""
    for number in numbers.PATTERN.finditer(file.page.prose):
        expression, start = number["expression"], number.start("expression")
        for match in re.finditer(r"(?<![\w.])\d+(?:\.\d+)?", _unquoted(expression)):
            yield digit(file, match, start)
        for match in re.finditer(r"\b(?:link|both)(?=\()", expression):
            new = {"link": "both", "both": "link"}[match[0]]
            yield start + match.start(), start + match.end(), new
        for match in re.finditer(r"(?<=bandwidth\(')[\w-]+|(?<=peak\(')[\w-]+", expression):
            others = [name for name in ("h100-sxm", "a100-sxm-80gb", "b200") if name != match[0]]
            yield start + match.start(), start + match.end(), file.random.choice(others)


def _unquoted(expression: str) -> str:
    return re.sub(r"'[^']*'", lambda match: "'" * len(match[0]), expression)
