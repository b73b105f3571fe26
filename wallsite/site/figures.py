"""A drawn figure as part of a page."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.util import AtomicString

from wallsite import locale
from wallsite.site.build.painter import Drawn
from wallsite.site.html import NOT_SEARCHED, data_table, rows, scrollable
from wallsite.site.page import Page


def figure(drawn: Drawn, page: Page, md: Markdown) -> ET.Element:
    """Make the element that shows a drawn figure under its title, its caption and numbers."""
    element = ET.Element("figure", {"class": "ws-figure"})
    ET.SubElement(element, "figcaption").text = AtomicString(drawn.title)
    frame = ET.SubElement(element, "div", {"class": "ws-figure__frame"} | NOT_SEARCHED)
    frame.text = AtomicString(md.htmlStash.store(drawn.svg))
    if "data-step=" in drawn.svg:
        attributes = {"class": "ws-steps md-button", "type": "button", "hidden": "hidden"}
        button = ET.SubElement(element, "button", attributes | NOT_SEARCHED)  # a script shows it
        button.text = AtomicString(locale.say(page.language, "Step by step"))
    if drawn.caption:
        caption = ET.SubElement(element, "p", {"class": "ws-figure__caption"})
        caption.text = AtomicString(drawn.caption)
    if drawn.table:
        summary = locale.say(page.language, "The numbers behind it")
        attributes = {"class": "ws-figure__numbers"} | NOT_SEARCHED
        details = ET.SubElement(element, "details", attributes)
        ET.SubElement(details, "summary").text = summary
        table = data_table(scrollable(details, f"{summary}: {drawn.title}"))
        rows(table, "thead", [drawn.table.headers])
        rows(table, "tbody", drawn.table.rows)
    return element
