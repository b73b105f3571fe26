"""Argument checks shared by the models: one clear line naming the argument."""

from __future__ import annotations

import math


def positive(**arguments: float) -> None:
    """Require every argument to be a finite number above zero.

    Raises:
        ValueError: names the first argument that is zero, negative, NaN, infinite or no number.
    """
    for name, value in arguments.items():
        if not _is_finite_number(value) or value <= 0:
            raise ValueError(f"{name} must be a finite number above 0, got {value!r}")


# No machine computes or moves data slower or faster than this; what lies outside is a number
# in TB/s, TFLOP/s or Gb/s handed over without its prefix.
_SLOWEST, _FASTEST = 1e5, 1e24


def rate(**arguments: float) -> None:
    """Require every argument to be a plausible rate in SI base units, FLOP/s or byte/s.

    Raises:
        ValueError: names the first argument that is not a finite number above zero, or whose
            size says that it was given in another unit.
    """
    positive(**arguments)
    for name, value in arguments.items():
        if not _SLOWEST <= value <= _FASTEST:
            base = "FLOP/s" if "peak" in name else "byte/s"
            raise ValueError(
                f"{name} must be in {base}, got {value!r}: write 3.35 TB/s as 3.35e12, "
                "989 TFLOP/s as 989e12, 400 Gb/s as 400e9 / 8"
            )


def seconds(**arguments: float) -> None:
    """Require every argument to be a plausible latency: 0 to 1 s.

    Raises:
        ValueError: names the first argument outside; microseconds are a likely slip.
    """
    not_negative(**arguments)
    for name, value in arguments.items():
        if value > 1:
            raise ValueError(f"{name} must be in seconds, got {value!r}: write 5 µs as 5e-6")


def not_negative(**arguments: float) -> None:
    """Require every argument to be a finite number, zero or above.

    Raises:
        ValueError: names the first argument that is negative, NaN, infinite or no number.
    """
    for name, value in arguments.items():
        if not _is_finite_number(value) or value < 0:
            raise ValueError(f"{name} must be a finite number, 0 or above, got {value!r}")


def fraction(**arguments: float) -> None:
    """Require every argument to lie in 0 … 1.

    Raises:
        ValueError: names the first argument outside; percentages are a likely slip.
    """
    for name, value in arguments.items():
        if not _is_finite_number(value) or not 0 <= value <= 1:
            raise ValueError(f"{name} must be a fraction from 0 to 1, got {value!r}")


def count(least: int = 1, **arguments: int) -> None:
    """Require every argument to be a whole number, ``least`` or above.

    Raises:
        ValueError: names the first argument that is not.
    """
    for name, value in arguments.items():
        whole = _is_finite_number(value) and value == int(value)
        if not whole or value < least:
            raise ValueError(f"{name} must be a whole number, {least} or above, got {value!r}")


def _is_finite_number(value: object) -> bool:
    # bool is an int to Python; as a bandwidth or a count it is a slip.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
