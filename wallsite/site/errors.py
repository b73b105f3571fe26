"""The error that stops a build: one line that says where and what."""

from __future__ import annotations

from pathlib import Path

from pymdownx.superfences import SuperFencesException

try:
    # MkDocs ends a build on its own error with the message alone, on others with a traceback.
    from mkdocs.exceptions import BuildError
except ImportError:  # the Markdown extension also works without MkDocs
    from click import ClickException as BuildError  # type: ignore[assignment]


# SuperFences swallows every exception but its own.
class PageError(BuildError, SuperFencesException):  # type: ignore[misc]
    """A page that cannot be shown as it is written; the message starts with file and line."""


class Source:
    """The text of the page being rendered, kept to say where an error is."""

    def __init__(self, text: str, path: Path | None = None) -> None:
        self._text = text
        self._path = path

    def error(self, message: object, near: str, after: int = 0) -> PageError:
        """Make an error that points at the first line where the text ``near`` starts.

        Args:
            message: what is wrong.
            near: text at the place.
            after: position in the page's text before which the place is not.
        """
        where = shown(self._path) if self._path else "<text>"
        position = self._text.find(near, after)
        if position >= 0:
            where += f":{self._above() + self._text.count(chr(10), 0, position) + 1}"
        return PageError(f"{where}: {message}")

    def _above(self) -> int:
        """Lines of the file before the text: its front matter."""
        if self._path is None or not self._path.is_file():
            return 0
        whole = self._path.read_text(encoding="utf-8")
        return whole.count("\n") - self._text.count("\n") if whole.endswith(self._text) else 0


def read(path: Path) -> str:
    """Read a text file of the site.

    Raises:
        PageError: it is not UTF-8.
    """
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PageError(f"{shown(path)}:{line}: not UTF-8: {data[error.start]:#04x}") from None


def shown(path: Path) -> str:
    """Write a path as short as it can be for somebody in the current folder."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
