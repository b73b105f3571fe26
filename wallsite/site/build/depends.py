"""What a figure or a notebook depends on besides its own text, as a hash.

It takes seconds to make one again. It is made again when the part of the package that it may use,
or its own lesson, has changed, and not when a page or the site's own code has.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import wallsite
from wallsite import lessons

_ROOT = Path(wallsite.__file__).parent
_NOT_USED = {"site", "cli"}  # by figures and notebooks
_SUFFIXES = {".py", ".toml", ".json"}


@cache
def package() -> str:
    """Hash Python, the libraries that draw, and what of this package a figure may use."""
    digest = hashlib.sha256(sys.version.encode())
    for library in ("matplotlib", "numpy", "pylopdf-fonts-zh-cn"):
        digest.update(importlib.metadata.version(library).encode())
    found = (path for path in _ROOT.rglob("*") if path.suffix in _SUFFIXES)
    used = (path for path in found if path.relative_to(_ROOT).parts[0] not in _NOT_USED)
    digest.update(_of(used).encode())
    return digest.hexdigest()


def figure(name: str, language: str) -> str:
    """Hash what a lesson's figure depends on: its words, its lesson's code, numbers and records."""
    path = lessons.figures().get(name)
    if path is None:
        return package()
    lesson = path.parents[1]
    used = [path.with_suffix(f".{language}.toml"), *path.parent.glob("*.py")]
    used += [*lesson.glob("quantities/*.toml"), *lesson.glob("recorded/*.json")]
    return package() + _of(path for path in used if path.is_file())


def _of(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
