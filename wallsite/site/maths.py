"""Formulas as MathML, made when the page is built: no script and no font to load."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString
from math_core import LatexError, LatexToMathML

from wallsite.render.words import Basis
from wallsite.site import provenance
from wallsite.site.checked import inline, numbers
from wallsite.site.checked.expressions import Result
from wallsite.site.html import NOT_SEARCHED
from wallsite.site.page import Page

_Checked = tuple[numbers.Checked, Result]
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
        checked: list[_Checked] = []
        latex = numbers.PATTERN.sub(lambda match: self._number(match, checked), written)
        try:
            mathml = self.converter.convert_with_local_state(latex, displaystyle=display)
        except LatexError as error:
            near = written.strip().splitlines()[0]
            raise self.page.error(f"formula {latex.strip()!r}: {error}", near) from None
        element.attrib |= {"class": "ws-math"} | NOT_SEARCHED
        element.text = AtomicString(self.md.htmlStash.store(mathml))
        if checked:
            provenance.mark(element, _basis(checked), self.page)

    def _number(self, match: re.Match[str], checked: list[_Checked]) -> str:
        found = numbers.find(match.string[match.start() :])[0]  # its unit may follow
        checked.append((found, inline.check(found, self.page, near=match[0])))
        return _latex(found.shown)


def _basis(checked: list[_Checked]) -> Basis:
    """Say of a formula, as a whole, what all of its numbers rest on."""
    kinds = {result.kind for _, result in checked}
    kind = "rumour" if "rumour" in kinds else kinds.pop() if len(kinds) == 1 else "derived"
    inputs = {item.key: item for _, result in checked for item in result.inputs}
    computed = [
        f"{_plain(found.shown)} {found.beyond}".rstrip() + f" = {found.expression}"
        for found, _ in checked
    ]
    computed += dict.fromkeys(line for _, result in checked for line in result.defined)
    return Basis(checked[-1][1].value, kind, tuple(inputs.values()), tuple(computed))


def _plain(shown: str) -> str:
    """Write a number of a formula without TeX."""
    raised = re.sub(r"\^\{(.*?)\}", lambda match: match[1].translate(_RAISED), shown)
    return re.sub(r"\s*\\times\s*", " × ", raised)


def _latex(shown: str) -> str:
    """Write a number and its unit so that TeX sets them as the text around a formula does."""
    parts = re.fullmatch(r"(?P<digits>[−\-\d,.]+)(?P<rest>.*)", shown)
    if parts is None or "\\" in shown:
        return shown
    digits = parts["digits"].replace(",", "{,}").replace("−", "-")
    rest = parts["rest"].replace("%", r"\%")
    return digits + (rf"\text{{{rest}}}" if rest else "")
