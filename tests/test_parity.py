"""Both languages have the same pages, and on each page the same of everything but words."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

import pytest
from pages import DOCS, LANGUAGES, SNIPPETS, names, scan
from pymdownx.arithmatex import RE_DOLLAR_BLOCK, RE_SMART_DOLLAR_INLINE

from wallsite.site import blocks, numbers

_HEADING = re.compile(r"^[ \t>]*(?P<level>#{1,6})[ \t]+(?P<text>.*)$", re.MULTILINE)
_ID = re.compile(r"\{[^{}]*#(?P<id>[\w-]+)[^{}]*\}[ \t]*$")
_BOX = re.compile(
    r"^[ \t>]*(?P<box>(?:!!!|\?{3}\+?)[ \t]+[\w -]+|={3}(?=\+?!?[ \t]+\"))", re.MULTILINE
)
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t>]*)/{3,}[ \t]*(?P<name>[\w-]+)[ \t]*(?:\|[ \t]*(?P<argument>.*?))?[ \t]*\n"
    r"(?P<options>(?:(?P=indent) {4,}\S.*\n)*)",
    re.MULTILINE,
)
_FOOTNOTE = re.compile(r"^[ \t]*\[\^[^\]]+\]:|\[\^[^\]]+\]", re.MULTILINE)
_FORMULA = re.compile(rf"{RE_DOLLAR_BLOCK}|{RE_SMART_DOLLAR_INLINE}", re.DOTALL)
_WORDS_IN_FORMULA = re.compile(r"\\text\{[^{}]*\}")
# What these blocks name is not in the reader's language; the title of any other block is.
_NAMES_DATA = {"table", "figure", "snippet"}


class Item(NamedTuple):
    """Something that both languages of a page have: what it is, and its line in one of them."""

    text: str
    line: int


def items(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], int]]:
    for match in pattern.finditer(text):
        yield match, text.count("\n", 0, match.start()) + 1


def headings(page):
    for match, line in items(page.prose, _HEADING):
        explicit = _ID.search(match["text"])
        yield Item(f"{match['level']} {explicit['id'] if explicit else '?'}", line)


def code(page):
    for block in page.blocks:
        what = " ".join([block.language, *block.classes])
        yield Item(what if block.language == "text" else f"{what}\n{block.source}", block.line)


def checked_numbers(page):
    for number in numbers.find(page.prose):
        yield Item(number.expression, page.prose.count("\n", 0, number.start) + 1)


def formulas(page):
    seen = set()
    for match, line in items(page.prose, _FORMULA):
        formula = numbers.PATTERN.sub(r"[[\g<expression>]]", match[0])
        text = " ".join(_WORDS_IN_FORMULA.sub(r"\\text{}", formula).split())
        # How often a sentence names $N$ is a matter of grammar too.
        if text not in seen:
            yield Item(text, line)
        seen.add(text)


def directives(page):
    for match, line in items(page.prose, _DIRECTIVE):
        parts = [match["name"]]
        if match["name"] in _NAMES_DATA:
            parts += [match["argument"] or "", *match["options"].split()]
        yield Item(" ".join(parts), line)


def boxes(page):
    for match, line in items(page.prose, _BOX):
        yield Item(match["box"], line)


def footnotes(page):
    for match, line in items(page.prose, _FOOTNOTE):
        yield Item(match[0].strip(), line)


IN_ORDER = [headings, code, directives, boxes]
IN_ANY_ORDER = [checked_numbers, formulas, footnotes]  # grammar decides where in a sentence


def differences(name: str, zh: list[Item], en: list[Item]) -> list[str]:
    """Say what one page has that the other has not, with file and line."""
    report = []
    matcher = SequenceMatcher(None, [x.text for x in zh], [x.text for x in en], autojunk=False)
    for tag, zh_from, zh_to, en_from, en_to in matcher.get_opcodes():
        if tag != "equal":
            for language, found in (("zh", zh[zh_from:zh_to]), ("en", en[en_from:en_to])):
                report += [f"docs/{language}/{name}:{item.line}: {item.text}" for item in found]
                report += [] if found else [f"docs/{language}/{name}: nothing"]
    return report


@pytest.mark.parametrize("suffix", [".md", ".ipynb"])
def test_same_pages(suffix):
    missing = [
        f"docs/{language}/{name}"
        for name in names(suffix)
        for language in LANGUAGES
        if not (DOCS / language / name).exists()
    ]
    assert not missing, f"pages of one language only, missing: {missing}"


@pytest.mark.parametrize("what", [*IN_ORDER, *IN_ANY_ORDER], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", names(".md"))
def test_same_on_both_pages(name, what):
    paths = [DOCS / language / name for language in LANGUAGES]
    if not all(path.exists() for path in paths):
        pytest.fail(f"{name} exists in one language only")
    zh, en = (list(what(scan(path))) for path in paths)
    if what in IN_ANY_ORDER:
        zh, en = sorted(zh), sorted(en)
    report = differences(name, zh, en)
    assert not report, f"{what.__name__.replace('_', ' ')} differ:\n" + "\n".join(report)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".md"))
def test_every_heading_has_an_explicit_id(language, name):
    path = DOCS / language / name
    found = [item for item in headings(scan(path)) if item.text.endswith("?")]
    assert not found, "\n".join(f"docs/{language}/{name}:{item.line}: no id" for item in found)


@pytest.mark.parametrize(
    ("what", "zh", "en"),
    [
        (headings, "# 一 { #a }\n\n## 二 { #b }", "# A { #a }\n\n## B { #c }"),
        (headings, "# 一 { #a }\n\n## 二 { #b }", "# A { #a }\n\n### B { #b }"),
        (code, "一\n\n```python\nx = 1\n```", "A\n\n```python\nx = 2\n```"),
        (code, "一\n\n```output\n1\n```", "A\n\n```{ .output .varies }\n1\n```"),
        (directives, "一\n\n/// figure | a\n///", "A\n\n/// figure | b\n///"),
        (
            directives,
            "一\n\n/// table | a\n    only: [x, y]\n///",
            "A\n\n/// table | a\n    only: [x]\n///",
        ),
        (boxes, '一\n\n??? question "问"\n    答', "A\n\n"),
        (boxes, '一\n\n!!! takeaway "结"\n    论', 'A\n\n!!! note "N"\n    text'),
        (checked_numbers, "一\n\n[[1 := f(1)]]", "A\n\n[[1 := f(2)]]"),
        (formulas, "一\n\n$$a = \\text{甲} + 1$$", "A\n\n$$a = \\text{x} + 2$$"),
        (formulas, "一\n\n甲 $a_1$ 乙", "A\n\nx $a_2$ y"),
        (footnotes, "一\n\n注[^a]\n\n[^a]: 注", "A\n\nnote"),
    ],
)
def test_a_difference_is_reported_with_both_places(what, zh, en):
    report = differences("x.md", *(list(what(blocks.scan(text, SNIPPETS))) for text in (zh, en)))
    assert report[0].startswith("docs/zh/x.md:3: ")
    assert report[-1].startswith(("docs/en/x.md:3: ", "docs/en/x.md: nothing"))


@pytest.mark.parametrize(
    ("what", "zh", "en"),
    [
        (code, "```text\n甲\n```", "```text\nA\n```"),
        (
            code,
            '```{ .bash .not-run title="甲" }\nx\n```',
            '```{ .bash .not-run title="A" }\nx\n```',
        ),
        (directives, "/// details | 甲\n///", "/// details | A\n///"),
        (boxes, '??? question "问"', '??? question "Q"'),
        (checked_numbers, "[[3 天 := f(1)]] [[2 := f(2)]]", "[[2 := f(2)]] [[3 days := f(1)]]"),
        (formulas, "$a = \\text{甲}$ $N$ 和 $N$", "$N$ and $a = \\text{x}$"),
        (footnotes, "一[^a]：[^b]", "A[^b] b[^a]:"),
    ],
)
def test_words_and_their_order_may_differ(what, zh, en):
    zh, en = (sorted(what(blocks.scan(text, SNIPPETS))) for text in (zh, en))
    assert not differences("x.md", zh, en)
