"""What a piece of code depends on in this package, found by reading and not by running it.

A figure or a notebook takes seconds to make again. It is made again when a module that it imports,
or a data file that it looks something up in, has changed, and not when anything else has.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import wallsite

_ROOT = Path(wallsite.__file__).parent
_DATA = _ROOT / "tables" / "data"
# The lookups that lead to a file or folder of data. What is not listed stands behind others.
_LOOKUPS = {
    "energy.toml": {"energy", "energies"},
    "glossary.toml": {"glossary"},
    "models.toml": {"model", "models"},
    "quantities": {"quantity", "quantities"},
}
_DEFINES_LOOKUPS = "wallsite.tables"
_RECORDED, _READS_RECORDED = _ROOT / "probes" / "data", "wallsite.probes.recorded"
_SUFFIXES = {".py", ".toml", ".json"}


class _Read(NamedTuple):
    """Modules that a source imports, and every name that it takes from another module."""

    imports: frozenset[str]
    names: frozenset[str]


@cache
def digest(code: str) -> str:
    """Hash all that a piece of Python depends on besides its own text."""
    digest = hashlib.sha256(sys.version.encode())
    for package in ("matplotlib", "numpy", "pylopdf-fonts-zh-cn"):
        digest.update(importlib.metadata.version(package).encode())
    for path in _files(code):
        digest.update(path.relative_to(_ROOT).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(code: str) -> list[Path]:
    """Modules and data files of the package, in order."""
    try:
        first = _read(code)
        modules: dict[str, Path] = {}
        pending, names = set(first.imports), set(first.names)
        while pending:
            name = pending.pop()
            path = _path(name)
            if path is None or name in modules:
                continue
            modules[name] = path
            found = _read(path.read_text(encoding="utf-8"))
            pending |= found.imports
            if name != _DEFINES_LOOKUPS:
                names |= found.names
    except SyntaxError:  # a magic of IPython, or a mistake that will be reported elsewhere
        return sorted(path for path in _ROOT.rglob("*") if path.suffix in _SUFFIXES)
    data = set(_data(names)) if _DEFINES_LOOKUPS in modules else set()
    if _READS_RECORDED in modules:
        data |= set(_RECORDED.iterdir())
    return sorted({*modules.values(), *data})


def _data(names: set[str]) -> Iterator[Path]:
    for path in _DATA.rglob("*.toml"):
        lookups = _LOOKUPS.get(path.relative_to(_DATA).parts[0])
        if lookups is None or lookups & names:
            yield path


def _path(name: str) -> Path | None:
    """File of a module of the package; None for whatever else a name may be."""
    inside = _ROOT.joinpath(*name.split(".")[1:])
    candidates = (inside / "__init__.py", inside.with_suffix(".py"))
    return next((path for path in candidates if path.is_file()), None)


@cache
def _read(source: str) -> _Read:
    imports, names = set(), set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=aliases):
                imports |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str() as module, names=aliases):
                # What is imported may be a module or a name in one.
                imports |= {f"{module}.{alias.name}" for alias in aliases}
                names |= {alias.name for alias in aliases}
            case ast.Attribute(attr=name):
                names.add(name)
    ours = [name.split(".") for name in imports if name.split(".")[0] == "wallsite"]
    # Importing a module imports the packages around it.
    parents = {".".join(name[:length]) for name in ours for length in range(1, len(name) + 1)}
    return _Read(frozenset(parents), frozenset(names))
