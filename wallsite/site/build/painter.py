"""Figures, drawn in a fresh interpreter and kept on disk until what they depend on changes.

Under ``mkdocs serve`` the modules imported first stay imported, so a figure drawn in this process
could show what `wallsite` said before it was edited.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import weakref
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wallsite.site.build import depends

WORKER = "wallsite.figures.worker"


class Drawn(NamedTuple):
    """A drawn figure: a fragment of SVG and the texts that go with it."""

    svg: str
    title: str
    alt: str
    caption: str
    table: Numbers | None


class Numbers(NamedTuple):
    """The numbers behind a figure."""

    headers: list[str]
    rows: list[list[str]]


class DrawingError(Exception):
    """A figure that could not be drawn."""


class Painter:
    """Draws figures in a process of its own, which starts with the first that is not kept.

    Args:
        cache: folder of the drawings kept from earlier; None keeps nothing.
    """

    def __init__(self, cache: Path | None) -> None:
        self._cache = cache
        self._used: set[Path] = set()
        self._process: subprocess.Popen[str] | None = None

    def draw(self, request: dict[str, str]) -> Drawn:
        """Draw what a request names.

        Raises:
            DrawingError: the worker refuses; the message is the worker's own.
        """
        if self._cache is None:
            return _drawn(self._ask(request))
        kept = self._cache / f"{_key(request)}.json"
        self._used.add(kept)
        try:
            return _drawn(kept.read_text(encoding="utf-8"))
        except FileNotFoundError:
            answer = self._ask(request)
        drawn = _drawn(answer)
        _write(kept, answer)
        return drawn

    def close(self) -> None:
        """End the process."""
        if self._process:
            _end(self._process)
            self._process = None

    def prune(self) -> None:
        """Delete the kept drawings that this painter was not asked for."""
        for path in self._cache.glob("*.json") if self._cache else ():
            if path not in self._used:
                path.unlink(missing_ok=True)

    def _ask(self, request: dict[str, str]) -> str:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
            # A build that fails leaves its painter to the garbage collector.
            weakref.finalize(self, _end, self._process)
        process = self._process
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            answer = ""
        else:
            answer = process.stdout.readline()
        if not answer:
            self._process = None
            raise DrawingError(f"{WORKER} ended with status {process.wait()}")
        return answer


@cache
def shared(folder: Path | None) -> Painter:
    """Return the painter of a cache folder, the same for every page."""
    return Painter(folder)


def _end(process: subprocess.Popen[str]) -> None:
    """Close the worker's input, which is its sign to leave."""
    if process.poll() is None:
        process.communicate()


def _drawn(answer: str) -> Drawn:
    fields: dict[str, Any] = json.loads(answer)
    if "error" in fields:
        raise DrawingError(fields["error"])
    table = fields.pop("table")
    return Drawn(**fields, table=table and Numbers(**table))


def _write(path: Path, text: str) -> None:
    """Write in one step: the build of the other language may be reading."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _key(request: dict[str, str]) -> str:
    name, language = request.get("name"), request["lang"]
    used = depends.figure(name, language) if name else depends.package()
    text = json.dumps(request, sort_keys=True) + used
    return hashlib.sha256(text.encode()).hexdigest()[:32]
