"""The page as Sybil sees it."""

from collections.abc import Iterator

from sybil import Document, Example


class Page(Document):
    """A document whose examples know their column, also when several share one line.

    Sybil counts the column of a second example on a line from the start of the file.
    """

    def examples(self) -> Iterator[Example]:
        for start, region in self.regions:
            line = self.text.count("\n", 0, start) + 1
            column = start - self.text.rfind("\n", 0, start)
            yield Example(self, line, column, region, self.namespace)
