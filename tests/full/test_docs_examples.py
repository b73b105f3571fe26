"""Breaking anything on a page fails its test, and the report says where.

One run of pytest over a copy of docs/conftest.py and a page for each way to be right or wrong,
in both languages. Every page names the lines that must fail and what the report must say.
"""

import re
import shutil
import subprocess
import sys
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from fences import NESTINGS, SPELLINGS
from pages import LANGUAGES, ROOT

SNIPPETS = {
    "area.py": "def area(r):\n    return 3 * (\n        r * r\n    )\n\n\n"
    "if __name__ == '__main__':\n    print(area(2))\n",
    "broken.py": "def area(r):\n    return 3 * r / 0\n\n\nprint(area(2))\n",
}
AREA = '```python title="area.py"\n--8<-- "area.py"\n```'
BROKEN = '```python title="broken.py"\n--8<-- "broken.py"\n```'
OUTPUT = "```output\n12\n```"

RIGHT = {
    "computed": "```python\nx = 2\n```\n\ntext\n\n```python\nprint(x, 'a  ')\n```\n\n"
    "```output\n2 a\n```",
    "embedded": f"{AREA}\n{OUTPUT}",
    "embedded_nested": NESTINGS["tab in a fold in a list"](f"{AREA}\n\n{OUTPUT}"),
    "output_apart": f"```python\nprint(12)\n```\n\nIt prints:\n\n{OUTPUT}",
    "varies": "```python\nprint(f'{3.14:8.1f} GB/s on 1,024')\n```\n"
    "``` { .output .varies }\n 1,203.7 GB/s on 16\n```",
    "session": "```python\nx = 2\n```\n```pycon\n>>> y = x + 1\n>>> y\n3\n```\n"
    "```python\nassert y == 3\n```",
    "shell": f"```bash\npython area.py\n```\n{OUTPUT}",
    "shell_state": "```bash\npython area.py > kept.txt\n```\n\n"
    f"```bash\ncat kept.txt\n```\n{OUTPUT}\n"
    "```python\nassert open('kept.txt').read() == '12\\n'\n```",
    "empty_folder": "```python\nfrom pathlib import Path\n\n"
    "print(sorted(map(str, Path().glob('*.py'))))\n```\n"
    "```output\n['area.py', 'broken.py']\n```",
    "number": "About [[7.4× := 7.4 * bytes_of('fp8') / byte]], not `[[8 := 1]]`.\n\n"
    "```text\n[[9 := 1]]\n```",
    "hidden": "<!--\n```python\n1 / 0\n```\n[[9 := 1]]\n-->\n\n```text\nno code\n```",
    "exits": "```python\nraise SystemExit(0)\n```",
    "main": "```python\nprint(__name__)\n```\n```output\n__main__\n```",
}


class Page(NamedTuple):
    """A page, the line of the example that does not pass, and what its report says."""

    text: str
    line: int
    says: str


WRONG = {
    "raises": Page("text\n\n```python\nx = 1\nx / 0\n```", 3, r"raises\.md:5: ZeroDivisionError"),
    "syntax": Page("```python\nx = 1\n```\n\n```py\nx =\n```", 5, r"syntax\.md.*line 6"),
    "namespace": Page("```python\nx = 1\n```\n\n```python\nx + y\n```", 5, "name 'y' is not"),
    "missing_import": Page("```python\nimport nowhere\n```", 1, "No module named 'nowhere'"),
    "exits": Page("```python\nraise SystemExit(3)\n```", 1, "exits with 3"),
    "output": Page("```python\nprint('a\\nb')\n```\n\n```output\na\nc\n```", 1, "line 7: prints"),
    "output_short": Page("```python\nprint('a\\nb')\n```\n```output\na\n```", 1, "line 6: prints"),
    "output_long": Page(f"```python\nx = 1\n```\n{OUTPUT}", 1, "line 5: prints"),
    "output_missing": Page("```python\nprint(12)\n```", 1, "prints, but no output block follows"),
    "output_of_nothing": Page(f"text\n\n{OUTPUT}", 3, "follows no block which prints"),
    "output_of_text": Page(f"```text\na\n```\n{OUTPUT}", 4, "follows no block which prints"),
    "output_twice": Page(f"{AREA}\n{OUTPUT}\n{OUTPUT}", 7, "follows no block which prints"),
    "varies_in_text": Page(
        "```python\nprint('3 GB/s')\n```\n```{ .output .varies }\n4 TB/s\n```", 1, "line 5: prints"
    ),
    "embedded": Page(f"text\n\n{BROKEN}\n{OUTPUT}", 3, r"embedded\.md:4: ZeroDivisionError"),
    "session": Page("```pycon\n>>> 1 + 1\n2\n>>> 1 + 2\n4\n```", 1, r'session\.md", line 4'),
    "session_empty": Page("```pycon\n1 + 1\n```", 1, "without a >>> prompt"),
    "session_output": Page(f"```pycon\n>>> 12\n12\n```\n{OUTPUT}", 1, "line 5: the output of a"),
    "shell": Page("```bash\npython broken.py\n```", 1, "ZeroDivisionError"),
    "shell_middle": Page("```bash\nfalse\ntrue\n```", 1, "exit status 1"),
    "shell_pipe": Page("```bash\nfalse | cat\n```", 1, "exit status 1"),
    "shell_output": Page(f"```bash\necho 13\n```\n{OUTPUT}", 1, "line 5: prints"),
    "shell_no_reason": Page("```{ .bash .not-run }\nfalse\n```", 1, "needs a title"),
    "shell_blank_reason": Page('```{ .bash .not-run title=" " }\nfalse\n```', 1, "needs a title"),
    "python_not_run": Page('```{ .python .not-run title="x" }\n```', 1, "only a shell block"),
    "unnamed": Page("```\nx\n```", 1, "without a language"),
    "unknown": Page("```console\n$ true\n```", 1, "nothing runs 'console'"),
    "number": Page("text\n\n- [[7.5× := 7.4 * bytes_of('fp8') / byte]]", 3, "rounds to 7.4"),
    "number_second": Page(
        "[[1 := bytes_of('fp8')]] and [[3 := bytes_of('fp16')]]", 1, "rounds to 2"
    ),
    "number_in_heading": Page("## [[2 := bytes_of('fp8')]] { #x }", 1, "rounds to 1"),
    "number_in_title": Page('??? note "[[2 := bytes_of(\'fp8\')]]"\n    text', 1, "rounds to 1"),
    "number_in_formula": Page("$\\frac{[[2 := bytes_of('fp8')]]}{1}$", 1, "rounds to 1"),
    "number_in_table": Page("| a |\n|---|\n| [[2 := bytes_of('fp8')]] |", 3, "rounds to 1"),
    "number_half": Page(
        "[[1 = bytes_of('fp8')]]", 1, r"malformed checked number: \[\[1 = bytes_of\('fp8'\)\]\]"
    ),
    "number_unclosed": Page(
        "\n1 := bytes_of('fp8')]]", 2, r"malformed checked number: := bytes_of\('fp8'\)\]\]"
    ),
} | {
    f"spelling_{index}": Page(f"text\n\n{opening}\n>>> 1 / 0\n{closing}", 3, "")
    for index, (opening, closing) in enumerate(SPELLINGS)
} | {
    re.sub(r"\W", "_", f"nesting {name}"): Page(
        page := nest("```python\n1 / 0\n```"),
        page[: page.index("```")].count("\n") + 1,
        "ZeroDivisionError",
    )
    for name, nest in NESTINGS.items()
}  # fmt: skip
UNREADABLE = {
    "missing_snippet": Page('\n```python\n--8<-- "nowhere.py"\n```', 3, "'nowhere.py' could not"),
    "stray": Page('text\n\n```bash alt="x"\ntrue\n```', 3, "not a fence"),
    "unclosed": Page("text\n\n```python\n", 3, "not a fence"),
}
SKIPPED = {
    "gpu": Page('\n```{ .bash .not-run title="needs a GPU" }\nfalse\n```', 2, "md:2: needs a GPU$"),
    "gpu_output": Page(f'```{{ .sh .not-run title="why" }}\nfalse\n```\n{OUTPUT}', 1, "md:1: why$"),
    "torch": Page("```python\nimport torch\n```", 1, "md:1: needs torch$"),
    "figure": Page("```{.python .figure}\nimport matplotlib.pyplot\n```", 1, "needs matplotlib$"),
}


class Report(NamedTuple):
    """What became of an example; line 0 stands for a page that could not be read."""

    line: int
    outcome: str
    text: str


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of one run over all pages above, by page."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    (folder / "conftest.py").write_text(
        "import sys\nsys.modules.update(torch=None, matplotlib=None)  # as if not installed\n"
    )
    (folder / "snippets").mkdir()
    for name, program in SNIPPETS.items():
        (folder / "snippets" / name).write_text(program)
    for language in LANGUAGES:
        pages = folder / "docs" / language
        pages.mkdir(parents=True)
        for name, page in RIGHT.items():
            (pages / f"right_{name}.md").write_text(page, "utf-8")
        for name, page in {**WRONG, **UNREADABLE, **SKIPPED}.items():
            (pages / f"{name}.md").write_text(page.text, "utf-8")
    shutil.copy(ROOT / "docs" / "conftest.py", folder / "docs")
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "docs", "--junit-xml=report.xml"),
            *("-p", "no:cacheprovider", "-o", f"pythonpath={ROOT / 'tests'}"),
            "--continue-on-collection-errors",
        ],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    reports = {}
    for case in ET.parse(folder / "report.xml").iter("testcase"):
        page, place = case.get("classname") or case.get("name"), case.get("name")
        line = int(place.split(",")[0].removeprefix("line:")) if case.get("classname") else 0
        outcome, text = next(((e.tag, e.text) for e in case), ("passed", ""))
        reports.setdefault(page.removesuffix(".md"), []).append(Report(line, outcome, text))
    return reports


def not_passed(reports):
    return [report for report in reports if report.outcome != "passed"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", RIGHT)
def test_right_page_passes(reports, language, name):
    found = reports.get(f"docs.{language}.right_{name}", [])
    assert not_passed(found) == []
    assert bool(found) != (name == "hidden")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_page_fails_where_it_is_wrong(reports, language, name):
    (report,) = not_passed(reports[f"docs.{language}.{name}"])
    assert (report.line, report.outcome) == (WRONG[name].line, "failure")
    assert f"docs/{language}/{name}.md" in report.text
    assert re.search(WRONG[name].says, report.text, re.DOTALL)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_page_is_an_error(reports, language, name):
    (report,) = reports[f"docs.{language}.{name}"]
    assert report.outcome == "error"
    assert f"BlockError: line {UNREADABLE[name].line}: " in report.text
    assert UNREADABLE[name].says in report.text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", SKIPPED)
def test_skip_says_where_and_why(reports, language, name):
    (report,) = reports[f"docs.{language}.{name}"]
    assert (report.line, report.outcome) == (SKIPPED[name].line, "skipped")
    assert re.search(rf"docs/{language}/{name}\.md:\d+: ", report.text)
    assert re.search(SKIPPED[name].says, report.text)
