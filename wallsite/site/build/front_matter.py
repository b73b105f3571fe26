"""The settings at the top of a page, which MkDocs skips without a word where they are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from wallsite.site.errors import PageError, read, shown

_OPENED = re.compile(r"---[ \t]*\n")
_CLOSED = re.compile(r"---[ \t]*\n(?P<settings>(?:.*?\n)?)(?:-{3}|\.{3})[ \t]*\n", re.DOTALL)


def check(path: Path) -> None:
    """Read the front matter of a page.

    Raises:
        PageError: the page is not UTF-8, or its front matter is no YAML of names and values.
    """
    text = read(path).replace("\r\n", "\n")
    if not _OPENED.match(text):
        return
    written = _CLOSED.match(text)
    if written is None:
        raise PageError(f"{shown(path)}:1: front matter without its closing ---")
    try:
        settings = yaml.safe_load(written["settings"])
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise PageError(f"{shown(path)}:{line}: front matter: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:  # a character, or a date, that there is not
        reason = " ".join(str(error).split())
        raise PageError(f"{shown(path)}:1: front matter: {reason}") from None
    if not isinstance(settings, dict):
        raise PageError(
            f"{shown(path)}:2: front matter must be names and values, such as title: Home; "
            f"found {settings!r}"
        )
