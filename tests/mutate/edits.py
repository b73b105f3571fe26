"""A file to make mistakes in, and what the mistakes of several kinds have in common."""

from __future__ import annotations

import re
from random import Random
from typing import NamedTuple

from wallsite.site import blocks

Edit = tuple[int, int, str]
"""Where the replaced text begins and ends, and what stands there instead."""

FORMULA = re.compile(r"\$\$[^$]+\$\$|(?<![\\$])\$[^$\n]+\$(?!\$)")
NUMERAL = re.compile(r"(?<![\d.,])\d+(?:,\d{3})*(?:\.\d+)?")


class File(NamedTuple):
    """A file to make a mistake in.

    Attributes:
        path: relative to the root of the repository.
        text: its text.
        page: the blocks and the prose of a Markdown page; empty for any other file.
        random: decides what stands in the place of something.
    """

    path: str
    text: str
    page: blocks.Page
    random: Random


def digit(file: File, match: re.Match[str], start: int = 0) -> Edit:
    """Put another digit in the place of one of a numeral's; ``start`` is where its text starts."""
    places = [i for i, c in enumerate(match[0]) if c.isdecimal()]
    place = file.random.choice(places)
    old = match[0][place]
    leading = place == places[0] and len(places) > 1
    new = file.random.choice([c for c in "0123456789"[leading:] if c != old])
    at = start + match.start() + place
    return at, at + 1, new


def blank(match: re.Match[str]) -> str:
    """Fill what was matched with blanks, so that positions stay."""
    return re.sub(r"[^\n]", " ", match[0])


CONFUSED = (
    ("B", "kB", "MB", "GB", "TB"),
    ("GB", "GiB"),
    ("KiB", "MiB", "GiB"),
    ("MB/s", "GB/s", "TB/s", "Gb/s"),
    ("GB", "GB/s"),
    ("TB/s", "TFLOP/s"),
    ("GFLOP/s", "TFLOP/s", "PFLOP/s", "TOP/s"),
    ("FLOP", "FLOP/s", "FLOP/byte"),
    ("byte", "byte/s"),
    ("ns", "µs", "ms", "s"),
    ("W", "kW"),
    ("pJ", "nJ"),
    ("%", "×"),
    ("倍", "%"),
    ("万", "亿", "万亿"),
    ("thousand", "million", "billion", "trillion"),
    ("年", "天", "小时", "秒"),
    ("years", "days", "hours", "seconds"),
    ("字节", "位"),
    ("tokens", "tokens/s"),
)
OTHERS: dict[str, list[str]] = {}
for _group in CONFUSED:
    for _unit in _group:
        OTHERS.setdefault(_unit, []).extend(other for other in _group if other != _unit)
UNIT_WORDS = "|".join(re.escape(x) for x in sorted(OTHERS, key=len, reverse=True))
BARE_UNIT = re.compile(
    r"(?<![A-Za-z/])(?:[kMGTP]i?[Bb](?:/s)?|[GTP]?FLOP/s|FLOP/byte|byte/s|[nµm]s)(?![A-Za-z/])"
)

OPERATORS = {"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "//": "/", "%": "//"}
OPERATORS |= {"<": ">", ">": "<", "<=": "<", ">=": ">", "==": "!=", "!=": "=="}
