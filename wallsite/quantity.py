"""Reading what people write: ``460.8 GB/s``, ``4.58 GiB``, ``400Gb/s``, ``12xDDR5-4800``, ``8B``.

Numbers and prefixes are read by QuantiPhy; this module says which units a quantity may have. All
results are in SI base units: byte, byte/s, FLOP, FLOP/s, s, Hz.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wallsite._checks import positive, shown

# By what is measured: each unit and its size in SI base units. The case tells B from b,
# and of no other unit anything.
_UNITS: Mapping[str, Mapping[str, float]] = {
    "byte": {"B": 1.0, "byte": 1.0, "bytes": 1.0, "b": 1 / 8, "bit": 1 / 8, "bits": 1 / 8},
    "byte/s": {
        "B/s": 1.0,
        "Bps": 1.0,
        "byte/s": 1.0,
        "bytes/s": 1.0,
        "b/s": 1 / 8,
        "bps": 1 / 8,
        "bit/s": 1 / 8,
        "bits/s": 1 / 8,
    },
    "FLOP": {"flop": 1.0, "flops": 1.0, "op": 1.0},
    "FLOP/s": {"flop/s": 1.0, "flops": 1.0, "flops/s": 1.0, "op/s": 1.0, "ops": 1.0},
    "s": {"s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0},
    "Hz": {"hz": 1.0},
    "token/s": dict.fromkeys(("", "token/s", "tokens/s", "tok/s", "t/s", "tps"), 1.0),
}
_SUCH_AS = {
    "byte": "4.58 GiB or 500 MB",
    "byte/s": "460.8 GB/s, 3.35 TB/s or 400 Gb/s",
    "FLOP": "2.1 TFLOP",
    "FLOP/s": "312 TFLOP/s",
    "s": "5 ms",
    "Hz": "1410 MHz",
    "token/s": "40 tokens/s",
    "1": "70B or 7e9",
}
_MEMORY = re.compile(
    r"(?P<channels>\d{1,3})\s*[x×*]\s*(?P<kind>(?:LP)?DDR\d\w?|MRDIMM)-?(?P<rate>\d{3,5})", re.I
)
_COUNT = re.compile(r"(?P<number>[^a-zA-Z]*(?:[eE][-+]?\d+)?)\s*(?P<prefix>[kKmMbBtT]?)")


def quantity(text: str, what: str) -> float:
    """Read a positive quantity of one kind: ``quantity("25 GB/s", "byte/s") == 25e9``.

    Raises:
        ValueError: no number, no unit, or one of something else.
    """
    if what == "1":
        return _count(text)
    from quantiphy import InvalidNumber, Quantity  # noqa: PLC0415 (counts need no units)

    wanted = f"such as {_SUCH_AS[what]}"
    if "," in text and not re.match(r"\s*\d{1,3}(?:,\d{3})+(?![\d,])", text):
        raise ValueError(f"{shown(text)} has a comma: write decimals with a point, {wanted}")
    try:
        read = Quantity(text.strip().replace("μ", "µ"), binary=True)  # the Greek letter, too
    except InvalidNumber:
        raise ValueError(f"{shown(text)} is no quantity {wanted}") from None
    unit = str(read.units)
    known = _UNITS[what]
    size = known.get(
        unit, None if len(unit) <= 3 and "b" in unit.lower() else known.get(unit.lower())
    )
    if size is None:
        said = f"has the unit {unit!r}" if unit else "has no unit"
        raise ValueError(f"{shown(text)} {said}: write one {wanted}")
    try:
        return positive(what, float(read) * size)
    except ValueError:
        raise ValueError(f"{shown(text)} is no quantity above 0 {wanted}") from None


def _count(text: str) -> float:
    """Read a number of parameters or the like, with a prefix if one is written: 7e9, 7B, 1.5T."""
    parts = _COUNT.fullmatch(text.strip().replace("_", ""))
    try:
        number = float(parts["number"] if parts else "")
    except ValueError:
        raise ValueError(f"{shown(text)} is no number such as {_SUCH_AS['1']}") from None
    assert parts
    prefix = {"": 1, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}[parts["prefix"].lower()]
    try:
        return positive("number", number * prefix)
    except ValueError:
        raise ValueError(f"{shown(text)} is no number above 0") from None


def memory(text: str) -> tuple[int, str, float]:
    """Read memory channels, their type and transfers a second: ``12xDDR5-4800``.

    Raises:
        ValueError: it is written otherwise.
    """
    parts = _MEMORY.fullmatch(text.strip())
    if not parts or not int(parts["channels"]):
        raise ValueError(f"{shown(text)} is no memory such as 12xDDR5-4800 (channels x type-MT/s)")
    return int(parts["channels"]), parts["kind"].upper(), float(parts["rate"]) * 1e6
