"""Where a broken link stands: MkDocs names the page, but not the line."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from wallsite.site.errors import shown

_LOGGER = logging.getLogger("mkdocs.structure.pages")
_BROKEN = re.compile(r"Doc file '(?P<page>[^']+)' contains an? .*?link (?:to )?'(?P<link>[^']*)'")


def watch(docs: Path) -> None:
    """Put file and line before what MkDocs says of links.

    Args:
        docs: folder of the pages.
    """
    for old in [x for x in _LOGGER.filters if type(x).__name__ == _Places.__name__]:
        _LOGGER.removeFilter(old)  # of the build before, under `mkdocs serve`
    _LOGGER.addFilter(_Places(docs))


class _Places(logging.Filter):
    def __init__(self, docs: Path) -> None:
        super().__init__()
        self._docs = docs

    def filter(self, record: logging.LogRecord) -> bool:
        if broken := _BROKEN.match(record.getMessage()):
            path = self._docs / broken["page"]
            line = _line(path.read_text(encoding="utf-8"), broken["link"])
            record.msg = f"{shown(path)}{line and f':{line}'}: {record.getMessage()}"
            record.args = ()
        return True


def _line(text: str, link: str) -> int | str:
    """Line of the first place where a link is written; empty where the site itself made it."""
    inline, named, html = r"\]\(", r"^[ ]*\[[^\]]+\]:", "=[\"']"
    pattern = rf"(?:{inline}|{named}|{html})\s*<?{re.escape(link)}(?![\w/.#-])"
    written = re.search(pattern, text, re.MULTILINE)
    return text.count("\n", 0, written.start()) + 1 if written else ""
