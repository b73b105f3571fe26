"""One run of MkDocs, for one language, and the run beside it for the other.

MkDocs builds one language. The run that a person starts builds the first language of mkdocs.yml,
has the others built by processes beside it, and puts what those made into the languages' folders.
What differs between languages is in mkdocs.yml, under ``extra.languages``.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import BuildError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

from wallsite.site import notebooks, painter, programs
from wallsite.site.beside import LANGUAGE, Beside
from wallsite.tables import export


class Build:
    """A build of one language.

    Args:
        config: as MkDocs read it; it is changed to what this language needs.
        others: the processes that build the other languages, kept from one build to the next.
    """

    def __init__(self, config: MkDocsConfig, others: dict[str, Beside]) -> None:
        self._config = config
        self._root = Path(config.config_file_path).parent
        self._base = config.site_url or "/"
        self._languages: dict[str, dict[str, Any]] = config.extra["languages"]
        self._main = next(iter(self._languages))
        self._code = os.environ.get(LANGUAGE, self._main)
        self._others = others
        kept = self._root / ".cache" / "wallsite"
        logging.getLogger("jieba").setLevel(logging.WARNING)
        # A compiled module beside its source would look like an edit to `mkdocs serve`.
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        self._figures = kept / "figures" / self._code
        self._speak()
        self._options = config.mdx_configs["wallsite.site.extension"]
        self._options |= {
            "language": self._code,
            "docs": config.docs_dir,
            "snippets": str(self._root / "snippets"),
            "site": config.site_url,
            "cache": str(self._figures),
        }
        # A notebook's result depends on the package, which mkdocs-jupyter's own key leaves out.
        config.plugins["mkdocs-jupyter"].config["cache_dir"] = str(
            notebooks.kept_in(kept / "notebooks" / self._code, painter.sources_hash())
        )

    def _speak(self) -> None:
        """Set everything in the configuration that depends on the language."""
        for code, language in self._languages.items():
            language["code"] = code
            language["path"] = "" if code == self._main else f"{code}/"
            language["url"] = urljoin(self._base, language["path"])
        here = self._languages[self._code]
        config = self._config
        config.extra["language"] = here
        config.extra["others"] = [x for x in self._languages.values() if x is not here]
        config.site_name = here["name"]
        config.site_description = here["description"]
        config.copyright = here["licence"]
        config.site_url = here["url"]
        config.docs_dir = str(self._docs(self._code))
        config.theme["language"] = self._code
        for option, name in zip(config.theme["palette"], here["palette"], strict=True):
            option["toggle"]["name"] = name
        config.plugins["material/search"].config["lang"] = [self._code]
        config.mdx_configs["toc"]["permalink_title"] = here["permalink"]
        config.mdx_configs["footnotes"] = {"BACKLINK_TITLE": here["backlink"]}

    def _docs(self, code: str) -> Path:
        return self._root / "docs" / code

    def start(self) -> None:
        """Check that all languages have the same pages, and start building the other ones."""
        if self._code != self._main:
            return
        self._compare_pages()
        for code in self._languages:
            if code != self._main:
                other = self._others.setdefault(code, Beside(code))
                other.start(self._config.config_file_path, self._base)

    def _compare_pages(self) -> None:
        pages = {code: _pages(self._docs(code)) for code in self._languages}
        missing = [
            f"{_short(self._docs(code) / page)} is missing: every language has the same pages"
            for code, found in pages.items()
            for page in sorted(set().union(*pages.values()) - found)
        ]
        if missing:
            raise BuildError("\n".join(missing))

    def add_files(self, files: Files) -> Files:
        """Add the assets, the tables and snippets as downloads, and the snippets' wheel."""
        generated = partial(File.generated, self._config)
        for path in sorted((self._root / "docs" / "assets").glob("*.*")):
            files.append(generated(f"assets/{path.name}", abs_src_path=str(path)))
        for table, form in itertools.product(export.TABLES, export.FORMATS):
            text = export.export(table, self._code, form)
            files.append(generated(export.path(table, form), content=text))
        if self._code == self._main:
            name, wheel = programs.wheel(self._root)
            files.append(generated(f"{programs.FOLDER}/{name}", content=wheel))
        address = programs.address(self._base, self._root)
        for path in sorted((self._root / "snippets").glob("*.py")):
            text = programs.standalone(path.read_text(encoding="utf-8"), address)
            files.append(generated(f"snippets/{path.name}", content=text))
        return files

    def name_sections(self, nav: Navigation) -> Navigation:
        """Give each section of the navigation its title in this language."""
        titles = self._languages[self._code]["sections"]
        for item in nav:
            if isinstance(item, Section):
                item.title = titles[item.title]
        return nav

    def open_page(self, page: Page) -> Page:
        """Prepare for the page that is rendered next."""
        self._options["page"] = page.file.src_uri
        if page.file.src_uri.endswith(".ipynb"):
            # Headings are named in English in all languages.
            notebooks.adapt(page, self._docs("en") / page.file.src_uri)
        return page

    def finish(self) -> None:
        """Add what the other processes made, and forget the figures that no page shows."""
        mine = painter.shared(self._figures)
        mine.close()
        mine.prune()
        index = Path(self._config.site_dir, "search", "search_index.json")
        # The search plugin escapes every Chinese character, six bytes for three.
        text = json.dumps(json.loads(index.read_bytes()), ensure_ascii=False, separators=(",", ":"))
        index.write_text(text, encoding="utf-8")
        for other in self._others.values():
            other.finish(Path(self._config.site_dir))


def _pages(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix in {".md", ".ipynb"} and ".ipynb_checkpoints" not in path.parts
    }


def _short(path: Path) -> str:
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
