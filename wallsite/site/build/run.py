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
import re
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import BuildError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from mkdocs.utils import CountHandler, clean_directory

from wallsite import lessons, tables
from wallsite.render import export
from wallsite.site.build import front_matter, links, notebooks, painter, programs
from wallsite.site.build.beside import LANGUAGE, Beside
from wallsite.site.checked import expressions
from wallsite.site.errors import read, shown

_log = logging.getLogger("mkdocs.wallsite")


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
        # MkDocs empties its folder before it knows whether it can fill it again. This one is
        # moved into the real one at the end; a build that fails leaves what was there.
        self._site = Path(config.site_dir)
        kept.mkdir(parents=True, exist_ok=True)
        self._folder = tempfile.TemporaryDirectory(dir=kept, ignore_cleanup_errors=True)
        # Not the temporary folder itself, which nobody else may read.
        config.site_dir = str(Path(self._folder.name, "site"))
        self._figures = kept / "figures" / self._code
        # Processes that draw figures and run notebooks find the lessons by it.
        os.environ[lessons.VARIABLE] = str(self._root / "docs" / "lessons")
        self._set_language()
        links.watch(Path(config.docs_dir))
        self._options = config.mdx_configs["wallsite.site.extension"]
        self._options |= {
            "language": self._code,
            "docs": config.docs_dir,
            "snippets": str(self._root / "snippets"),
            "site": config.site_url,
            "cache": str(self._figures),
        }
        # A notebook's result depends on the package, which mkdocs-jupyter's own key leaves out.
        self._results = kept / "notebooks" / self._code / notebooks.version(Path(config.docs_dir))
        config.plugins["mkdocs-jupyter"].config["cache_dir"] = str(self._results)

    def _set_language(self) -> None:
        """Set everything in the configuration that depends on the language."""
        for code, language in self._languages.items():
            if absent := sorted(_SAID - language.keys()):
                raise BuildError(f"mkdocs.yml: extra.languages.{code}: {absent[0]} is missing")
            language["code"] = code
            language["path"] = "" if code == self._main else f"{code}/"
            language["url"] = urljoin(self._base, language["path"])
        here = self._languages[self._code]
        config = self._config
        config.extra["language"] = here
        config.extra["others"] = [x for x in self._languages.values() if x is not here]
        for other in self._languages.values():
            # The theme links a page only to languages that have it.
            other["pages"] = sorted(_pages(self._docs(other["code"])))
        if here.get("partial") and config.nav:
            config.nav = _kept(config.nav, set(here["pages"]))
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
        """Check the data and that all languages have the same pages; start building the others."""
        if self._code != self._main:
            return
        _read_data()
        self._compare_pages()
        for code in self._languages:
            if code != self._main:
                other = self._others.setdefault(code, Beside(code))
                other.start(self._config.config_file_path, self._base)

    def _compare_pages(self) -> None:
        whole = [code for code, said in self._languages.items() if not said.get("partial")]
        pages = {code: _pages(self._docs(code)) for code in whole}
        missing = [
            f"{shown(self._docs(code) / page)} is missing: every language has the same pages"
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
        for name, path in lessons.recorded().items():
            files.append(generated(f"recorded/{name}.json", abs_src_path=str(path)))
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
        titles = self._languages[self._code].get("sections", {})
        for item in nav:
            if isinstance(item, Section):
                item.title = titles.get(item.title) or self._first_heading(item)
        return nav

    def _first_heading(self, section: Section) -> str:
        """Name a section after its front page."""
        front = self._docs(self._code) / section.title / "index.md"
        text = read(front) if front.is_file() else ""
        heading = re.search(r"^# +(.+?)\s*(?:\{.*\})?\s*$", text, re.M)
        if heading is None:
            raise BuildError(
                f"mkdocs.yml: nav: the section {section.title!r} needs {shown(front)} with a "
                f"heading, or a title under extra.languages.{self._code}.sections"
            )
        return heading[1]

    def open_page(self, page: Page) -> Page:
        """Prepare for the page that is rendered next.

        Raises:
            PageError: it cannot be read.
        """
        self._options["page"] = page.file.src_uri
        if page.file.src_uri.endswith(".md"):
            front_matter.check(Path(str(page.file.abs_src_path)))
        if page.file.src_uri.endswith(".ipynb"):
            # Headings are named in English in all languages.
            notebooks.adapt(page, self._docs("en") / page.file.src_uri)
        return page

    def finish(self) -> None:
        """Add what the other processes made, and put the whole where it belongs.

        Figures and results of notebooks that no page shows any more are forgotten.
        """
        mine = painter.shared(self._figures)
        mine.close()
        mine.prune()
        notebooks.forget_others(self._results)
        index = Path(self._config.site_dir, "search", "search_index.json")
        # The search plugin escapes every Chinese character, six bytes for three.
        text = json.dumps(json.loads(index.read_bytes()), ensure_ascii=False, separators=(",", ":"))
        # The joints of its segmenter say nothing beside something else that separates words.
        other = self._config.plugins["material/search"].config["separator"].rstrip("+")
        text = re.sub(f"(?<={other})\u200b|\u200b(?={other})", "", text)
        index.write_text(text, encoding="utf-8")
        for name in self._config.extra_css:
            style = Path(self._config.site_dir, str(name))
            if style.exists():  # every page loads it; a quarter of it is for who edits it
                text = re.sub(r"/\*.*?\*/", "", style.read_text("utf-8"), flags=re.DOTALL)
                style.write_text(re.sub(r"\n\s+", "\n", text), encoding="utf-8")
        for other in self._others.values():
            other.finish(Path(self._config.site_dir))
        if not self._will_abort():
            self._publish()
        self.drop()

    def _will_abort(self) -> bool:
        """Whether MkDocs is about to abort a strict build because of warnings."""
        counters = [x for x in logging.getLogger("mkdocs").handlers if isinstance(x, CountHandler)]
        return self._config.strict and any(counter.get_counts() for counter in counters)

    def _publish(self) -> None:
        _log.info(f"Moving the site to directory: {self._site}")
        self._site.mkdir(parents=True, exist_ok=True)
        clean_directory(str(self._site))
        for item in Path(self._config.site_dir).iterdir():
            shutil.move(item, self._site)

    def drop(self) -> None:
        """Delete what a build that failed has made."""
        self._config.site_dir = str(self._site)
        self._folder.cleanup()


def _read_data() -> None:
    """Read every table: an error in one would otherwise end whatever reads it first."""
    try:
        tables.accelerators()  # reads sources and links
        tables.models()
        tables.energies()
        tables.clusters()
        lessons.quantities()
        expressions.check_definitions()
        lessons.figures()
        lessons.formulas()
        lessons.families()
        tables.glossary()
    except expressions.ExpressionError as error:
        raise BuildError(str(error)) from None
    except tables.DataError as error:
        inside = "" if str(error).startswith("docs/") else "wallsite/tables/data/"
        raise BuildError(f"{inside}{error}") from None
    except OSError as error:
        raise BuildError(str(error)) from None


_SAID = {"locale", "label", "name", "description", "licence", "palette", "search", "permalink"}
_SAID |= {"backlink", "download", "missing", "home"}


def _kept(nav: list[Any], pages: set[str]) -> list[Any]:
    """Keep of a navigation the pages that a language has."""
    kept: list[Any] = []
    for item in nav:
        if isinstance(item, dict):
            parts = {title: _kept(inside, pages) for title, inside in item.items()}
            kept += [parts] if any(parts.values()) else []
        elif item in pages:
            kept.append(item)
    return kept


def _pages(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix in {".md", ".ipynb"} and ".ipynb_checkpoints" not in path.parts
    }
