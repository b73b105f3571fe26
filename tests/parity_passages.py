"""Read a page, in either language, as sections and the passages in them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wallsite.site import blocks

CODE_SPAN = re.compile(
    r"(?<![\\`])(?P<ticks>`+)(?!`)(?P<code>(?:[^\n]|\n(?![ \t]*\n))+?)(?<!`)(?P=ticks)(?!`)"
)
# What these blocks name is not in the reader's language; the title of any other block is.
_NAMES_DATA = {"table", "list", "downloads", "figure", "snippet"}

_LINE = re.compile(
    r"(?P<indent>[ \t>]*)(?:"
    r"(?P<level>\#{1,6})[ ]+(?P<heading>.*)"
    r"|(?P<box>!!!|\?{3}\+?|={3}(?=[+!]*[ ]\"))(?P<sort>[ ]*[\w -]*)(?P<title>.*)"
    r"|/{3,}[ ]*(?:(?P<directive>[\w-]+)[ ]*(?:\|[ ]*(?P<argument>.*))?)?$"
    r"|(?P<row>\|.*)"
    r"|(?P<bullet>[-*+]|\d{1,2}[.)])[ ]+(?P<item>.*)"
    r"|\[\^(?P<footnote>[^\]]+)\]:(?P<note>.*)"
    r"|(?P<formula>\$\$.*)"
    r"|(?P<text>\S.*))"
)
_ID = re.compile(r"\{[^{}]*#(?P<id>[\w-]+)[^{}]*\}[ \t]*$")


class Passage(NamedTuple):
    """A piece of a section: what it is, and what is written in it.

    Attributes:
        sort: heading, paragraph, item, row, cell, box, block, code, footnote or formula.
        fixed: what must read the same in both languages: its level, its marker, its code.
        text: what its author wrote, whose words are free. Paragraphs in a row are one passage.
        line: where it begins, counted from 1.
    """

    sort: str
    fixed: str
    text: str
    line: int


class Section(NamedTuple):
    """What stands under a heading, the heading included; the first may have none."""

    id: str
    passages: list[Passage]


def notebook(text: str) -> str:
    """Write a notebook as a page: text as it is, code in fences, headings with their number."""
    parts, headings = [], 0
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "markdown":
            parts.append(f"```python\n{source}\n```")
            continue
        for line in source.split("\n"):
            heading = re.match(r"#{1,6} ", line)
            headings += bool(heading)
            parts.append(f"{line} {{ #heading-{headings} }}" if heading else line)
        parts.append("")
    return "\n".join(parts)


def sections(text: str, snippets: Path) -> list[Section]:
    """Divide a page at its headings, and what stands between them into passages."""
    found = [Section("", [])]
    for passage in _passages(text, snippets):
        if passage.sort == "heading":
            found.append(Section(passage.fixed.split()[-1], []))
        found[-1].passages.append(passage)
    return [section for section in found if section.passages]


def _passages(text: str, snippets: Path) -> Iterator[Passage]:
    page = blocks.scan(text, snippets)
    fences = {block.line: block for block in page.blocks}
    current: Passage | None = None  # what the next line may continue
    apart = True  # a blank line stands before
    for number, line in enumerate(_prose(text, page).split("\n"), start=1):
        if block := fences.get(number):
            if current:
                yield current
            current = None
            yield _code(block)
            continue
        match = _LINE.match(line)
        if match is None:
            apart = True
            continue
        if current and _continues(current, match, apart):
            current = current._replace(text=f"{current.text}\n{line.strip()}")
            if current.sort == "block":
                current = current._replace(fixed=f"{current.fixed} {line.strip()}", text="")
        else:
            if current:
                yield current
            *whole, current = _begin(match, number)
            yield from whole
        apart = False
    if current:
        yield current


def _prose(text: str, page: blocks.Page) -> str:
    """The page without its blocks, comments and front matter, but with code spans."""
    inside = {line for block in page.blocks for line in range(block.line, block.end + 1)}
    written = list(page.prose)
    for match in CODE_SPAN.finditer(text):
        blank = not page.prose[match.start() : match.end()].strip()
        if blank and text.count("\n", 0, match.start()) + 1 not in inside:
            written[match.start() : match.end()] = match[0]
    return "".join(written)


def _continues(current: Passage, match: re.Match[str], apart: bool) -> bool:
    """Whether a line goes on with a passage rather than beginning one."""
    if current.sort == "formula":
        return "$$" not in current.text[2:]
    if current.sort == "block":
        return bool(match["text"]) and not apart
    if not match["text"]:
        # A number with a dot inside a paragraph is a number, not a list.
        return not apart and bool(match["bullet"]) and match["bullet"] not in "-*+"
    if current.sort == "paragraph":
        return not apart or current.fixed == f"depth {_depth(match)}"
    return current.sort in {"item", "footnote"} and not apart


def _begin(match: re.Match[str], line: int) -> list[Passage]:
    """Passages that a line begins; only the last may go on in the next line."""
    depth = f"depth {_depth(match)}"
    cells: list[str] = []
    if match["level"]:
        explicit = _ID.search(match["heading"])
        fixed = f"{match['level']} {explicit['id'] if explicit else '?'}"
        sort, text = "heading", _ID.sub("", match["heading"])
    elif match["box"]:
        sort, fixed = "box", f"{match['box']}{match['sort'].rstrip()} {depth}"
        text = match["title"]
    elif match["row"]:
        cells = [x.strip() for x in re.split(r"(?<!\\)\|", match["row"].strip().strip("|"))]
        sort, text, fixed = "row", "", f"{len(cells)} cells {depth}"
        if all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            fixed, cells = f"{'|'.join(cells)} {depth}", []
    elif match["bullet"]:
        marker = "-" if match["bullet"] in "-*+" else match["bullet"]
        sort, fixed, text = "item", f"{marker} {depth}", match["item"]
    elif match["footnote"]:
        sort, fixed, text = "footnote", match["footnote"], match["note"]
    elif match["formula"]:
        sort, fixed, text = "formula", depth, match["formula"]
    elif match["text"]:
        sort, fixed, text = "paragraph", depth, match["text"]
    elif match["directive"] in _NAMES_DATA:
        sort, text = "block", ""
        fixed = f"{match['directive']} | {match['argument'] or ''} {depth}"
    else:
        sort, text = "block", match["argument"] or ""
        fixed = f"{match['directive'] or 'end'} {depth}"
    return [Passage(sort, fixed, text, line), *(Passage("cell", "", x, line) for x in cells)]


def _depth(match: re.Match[str]) -> int:
    return len(match["indent"].expandtabs(4)) // 4


def _code(block: blocks.Block) -> Passage:
    """A fenced block: its code, and as text the title of one that says more than a file's name."""
    worded = {"title", "alt"} if {"figure", "not-run"} & set(block.classes) else set()
    names = [name if name in worded else f"{name}={x}" for name, x in block.attributes.items()]
    text = [x for name, x in block.attributes.items() if name in worded]
    source = block.source
    if block.language == "text":  # a drawing, or data in the reader's language
        text, source = [*text, source], f"{len(source.splitlines())} lines"
    fixed = " ".join([block.language, *block.classes, *names])
    return Passage("code", f"{fixed}\n{source}", "\n".join(text), block.line)
