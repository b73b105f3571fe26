"""Units, and the one rounding rule of the project.

Inside the package every quantity is in SI base units: FLOP/s, byte/s, byte, s, J, W. Prefixes
appear only where a number is written for a person, and this module is where they are written.
``GB`` is 10**9 bytes and ``GiB`` is 2**30; the two never stand for each other.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Annotated, NamedTuple

from wallsite._checks import did_you_mean, near_matches

# What the arguments and results of the models measure. A page's expression is checked against these
# annotations, so that no bandwidth is taken for a peak.
Flop = Annotated[float, "FLOP"]
Byte = Annotated[float, "byte"]
Second = Annotated[float, "s"]
FlopPerSecond = Annotated[float, "FLOP/s"]
BytePerSecond = Annotated[float, "byte/s"]
FlopPerByte = Annotated[float, "FLOP/byte"]
Number = Annotated[float, "1"]
Count = Annotated[int, "1"]

_METRIC = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_SMALL = {"": 1.0, "m": 1e-3, "µ": 1e-6, "n": 1e-9, "p": 1e-12}

# Decimal's own context stops at 28 digits; the largest float has 309 before its point.
_ANY_SIZE = Context(prec=999)


class Unit(NamedTuple):
    """A unit of measurement: its size in SI base units, and what it measures."""

    scale: float
    dimension: str


def _build() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for prefix, size in _METRIC.items():
        units[f"{prefix}FLOP/s"] = Unit(size, "FLOP/s")
        units[f"{prefix}OP/s"] = Unit(size, "FLOP/s")  # integer operations share the axis
        units[f"{prefix}FLOP"] = Unit(size, "FLOP")
        units[f"{prefix}B/s"] = Unit(size, "byte/s")
        units[f"{prefix}B"] = Unit(size, "byte")
        units[f"{prefix}b/s"] = Unit(size / 8, "byte/s")
        units[f"{prefix}W"] = Unit(size, "W")
    for prefix, size in _BINARY.items():
        units[f"{prefix}B"] = Unit(size, "byte")
        units[f"{prefix}B/s"] = Unit(size, "byte/s")
    for prefix, size in _SMALL.items():
        units[f"{prefix}s"] = Unit(size, "s")
        units[f"{prefix}J"] = Unit(size, "J")
    units |= {
        "byte": Unit(1.0, "byte"),
        "bytes": Unit(1.0, "byte"),
        "字节": Unit(1.0, "byte"),
        "bit": Unit(1 / 8, "byte"),
        "bits": Unit(1 / 8, "byte"),
        "-bit": Unit(1 / 8, "byte"),
        "位": Unit(1 / 8, "byte"),
        "byte/s": Unit(1.0, "byte/s"),
        "FLOPs": Unit(1.0, "FLOP"),
        "FLOP/byte": Unit(1.0, "FLOP/byte"),
        "OP/byte": Unit(1.0, "FLOP/byte"),
        "V": Unit(1.0, "V"),
        "nm": Unit(1e-9, "m"),
        "GT/s": Unit(1e9, "transfer/s"),
        "MHz": Unit(1e6, "1/s"),
        "GHz": Unit(1e9, "1/s"),
        "GPU·h": Unit(3600.0, "s"),
        "GPU hours": Unit(3600.0, "s"),
        "卡时": Unit(3600.0, "s"),
        "million GPU hours": Unit(3.6e9, "s"),
        "万卡时": Unit(3.6e7, "s"),
    }
    for seconds, words in {
        60.0: ("min", "minutes", "minute", "分钟"),
        3600.0: ("h", "hours", "hour", "小时"),
        86400.0: ("d", "days", "day", "天"),
        365.25 * 86400.0: ("years", "year", "年"),
        1.0: ("seconds", "second", "秒"),
    }.items():
        units |= {word: Unit(seconds, "s") for word in words}
    # Plain counts and ratios. The words after a count name what is counted.
    for scale, words in {
        1.0: ("", "×", "倍", "tokens", "token", "GPUs", "卡", "张", "个", "次", "layers", "层"),
        0.01: ("%",),
        1e3: ("thousand",),
        1e4: ("万",),
        1e6: ("million",),
        1e8: ("亿",),
        1e9: ("B params", "billion"),
        1e12: ("万亿", "trillion"),
    }.items():
        units |= {word: Unit(scale, "1") for word in words}
    units["tokens/s"] = units["token/s"] = Unit(1.0, "token/s")
    units["ms/token"] = units["ms/tok"] = Unit(1e-3, "s")
    return units


UNITS = _build()


def unit(name: str) -> Unit:
    """Look up a unit by the way it is written.

    Raises:
        ValueError: the unit is not known; the message lists near matches.
    """
    try:
        return UNITS[name]
    except KeyError:
        hint = did_you_mean(near_matches(name, UNITS))
        raise ValueError(f"unknown unit {name!r}{hint}") from None


def scale(name: str) -> float:
    """Size of a unit in SI base units: ``scale("TB/s") == 1e12`` byte/s.

    Raises:
        ValueError: the unit is not known.
    """
    return unit(name).scale


def round_half_away(value: float, digits: int) -> Decimal:
    """Round to ``digits`` decimals, ties away from zero, as people do by hand.

    Python's own ``round`` sends ties to the even digit (281.25 → 281.2) and JavaScript sends
    them away from zero (281.3); exact ridge points such as 281.25, 312.5 and 562.5 are ties, so
    the page, the tests and the browser need one rule. The value is first read to twelve
    significant digits, so that 2.675, stored as 2.67499…, is the tie its author wrote.

    Raises:
        ValueError: the value is NaN or infinite.
    """
    if not math.isfinite(value):
        raise ValueError(f"cannot round {value!r}: it is not a finite number")
    read = Decimal(f"{value:.12g}")
    rounded = read.quantize(Decimal(f"1e{-digits}"), ROUND_HALF_UP, _ANY_SIZE)
    return rounded.copy_abs() if rounded.is_zero() else rounded  # nobody writes -0


def format_number(value: float, digits: int = 0) -> str:
    """Write a number with ``digits`` decimals and commas between thousands: ``5,294``.

    Four-digit integers keep their comma too, so that columns line up.
    """
    return f"{round_half_away(value, digits):,}"


def significant(value: float, digits: int = 3) -> str:
    """Round to significant digits and drop zeros that say nothing: 7.70 → 7.7, 19788 → 19,800."""
    if value == 0:
        return "0"
    step = digits - 1 - math.floor(math.log10(abs(value)))
    if step <= 0:
        coarse = 10**-step
        return format_number(float(format_number(value / coarse).replace(",", "")) * coarse)
    return format_number(value, step).rstrip("0").rstrip(".")


def format_quantity(value: float, name: str, digits: int = 0) -> str:
    """Write an SI value in the named unit: ``format_quantity(3.35e12, "TB/s", 2)`` → 3.35 TB/s.

    ``%`` and ``×`` stand close to their number, every other unit after a space.
    """
    gap = "" if name in {"%", "×", "", "倍"} else " "
    return f"{format_number(value / scale(name), digits)}{gap}{name}"
