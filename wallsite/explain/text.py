"""How an explanation writes numbers: few digits, prefixes that suit, both languages alike."""

from __future__ import annotations

from collections.abc import Sequence

from wallsite.locale import Phrase, languages, say
from wallsite.tables.schema import Text, Words
from wallsite.units import format_number, significant

__all__ = [
    "binary",
    "duration",
    "listed",
    "parameters",
    "per_second",
    "percent",
    "phrase",
    "prefixed",
    "rate",
    "significant",
    "size",
]

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SHORT = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def prefixed(value: float, unit: str) -> str:
    """Write a quantity with the decimal prefix that suits: 9.36e11, B/s → 936 GB/s."""
    size, prefix = next(((s, p) for s, p in _PREFIXES if value >= s * 0.9995), (1.0, ""))
    return f"{significant(value / size, 4)} {prefix}{unit}"


def size(value: float) -> str:
    """Write bytes in decimal prefixes."""
    return prefixed(value, "B")


def binary(value: float) -> str:
    """Write bytes in binary prefixes, from KiB to GiB."""
    units = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
    step, unit = next((each for each in units if value >= each[0]), units[-1])
    return f"{significant(value / step, 4)} {unit}"


def rate(value: float) -> str:
    """Write a rate of bytes; up to 10 TB/s in GB/s, as memory tables do."""
    if 1e12 <= value < 1e13:
        return f"{format_number(value / 1e9)} GB/s"
    return prefixed(value, "B/s")


def duration(value: float) -> str:
    """Write seconds with the prefix that suits."""
    step, unit = next(((s, u) for s, u in _SHORT if value >= s * 0.9995), _SHORT[-1])
    return f"{significant(value / step)} {unit}"


def percent(value: float) -> str:
    """Write a share: whole per cent from 10 on, one decimal below."""
    return f"{format_number(value * 100, 0 if value >= 0.0995 else 1)}%"


def per_second(value: float) -> str:
    """Write a rate of tokens."""
    return f"{significant(value)} tokens/s"


def parameters(value: float) -> str:
    """Write a number of parameters as people do: 37B, 125M."""
    return prefixed(value, "").replace(" ", "").replace("G", "B")


def listed(parts: Sequence[Text]) -> Text:
    """Join texts by the comma of each language."""
    return Words({code: say(code, ", ").join(part[code] for part in parts) for code in languages()})


def phrase(english: str, **values: object) -> Text:
    """A sentence in every language, with its values filled in."""
    return Phrase(english, **values)
