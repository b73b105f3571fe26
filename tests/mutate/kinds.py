"""Every kind of mistake that the tool makes, and the files it makes it in.

The functions of a kind take a file and yield an edit for each place where the mistake can be made.
What neither a reader nor a program could tell from the original is not yielded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from random import Random
from typing import NamedTuple

from wallsite.site import blocks

from . import core, data, programs, prose, structure
from .change import Change
from .edits import Edit, File


class Kind(NamedTuple):
    """A kind of mistake: the files it is made in, as patterns, and how."""

    files: tuple[str, ...]
    edits: Callable[[File], Iterator[Edit]]


_PAGES = ("docs/zh/*.md", "docs/en/*.md")
_DATA = ("wallsite/tables/data/*.toml", "docs/lessons/*/quantities/*.toml")
_MODELS = tuple(
    f"wallsite/{name}.py" for name in ("roofline", "workload", "collectives", "topology", "units")
)
_PROBES = tuple(
    f"wallsite/probes/{name}.py"
    for name in ("kernels", "results", "compare", "scaling", "timing", "plan", "memory")
)
KINDS = {
    "number": Kind(_PAGES, prose.shown_digits),
    "numeral": Kind(_PAGES, prose.bare_digits),
    "unit": Kind(_PAGES, prose.units),
    "sign": Kind(_PAGES, prose.signs),
    "direction": Kind(_PAGES, prose.directions),
    "opposite": Kind(_PAGES, prose.opposites),
    "operator": Kind(_PAGES, prose.operators),
    "argument": Kind(_PAGES, prose.arguments),
    "heading": Kind(_PAGES, structure.headings),
    "cell": Kind(_PAGES, structure.cells),
    "formula": Kind(_PAGES, structure.formulas),
    "code": Kind(_PAGES, programs.code),
    "output": Kind(_PAGES, programs.outputs),
    "notebook": Kind(("docs/*.ipynb",), programs.notebook),
    "snippet": Kind(("snippets/*.py",), programs.program),
    "data-value": Kind(_DATA, data.values),
    "data-unit": Kind(_DATA, data.units),
    "data-kind": Kind(_DATA, data.statements),
    "data-per": Kind(_DATA, data.ways),
    "data-source": Kind(_DATA, data.cited),
    "data-field": Kind(_DATA, data.attributes),
    "data-note": Kind(_DATA, data.notes),
    "model": Kind(_MODELS, core.arithmetic),
    "probe": Kind(_PROBES, core.arithmetic),
}


def changes(root: Path, paths: Iterable[str], seed: int, kinds: Iterable[str]) -> list[Change]:
    """List every change of some kinds that can be made in some files."""
    found = []
    for path in sorted(paths):
        wanted = [kind for kind in kinds if any(fnmatch(path, each) for each in KINDS[kind].files)]
        if not wanted:
            continue
        text = (root / path).read_text("utf-8")
        page = blocks.scan(text if path.endswith(".md") else "", root / "snippets")
        for kind in wanted:
            file = File(path, text, page, Random(f"{seed} {kind} {path}"))
            found += [
                Change(kind, path, start, end, new)
                for start, end, new in KINDS[kind].edits(file)
                if text[start:end] != new
            ]
    return found
