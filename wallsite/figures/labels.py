"""Numbers as a figure writes them: three significant digits, in the handiest unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from wallsite import locale
from wallsite.units import format_number, scale


def significant(value: float, digits: int = 3) -> str:
    """Round to significant digits and drop zeros that say nothing: 7.70 → 7.7, 19788 → 19,800."""
    if value == 0:
        return "0"
    step = digits - 1 - math.floor(math.log10(abs(value)))
    if step <= 0:
        coarse = 10**-step
        return format_number(float(format_number(value / coarse).replace(",", "")) * coarse)
    return format_number(value, step).rstrip("0").rstrip(".")


def _in_handiest(value: float, units: Sequence[str], digits: int) -> str:
    """Write in the largest of the units, given from small to large, that leaves 1 or more."""
    fitting = [unit for unit in units if value >= scale(unit)] or list(units[:1])
    return f"{significant(value / scale(fitting[-1]), digits)} {fitting[-1]}"


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
