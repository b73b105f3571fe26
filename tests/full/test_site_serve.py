"""Building and serving a small site of two languages: failures, addresses, and edits."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace
from urllib.request import urlopen

import nbformat
import pytest
from pages import ROOT
from small_site import FIGURE, PAGES, build, copied, mkdocs

from wallsite.site.build import notebooks
from wallsite.site.errors import PageError

pytestmark = pytest.mark.slow

PATIENCE_S = 60


@pytest.fixture
def project(tmp_path):
    """A copy of the package with a site of one page."""
    return copied(tmp_path)


class Builder:
    """Builds one project in one process, with files changed for a build and then put back."""

    def __init__(self, project):
        self.project = project
        options = mkdocs(project) | {"args": [sys.executable, "-m", "building"]}
        options["env"] |= {"PYTHONPATH": f"{project}{os.pathsep}{ROOT / 'tests'}"}
        options |= {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(**options)

    def __call__(self, changes, strict=True):
        before = {}
        for name, text in changes.items():
            path = self.project / name
            before[path] = path.read_bytes() if path.exists() else None
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            self.process.stdin.write(json.dumps({"strict": strict}) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
        finally:
            for path, text in before.items():
                path.unlink() if text is None else path.write_bytes(text)
        return answer


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    project = copied(tmp_path_factory.mktemp("built"))
    (project / "site/en").mkdir(parents=True)
    (project / "site/en/kept.html").write_text("as it was")
    builder = Builder(project)
    yield builder
    builder.process.communicate(timeout=PATIENCE_S)
    assert not list((project / ".cache/wallsite").glob("tmp*"))


def test_address_can_be_changed(project):
    run = build(project, "--strict", SITE_URL="https://example.org/sub/")
    assert run.returncode == 0, run.stdout
    for path, locale in {"": "zh-Hans", "en/": "en"}.items():
        text = (project / "site" / path / "index.html").read_text("utf-8")
        assert f'hreflang="{locale}" href="https://example.org/sub/{path}"' in text
        assert f'href="/sub/{path}' in (project / "site" / path / "404.html").read_text("utf-8")
    assert not list((project / "wallsite").rglob("*.pyc"))


@pytest.mark.parametrize(
    ("path", "text", "messages"),
    [
        ("docs/en/index.md", "# A\n\n/// table | ridg\n///\n", ["docs/en/index.md:3: ", "ridge"]),
        ("docs/zh/index.md", "# A\n\n/// table | ridg\n///\n", ["docs/zh/index.md:3: ", "ridge"]),
        ("docs/zh/extra.md", "# A\n", ["docs/en/extra.md is missing"]),
        ("docs/en/extra.md", "# A\n", ["docs/zh/extra.md is missing"]),
        (
            "docs/en/index.md",
            "# A\n\n[b](b.md)\n",
            ["[en] docs/en/index.md:3: ", "'b.md'", "1 warnings in strict"],
        ),
        ("docs/zh/index.md", "# A\n\n[b]: #b\n\nx [b]\n", ["docs/zh/index.md:3: ", "'#b'"]),
        ("docs/zh/index.md", "# A\n\n[b](/b/)\n", ["docs/zh/index.md:3: ", "'/b/'"]),
        ("docs/zh/index.md", b"# A\n\n\xff\n", ["docs/zh/index.md:3: not UTF-8: 0xff"]),
        ("docs/en/index.md", b"# A\n\n\xff\n", ["docs/en/index.md:3: not UTF-8: 0xff"]),
        (
            "docs/zh/index.md",
            "---\ntitle: A\nb: [\n---\n# A\n",
            ["docs/zh/index.md:4: front matter: "],
        ),
        ("docs/zh/index.md", "---\nA\n---\n", ["docs/zh/index.md:2: front matter must", "'A'"]),
        ("docs/zh/index.md", "---\ntitle: A\n", ["docs/zh/index.md:1: front matter without its"]),
        (
            "wallsite/tables/data/glossary.toml",
            '[a]\nzh = 3\nen = "a"\n',
            ["data/glossary.toml: [a] zh: expected text, found 3"],
        ),
        (
            "docs/lessons/small/quantities/second.toml",
            "x = 1",
            ["docs/lessons/small/quantities/second.toml: [x]: expected a table, found 1"],
        ),
        (
            "docs/lessons/small/quantities/second.toml",
            '[x]\nis = "nothing(3)"\n',
            ["docs/lessons/small/quantities/second.toml: [x] is: unknown name 'nothing'"],
        ),
        (
            "docs/lessons/small/quantities/second.toml",
            '[x]\nargs = ["N"]\nis = "y(N)"\n[y]\nargs = ["N"]\nis = "x(N)"\n',
            ["second.toml: [y] is: x → y → x: defined by itself"],
        ),
        (
            "docs/lessons/small/quantities/second.toml",
            "[x]\nis = \"capacity('h100-sxm') / params_8b\"\n",
            ["second.toml: [x] is: unknown name 'params_8b'"],
        ),
        (
            "docs/lessons/small/names.toml",
            "families = 3\n",
            ["docs/lessons/small/names.toml: families must be a list such as"],
        ),
        (
            "wallsite/tables/data/clusters.toml",
            '[a]\nname = 3\ndevice = "h100-sxm"\n',
            ["wallsite/tables/data/clusters.toml: [a] "],
        ),
        (
            "mkdocs.yml",
            (ROOT / "mkdocs.yml")
            .read_text("utf-8")
            .replace("  - index.md\n", "  - index.md\n  - second:\n      - index.md\n"),
            ["nav: the section 'second' needs docs/zh/second/index.md with a heading"],
        ),
    ],
)
def test_what_is_wrong_in_either_language_fails_the_build(builder, path, text, messages):
    answer = builder({path: text})
    assert answer["failed"]
    for message in messages:
        assert message in answer["said"]
    assert "Traceback" not in answer["said"]
    # Nothing of a site that is not whole is published, nor left about.
    site, kept = builder.project / "site", builder.project / "site/en/kept.html"
    assert [path for path in site.rglob("*") if path.is_file()] == [kept]


def test_all_faults_of_a_page_are_named_at_once(builder):
    page = (
        "# A { #a }\n\n[[296 := ridge('h100-sxm')]] and [[1 := nothing('x')]]\n\n"
        "It takes 5 s.\n\nThen [[half:=1]] of it.\n"
    )
    answer = builder({"docs/zh/index.md": page})
    assert answer["failed"]
    for message in (
        "docs/zh/index.md:3: [[296 := ridge('h100-sxm')]]: shows 296, but the value is 295.34",
        "docs/zh/index.md:3: [[1 := nothing('x')]]: unknown name 'nothing'",
        "docs/zh/index.md:5: '5 s' states a quantity and is not checked",
        "docs/zh/index.md:7: malformed checked number: [[half:=1]]",
    ):
        assert message in answer["said"]


def test_failed_build_can_be_followed_by_a_good_one(project):
    (project / "site").mkdir()
    (project / "site/stale.html").write_text("of a page that is gone")
    run = build(project)
    assert run.returncode == 0, run.stdout
    assert not (project / "site/stale.html").exists()
    assert (project / "site/en/index.html").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not JSON", r"note\.ipynb:1: not JSON: "),
        ('{\n  "cells": [\n', r"note\.ipynb:3: not JSON: "),
        (b"\xff", r"note\.ipynb:1: not UTF-8"),
        ("[]", r"note\.ipynb: not a notebook"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code"}]}', r"note\.ipynb: not a notebook: "),
        ('{"nbformat": 99, "cells": []}', r"note\.ipynb: not a notebook"),
    ],
)
def test_broken_notebook_is_one_line(tmp_path, text, message):
    path = tmp_path / "note.ipynb"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    page = SimpleNamespace(render=None, file=SimpleNamespace(abs_src_path=str(path)))
    with pytest.raises(PageError, match=message) as error:
        notebooks.adapt(page, path)
    assert len(str(error.value).splitlines()) == 1


def notebook(project, heading, code):
    """Give the site a notebook, the same in both languages but for the heading."""
    for language in PAGES:
        cells = [
            nbformat.v4.new_markdown_cell(f"# {heading[language]}"),
            nbformat.v4.new_code_cell("# a first line\n" + code),
        ]
        path = project / "docs" / language / "note.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def test_cell_that_raises_fails_the_build(project):
    notebook(project, {"zh": "题", "en": "Title"}, "1 / 0")
    run = build(project)
    assert run.returncode == 1
    said = re.search(r"docs/(zh|en)/note\.ipynb:(\d+): a cell raised ZeroDivisionError", run.stdout)
    text = (project / said[0].split(":")[0]).read_text("utf-8")
    assert "# a first line" in text.splitlines()[int(said[2]) - 1]
    assert "Traceback" not in run.stdout


def test_headings_of_a_notebook_are_named_in_english(project):
    notebook(project, {"zh": "题", "en": "A title"}, "print('printed')")
    run = build(project)
    assert run.returncode == 0, run.stdout
    for path in ("note", "en/note"):
        text = (project / "site" / path / "index.html").read_text("utf-8")
        assert '<h1 id="a-title">' in text
        assert "printed" in text


@contextmanager
def served(project):
    """Serve the project: a function that waits for the next build and returns what was said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = project / "log.txt"
    with log.open("w") as output:
        options = mkdocs(project, "serve", "--dev-addr", f"127.0.0.1:{port}")
        process = subprocess.Popen(**options | {"stdout": output})
    read = 0

    def wait(pattern=r"Reloading browsers|An error happened"):
        nonlocal read
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and process.poll() is None:
            text = log.read_text("utf-8")
            if found := re.search(pattern, text[read:]):
                said = text[read : read + found.end()]
                read += found.end()
                return said
            time.sleep(0.05)
        pytest.fail(f"nothing more after:\n{log.read_text('utf-8')}")

    def get(path):
        with urlopen(f"http://127.0.0.1:{port}/{path}") as answer:
            return answer.read().decode()

    try:
        wait("Serving on")
        yield wait, get
    finally:
        process.send_signal(signal.SIGINT)
        status = process.wait(PATIENCE_S)
    assert status == 0


def test_serve_shows_every_edit_in_both_languages(project):
    pages = {path: project / "docs" / (path or "zh/") / "index.md" for path in ("", "en/")}
    pages["en/"].write_text(PAGES["en"] + FIGURE, encoding="utf-8")
    with served(project) as (wait, get):
        for path, page in pages.items():
            assert "livereload" in get(path)
            page.write_text(page.read_text("utf-8") + "\nNEW WORDS\n", encoding="utf-8")
            wait()
            assert "NEW WORDS" in get(path)

        # Data: everything that rests on it must follow, in a process that has read the old data.
        data = project / "wallsite/tables/data/accelerators.toml"
        text = data.read_text("utf-8")
        head, device = text.split("[h100-sxm]\n")
        data.write_text(f"{head}[h100-sxm]\n{device.replace('3.35', '2.0', 1)}", encoding="utf-8")
        wait()
        for path in pages:
            page = get(path)
            assert ">494.7<" in page  # a number that is computed from it
            assert '\n2.0 TB/s"' in page  # the title of the number itself
            assert "<p>2.0 TB/s · " in page  # what the number's box shows
            assert "2.0 TB/s" in get(f"{path}reference/sources/")
            download = get(f"{path}data/accelerators.csv")
            assert re.search(r"^h100-sxm,.*,bandwidth,0,2\.0,TB/s,", download, re.MULTILINE)
        assert ">2.0 4.0<" in get("en/")  # the figure

        # A value that cannot be read stops the build with one line; put right, all is as it was.
        wrong = data.read_text("utf-8")
        data.write_text(wrong.replace("value = 2.0,", 'value = "x",', 1), encoding="utf-8")
        said = wait()
        assert "accelerators.toml: [h100-sxm] bandwidth.value" in said
        data.write_text(wrong, encoding="utf-8")
        wait()
        assert ">494.7<" in get("en/")

        # A module that does not import stops this build, not the server.
        module = project / "wallsite/roofline.py"
        good = module.read_text("utf-8")
        module.write_text("def (\n" + good, encoding="utf-8")
        assert re.search(r"roofline\.py\"?, line 1", wait())
        better = good.replace("return peak / bandwidth", "return 3 * peak / bandwidth")
        assert better != good
        module.write_text(better, encoding="utf-8")
        wait()
        assert ">2.0 12.0<" in get("en/")
