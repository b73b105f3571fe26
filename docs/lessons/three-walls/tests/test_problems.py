"""Every problem has marks, an answer with executed arithmetic, and the common mistake."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3]
PAGES = ("compute", "memory", "communication", "hands-on", "questions")
# A statement, which starts with its marks, and the fold that must follow it.
PROBLEM = re.compile(r"(?m)^\*\*(★+) .*\n\n(?=(.*(?:\n(?: {4}.*)?)*))")
WORDS = {
    "en": ("Answer", "The common mistake", "exactly"),
    "zh": ("答案", "常见错误", "精确"),
}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_problems(language):
    page = DOCS / language / "three-walls" / "problems.md"
    text = page.read_text("utf-8")
    answer, mistake, exact = WORDS[language]
    marks = []
    for problem in PROBLEM.finditer(text):
        where = f"{page.name}:{text.count(chr(10), 0, problem.start()) + 1}"
        stars, fold = problem.groups()
        marks.append(len(stars))
        assert fold.startswith(f'??? success "{answer}"\n'), f"{where}: fold an answer after it"
        assert "[[" in fold, f"{where}: the answer computes nothing"
        assert exact in fold, f"{where}: give the exact value"
        assert f"**{mistake}**" in fold, f"{where}: name the common mistake"
    assert len(marks) >= 40
    assert text.count("★") == sum(marks) + 1 + 2 + 3  # the introduction explains each mark
    assert set(marks) == {1, 2, 3}
    assert text.count(f'??? success "{answer}"') == len(marks)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", PAGES)
def test_every_page_leads_to_its_problems(language, name):
    page = DOCS / language / "three-walls" / f"{name}.md"
    assert "](problems.md" in page.read_text("utf-8")
