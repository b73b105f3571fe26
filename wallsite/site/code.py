"""Fenced code: kept out of the search index, and drawn where it says that it is a figure."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from markdown import Markdown
from pymdownx.superfences import highlight_validator

from wallsite.site.build.painter import DrawingError, Drawn
from wallsite.site.figures import figure
from wallsite.site.html import NOT_SEARCHED
from wallsite.site.page import Page


def register(md: Markdown, page: Page) -> None:
    """Make Markdown show the figure of every ``{ .python .figure }`` fence below its code."""
    fences = md.preprocessors["fenced_code_block"]

    def show(classes: list[str], attrs: dict[str, str], **code: Any) -> str:
        drawn = ""
        if code["language"] == "python" and "figure" in classes:
            classes.remove("figure")
            title, alt = code["options"].pop("title", ""), attrs.pop("alt", "")
            element = figure(_draw(page, code["src"], title, alt), page, md)
            drawn = ET.tostring(element, encoding="unicode", method="html")
        return f"{fences.highlight(classes=classes, attrs=attrs | NOT_SEARCHED, **code)}{drawn}"

    fences.extension.extend_super_fences("*", show, highlight_validator, None)


def _draw(page: Page, code: str, title: str, alt: str) -> Drawn:
    if not (title and alt):
        raise page.error('a figure fence needs title="…" and alt="…"', code.partition("\n")[0])
    request = {"code": code, "lang": page.language, "title": title, "alt": alt}
    try:
        return page.painter.draw(request)
    except DrawingError as error:
        raise page.error(f"figure fence {title!r}: {error}", f'title="{title}"') from None
