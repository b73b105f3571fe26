"""Text and numbers as people paste them: encodings, colours, other countries' decimals."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import click

from wallsite.readers.records import ReadError

LARGEST = 64 * 2**20  # byte; a report of a tool is far smaller
ENOUGH = 4 * 2**20  # characters; of what is longer the start is read, which takes a second at most
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def decoded(raw: bytes) -> str:
    """Text of a file, without colours.

    Raises:
        ReadError: it is empty, binary, too large, or in no encoding that tools write.
    """
    if len(raw) > LARGEST:
        raise ReadError(
            f"expected a tool’s report of at most 64 MiB, got {len(raw) / 2**20:.0f} MiB"
        )
    encoding = "utf-16" if raw[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        raise ReadError("expected text in UTF-8, got bytes that are not: a binary file?") from None
    if "\0" in text:
        raise ReadError("expected text, got a binary file")
    if not text.strip():
        raise ReadError("expected a tool’s output, got nothing")
    return click.unstyle(text) if "\x1b" in text else text


def start(text: str) -> tuple[str, str]:
    """The start of a long text, in whole lines, and a sentence that says so; else all of it."""
    if len(text) <= ENOUGH:
        return text, ""
    cut = text.rfind("\n", 0, ENOUGH) + 1 or ENOUGH
    return text[:cut], f"only the first {cut / 2**20:.0f} MiB of {len(text) / 2**20:.0f} were read"


def number(text: str) -> float:
    """Read a plain decimal number, finite and not negative.

    Raises:
        ValueError: it is anything else, also one with a decimal comma.
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:30]!r} is no number")
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{text[:30]!r} is no finite number, 0 or above")
    return value


def european(numbers: Iterable[str]) -> bool:
    """Tell whether a file writes decimals with a comma.

    Raises:
        ReadError: some of its numbers do and some have a decimal point.
    """
    comma = point = ""
    for text in numbers:
        if re.fullmatch(r"-?\d+(?:[.\u202f\u00a0 ]\d{3})*,\d+", text) and not re.fullmatch(
            r"-?\d{1,3}(?:,\d{3})+", text
        ):
            comma = comma or text
        elif re.fullmatch(r"-?\d{1,3}(?:,\d{3})*\.\d+", text) and not re.fullmatch(
            r"-?\d{1,3}(?:\.\d{3})+", text
        ):
            point = point or text
    if comma and point:
        raise ReadError(f"mixed decimals: {comma!r} has a comma, {point!r} a point")
    return bool(comma)


def localised(text: str, comma: bool) -> float:
    """Read a number with marks between thousands, in a file whose decimals have a comma or not.

    Raises:
        ValueError: it is no such number.
    """
    plain = re.sub(r"[\u202f\u00a0 ']", "", text)
    plain = plain.replace(".", "").replace(",", ".") if comma else plain.replace(",", "")
    return number(plain)


def near(value: float, other: float, relative: float, absolute: float = 0.0) -> bool:
    """Tell whether two numbers agree, as far as their printed digits go."""
    return abs(value - other) <= max(relative * max(abs(value), abs(other)), absolute)
