"""What the tests of a lesson need of it."""

import importlib
import sys
from types import ModuleType

from wallsite import lessons

LANGUAGES = ("zh", "en")


def figures() -> list[str]:
    """Names of all figures of all lessons."""
    return sorted(lessons.figures())


def figure(name: str) -> ModuleType:
    """The module of a figure; its ``data()`` has every number that is drawn."""
    root = lessons.folder()
    if str(root) not in sys.path:
        sys.path.append(str(root))
    path = lessons.figures()[name]
    return importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))
