"""Numbers as a figure writes them: three significant digits, in the handiest unit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wallsite import locale
from wallsite.units import scale, significant

__all__ = ["bandwidth", "listed", "rate", "significant", "span"]


def _in_handiest(value: float, units: Sequence[str], digits: int) -> str:
    """Write in the largest of the units, given from small to large, that leaves 1 or more.

    It is what is written that counts: 999.6 GB/s to three digits is 1 TB/s.
    """
    written = [(significant(value / scale(unit), digits), unit) for unit in reversed(units)]
    for digits_of, unit in written:
        if not digits_of.startswith("0"):
            return f"{digits_of} {unit}"
    return " ".join(written[-1])


def bandwidth(value: float, digits: int = 3) -> str:
    """byte/s: ``450 GB/s``, ``3.35 TB/s``."""
    return _in_handiest(value, ("GB/s", "TB/s"), digits)


def rate(value: float, digits: int = 3) -> str:
    """FLOP/s: ``989 TFLOP/s``, ``2,250 TFLOP/s``. One unit, so that chips compare at sight."""
    return f"{significant(value / scale('TFLOP/s'), digits)} TFLOP/s"


def listed(parts: Iterable[str], lang: str) -> str:
    """Join the items of a list inside a sentence."""
    return locale.say(lang, ", ").join(parts)


def span(values: Sequence[float], unit: str, digits: int = 3) -> str:
    """Write what conflicting sources say: ``752–800 TFLOP/s``, or one number where they agree."""
    ends = (significant(end / scale(unit), digits) for end in (min(values), max(values)))
    gap = "" if unit == "%" else " "
    return f"{'–'.join(dict.fromkeys(ends))}{gap}{unit}"
