"""The mutation tool: each mistake is one change, and what becomes of it is found out."""

import shutil
import subprocess
import tomllib
from collections import Counter
from types import SimpleNamespace

import pytest
from mutate import bench, kinds
from mutate.__main__ import report, sample
from mutate.affected import Affected
from mutate.bench import Verdict
from mutate.change import Change
from pages import DOCS, ROOT

from wallsite import tables

pytestmark = pytest.mark.slow

PAGE = """# 标题 { #one }

NVLink 4 单向 [[450 GB/s := link('nvlink4') + 2 * q3.alpha]]，占 1/[[3 := f(3)]]，2024 年。
每个元素读一次，$n = 4096$ 时 $\\text{权重字节} \\times 2$ 字节，按 Gb/s 卖。

## 表 { #two }

| 卡 | 判断 |
|---|--:|
| A100 | 高 |
| H100 | 低 |

```python
for name in range(2 + 1):
    print(name)
```

```output
0
1
```

```bash
wallsite ridge h100
```
"""
DATA = """
[h100]
year      = 2022
link      = "nvlink4"
lacks     = ["fp4"]
bandwidth = { value = 3.35, unit = "TB/s", kind = "vendor", source = "horowitz-2014" }
fp16_sparse = { value = 1979, unit = "TFLOP/s", dense = false, source = ["a", "b"] }
note = { zh = "16 GB 版", en = "the 16 GB part" }
"""
LINK = '[nvlink]\ntier = "scale-up"\nquoted = { value = 900, unit = "GB/s", per = "both" }\n'
NOTEBOOK = '{"cells": [\n  "source": [\n    "x = 1 + 20\\n"\n  ]\n]}\n'
SNIPPET = '# header 1\n"""Doc 2."""\n\nimport sys\n\nx = 3\nprint(x)\n'
FILES = {
    "docs/zh/page.md": PAGE,
    "docs/zh/page.ipynb": NOTEBOOK,
    "snippets/program.py": SNIPPET,
    "wallsite/tables/data/accelerators.toml": DATA,
    "wallsite/tables/data/links.toml": LINK,
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    known = SimpleNamespace(sources=lambda: dict.fromkeys("abc"), links=tables.links)
    monkeypatch.setattr("mutate.data.tables", known)
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


def made(files, kind, seeds=range(40)):
    """Everything that a kind of mistake turns the files into, with the change."""
    for seed in seeds:
        for change in kinds.changes(files, FILES, seed, [kind]):
            yield change, change.apply(FILES[change.path])


@pytest.mark.parametrize("kind", kinds.KINDS)
def test_a_change_is_one_and_is_the_same_for_the_same_seed(files, kind):
    found = list(made(files, kind))
    assert found
    assert found == list(made(files, kind))
    for change, text in found:
        before = FILES[change.path]
        assert change.kind == kind
        assert text != before
        # Nothing outside the place has moved.
        assert text.startswith(before[: change.start])
        assert text.endswith(before[change.end :])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("number", {"[[950 GB/s", "[[459 GB/s", "1/[[7 :="}),
        ("numeral", {"2029 年", "NVLink 7"}),
        ("unit", {"[[450 TB/s", "[[450 GB :", "按 GB/s 卖"}),
        ("sign", {"[[−450 GB/s", "占 [[3 :="}),
        ("direction", {"双向 [[450", "写一次"}),
        ("operator", {"link('nvlink4') - 2", "2 / q("}),
        ("argument", {"both('nvlink4')", "+ 8 * q", "f(7)"}),
        ("heading", {"## 标题 { #one }", "{ #twx }", "\n\n\n\n|"}),
        ("cell", {"| A100 | 低 |", "| 高 |\n\n", "|:--|--:|"}),
        ("formula", {"$n - 4096$", "$q = 4096$", "$n = 4091$", r"\text{权重字}", r"\div 2"}),
        ("code", {"range(2 - 1)", "range(7 + 1)", "    print(name)\nfor name", "ridge h101"}),
        ("output", {"```output\n7\n1", "```output\n1"}),
        ("notebook", {"x = 7 + 20", "x = 1 - 20"}),
        ("snippet", {"x = 7\n", "print(x)\nx = 3", "print(x_)"}),
        ("data-value", {"value = 3.37,", "value = 1973,", "year      = 2028", "value = 700,"}),
        ("data-unit", {'"TFLOP/s", kind = "vendor", source = "h', '"PFLOP/s"', '"GB", per'}),
        ("data-kind", {'kind = "paper"', 'kind = "rumour"'}),
        ("data-per", {'per = "direction"', "dense = true"}),
        ("data-source", {'source = "b"', '["c", "b"]', '["a", "c"]'}),
        ("data-field", {'link      = "nvlink5"', "lacks     = []", 'tier = "scale-out"'}),
        ("data-note", {'zh = "18 GB', "the 17 GB", "the 16 TB part"}),
    ],
)
def test_a_kind_makes_these_among_others(files, kind, expected):
    texts = [text for _, text in made(files, kind, range(200))]
    assert not {part for part in expected if not any(part in text for text in texts)}


def test_every_kind_is_tested_here():
    (mark,) = [
        mark
        for mark in test_a_kind_makes_these_among_others.pytestmark
        if mark.name == "parametrize"
    ]
    assert {kind for kind, _ in mark.args[1]} == kinds.KINDS.keys()


def test_what_is_not_said_is_left_alone(files):
    """Ids, links, list counters, comments, code and expressions are no prose."""
    page = "1. [text 1](x2.md) `3` <!-- 4 --> [^5] [[6 := f(7)]]\n\n```text\n8\n```\n"
    (files / "docs/zh/page.md").write_text(page, "utf-8")
    changed = kinds.changes(files, ["docs/zh/page.md"], 0, ["numeral"])
    assert [page[change.start] for change in changed] == ["1"]
    assert changed[0].start == page.index("text 1") + 5


def test_data_stay_readable(files):
    for kind in (kind for kind in kinds.KINDS if kind.startswith("data")):
        for change, text in made(files, kind, range(10)):
            assert tomllib.loads(text) != tomllib.loads(FILES[change.path])


@pytest.mark.parametrize("language", ["zh", "en"])
def test_there_is_enough_to_change_in_the_repository(language):
    paths = [path for path in bench.tracked(ROOT) if path.startswith(f"docs/{language}/")]
    counts = Counter(change.kind for change in kinds.changes(ROOT, paths, 0, kinds.KINDS))
    assert set(counts) == {kind for kind, x in kinds.KINDS.items() if x.files.startswith("docs")}
    assert min(counts.values()) > 15


def test_a_sample_has_a_share_of_every_kind_and_depends_on_the_seed():
    possible = [Change("few", "a", x, x, "") for x in range(3)]
    possible += [Change("many", "a", x, x, "") for x in range(100)]
    chosen = sample(possible, 20, seed=1)
    assert Counter(change.kind for change in chosen) == {"few": 3, "many": 17}
    assert chosen == sample(possible, 20, seed=1)
    assert chosen != sample(possible, 20, seed=2)
    assert len(sample(possible, 1000, seed=1)) == 103


def test_a_change_shows_its_line_before_and_after():
    text = "one\ntwo 22 three\nfour\n"
    change = Change("numeral", "a.md", text.index("22"), text.index("22") + 1, "7")
    assert change.line(text) == 2
    assert change.diff(text) == "- two 22 three\n+ two 72 three"


# --- from a change to a verdict ----------------------------------------------------------------

TINY = {
    "zh": "# 墙 { #wall }\n\n链路 [[450 GB/s := link('nvlink4')]]，很快。\n",
    "en": "# A wall { #wall }\n\nA link has [[450 GB/s := link('nvlink4')]], which is fast.\n",
}


def replaced(language, old, new):
    start = TINY[language].index(old)
    return Change("number", f"docs/{language}/page.md", start, start + len(old), new)


@pytest.fixture
def tiny(tmp_path):
    """A repository with one page and the tests that look at pages."""
    for language, text in TINY.items():
        page = tmp_path / "docs" / language / "page.md"
        page.parent.mkdir(parents=True)
        page.write_text(text, "utf-8")
    (tmp_path / "snippets").mkdir()
    (tmp_path / "snippets" / "empty.py").touch()
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\npythonpath = ["tests"]\n'
    )
    shutil.copy(DOCS / "conftest.py", tmp_path / "docs")
    shutil.copytree(ROOT / "tests" / "doctests", tmp_path / "tests" / "doctests")
    for path in [ROOT / "tests" / "pages.py", *(ROOT / "tests").glob("*parity*.py")]:
        shutil.copy(path, tmp_path / "tests")
    (tmp_path / ".gitignore").write_text("__pycache__\nignored\n")
    (tmp_path / "ignored").write_text("not copied")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_a_mistake_is_noticed_and_a_word_nobody_checks_survives(tiny, monkeypatch):
    (tiny / "tests" / "test_slow.py").write_text(
        "import pathlib, time\n\n\ndef test_slow():\n"
        "    if '470' in pathlib.Path('docs/zh/page.md').read_text('utf-8'):\n"
        "        time.sleep(60)\n"
    )
    monkeypatch.setattr(bench, "_SECONDS", 5.0)
    chosen = Affected(tiny)
    by_parity, survivor = replaced("zh", "450", "460"), replaced("en", "fast", "slow")
    by_page, by_time = replaced("en", "450", "460"), replaced("zh", "450", "470")
    stages = {
        by_parity: chosen(by_parity),
        survivor: chosen(survivor),
        by_page: chosen(by_page)[1:],
        by_time: [("tests/test_slow.py",)],
    }
    verdicts = bench.judge(tiny, list(stages), stages.get, workers=1)
    assert verdicts == [
        Verdict(by_parity, "tests/test_parity.py::test_the_languages_of_a_page_agree[page.md]"),
        Verdict(survivor, None),
        Verdict(by_page, "docs/en/page.md::line:3,column:12"),
        Verdict(by_time, "took too long"),
    ]
    assert (tiny / "docs/zh/page.md").read_text("utf-8") == TINY["zh"]

    monkeypatch.setattr("mutate.__main__.ROOT", tiny)
    told = report(verdicts, Counter({"number": 7})).splitlines()
    assert told[1].split() == ["number", "7", "4", "1"]
    assert told[3:] == [
        "docs/en/page.md:3: number",
        "- A link has [[450 GB/s := link('nvlink4')]], which is fast.",
        "+ A link has [[450 GB/s := link('nvlink4')]], which is slow.",
    ]


def test_a_test_that_fails_anyway_notices_nothing(tiny):
    for language, text in TINY.items():
        page = tiny / "docs" / language / "page.md"
        page.write_text(text.replace("450", "460"), "utf-8")
    with pytest.raises(bench.Broken, match=r"docs/zh/page\.md::line:3,column:4 fails with nothing"):
        bench.judge(tiny, [replaced("zh", "很快", "不快")], Affected(tiny), workers=1)


def test_the_copy_has_what_git_would_take(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy")
    bench.copy(tiny, folder)
    copied = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert "docs/zh/page.md" in copied
    assert "ignored" not in copied
    assert not any(".git/" in path for path in copied)


def test_tests_are_chosen_by_what_changed():
    stages = Affected(ROOT)
    page = stages(Change("", "docs/zh/three-walls/memory.md", 0, 0, ""))
    assert page[0] == (
        "tests/test_parity.py::test_the_languages_of_a_page_agree[three-walls/memory.md]",
    )
    assert page[-1] == ("docs/zh/three-walls/memory.md",)
    assert any("tests/test_formulas.py" in stage for stage in page)
    data = stages(Change("", "wallsite/tables/data/links.toml", 0, 0, ""))
    assert data[0][0] == "tests/test_ledger.py"
    assert {path for stage in data for path in stage if path.startswith("docs")} == {
        path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md")
    }
    snippet = stages(Change("", "snippets/ridge_table.py", 0, 0, ""))
    assert ("docs/en/reference/hardware.md",) in snippet
    for stage in (*page, *data, *snippet):
        for argument in stage:
            path = argument.partition("::")[0]
            assert not path.startswith(("tests/", "docs/")) or (ROOT / path).exists()


def test_a_page_alone_is_not_compared_with_the_other_language():
    for path in ("docs/zh/three-walls/memory.md", "wallsite/tables/data/links.toml"):
        change = Change("", path, 0, 0, "")
        together, alone = Affected(ROOT)(change), Affected(ROOT, alone=True)(change)
        compared = [stage for stage in together if stage not in alone]
        assert [stage for stage in together if stage in alone] == alone
        assert ["parity" in argument for stage in compared for argument in stage] == [True]
