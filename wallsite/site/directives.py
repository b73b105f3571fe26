"""The blocks ``/// table``, ``/// figure`` and ``/// snippet``."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urljoin
from xml.etree import ElementTree as ET

from markdown import Markdown
from markdown.postprocessors import Postprocessor
from markdown.util import AtomicString
from pymdownx.blocks import BlocksExtension, BlocksProcessor
from pymdownx.blocks.block import Block, type_any

from wallsite import tables
from wallsite.site import figures, prose
from wallsite.site.errors import PageError
from wallsite.site.html import NOT_SEARCHED, data_table, rows, scrollable
from wallsite.site.page import Page
from wallsite.site.painter import DrawingError
from wallsite.tables import render
from wallsite.tables.provenance import citation


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
        for block in (_Table, _Figure, _Snippet):
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


_WORDS = {
    "notes": {"zh": "说明", "en": "Notes"},
    "sources": {"zh": "来源", "en": "Sources"},
}
_MANY = 4  # notes; more are folded


class _Table(_Directive):
    NAME = "table"
    OPTIONS = dict.fromkeys(("devices", "vendor", "tier", "dtype"), (None, type_any))

    def make(self, parent: ET.Element) -> ET.Element:
        language = self.page.language
        options = {k: v for k, v in self.options.items() if k in self.OPTIONS and v is not None}
        try:
            table = render.render(self.argument, language, **options)
        except (tables.UnknownName, TypeError, ValueError) as error:
            raise self.error(error) from None
        frame = ET.SubElement(parent, "div", {"class": "ws-table"})
        element = data_table(scrollable(frame, table.caption))
        caption = ET.SubElement(ET.SubElement(element, "caption"), "span")
        caption.text = AtomicString(table.caption)
        rows(element, "thead", [table.headers])
        body = rows(element, "tbody", [map(self._cell, row) for row in table.rows])
        for line, name in zip(body, _row_ids(self.argument), strict=False):
            line.set("id", name)
        few = len(table.notes) <= _MANY
        notes = frame if few else _folded(frame, _WORDS["notes"][language])
        for note in table.notes:
            ET.SubElement(notes, "p", {"class": "ws-table__note"}).text = AtomicString(note)
        if table.sources:
            _folded(frame, _WORDS["sources"][language]).append(self._sources(table.sources))
        return frame

    def _cell(self, cell: render.Cell) -> str | ET.Element:
        if cell.value:
            return prose.number(cell.text, cell.value.si, cell.value.kind, cell.title)
        if cell.href:
            link = ET.Element("a", href=cell.href)
            link.text = AtomicString(cell.text)
            return link
        return cell.text

    def _sources(self, names: Iterable[str]) -> ET.Element:
        items = ET.Element("ul")
        for name in names:
            href = f"{self.page.link('reference/sources.md')}#{name}"
            link = ET.SubElement(ET.SubElement(items, "li"), "a", href=href)
            link.text = AtomicString(citation(tables.source(name)))
        return items


def _folded(frame: ET.Element, summary: str) -> ET.Element:
    details = ET.SubElement(frame, "details", {"class": "ws-table__more"} | NOT_SEARCHED)
    ET.SubElement(details, "summary").text = summary
    return details


def _row_ids(table: str) -> Iterable[str]:
    """Names that links elsewhere give to the rows of a table."""
    if table == "sources":
        return tables.sources()
    if table == "glossary":
        return [term.id for term in tables.glossary()]
    return []


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


_DOWNLOAD = {"zh": "下载 {name}", "en": "Download {name}"}
_RUN = {
    "zh": "# uv 和 pipx 会取来程序，并装好它所需的包\nuv run {address}\npipx run {address}\n"
    "# 已经下载程序、装好 wallsite 时\npython {name}",
    "en": "# uv and pipx fetch the program and install what it needs\nuv run {address}\n"
    "pipx run {address}\n# with the program downloaded and wallsite installed\npython {name}",
}


class _Snippet(_Directive):
    NAME = "snippet"

    def make(self, parent: ET.Element) -> ET.Element:
        name = self.argument
        if not (self.page.snippets / name).is_file():
            raise self.error(f"no snippet named {name!r}")
        frame = ET.SubElement(parent, "div", {"class": "ws-snippet"})
        link = ET.SubElement(frame, "a", href=self.page.link(f"snippets/{name}"), download="")
        link.text = AtomicString(_DOWNLOAD[self.page.language].format(name=name))
        commands = self.md.preprocessors["fenced_code_block"].highlight(
            src=_RUN[self.page.language].format(
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
