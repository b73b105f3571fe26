"""One change to one file."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """What stands between two positions of a file, replaced by something else.

    Attributes:
        kind: what sort of mistake it is; one of `kinds.KINDS`.
        path: the file, relative to the root of the repository.
        start: where the replaced text begins.
        end: where it ends.
        new: what stands there instead.
    """

    kind: str
    path: str
    start: int
    end: int
    new: str

    def apply(self, text: str) -> str:
        """Make the change in the text of the file."""
        return text[: self.start] + self.new + text[self.end :]

    def line(self, text: str) -> int:
        """Number of the line where it begins, counted from 1."""
        return text.count("\n", 0, self.start) + 1

    def diff(self, text: str) -> str:
        """Show the part of the line before and after."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        last = len(text) if last < 0 else last
        changed = text[first : self.start] + self.new + text[self.end : last]
        shift = self.start - first
        return f"- {_around(text[first:last], shift)}\n+ {_around(changed, shift)}"


_SHOWN = 70  # characters on either side of the change


def _around(line: str, position: int) -> str:
    line = line.replace("\n", "⏎")
    start, end = max(0, position - _SHOWN), position + _SHOWN
    return ("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else "")
