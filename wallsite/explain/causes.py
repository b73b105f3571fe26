"""What makes a number what it is, by subject, kind of device and band: reads ``causes.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Any

from wallsite.explain.answer import Cause
from wallsite.locale import languages
from wallsite.tables.schema import Words


def causes(
    subject: str, kind: str, name: str, situation: Collection[str] = ()
) -> tuple[Cause, ...]:
    """Causes of a share in a band, the likeliest first; those of `any` where a kind has none.

    Args:
        subject: what was measured: decode, prefill, training, kernel, rate, link or collective.
        kind: kind of the device.
        name: of the band.
        situation: what else is known: many devices, a batch, quantized weights. Causes that need
            a situation come first in it, and are left out elsewhere.
    """
    kinds = _file()[subject]
    listed = kinds.get(kind, {}).get(name) or kinds.get("any", {}).get(name, [])
    listed = [entry for entry in listed if entry.get("when", "") in {"", *situation}]
    listed.sort(key=lambda entry: "when" not in entry)
    return tuple(Cause(_words(entry, ""), _words(entry, "check_")) for entry in listed)


def _words(entry: dict[str, str], prefix: str) -> Words:
    return Words({code: entry[prefix + code] for code in languages() if prefix + code in entry})


@cache
def _file() -> dict[str, Any]:
    text = (files(__package__) / "causes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
