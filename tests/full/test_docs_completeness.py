"""Whatever code the reader sees has been run: the built pages against the tests' own list."""

import importlib.util
import json
import re
from functools import cache

import pytest
from bs4 import BeautifulSoup
from doctests.parsers import Code
from pages import DOCS, LANGUAGES, ROOT, names, scan

PYTHON = {"python", "py", "python3", "pycon"}


@cache
def article(site, language, name):
    """The content of a built page."""
    folder = site if language == "zh" else site / language
    path = (folder / name).with_suffix("")
    path = path.parent if path.name == "index" else path
    html = (path / "index.html").read_text("utf-8")
    return BeautifulSoup(html, "html.parser").select_one("article")


def shown(page):
    """Python code of a built page, in order."""
    blocks = page.select(",".join(f".language-{language}.highlight" for language in PYTHON))
    return [block.select_one("pre code").get_text().strip("\n") for block in blocks]


@pytest.fixture(scope="session")
def sybil():
    """What runs the examples: the very object that docs/conftest.py hands to pytest."""
    spec = importlib.util.spec_from_file_location("docs_conftest", ROOT / "docs" / "conftest.py")
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    return conftest.sybil


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".md"))
def test_sybil_runs_all_python_that_the_page_shows(built_site, sybil, language, name):
    path = DOCS / language / name
    assert sybil.should_parse(path)
    code = [x.parsed.block for x in sybil.parse(path) if isinstance(x.parsed, Code)]
    run = [block.source.strip("\n") for block in code if block.language in PYTHON]
    assert run == shown(article(built_site, language, name))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".ipynb"))
def test_notebook_page_shows_all_cells(built_site, language, name):
    notebook = json.loads((DOCS / language / name).read_text("utf-8"))
    cells = ["".join(x["source"]) for x in notebook["cells"] if x["cell_type"] == "code"]
    assert cells == shown(article(built_site, language, name))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".md") + names(".ipynb"))
def test_every_block_names_its_language(built_site, language, name):
    for pre in article(built_site, language, name).select("pre"):
        frame = pre.find_parent("div", class_="highlight")
        classes = frame["class"] if frame else []
        assert any(x.startswith("language-") for x in classes), pre.get_text()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".md"))
def test_headings_have_the_ids_of_the_source(built_site, language, name):
    page = article(built_site, language, name)
    written = re.findall(r"^#+ .*\{[^{}]*#([\w-]+)", scan(DOCS / language / name).prose, re.M)
    assert [heading.get("id") for heading in page.select("h1, h2, h3, h4, h5, h6")] == written
