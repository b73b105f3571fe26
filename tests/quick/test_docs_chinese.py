"""Chinese typography: blanks between Chinese and Latin, full-width punctuation."""

import autocorrect_py
import pytest
from pages import ROOT, names, written

from wallsite.site.checked import numbers

PAGES = [f"docs/zh/{name}" for name in names(".md") + names(".ipynb")] + ["README.zh.md"]


@pytest.mark.parametrize("name", PAGES)
def test_autocorrect_finds_nothing(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{name} does not exist")
    # A checked number stands in its sentence as what it shows.
    text = numbers.plain(written(path))
    found = autocorrect_py.lint_for(text, "page.md").lines
    assert not found, "\n".join(f"{name}:{x.line}: {x.old} → {x.new}" for x in found)


def test_autocorrect_finds_what_it_should():
    text = "# 标题\n\n约[[295 := f()]]个GPU,对。`代码a`\n\n| 表a |\n|---|\n"
    found = autocorrect_py.lint_for(numbers.plain(text), "page.md").lines
    assert [(x.line, x.new) for x in found] == [(3, "约 295 个 GPU，对。"), (5, "| 表 a |")]
