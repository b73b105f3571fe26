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

    def error(self, message: object, near: str) -> PageError:
        """Make an error that points at the first line where the text ``near`` starts."""
        text, where = self._text, "<text>"
        if self._path:
            where = _shown(self._path)
            if self._path.is_file():
                # It still has its front matter, so its lines are those that an author sees.
                text = self._path.read_text(encoding="utf-8")
        position = text.find(near)
        if position >= 0:
            where += f":{text.count(chr(10), 0, position) + 1}"
        return PageError(f"{where}: {message}")


def _shown(path: Path) -> str:
    """Write a path as short as it can be for somebody in the current folder."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
