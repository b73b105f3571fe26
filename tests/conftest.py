"""The site as its readers get it: converted, built once for all tests, and in a browser."""

import os
import signal
import subprocess
import sys
import threading

import browser
import pytest
from bs4 import BeautifulSoup
from filelock import FileLock
from markdown import Markdown
from pages import ROOT
from serve import serve


def pytest_configure(config):
    """Take Ctrl-C as a terminal gives it, and hand that on to the programs that tests start.

    A script's background job inherits the signal as ignored.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


_WHOLE_SITE = {"built_site", "chromium"}


def pytest_collection_modifyitems(items):
    """Mark what needs the whole site or a browser: ``-m 'not slow'`` leaves it out."""
    for item in items:
        if _WHOLE_SITE & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def extensions():
    """The Markdown extensions of mkdocs.yml and their options."""
    from mkdocs.config import load_config

    config = load_config(str(ROOT / "mkdocs.yml"))
    return config["markdown_extensions"], config["mdx_configs"]


@pytest.fixture
def convert(extensions):
    """Convert a text as the site does."""

    def convert(text, **options):
        names, configs = extensions
        options = {"language": "en", "snippets": str(ROOT / "snippets"), **options}
        configs = configs | {"wallsite.site.extension": options}
        md = Markdown(extensions=names, extension_configs=configs)
        return BeautifulSoup(md.convert(text), "html.parser")

    return convert


@pytest.fixture(scope="session")
def built_site(tmp_path_factory, worker_id):
    """Folder of a strict build of both languages; all processes of a run share it."""
    if worker_id == "master":
        return _build(tmp_path_factory.mktemp("built") / "site")
    folder = tmp_path_factory.getbasetemp().parent / "site"
    with FileLock(f"{folder}.lock"):
        return folder if folder.exists() else _build(folder.with_name("building")).rename(folder)


def _build(folder):
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if build.returncode:
        told = [line for line in build.stdout.splitlines() if not line.startswith("INFO")]
        pytest.fail("\n".join(["mkdocs build --strict failed:", *told]), pytrace=False)
    return folder


@pytest.fixture(scope="session")
def html(built_site):
    """Parse a built file, once."""
    parsed = {}

    def html(path):
        if path not in parsed:
            text = (built_site / path).read_text("utf-8")
            parsed[path] = BeautifulSoup(text, "html.parser")
        return parsed[path]

    return html


@pytest.fixture(scope="module")
def address(built_site, tmp_path_factory):
    """Address of the site, served from a sub-path as a project page is."""
    root = tmp_path_factory.mktemp("served")
    (root / "sub").symlink_to(built_site)
    with serve(root) as address:
        yield f"{address}sub/"


@pytest.fixture(scope="module")
def chromium():
    if browser.executable() is None:
        pytest.skip("no Chromium or Chrome on this machine")
    pytest.importorskip("playwright")
    with browser.launch() as chromium:
        yield chromium


@pytest.fixture
def visit(chromium, address):
    """Open pages; afterwards nothing must have failed, or been asked of another host."""
    contexts, problems = [], []

    def is_ours(url):
        return url.startswith((address, "data:", "blob:"))

    def visit(path, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("response", lambda x: x.status < 400 or problems.append(x.url))
        page.on("request", lambda request: is_ours(request.url) or problems.append(request.url))
        page.goto(address + path, wait_until="load")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []
