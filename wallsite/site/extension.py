"""The Python-Markdown extension that turns what is peculiar to these pages into HTML.

It renders checked numbers and what they rest on, formulas, glossary terms, and blocks such as
``/// table`` and ``/// figure``, beside the usual extensions that mkdocs.yml lists. Each kind has a
module of its own; this one wires them up and keeps the page's text for error messages.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from markdown import Extension, Markdown
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor

from wallsite.site import blocks, code, directives, glossary, maths, provenance
from wallsite.site.checked import inline
from wallsite.site.errors import Source
from wallsite.site.page import Page


class WallsiteExtension(Extension):  # type: ignore[misc]
    """Everything a page of this site needs beyond common Markdown."""

    def __init__(self, **options: Any) -> None:
        self.config = {
            "language": ["zh", "Language of the page"],
            "docs": ["", "Folder of the pages in this language"],
            "page": ["", "The page's path in that folder, for links and error messages"],
            "snippets": ["snippets", "Folder of the programs that pages embed"],
            "site": ["", "Address of the site in this language"],
            "cache": ["", "Folder that keeps drawn figures; empty for none"],
        }
        super().__init__(**options)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register the processors of every kind of content."""
        options = self.getConfigs()
        page = Page(
            language=options["language"],
            path=options["page"],
            docs=Path(options["docs"]),
            snippets=Path(options["snippets"]),
            site=options["site"],
            cache=Path(options["cache"]) if options["cache"] else None,
        )
        # Before `pymdownx.snippets` (32), which would not say where a file is missing.
        md.preprocessors.register(_Reader(md, page), "wallsite-source", 100)
        code.register(md, page)
        inline.register(md, page)
        maths.register(md, page)
        glossary.register(md, page)
        directives.register(md, page)
        provenance.register(md, page)
        md.postprocessors.register(_Leftovers(md, page), "wallsite-leftovers", -10)


def makeExtension(**options: Any) -> WallsiteExtension:  # noqa: N802
    """Make the extension: the name Python-Markdown looks for."""
    return WallsiteExtension(**options)


class _Reader(Preprocessor):  # type: ignore[misc]
    """Keep the page's text, and refuse what cannot be read while line numbers are still known."""

    _SNIPPET = re.compile(r"^\s*-+8<-+\s+\"(?P<name>[^\"]+)\"", re.MULTILINE)

    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page

    def run(self, lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        self.page.source = Source(text, self.page.file)
        self.page.open.clear()
        self.page.inputs.clear()
        for match in self._SNIPPET.finditer(text):
            # A name may select part of the file: ``name.py:10:20`` or ``name.py:section``.
            name = match["name"].split(":")[0]
            if not (self.page.snippets / name).is_file():
                raise self.page.error(f"no snippet named {name!r}", match[0].strip())
        try:
            self.page.scanned = blocks.scan(text, self.page.snippets)
        except blocks.BlockError as error:
            raise self.page.error(error, near=str(error).rpartition(": ")[2]) from None
        return lines


class _Leftovers(Postprocessor):  # type: ignore[misc]
    """Refuse a page that would show the marks of a block to its reader."""

    _CODE = re.compile(r"<(pre|code|script|style|svg)\b.*?</\1>|<!--.*?-->", re.DOTALL)
    _LEFT = re.compile(r"(?:^|(?<=>))/{3,}(?:[ ]*[\w-]+.*)?$", re.MULTILINE)

    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page

    def run(self, text: str) -> str:
        left = self._LEFT.search(self._CODE.sub("", text))
        if left is None:
            return text
        shown = html.unescape(re.sub(r"</?p>", "", left[0]))
        raise self.page.error(f"malformed block: {shown}", shown)
