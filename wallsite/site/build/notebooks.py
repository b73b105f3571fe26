"""A notebook as a page like any other.

mkdocs-jupyter runs the notebook and converts it. What it makes brings half a megabyte of styles
and scripts, a script of another host among them, and gives Chinese headings no ids; of all that
only the cells are kept, in the markup of this site.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup, Tag
from jupyter_client.kernelspec import NoSuchKernel
from markdown import Markdown
from markdown.extensions.toc import TocExtension
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink, get_toc
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from wallsite.site.build import depends
from wallsite.site.errors import PageError, Source, read, shown

_DEPTH = 3


def version(docs: Path) -> str:
    """Name what the results of a folder's notebooks depend on besides the notebooks."""
    notebooks = (x for x in sorted(docs.rglob("*.ipynb")) if ".ipynb_checkpoints" not in x.parts)
    cells = (cell for path in notebooks for cell in _read(path).cells)
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return hashlib.sha256((code + depends.package()).encode()).hexdigest()


def forget_others(results: Path) -> None:
    """Delete the results of other versions than the one that a folder is named after."""
    for old in results.parent.glob("*"):
        if old != results:
            shutil.rmtree(old, ignore_errors=True)


def adapt(page: Page, named_after: Path) -> None:
    """Change how a notebook's page renders.

    Args:
        page: of a notebook, already taken over by mkdocs-jupyter.
        named_after: the same notebook in the language that names the headings.
    """
    convert, path = page.render, Path(str(page.file.abs_src_path))
    names = _names(named_after)

    def render(config: MkDocsConfig, files: Files) -> None:
        try:
            convert(config, files)
        except CellExecutionError as error:
            raise _failed(path, error) from None
        except (CellTimeoutError, DeadKernelError, NoSuchKernel) as error:
            raise PageError(f"{shown(path)}: {error}") from None
        headings = list(_flat(page.toc))
        if len(headings) != len(names):
            raise PageError(
                f"{shown(path)} has {len(headings)} headings, but {shown(named_after)} "
                f"has {len(names)}"
            )
        for item, name in zip(headings, names, strict=True):
            item.id = name
        page.content = _cells(page.content or "", names)

    page.render = render  # type: ignore[method-assign]


def _read(path: Path) -> nbformat.NotebookNode:
    """Read a notebook.

    Raises:
        PageError: it is not JSON in UTF-8, or JSON that is no notebook.
    """
    text = read(path)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise PageError(f"{shown(path)}:{error.lineno}: not JSON: {error.msg}") from None
    try:
        notebook: nbformat.NotebookNode = nbformat.reads(  # type: ignore[no-untyped-call]
            text, as_version=4
        )
        nbformat.validate(notebook)
    except (AttributeError, KeyError, TypeError, ValueError, nbformat.ValidationError) as error:
        # What nbformat meets in JSON of another shape is its own business.
        reason = f": {error.message}" if isinstance(error, nbformat.ValidationError) else ""
        raise PageError(f"{shown(path)}: not a notebook{reason}") from None
    return notebook


def _failed(path: Path, error: CellExecutionError) -> PageError:
    """Point at the cell in the file, where its source stands as JSON strings."""
    source = Source(read(path), path)
    code = str(error).split("\n------------------\n")[1]
    first = code.splitlines()[0].replace("\\", r"\\").replace('"', r"\"")
    return source.error(f"a cell raised {error.ename}: {error.evalue}", first)


def _names(path: Path) -> list[str]:
    """Make ids from a notebook's headings."""
    texts = [cell.source for cell in _read(path).cells if cell.cell_type == "markdown"]
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
