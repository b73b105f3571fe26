"""What a number rests on, said on the number and, in full, once at the end of its page.

Without a script a number's title tells it briefly. A template, which shows nothing by itself, holds
what `docs/assets/provenance.js` needs to tell the rest: an entry for each input of the page's
numbers, with its sources as links, and the box that entries are shown in.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

from wallsite import locale, tables
from wallsite.render.facts import Statement
from wallsite.render.words import Basis, citation, quantity, summary
from wallsite.site.html import NOT_SEARCHED
from wallsite.site.page import Page
from wallsite.tables import Value


def register(md: Markdown, page: Page) -> None:
    """Make Markdown end a page with the inputs of its numbers."""
    # After everything that makes numbers, before links are resolved (0).
    md.treeprocessors.register(_Inputs(md, page), "wallsite-provenance", 1)


def mark(element: ET.Element, basis: Basis, page: Page) -> None:
    """Say on an element what its number rests on: in words, and by places in the page's list."""
    page.inputs |= {item.key: item for item in basis.inputs}
    places = {key: str(place) for place, key in enumerate(page.inputs, 1)}
    element.set("title", summary(basis, page.language))
    element.set("data-from", " ".join(places[item.key] for item in basis.inputs) or "0")


def cited(source: str, page: Page) -> ET.Element:
    """Make the link to the entry of a source."""
    link = ET.Element("a", href=f"{page.link('reference/sources.md')}#{source}")
    link.text = AtomicString(citation(tables.source(source)))
    return link


class _Inputs(Treeprocessor):  # type: ignore[misc]
    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page
        self.words = locale.section(page.language, "provenance")

    def run(self, root: ET.Element) -> None:
        if not any("data-from" in element.attrib for element in root.iter()):
            return
        template = ET.SubElement(root, "template", {"id": "ws-provenance"} | NOT_SEARCHED)
        self._box(template)
        marks = ET.SubElement(template, "label", {"class": "ws-marks"})
        ET.SubElement(marks, "input", type="checkbox").tail = f" {self.words['marks']}"
        ET.SubElement(template, "li").text = self.words["none"]
        for item in self.page.inputs.values():
            self._entry(template, item)

    def _box(self, template: ET.Element) -> None:
        box = ET.SubElement(
            template,
            "div",
            {
                "class": "ws-provenance md-typeset",
                "role": "dialog",
                "aria-labelledby": "ws-provenance-number",
                "tabindex": "-1",
                "data-formula": self.words["formula"],
            },
        )
        ET.SubElement(box, "p", id="ws-provenance-number")
        ET.SubElement(ET.SubElement(box, "pre"), "code")
        ET.SubElement(box, "ul")
        ET.SubElement(box, "p", {"class": "ws-provenance__keys"}).text = self.words["keys"]

    def _entry(self, template: ET.Element, item: Statement) -> None:
        entry = ET.SubElement(template, "li")
        ET.SubElement(entry, "b").text = AtomicString(item.fact.label(self.page.language))
        self._statement(entry, item.value)
        for rival in item.rivals:
            self._statement(entry, rival, self.words["rival"])

    def _statement(self, entry: ET.Element, value: Value, start: str = "") -> None:
        """Add a value with its kind, its sources and its note."""
        language = self.page.language
        words = (
            f"{start}{quantity(value, language)} · {locale.section(language, 'kinds')[value.kind]}"
        )
        ET.SubElement(entry, "p").text = AtomicString(words)
        entry.extend(cited(name, self.page) for name in value.sources)
        if value.note:
            ET.SubElement(entry, "p").text = AtomicString(value.note[language])
