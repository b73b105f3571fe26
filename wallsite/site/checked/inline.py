"""Checked numbers in running text: ``[[295 FLOP/byte := ridge('h100-sxm')]]``."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from markdown.util import AtomicString

from wallsite.render.words import Basis
from wallsite.site import provenance
from wallsite.site.checked import numbers, numerals
from wallsite.site.checked.expressions import Result
from wallsite.site.page import Page


def register(md: Markdown, page: Page) -> None:
    """Make Markdown render checked numbers."""
    # After the page is scanned (100), before anything changes it.
    md.preprocessors.register(_Faults(md, page), "wallsite-faults", 95)
    # After code spans (190), before formulas (189.9): what a comment holds is not shown.
    md.inlinePatterns.register(_Comment(r"(?s)<!--.*?-->", md), "wallsite-comment", 189.95)
    # After formulas, before escapes (180) and links (170 and less).
    md.inlinePatterns.register(_CheckedNumber(md, page), "wallsite-number", 185)


def number(shown: str, basis: Basis, page: Page) -> ET.Element:
    """Make the element of a number that says what it rests on."""
    attributes = {"class": f"ws-number ws-{basis.kind}", "value": f"{basis.value:.6g}"}
    element = ET.Element("data", attributes)
    element.text = AtomicString(shown)
    provenance.mark(element, basis, page)
    return element


class _Faults(Preprocessor):  # type: ignore[misc]
    """Refuse a page, and name at once all that is wrong with what it says of numbers.

    That is a checked number that does not show its value, what was meant as one and would be shown
    as it stands, and a numeral that states a quantity without being checked.
    """

    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page

    def run(self, lines: list[str]) -> list[str]:
        page = self.page.scanned
        faults = [(left.start, left.message) for left in numbers.malformed(page)]
        for found in numbers.find(page.prose):
            try:
                found.check()
            except numbers.NumberError as error:
                faults.append((found.start, str(error)))
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        # A line with a malformed number has its digits bare; one word on it is enough.
        told = {bisect_right(starts, start) for start, _ in faults}
        faults += [
            (starts[each.line - 1], str(each))
            for each in numerals.of_page(page)
            if each.line not in told
        ]
        if faults:
            raise self.page.errors(sorted(faults))
        return lines


class _Comment(InlineProcessor):  # type: ignore[misc]
    """Drop a comment within a paragraph; Markdown itself takes care of those between them."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # noqa: N802
        return "", m.start(), m.end()


class _CheckedNumber(InlineProcessor):  # type: ignore[misc]
    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(numbers.PATTERN.pattern, md)
        self.page = page

    def handleMatch(  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[ET.Element, int, int]:
        found = numbers.find(data[m.start() :])[0]  # what follows may be a stray unit
        result = check(found, self.page, near=m[0])
        basis = Basis(result.value, result.kind, result.inputs, (found.expression, *result.defined))
        return number(found.shown, basis, self.page), m.start(), m.end()


def check(found: numbers.Checked, page: Page, near: str) -> Result:
    """Evaluate a checked number.

    Raises:
        PageError: it does not show its value, or cannot be evaluated.
    """
    try:
        return found.check()
    except numbers.NumberError as error:
        raise page.error(error, near) from None
