"""Every fenced code block of a Markdown page: language, attributes, source and line number.

The fences are found by the site's own implementation, `pymdownx.superfences` behind
`pymdownx.snippets`, so whatever the page shows as code is found here and nothing else, whatever
the spelling of the fence and wherever it is nested. What a block means is for others to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from markdown import Markdown
from pymdownx.snippets import SnippetMissingError, SnippetPreprocessor
from pymdownx.superfences import SuperFencesBlockPreprocessor

SNIPPET_OPTIONS = {"check_paths": True, "restrict_base_path": True}
"""Options of `pymdownx.snippets` besides the folder; mkdocs.yml has the same."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# A comment or a code span, whichever opens first: either may hold the other's marks.
_COMMENT_OR_CODE = re.compile(
    r"(?P<comment><!--.*?-->)"
    r"|(?<![\\`])(?P<ticks>`+)(?!`)(?:[^\n]|\n(?![ \t]*\n))+?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL,
)
_LIKE_A_FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(?:`{3}[^`\n]*$|~{3}.*)", re.M)


class BlockError(ValueError):
    """A fence or an embedded snippet that the site cannot show as code; names the line."""


class Block(NamedTuple):
    """One fenced code block of a page.

    Attributes:
        language: as written, in lower case; empty when the fence names none.
        classes: classes other than the language, in order.
        attributes: `id`, `title`, `hl_lines` and whatever else the fence carries.
        source: the code without its nesting, snippets expanded.
        line: line of the opening fence in the page, counted from 1.
        end: line of the closing fence.
        lines: the page's line behind each line of the source; all lines of an embedded snippet
            have the line that embeds it.
    """

    language: str
    classes: tuple[str, ...]
    attributes: Mapping[str, str]
    source: str
    line: int
    end: int
    lines: tuple[int, ...]

    @property
    def title(self) -> str:
        """Title shown above the block, or an empty text."""
        return self.attributes.get("title", "")


class Page(NamedTuple):
    """A page's fenced blocks, in order, and the rest of its text.

    Attributes:
        blocks: all fenced blocks outside comments.
        prose: the page with front matter, fenced blocks, comments and code spans blanked out;
            everything else keeps its position.
    """

    blocks: tuple[Block, ...]
    prose: str


def scan(text: str, snippets: Path) -> Page:
    """Separate the fenced blocks of a page from its prose.

    Args:
        text: the page.
        snippets: folder of the files that `--8<--` embeds.

    Raises:
        BlockError: a line looks like a fence but the site would print it as text, for example
            because the fence is never closed or has an attribute outside braces; or an embedded
            snippet is missing.
    """
    lines = _FRONT_MATTER.sub(_blank, text).split("\n")
    found = _Finder(_expand(lines, snippets)).blocks
    for block in found:
        for index in range(block.line - 1, block.end):
            lines[index] = " " * len(lines[index])
    rest = "\n".join(lines)

    uncommented = _COMMENT_OR_CODE.sub(lambda m: _blank(m) if m["comment"] else m[0], rest)
    if stray := _LIKE_A_FENCE.search(uncommented):
        raise BlockError(
            f"line {_line(rest, stray.start())}: not a fence, shown as text: {stray[0].strip()}"
        )
    comments = [
        range(_line(rest, match.start()), _line(rest, match.end()) + 1)
        for match in _COMMENT_OR_CODE.finditer(rest)
        if match["comment"]
    ]
    blocks = (block for block in found if not any(block.line in inside for inside in comments))
    return Page(tuple(blocks), _COMMENT_OR_CODE.sub(_blank, rest))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _expand(lines: list[str], snippets: Path) -> list[tuple[int, str]]:
    """Expand `--8<--` as the site does, and keep for each line the line it comes from."""
    snippet = Markdown(
        extensions=["pymdownx.snippets"],
        extension_configs={"pymdownx.snippets": SNIPPET_OPTIONS | {"base_path": [str(snippets)]}},
    ).preprocessors["snippet"]
    expanded: list[tuple[int, str]] = []
    start = 0
    while start < len(lines):
        end = start + 1
        if _is_marker(lines[start]):
            # A marker alone on its line opens a list of files; the next one closes it.
            while end < len(lines) and not _is_marker(lines[end]):
                end += 1
            end += 1
        try:
            expanded += [(start + 1, line) for line in snippet.run(lines[start:end])]
        except SnippetMissingError as error:
            raise BlockError(f"line {start + 1}: {error}") from None
        start = end
    return expanded


def _is_marker(line: str) -> bool:
    match = SnippetPreprocessor.RE_ALL_SNIPPETS.match(line)
    return match is not None and bool(match["block_marker"]) and not match["escape"]


class _Finder(SuperFencesBlockPreprocessor):  # type: ignore[misc]
    """The site's fence finder, made to note each block instead of turning it into HTML."""

    def __init__(self, numbered: list[tuple[int, str]]) -> None:
        site = Markdown(extensions=["attr_list", "pymdownx.superfences"])
        super().__init__(site)
        theirs: Any = site.preprocessors["fenced_code_block"]
        self.config, self.extension = theirs.config, theirs.extension
        self.numbers = [number for number, _ in numbered]
        self.blocks: list[Block] = []
        self.run([line.expandtabs(self.tab_len) for _, line in numbered])

    def process_nested_block(self, ws: str, content: str, start: int, end: int) -> None:
        """Note the block whose fences are lines `start` and `end - 1`."""
        self.blocks.append(
            Block(
                language=(self.lang or "").lower(),
                classes=tuple(self.classes),
                attributes=({"id": self.id} if self.id else {}) | self.options | self.attrs,
                source=self.rebuild_block(self.code),
                line=self.numbers[start],
                end=self.numbers[end - 1],
                lines=tuple(self.numbers[start + 1 : end - 1]),
            )
        )
        self.clear()
