"""``pytest docs --update``: rewrite shown outputs and digits, as snapshot tools do, for review.

An example that shows something else than it should notes what should stand there instead. When its
page has run, the notes are written into it. The run reports them as failures all the same: what
was rewritten has to be read, in the diff, before it is right.
"""

import re
from pathlib import Path

from wallsite.site.blocks import Block
from wallsite.site.checked.numbers import Checked

OPTION = "--update"

_notes: dict[Path, dict[tuple[int, int], str]] = {}
_DIGITS = re.compile(r"[−-]?\d(?:[\d,]*\d)?(?:\.\d+)?")
enabled = False


def number(path: str, found: Checked, right: str) -> None:
    """Note the digits that a checked number should show."""
    start = found.start + 2  # after the brackets
    shown = _DIGITS.search(Path(path).read_text("utf-8"), start)
    if enabled and shown:
        _notes.setdefault(Path(path), {})[shown.span()] = right


def output(path: str, block: Block, output: Block | None, printed: str) -> None:
    """Note what a block prints, in the output block that follows it or in a new one."""
    if not enabled:
        return
    lines = Path(path).read_text("utf-8").splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    fence = lines[(output or block).line - 1]
    indent = fence[: len(fence) - len(fence.lstrip())]
    shown = "".join(f"{indent}{line}".rstrip() + "\n" for line in printed.rstrip().splitlines())
    if output:
        span = starts[output.line], starts[output.end - 1]
    else:
        span = (starts[block.end],) * 2
        shown = f"\n{indent}```output\n{shown}{indent}```\n"
    _notes.setdefault(Path(path), {})[span] = shown


def write() -> None:
    """Write the notes into their pages."""
    for page, changes in _notes.items():
        text = page.read_text("utf-8")
        for (start, end), new in sorted(changes.items(), reverse=True):
            text = text[:start] + new + text[end:]
        page.write_text(text, "utf-8")
    _notes.clear()
