"""Pieces of HTML that tables and figures share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from markdown.util import AtomicString

NOT_SEARCHED = {"data-search-exclude": "true"}
"""Attributes of what would only make the search index bigger: readers load all of it."""


def scrollable(parent: ET.Element, name: str) -> ET.Element:
    """Add a box that scrolls sideways when it is too narrow, also from the keyboard."""
    attributes = {"class": "ws-scroll", "role": "group", "aria-label": name, "tabindex": "0"}
    return ET.SubElement(parent, "div", attributes)


# A cell that holds a number, or those of several sources.
_NUMBERS = re.compile(r"[−+]?\d[\d,.]*(?: ?[/–] ?[−+]?\d[\d,.]*)*[%×]?")


def data_table(parent: ET.Element) -> ET.Element:
    """Add a table."""
    return ET.SubElement(parent, "table", {"class": "ws-data"})


def rows(
    table: ET.Element, section: str, cells: Iterable[Iterable[str | ET.Element]]
) -> ET.Element:
    """Add a section, thead or tbody, with cells that hold plain text or an element.

    In the body the first cell of a row names it.
    """
    group = ET.SubElement(table, section)
    for row in cells:
        line = ET.SubElement(group, "tr")
        for column, content in enumerate(row):
            if section == "thead":
                cell = ET.SubElement(line, "th", scope="col")
            elif column == 0:
                cell = ET.SubElement(line, "th", scope="row")
            else:
                cell = ET.SubElement(line, "td")
            put(cell, content)
            if cell.find("data") is not None:
                cell.attrib |= NOT_SEARCHED
    if section == "tbody":
        _align(table)
    return group


def _align(table: ET.Element) -> None:
    """Mark the columns of numbers, heads included: their digits stand below each other."""
    lines = [list(line) for line in table.iter("tr")]
    for column in list(zip(*lines, strict=False))[1:]:
        told = ["".join(cell.itertext()).strip() for cell in column if cell.tag == "td"]
        if any(told) and all(_NUMBERS.fullmatch(text) for text in told if text):
            for cell in column:
                cell.set("class", "ws-numeric")


def put(parent: ET.Element, content: str | ET.Element) -> None:
    """Fill an element with plain text or with another element."""
    if isinstance(content, str):
        parent.text = AtomicString(content)
    else:
        parent.append(content)
