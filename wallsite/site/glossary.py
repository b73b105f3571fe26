"""Glossary terms: the first use on a page carries its meaning and leads to the glossary."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

from wallsite import tables
from wallsite.site.page import Page
from wallsite.tables import Term

PAGE = "reference/glossary.md"

_RUNNING_TEXT = {"p", "li", "dd"}
_LEAVE_ALONE = {"a", "abbr", "code", "data", "pre", "script", "style", "table", "summary", "button"}
_LEAVE_ALONE |= {"h1", "h2", "h3", "h4", "h5", "h6", "figure"}

_NOT_PROSE = {"admonition-title", "ws-table", "ws-list"}


def register(md: Markdown, page: Page) -> None:
    """Make Markdown mark the first use of each glossary term."""
    # After inline patterns (20) and attributes (8), before links are resolved (0).
    md.treeprocessors.register(_Marker(md, page), "wallsite-glossary", 7)


class _Marker(Treeprocessor):  # type: ignore[misc]
    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page

    def run(self, root: ET.Element) -> None:
        language = self.page.language
        if self.page.path == PAGE or language not in {"zh", "en"}:
            return  # the glossary has terms in these two
        self.terms = {getattr(term, language).casefold(): term for term in tables.glossary()}
        # The longest first, so that 张量并行 is never taken for 并行.
        words = sorted(self.terms, key=len, reverse=True)
        self.pattern = re.compile("|".join(map(_bounded, words)), re.IGNORECASE)
        self._walk(root, running=False)

    def _walk(self, element: ET.Element, *, running: bool) -> None:
        classes = (element.get("class") or "").split()
        if element.tag in _LEAVE_ALONE or not _NOT_PROSE.isdisjoint(classes):
            return
        running = running or element.tag in _RUNNING_TEXT
        children = list(element)
        if running:
            self._mark(element, None)
        for child in children:
            self._walk(child, running=running)
            if running:
                self._mark(element, child)

    def _mark(self, parent: ET.Element, before: ET.Element | None) -> None:
        """Mark the terms in the text that follows a child, or that opens the parent."""
        text = (parent.text if before is None else before.tail) or ""
        position = 0 if before is None else list(parent).index(before) + 1
        end = 0
        for match in self.pattern.finditer(text):
            term = self.terms.pop(match[0].casefold(), None)
            if term is None:
                continue
            if before is None:
                parent.text = text[: match.start()]
            else:
                before.tail = text[end : match.start()]
            before, end = self._element(term, match[0]), match.end()
            before.tail = text[end:]
            parent.insert(position, before)
            position += 1

    def _element(self, term: Term, shown: str) -> ET.Element:
        abbreviation = ET.Element("abbr", title=term.note[self.page.language])
        abbreviation.text = shown
        if not self.page.path:
            return abbreviation
        link = ET.Element("a", {"class": "ws-term", "href": f"{self.page.link(PAGE)}#{term.id}"})
        link.append(abbreviation)
        return link


def _bounded(word: str) -> str:
    """Match a word; a Latin letter beside a Latin letter is the middle of another word."""
    latin = "[A-Za-z0-9]"
    start = rf"(?<!{latin})" if re.match(latin, word) else ""
    end = rf"(?=s?(?!{latin}))" if re.search(rf"{latin}\Z", word) else ""
    return start + re.escape(word) + end
