"""The blocks ``/// table``, ``cards``, ``list``, ``downloads``, ``figure`` and ``snippet``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from urllib.parse import urljoin
from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.postprocessors import Postprocessor
from markdown.util import AtomicString
from pymdownx.blocks import BlocksExtension, BlocksProcessor
from pymdownx.blocks.block import Block, type_any

from wallsite import locale, tables
from wallsite.render import export
from wallsite.render.table import Cell, RenderedTable, render
from wallsite.site import figures, provenance
from wallsite.site.build.painter import DrawingError
from wallsite.site.checked import inline
from wallsite.site.errors import PageError
from wallsite.site.html import NOT_SEARCHED, data_table, put, rows, scrollable
from wallsite.site.page import Page
from wallsite.tables.names import find


def register(md: Markdown, page: Page) -> None:
    """Make Markdown render the blocks."""
    _Directives(page).extendMarkdown(md)
    md.postprocessors.register(_Closed(md, page), "wallsite-closed", -5)


class _Directives(BlocksExtension):  # type: ignore[misc]
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page

    def extendMarkdownBlocks(  # noqa: N802
        self, md: Markdown, block_mgr: BlocksProcessor
    ) -> None:
        for block in (_Table, _Cards, _List, _Downloads, _Figure, _Snippet):
            block_mgr.register(block, {"page": self.page})


class _Closed(Postprocessor):  # type: ignore[misc]
    """Refuse a block without its closing line: it would take in the rest of the page."""

    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page

    def run(self, text: str) -> str:
        for near in self.page.open:
            raise self.page.error("block without its closing ///", near)
        return text


class _Directive(Block):  # type: ignore[misc]
    """A block that names what it shows after a bar, and has no content of its own."""

    ARGUMENT = True

    @property
    def page(self) -> Page:
        page: Page = self.config["page"]
        return page

    @property
    def near(self) -> str:
        return f"{self.NAME} | {self.argument}"

    def error(self, message: object) -> PageError:
        return self.page.error(f"/// {self.near}: {message}", self.near)

    def on_create(self, parent: ET.Element) -> ET.Element:
        self.page.open.append(self.near)
        self.made = self.make(parent)
        self.size = len(self.made)
        return self.made

    def on_end(self, block: ET.Element) -> None:
        self.page.open.remove(self.near)
        if len(block) > self.size:
            raise self.error("holds text; options are indented by four spaces")

    def make(self, parent: ET.Element) -> ET.Element:
        """Add what is shown to the parent."""
        raise NotImplementedError


_MANY = 4  # notes; more are folded


class _Table(_Directive):
    NAME = "table"
    OPTIONS = dict.fromkeys(("devices", "vendor", "tier", "dtype"), (None, type_any))

    def table(self) -> RenderedTable:
        options = {k: v for k, v in self.options.items() if k in self.OPTIONS and v is not None}
        try:
            return render(self.argument, self.page.language, **options)
        except (tables.UnknownName, TypeError, ValueError) as error:
            raise self.error(error) from None

    def make(self, parent: ET.Element) -> ET.Element:
        table = self.table()
        frame = ET.SubElement(parent, "div", {"class": "ws-table"})
        element = data_table(scrollable(frame, table.caption))
        caption = ET.SubElement(ET.SubElement(element, "caption"), "span")
        caption.text = AtomicString(table.caption)
        rows(element, "thead", [table.headers])
        body = rows(element, "tbody", [map(self.cell, row) for row in table.rows])
        _name(body, self.argument)
        self.notes(frame, table)
        return frame

    def notes(self, frame: ET.Element, table: RenderedTable) -> None:
        """Add what is to be said below a table."""
        notes, language = frame, self.page.language
        if len(table.notes) > _MANY:
            frame.append(notes := _fold(locale.say(language, "Notes")))
        for note in table.notes:
            ET.SubElement(notes, "p", {"class": "ws-table__note"}).text = AtomicString(note)
        if table.sources:
            frame.append(fold := _fold(locale.say(language, "Sources")))
            fold.append(self._sources(table.sources))

    def cell(self, cell: Cell) -> str | ET.Element:
        if cell.basis:
            return inline.number(cell.text, cell.basis, self.page)
        if cell.href:
            link = ET.Element("a", href=cell.href)
            link.text = AtomicString(cell.text)
            return link
        if cell.cited:
            names = ET.Element("span", NOT_SEARCHED)  # their own page is searched
            names.extend(provenance.cited(name, self.page) for name in cell.cited)
            return names
        if cell.items:
            fold = _fold(cell.text)
            ET.SubElement(fold, "ul").extend(map(_item, cell.items))
            return fold
        return cell.text

    def _sources(self, names: Iterable[str]) -> ET.Element:
        items = ET.Element("ul")
        for name in names:
            ET.SubElement(items, "li").append(provenance.cited(name, self.page))
        return items


# A document is searched by its title; its other parts would be a tenth of the whole index.
_NOT_INDEXED = {"sources": NOT_SEARCHED}


class _Cards(_Table):
    """A table with too many columns for a page: a row is folded under its name and short form."""

    NAME = "cards"

    def make(self, parent: ET.Element) -> ET.Element:
        table = self.table()
        if not table.briefs:
            raise self.error("this table has no short form; show it with /// table")
        find = locale.say(self.page.language, "Find by name, memory, link …")
        frame = ET.SubElement(parent, "div", {"class": "ws-cards", "data-find": find})
        ET.SubElement(frame, "p", {"class": "ws-cards__title"}).text = AtomicString(table.caption)
        for row, brief in zip(table.rows, table.briefs, strict=True):
            card = ET.SubElement(frame, "details", {"class": "ws-card"})
            summary = ET.SubElement(card, "summary")
            put(ET.SubElement(summary, "b"), self.cell(row[0]))
            ET.SubElement(summary, "span", NOT_SEARCHED).text = AtomicString(brief)
            parts = ET.SubElement(card, "dl", NOT_SEARCHED)
            for header, cell in zip(table.headers[1:], row[1:], strict=True):
                if cell.text:
                    part = ET.SubElement(parts, "div")
                    ET.SubElement(part, "dt").text = AtomicString(header)
                    put(ET.SubElement(part, "dd"), self.cell(cell))
        self.notes(frame, table)
        return frame


class _List(_Table):
    """A table whose cells are too long for columns: each row is an entry, with its parts named."""

    NAME = "list"

    def make(self, parent: ET.Element) -> ET.Element:
        table = self.table()
        entries = ET.SubElement(parent, "dl", {"class": "ws-list"})
        for row in table.rows:
            entry = ET.SubElement(entries, "div")
            put(ET.SubElement(entry, "dt"), self.cell(row[0]))
            for header, cell in zip(table.headers[1:], row[1:], strict=True):
                if cell.items:
                    put(ET.SubElement(entry, "dd"), self.cell(cell))
                elif cell.text:
                    part = ET.SubElement(entry, "dd", _NOT_INDEXED.get(self.argument, {}))
                    ET.SubElement(part, "span", NOT_SEARCHED).text = AtomicString(header)
                    put(ET.SubElement(part, "span"), self.cell(cell))
        _name(entries, self.argument)
        return entries


def _fold(summary: str) -> ET.Element:
    details = ET.Element("details", {"class": "ws-table__more"} | NOT_SEARCHED)
    ET.SubElement(details, "summary").text = AtomicString(summary)
    return details


def _item(text: str) -> ET.Element:
    item = ET.Element("li")
    item.text = AtomicString(text)
    return item


def _name(entries: ET.Element, table: str) -> None:
    """Give the rows of a table the names that links elsewhere use."""
    names: Iterable[str] = ()
    if table == "sources":
        names = tables.sources()
    elif table == "glossary":
        names = [term.id for term in tables.glossary()]
    for entry, name in zip(entries, names, strict=False):
        entry.set("id", name)


class _Downloads(_Directive):
    NAME = "downloads"

    def make(self, parent: ET.Element) -> ET.Element:
        known = {name: name for name in export.TABLES}
        try:
            table = find("table", self.argument, known, known)
        except tables.UnknownName as error:
            raise self.error(error) from None
        line = ET.SubElement(parent, "p", {"class": "ws-downloads"} | NOT_SEARCHED)
        line.text = f"{locale.say(self.page.language, 'Download')} "
        for form in export.FORMATS:
            file = export.path(table, form)
            link = ET.SubElement(line, "a", href=self.page.link(file), download="")
            link.text = AtomicString(posixpath.basename(file))
            link.tail = " "
        return line


class _Figure(_Directive):
    NAME = "figure"

    def make(self, parent: ET.Element) -> ET.Element:
        request = {"name": self.argument, "lang": self.page.language}
        try:
            drawn = self.page.painter.draw(request)
        except DrawingError as error:
            raise self.error(error) from None
        element = figures.figure(drawn, self.page, self.md)
        element.set("id", f"figure-{self.argument}")
        parent.append(element)
        return element


class _Snippet(_Directive):
    NAME = "snippet"

    def make(self, parent: ET.Element) -> ET.Element:
        name = self.argument
        if not (self.page.snippets / name).is_file():
            raise self.error(f"no snippet named {name!r}")
        frame = ET.SubElement(parent, "div", {"class": "ws-snippet"})
        link = ET.SubElement(frame, "a", href=self.page.link(f"snippets/{name}"), download="")
        link.text = AtomicString(f"{locale.say(self.page.language, 'Download')} {name}")
        commands = self.md.preprocessors["fenced_code_block"].highlight(
            src=locale.section(self.page.language, "snippets")["run"].format(
                name=name, address=urljoin(self.page.site, f"snippets/{name}")
            ),
            language="bash",
            options={},
            md=self.md,
            classes=[],
            id_value="",
            attrs=NOT_SEARCHED,
        )
        ET.SubElement(frame, "div").text = AtomicString(self.md.htmlStash.store(commands))
        return frame
