"""Checked numbers in running text: ``[[295 FLOP/byte := ridge('h100-sxm')]]``."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString

from wallsite.site import numbers
from wallsite.site.expressions import Result
from wallsite.site.page import Page
from wallsite.tables.provenance import KINDS, statement


def register(md: Markdown, page: Page) -> None:
    """Make Markdown render checked numbers."""
    # After code spans (190) and formulas (189.9), before escapes (180) and links (170 and less).
    md.inlinePatterns.register(_CheckedNumber(md, page), "wallsite-number", 185)


def number(shown: str, value: float, kind: str, title: str) -> ET.Element:
    """Make the element of a number that says what it rests on."""
    element = ET.Element("data", {"class": f"ws-number ws-{kind}", "value": f"{value:.12g}"})
    if title:
        element.set("title", title)
    element.text = AtomicString(shown)
    return element


class _CheckedNumber(InlineProcessor):  # type: ignore[misc]
    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(numbers.PATTERN.pattern, md)
        self.page = page

    def handleMatch(  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[ET.Element, int, int]:
        found = numbers.find(data[m.start() :])[0]  # what follows may be a stray unit
        result = check(found, self.page, near=m[0])
        title = provenance(found.expression, result, self.page.language)
        element = number(found.shown, result.value, result.kind, title)
        return element, m.start(), m.end()


def check(found: numbers.Checked, page: Page, near: str) -> Result:
    """Evaluate a checked number.

    Raises:
        PageError: it does not show its value, or cannot be evaluated.
    """
    try:
        return found.check()
    except numbers.NumberError as error:
        raise page.error(error, near) from None


def provenance(expression: str, result: Result, language: str) -> str:
    """Say what a result is, how it was computed and from what, one input a line."""
    lines = [f"{KINDS[language][result.kind]} = {expression}"]
    for item in result.inputs:
        label = item.value.label.get(language, item.label)
        line = f"{label}: {statement(item.value, language)}"
        if line not in lines:
            lines.append(line)
    return "\n".join(lines)
