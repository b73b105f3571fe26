"""Tools that draw figures, and the figures of the lessons by name.

A lesson keeps one module a figure under ``docs/lessons/<lesson>/figures``. Each has ``data()``,
which computes every number shown and knows no language, and ``draw(lang)``, which draws them with
the words of ``texts``. The two figures that the commands draw stay here::

    python -m wallsite.figures --out figures --lang en
"""

from __future__ import annotations

import importlib
import sys

from wallsite import lessons
from wallsite.figures import style
from wallsite.figures.drawing import Drawing, Table
from wallsite.tables.names import find

__all__ = ["Drawing", "Table", "draw"]


def draw(name: str, lang: str) -> Drawing:
    """Draw a figure of a lesson by name.

    Raises:
        UnknownName: there is no such figure; the message lists near matches.
        DataError: the figure has no words in that language.
    """
    paths = lessons.figures()
    path = find("figure", name, paths, {known: known for known in paths})
    # A lesson is a package without a name that Python could write: three-walls.figures.roofline.
    if (root := str(lessons.folder())) not in sys.path:
        sys.path.append(root)
    module = importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))
    with style.context():
        drawing: Drawing = module.draw(lang)
    return drawing
