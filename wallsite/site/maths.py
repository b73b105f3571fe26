"""Formulas as MathML, made when the page is built: no script and no font to load."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from math_core import LatexError, LatexToMathML

from wallsite.site import numbers, prose
from wallsite.site.html import NOT_SEARCHED
from wallsite.site.page import Page


def register(md: Markdown, page: Page) -> None:
    """Make Markdown render what `pymdownx.arithmatex` has found, in its generic form."""
    # After the inline patterns (20) that find formulas, before the headings are listed (5).
    md.treeprocessors.register(_Formulas(md, page), "wallsite-maths", 15)


class _Formulas(Treeprocessor):  # type: ignore[misc]
    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page
        self.converter = LatexToMathML(fancy_error=False)

    def run(self, root: ET.Element) -> None:
        for element in root.iter():
            if element.get("class") == "arithmatex":
                self._render(element)

    def _render(self, element: ET.Element) -> None:
        display = element.tag == "div"
        written = (element.text or "")[2:-2]  # without \( \) or \[ \]
        # Arithmatex escapes blocks, not spans.
        written = html.unescape(written) if display else written
        latex = numbers.PATTERN.sub(self._number, written)
        try:
            mathml = self.converter.convert_with_local_state(latex, displaystyle=display)
        except LatexError as error:
            near = written.strip().splitlines()[0]
            raise self.page.error(f"formula {latex.strip()!r}: {error}", near) from None
        element.attrib |= {"class": "ws-math"} | NOT_SEARCHED
        element.text = AtomicString(self.md.htmlStash.store(mathml))

    def _number(self, match: re.Match[str]) -> str:
        found = numbers.find(match.string[match.start() :])[0]  # its unit may follow
        prose.check(found, self.page, near=match[0])
        return _latex(found.shown)


def _latex(shown: str) -> str:
    """Write a number and its unit so that TeX sets them as the text around a formula does."""
    parts = re.fullmatch(r"(?P<digits>[−\-\d,.]+)(?P<rest>.*)", shown)
    if parts is None or "\\" in shown:
        return shown
    digits = parts["digits"].replace(",", "{,}").replace("−", "-")
    rest = parts["rest"].replace("%", r"\%")
    return digits + (rf"\text{{{rest}}}" if rest else "")
