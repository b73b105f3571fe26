"""What makes a number what it is, by subject, kind of device and band: reads ``causes.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from wallsite.explain.answer import Cause
from wallsite.locale import languages
from wallsite.tables.schema import Words


def causes(subject: str, kind: str, name: str) -> tuple[Cause, ...]:
    """Causes of a share in a band, the likeliest first; those of `any` where a kind has none.

    Args:
        subject: what was measured: decode, prefill, training, kernel, rate, link or collective.
        kind: kind of the device.
        name: of the band.
    """
    kinds = _file()[subject]
    listed = kinds.get(kind, {}).get(name) or kinds.get("any", {}).get(name, [])
    return tuple(Cause(_words(entry, ""), _words(entry, "check_")) for entry in listed)


def _words(entry: dict[str, str], prefix: str) -> Words:
    return Words({code: entry[prefix + code] for code in languages() if prefix + code in entry})


@cache
def _file() -> dict[str, Any]:
    text = (files(__package__) / "causes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
