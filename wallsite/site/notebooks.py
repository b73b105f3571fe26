"""A notebook as a page like any other.

mkdocs-jupyter runs the notebook and converts it. What it makes brings half a megabyte of styles
and scripts, a script of another host among them, and gives Chinese headings no ids; of all that
only the cells are kept, in the markup of this site.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from markdown import Markdown
from markdown.extensions.toc import TocExtension
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import BuildError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink, get_toc
from nbclient.exceptions import CellExecutionError

from wallsite.site.errors import Source

_DEPTH = 3


def kept_in(folder: Path, version: str) -> Path:
    """Folder for the results that one version of the package gives; others are deleted."""
    for old in folder.glob("*"):
        if old.name != version:
            shutil.rmtree(old, ignore_errors=True)
    return folder / version


def adapt(page: Page, named_after: Path) -> None:
    """Change how a notebook's page renders.

    Args:
        page: of a notebook, already taken over by mkdocs-jupyter.
        named_after: the same notebook in the language that names the headings.
    """
    convert, path = page.render, Path(str(page.file.abs_src_path))

    def render(config: MkDocsConfig, files: Files) -> None:
        try:
            convert(config, files)
        except CellExecutionError as error:
            raise _failed(path, error) from None
        headings, names = list(_flat(page.toc)), _names(named_after)
        if len(headings) != len(names):
            raise BuildError(
                f"{path} has {len(headings)} headings, but {named_after} has {len(names)}"
            )
        for item, name in zip(headings, names, strict=True):
            item.id = name
        page.content = _cells(page.content or "", names)

    page.render = render  # type: ignore[method-assign]


def _failed(path: Path, error: CellExecutionError) -> BuildError:
    """Point at the cell in the file, where its source stands as JSON strings."""
    source = Source(path.read_text(encoding="utf-8"), path)
    code = str(error).split("\n------------------\n")[1]
    first = code.splitlines()[0].replace("\\", r"\\").replace('"', r"\"")
    return source.error(f"a cell raised {error.ename}: {error.evalue}", first)


def _names(path: Path) -> list[str]:
    """Make ids from a notebook's headings."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    md = Markdown(extensions=["fenced_code", TocExtension(toc_depth=_DEPTH)])
    md.convert("\n\n".join(texts))
    return [item.id for item in _flat(get_toc(md.toc_tokens))]


def _flat(items: Iterable[AnchorLink]) -> Iterator[AnchorLink]:
    for item in items:
        yield item
        yield from _flat(item.children)


def _cells(html: str, names: list[str]) -> str:
    """Keep the text, the code and the outputs."""
    soup = BeautifulSoup(html, "html.parser")
    # What styles a figure of a notebook that stands alone would restyle the whole page.
    for element in soup.select("style, script"):
        element.decompose()
    parts: list[str] = []
    for cell in soup.select(".jp-Notebook > .jp-Cell"):
        if text := cell.select_one(".jp-RenderedMarkdown"):
            parts.append(text.decode_contents())
        if code := cell.select_one(".highlight-ipynb pre"):
            parts.append(_block("python", code))
        for output in cell.select(".jp-OutputArea-output"):
            printed = output.select_one("pre")
            parts.append(_block("output", printed) if printed else output.decode_contents())
    result = BeautifulSoup("\n".join(parts), "html.parser")
    headings = result.find_all([f"h{level}" for level in range(1, _DEPTH + 1)])
    for heading, name in zip(headings, names, strict=True):
        heading["id"] = name
        for anchor in heading.select("a.anchor-link"):
            anchor["class"], anchor["href"] = "headerlink", f"#{name}"
    return str(result)


def _block(language: str, pre: Tag) -> str:
    code = pre.decode_contents().strip("\n")
    return (
        f'<div class="language-{language} highlight" data-search-exclude="true">'
        f"<pre><code>{code}\n</code></pre></div>"
    )
