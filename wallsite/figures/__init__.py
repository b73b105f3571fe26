"""The lesson's figures, drawn from the tables and models, in Chinese or English.

One module a figure. Each has ``data()``, which computes every number shown and knows no
language, and ``draw(lang)``, which draws them::

    python -m wallsite.figures --out figures --lang en
"""

from __future__ import annotations

import importlib

from wallsite.figures import style
from wallsite.figures.drawing import Drawing, Table
from wallsite.tables.names import unknown

__all__ = ["LANGUAGES", "NAMES", "Drawing", "Table", "draw"]

LANGUAGES = ("zh", "en")
NAMES = (
    "data-path",
    "bandwidth-staircase",
    "models-vs-chips",
    "roofline",
    "decode-prefill",
    "all-reduce-flow",
    "energy-per-op",
    "q1-decision-tree",
    "q2-three-walls",
    "q3-scaling",
    "measured-roofline",
    "measured-scaling",
)


def draw(name: str, lang: str) -> Drawing:
    """Draw a figure by name.

    Raises:
        UnknownName: there is no such figure; the message lists near matches.
        ValueError: the language is not one of `LANGUAGES`.
    """
    if name not in NAMES:
        raise unknown("figure", name, {known: known for known in NAMES})
    if lang not in LANGUAGES:
        raise ValueError(f"lang must be one of {', '.join(LANGUAGES)}, got {lang!r}")
    module = importlib.import_module(f"wallsite.figures.{name.replace('-', '_')}")
    with style.context():
        drawing: Drawing = module.draw(lang)
    return drawing
