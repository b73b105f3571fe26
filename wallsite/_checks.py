"""Checks of what a caller hands over, and the one clear line that names what is wrong.

A check returns the argument as a plain Python number for the formula to use. A numpy scalar
would bring its own width along, and ``np.uint8(16) * np.uint8(16)`` is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeGuard

# No machine computes or moves data slower or faster than this; what lies outside is a number
# in TB/s, TFLOP/s or Gb/s handed over without its prefix.
_SLOWEST, _FASTEST = 1e5, 1e24
# Nothing that is counted or measured lies outside, and inside no formula here overflows.
MOST_OF_A_BOUND = 1.02
_SHORTEST, _POWERS_OF_TWO = 1000, {2**exponent for exponent in range(10)}
_FEWEST_PARAMETERS = 1e3
_SMALLEST, _LARGEST = 1e-60, 1e60


class BothDirections(float):
    """Bandwidth of a link, byte/s, with both directions added or with none stated.

    It remembers that, so that the models of communication, which need what one direction
    carries, can refuse it. Arithmetic on it gives a plain float: whoever halves it knows why.
    """


def positive(name: str, value: float) -> float:
    """Require a finite number above zero.

    Raises:
        ValueError: it is zero, negative, NaN, infinite or no number.
    """
    return _checked(name, value, "a finite number above 0", lambda number: number > 0)


def not_negative(name: str, value: float) -> float:
    """Require a finite number, zero or above.

    Raises:
        ValueError: it is negative, NaN, infinite or no number.
    """
    return _checked(name, value, "a finite number, 0 or above", lambda number: number >= 0)


def rate(name: str, value: float) -> float:
    """Require a plausible rate in SI base units, FLOP/s or byte/s.

    Raises:
        ValueError: it is not a finite number above zero, or its size says that it was given in
            another unit.
    """
    number = positive(name, value)
    if not _SLOWEST <= number <= _FASTEST:
        base = "FLOP/s" if "peak" in name else "byte/s"
        raise ValueError(
            f"{name} must be in {base}, got {shown(value)}: write 3.35 TB/s as 3.35e12, "
            "989 TFLOP/s as 989e12, 400 Gb/s as 400e9 / 8"
        )
    return number


def one_way(name: str, value: float) -> float:
    """Require a plausible rate in byte/s that counts one direction of a link.

    Raises:
        ValueError: it is known to add both directions, or is no plausible rate.
    """
    if isinstance(value, BothDirections):
        raise ValueError(  # noqa: TRY004 - its type only carries what the value counts
            f"{name} must count one direction, got {shown(value)} byte/s of both added: take "
            "link.bandwidth, which counts one"
        )
    return rate(name, value)


def share(name: str, value: float, causes: Iterable[str]) -> float:
    """Require a share of a bound that a measurement can reach.

    A little above 1 is let through: clocks drift, and a datasheet rounds.

    Raises:
        ValueError: it is above 1.02; the message names what makes it so.
    """
    if value > MOST_OF_A_BOUND:
        why = " ".join(f"({place}) {cause}" for place, cause in enumerate(causes, 1))
        raise ValueError(f"{name} is {value:.3g} of the bound, above {MOST_OF_A_BOUND}: {why}")
    return value


def message(name: str, value: float) -> float:
    """Require a plausible number of bytes to send.

    Below 1,000 bytes only powers of two are taken, which is what one number, or a sweep of sizes,
    comes to; anything else is a number in GB handed over without its prefix.

    Raises:
        ValueError: it is not above zero, or lacks its prefix.
    """
    number = positive(name, value)
    if number < _SHORTEST and number not in _POWERS_OF_TWO:
        raise ValueError(f"{name} must be in bytes, got {shown(value)}: write 14 GB as 14e9")
    return number


def parameters(name: str, value: float) -> float:
    """Require a plausible number of a model's parameters.

    Raises:
        ValueError: it is not above zero, or is given in billions.
    """
    number = positive(name, value)
    if number < _FEWEST_PARAMETERS:
        raise ValueError(
            f"{name} must be a number of parameters, got {shown(value)}: write 7 billion as 7e9"
        )
    return number


def seconds(name: str, value: float) -> float:
    """Require a plausible latency: 0 to 1 s.

    Raises:
        ValueError: it lies outside; microseconds are a likely slip.
    """
    number = not_negative(name, value)
    if number > 1:
        raise ValueError(f"{name} must be in seconds, got {shown(value)}: write 5 µs as 5e-6")
    return number


def fraction(name: str, value: float) -> float:
    """Require a fraction from 0 to 1.

    Raises:
        ValueError: it lies outside; percentages are a likely slip.
    """
    return _checked(name, value, "a fraction from 0 to 1", lambda number: 0 <= number <= 1)


def count(name: str, value: float, least: int = 1) -> int:
    """Require a whole number, ``least`` or above.

    Raises:
        ValueError: it is anything else.
    """

    def holds(number: float) -> bool:
        return number == int(number) and number >= least

    return int(_checked(name, value, f"a whole number, {least} or above", holds))


def _checked(name: str, value: object, must: str, holds: Callable[[float], bool]) -> float:
    number = value
    if getattr(value, "ndim", None) == 0:
        number = value.item()  # type: ignore[attr-defined]  # a scalar of numpy or torch
    if not (_is_finite(number) and holds(number)):
        raise ValueError(f"{name} must be {must}, got {shown(value)}")
    if number and not _SMALLEST <= abs(number) <= _LARGEST:
        raise ValueError(f"{name} is too large or too small to be real: {shown(value)}")
    return number


def _is_finite(value: object) -> TypeGuard[float]:
    # bool is an int to Python; as a bandwidth or a count it is a slip. Comparing, unlike
    # math.isfinite, takes an int of any length.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def shown(value: object) -> str:
    """Write a value for an error message: one short line, were it an array or a whole table."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "an int of more than 60 digits"  # which Python may even refuse to print
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:60]}…"


def near_matches(name: object, known: Iterable[str]) -> list[str]:
    """List up to four known names close to a mistyped one, best first."""
    from difflib import get_close_matches  # noqa: PLC0415 (only mistakes pay for this import)

    return get_close_matches(str(name), list(known), n=4, cutoff=0.5)


def did_you_mean(near: Iterable[str]) -> str:
    """Write near matches as the end of an error message; nothing if there are none."""
    names = " or ".join(near)
    return f"; did you mean {names}?" if names else ""
