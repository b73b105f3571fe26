"""Sybil parsers: what is an example on a page. How to check one is handed in."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from sybil import Document, Region
from sybil.typing import Evaluator

from wallsite.site.blocks import Block, scan
from wallsite.site.checked import numbers

OUTPUT = "output"


class Code(NamedTuple):
    """A block, and the output block after it if no other block stands between them."""

    block: Block
    output: Block | None


def pair(blocks: Sequence[Block]) -> Iterator[Code]:
    """Join each output block to the block before it, unless that is an output block too."""
    taken = None
    for block, following in zip_longest(blocks, blocks[1:]):
        if block is taken:
            continue
        follows = following is not None and following.language == OUTPUT != block.language
        taken = following if follows else None
        yield Code(block, taken)


class CodeParser:
    """Every fenced block of a page, except those in a language that is only shown.

    Args:
        snippets: folder of the files that pages embed.
        evaluators: what to do with a block, by language.
        shown: languages whose blocks are data or drawings and are not examples.
        refuse: what to do with any other block, an output block that follows nothing included.
    """

    def __init__(
        self,
        snippets: Path,
        evaluators: Mapping[str, Evaluator],
        shown: Collection[str],
        refuse: Evaluator,
    ) -> None:
        self.snippets = snippets
        self.evaluators = evaluators
        self.shown = shown
        self.refuse = refuse

    def __call__(self, document: Document) -> Iterator[Region]:
        starts = [match.start() for match in re.finditer(r"^", document.text, re.MULTILINE)]

        def region(code: Code) -> Region:
            # A point, not a span: the blocks of an embedded file share one line.
            start = starts[code.block.line - 1]
            return Region(start, start, code, self.evaluators.get(code.block.language, self.refuse))

        for code in pair(scan(document.text, self.snippets).blocks):
            if code.block.language not in self.shown:
                yield region(code)
            elif code.output:
                yield region(Code(code.output, None))


class NumberParser:
    """Every checked number of a page, and whatever was meant as one but does not read as one."""

    def __init__(self, snippets: Path, check: Evaluator, refuse: Evaluator) -> None:
        self.snippets = snippets
        self.check = check
        self.refuse = refuse

    def __call__(self, document: Document) -> Iterator[Region]:
        page = scan(document.text, self.snippets)
        for number in numbers.find(page.prose):
            yield Region(number.start, number.end, number, self.check)
        for left in numbers.malformed(page):
            yield Region(left.start, left.start, left, self.refuse)
