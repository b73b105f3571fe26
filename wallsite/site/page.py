"""What the parts of the extension know about the page they render."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wallsite.render.facts import Statement
from wallsite.site import blocks
from wallsite.site.build.painter import Painter, shared
from wallsite.site.errors import PageError, Source


@dataclass
class Page:
    """The page being rendered.

    Attributes:
        language: ``"zh"`` or ``"en"``.
        path: its path inside ``docs``; empty when the text is not a file.
        docs: folder of the pages in this language.
        snippets: folder of the programs that pages embed.
        site: address of the site in this language; empty where it is not known.
        cache: folder that keeps drawn figures, if any.
        source: its text, for error messages.
        scanned: its blocks, and its prose without them.
        open: blocks whose closing line has not come yet.
        inputs: everything that its numbers rest on, by key.
    """

    language: str
    path: str
    docs: Path
    snippets: Path
    site: str
    cache: Path | None
    source: Source = field(default_factory=lambda: Source(""))
    scanned: blocks.Page = field(default_factory=lambda: blocks.Page((), ""))
    open: list[str] = field(default_factory=list)
    inputs: dict[str, Statement] = field(default_factory=dict)

    @property
    def file(self) -> Path | None:
        """The file it comes from."""
        return self.docs / self.path if self.path else None

    @property
    def painter(self) -> Painter:
        """Who draws its figures."""
        return shared(self.cache)

    def error(self, message: object, near: str, after: int = 0) -> PageError:
        """Make an error that names the file and the line where ``near`` stands, see `Source`."""
        return self.source.error(message, near, after)

    def errors(self, faults: Sequence[tuple[int, object]]) -> PageError:
        """Make one error of several, each with its position in the text."""
        told = (self.source.error(message, near="", after=start) for start, message in faults)
        return PageError("\n".join(map(str, told)))

    def link(self, target: str) -> str:
        """Path of another file of the site, relative to this page."""
        return posixpath.relpath(target, posixpath.dirname(self.path) or ".")
