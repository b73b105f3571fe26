"""The pages of the site, for the tests that look at all of them."""

import json
from pathlib import Path

from wallsite.site import blocks

ROOT = Path(__file__).parents[1]
SNIPPETS = ROOT / "snippets"
DOCS = ROOT / "docs"
LANGUAGES = ("zh", "en")


def names(suffix: str) -> list[str]:
    """Paths of the pages with a suffix, relative to their language, present in either."""
    return sorted(
        {
            path.relative_to(DOCS / language).as_posix()
            for language in LANGUAGES
            for path in (DOCS / language).rglob(f"*{suffix}")
            if ".ipynb_checkpoints" not in path.parts
        }
    )


def scan(path: Path) -> blocks.Page:
    """Blocks and prose of a page."""
    return blocks.scan(path.read_text("utf-8"), SNIPPETS)


def written(path: Path) -> str:
    """What the author wrote: the page, or the text cells of a notebook."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(x["source"]) for x in cells if x["cell_type"] == "markdown")
