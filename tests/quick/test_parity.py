"""Both languages have the same pages, and say the same in every section of each."""

import json

import parity
import pytest
from pages import DOCS, LANGUAGES, SNIPPETS, names

from wallsite import lessons, locale, tables

PAGES = names(".md") + names(".ipynb")


def read(language, name):
    text = (DOCS / language / name).read_text("utf-8")
    return parity.notebook(text) if name.endswith(".ipynb") else text


@pytest.mark.parametrize("name", PAGES)
def test_the_languages_of_a_page_agree(name):
    missing = [f"docs/{x}/{name}" for x in LANGUAGES if not (DOCS / x / name).exists()]
    if missing:
        pytest.fail(f"a page of one language only, missing: {missing[0]}", pytrace=False)
    zh = read("zh", name)
    for other in locale.languages():
        # Beside the lesson's own two, a language has the pages that are translated so far.
        if other != "zh" and (DOCS / other / name).exists():
            drifts = parity.compare(zh, read(other, name), SNIPPETS, other)
            if drifts:
                said = f"{len(drifts)} differences\n{parity.report(drifts, name, other)}"
                pytest.fail(said, pytrace=False)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".md"))
def test_every_heading_has_an_explicit_id(language, name):
    found = parity.sections(read(language, name), SNIPPETS)
    bare = [x.passages[0].line for x in found if x.passages[0].fixed.endswith("?")]
    assert not bare, "\n".join(f"docs/{language}/{name}:{line}: no id" for line in bare)


def texts():
    """Every text of the data files that is in both languages, with what it belongs to."""

    def of(name, value):
        yield from ((f"{name} {x}", getattr(value, x)) for x in ("label", "note"))
        for other in value.alternatives:
            yield from of(f"{name} alternative", other)

    for thing in [*tables.accelerators().values(), *tables.models().values()]:
        yield thing.id, thing.note
        for name, value in thing.fields.items():
            yield from of(f"{thing.id} {name}", value)
    for link in tables.links().values():
        yield link.id, link.note
        yield from of(f"{link.id} bandwidth", link.bandwidth)
        yield from of(f"{link.id} quoted", link.quoted)
    for name, value in [*tables.energies().items(), *lessons.quantities().items()]:
        yield from of(name, value)
    yield from ((source.id, source.supports) for source in tables.sources().values())
    yield from ((term.id, term.note) for term in tables.glossary())


def test_the_languages_of_the_data_agree():
    different = [
        f"{name}: {what}: zh {zh}, en {en}\n    {text['zh']}\n    {text['en']}"
        for name, text in texts()
        if text
        for what, (zh, en) in parity.disagreements(text["zh"], text["en"]).items()
    ]
    assert not different, "\n".join(different)


# --- every way to drift, on a small page -----------------------------------------------------

ZH = """# 通信墙 { #wall }

第三题里，H100 的 NVLink 是单向 [[450 GB/s := link('nvlink4')]]，[[900 GB/s := both('nvlink4')]]
是双向之和；网络按 Gb/s 卖。模型有 [[70 亿 := params_7b]]参数[^a]，见[下文](#then)。

## 然后 { #then }

每个元素读一次、写一次，共 $3n$ 字节，慢到 −1 档。拐点是 2026 年 11 月算的，用 `ridge`。
链路机内（scale-up）快、机间慢。

$$
T = \\frac{\\text{权重字节}}{B} + 2
$$

| 卡 | 判断 |
|---|--:|
| A100 | 高 |
| H100 | 低 |
| H200 | 高 |

- 一
- 二

```python
print(1)
```

```output
1
```

/// figure | roofline
///

/// table | ridge
    devices: [h100-sxm]
///

??? question "先猜再看"
    多少？

    ??? success "答案"
        六。

=== "GPU"
    量。

```{ .bash .not-run title="不运行：需要 GPU" }
true
```

[^a]: 出自 MLPerf。
"""
EN = """# The communication wall { #wall }

In question 3 NVLink carries [[900 GB/s := both('nvlink4')]] in both directions on an H100,
[[450 GB/s := link('nvlink4')]] in one direction. Networks are sold in Gb/s. The model has
[[7 billion := params_7b]] parameters[^a], see [below](#then).

## Then { #then }

Each element is read once and written once, $3n$ bytes in all, slow as grade −1. In November 2026
`ridge` gave the ridge point. The link inside the node (scale-up) is fast, the network
across nodes is slow.

$$
T = \\frac{\\text{bytes of weights}}{B} + 2
$$

| Card | Verdict |
|---|--:|
| A100 | high |
| H100 | low |
| H200 | high |

- one
- two

```python
print(1)
```

```output
1
```

/// figure | roofline
///

/// table | ridge
    devices: [h100-sxm]
///

??? question "Predict first"
    How many?

    ??? success "Answer"
        Six.

=== "GPU"
    Measure.

```{ .bash .not-run title="Not run: needs a GPU" }
true
```

[^a]: From MLPerf.
"""


def drifts(zh, en):
    return parity.compare(zh, en, SNIPPETS)


def test_prose_may_differ_in_words_and_in_their_order():
    assert drifts(ZH, EN) == []


@pytest.mark.parametrize(
    ("language", "right", "wrong", "section", "what"),
    [
        # Headings
        ("en", "{ #then }", "{ #than }", "then", "sections"),
        ("en", "## Then", "### Then", "then", "heading"),
        ("zh", "## 然后 { #then }\n", "", "then", "sections"),
        ("en", " { #then }\n", "\n", "then", "sections"),
        # Code, output and what runs
        ("zh", "print(1)", "print(2)", "then", "code"),
        ("en", "```output\n1", "```output\n2", "then", "code"),
        ("en", "```output", "```{ .output .varies }", "then", "code"),
        ("zh", "```python\nprint(1)\n```\n", "", "then", "code"),
        ("zh", "print(1)", "print(1)  # 一", "then", "code"),
        ("en", "\ntrue\n", "\nfalse\n", "then", "code"),
        ("zh", "`ridge`", "`rigde`", "then", "inline code"),
        # Checked numbers
        ("zh", "link('nvlink4')", "link('nvlink5')", "wall", "checked numbers"),
        ("en", "[[900 GB/s", "[[901 GB/s", "wall", "checked numbers"),
        ("en", "[[900 GB/s", "[[900 GB", "wall", "checked numbers"),
        ("zh", "[[70 亿", "[[70 万", "wall", "checked numbers"),
        ("en", "[[450 GB/s := link('nvlink4')]]", "some", "wall", "checked numbers"),
        # Formulas
        ("zh", "$3n$", "$4n$", "then", "formulas"),
        ("en", "{B} + 2", "{B} - 2", "then", "formulas"),
        ("en", "{B}", "{A}", "then", "formulas"),
        ("en", "bytes of weights", "bytes of tokens", "then", "formulas"),
        ("zh", "权重字节", "缓存字节", "then", "formulas"),
        # Tables
        ("en", "|---|--:|", "|---|---|", "then", "row"),
        ("zh", "| H100 | 低 |\n", "", "then", "row"),
        ("en", "| H100 | low |", "| H100 | low | 1 |", "then", "row"),
        ("zh", "| H200 |", "| H300 |", "then", "numerals"),
        ("zh", "| H100 | 低 |", "| H100 | 高 |", "then", "cells that repeat"),
        ("en", "| H200 | high |", "| H200 | low |", "then", "cells that repeat"),
        # Figures, generated tables, lists, boxes, tabs, footnotes, links
        ("en", "figure | roofline", "figure | data-path", "then", "block"),
        ("zh", "devices: [h100-sxm]", "devices: [b200]", "then", "block"),
        ("zh", "- 二\n", "", "then", "item"),
        ("en", "- two", "2. two", "then", "item"),
        ("zh", "??? question", "??? note", "then", "box"),
        ("en", '    ??? success "Answer"\n        Six.\n', "", "then", "box"),
        ("en", '=== "GPU"', '!!! note "GPU"', "then", "box"),
        ("zh", "参数[^a]", "参数", "wall", "footnotes"),
        ("en", "[^a]: From", "[^b]: From", "then", "footnote"),
        ("en", "(#then)", "(#wall)", "wall", "links"),
        ("zh", "[下文](#then)", "下文", "wall", "links"),
        # Words that state something
        ("zh", "第三题", "第四题", "wall", "numerals"),
        ("en", "H100,", "H200,", "wall", "numerals"),
        ("en", "H100,", "B100,", "wall", "names"),
        ("en", "November 2026", "October 2026", "then", "numerals"),
        ("zh", "2026 年", "2025 年", "then", "numerals"),
        ("zh", "−1 档", "1 档", "then", "signs"),
        ("en", "sold in Gb/s", "sold in GB/s", "wall", "units"),
        ("zh", "是单向", "是双向", "wall", "directions"),
        ("en", "in both directions", "in one direction", "wall", "directions"),
        ("zh", "读一次、写一次", "读一次、再读一次", "then", "opposites"),
        ("en", "read once and written once", "written once and written again", "then", "opposites"),
        ("zh", "机内（", "机间（", "then", "opposites"),
        ("en", "network\nacross", "network\ninside", "then", "opposites"),
        # Terms of the glossary
        ("zh", "（scale-up）", "（scale-out）", "then", "terms in both languages"),
        ("en", "ridge point", "knee", "then", "the term ridge-point"),
        ("zh", "通信墙", "通讯墙", "wall", "the term communication-wall"),
    ],
)
def test_a_drift_is_found_in_its_section(language, right, wrong, section, what):
    texts = {"zh": ZH, "en": EN}
    assert texts[language].count(right) == 1
    texts[language] = texts[language].replace(right, wrong)
    found = drifts(texts["zh"], texts["en"])
    assert (section, what) in [(drift.section, drift.what) for drift in found]


@pytest.mark.parametrize(
    ("zh", "en", "what"),
    [
        ("[[4 TOP/s := f(1)]]", "[[4 TFLOP/s := f(1)]]", "checked numbers"),
        ("[[295 := f(1)]] 次", "[[295 s := f(1)]] or [[295 := f(2)]]", "checked numbers"),
        ("小看 $a$，大看 $b$", "$a$ if small, $a$ if large", "formulas"),
        ("这条单向。\n\n那条双向。", "This in both directions.\n\nThat one way.", "directions"),
        ("读一次，再读一次", "read once and written once", "opposites"),
        ("它写一次", "it reads once", "opposites"),
        ("它是 memory-bound", "it is compute-bound", "opposites"),
        ("慢了，因为要先写", "faster, for it writes first", "opposites"),
        ("高于拐点", "below the ridge point", "opposites"),
        ("时间上升，效率下降", "time rises, and efficiency rises", "opposites"),
        ("它变快，链路还是慢", "it speeds up, and the link is faster", "opposites"),
        ("见下表：比值高于拐点", "see the table above: a ratio above the ridge point", "opposites"),
        (
            "更大的卡低于它，更小的卡高于它。",
            "A smaller card is below it, a larger one below.",
            "opposites",
        ),
        ("差距还在上升", "the gap is ever smaller", "opposites"),
        ("换成 INT2", "after that", "names"),
        ("Llama-2-7B 这张", "this Llama-2-1B", "names"),
        ("出了 scale-out 就慢", "inside scale-up only", "opposites"),
    ],
)
def test_a_drift_is_found_however_small(zh, en, what):
    found = drifts(f"# 甲 {{ #a }}\n\n{zh}\n", f"# A {{ #a }}\n\n{en}\n")
    assert what in {drift.what for drift in found}


def test_a_report_names_the_place_and_both_sides():
    (drift,) = drifts(ZH, EN.replace("[[900 GB/s", "[[800 GB/s"))
    assert parity.report([drift], "a/page.md").splitlines() == [
        "a/page.md #wall: checked numbers",
        "    docs/zh/a/page.md:3",
        "        [[900 GB/s := both('nvlink4')]]",
        "    docs/en/a/page.md:3",
        "        [[800 GB/s := both('nvlink4')]]",
    ]
    (drift, *_) = drifts(ZH, EN.replace("- two\n", ""))
    assert parity.report([drift], "a/page.md").splitlines() == [
        "a/page.md #then: item",
        "    docs/zh/a/page.md:22",
        "        item - depth 0",
        "    docs/en/a/page.md:23",
        "        nothing",
    ]


@pytest.mark.parametrize(
    ("zh", "en"),
    [
        ("[[3 天 := f(1)]] [[2 := f(2)]]", "[[2 := f(2)]] [[3 days := f(1)]]"),
        ("[[1.75 亿 := f(1)]]", "[[175 million := f(1)]]"),
        ("约 [[3×10⁷ 秒 := f(1)]]", "about [[3×10⁷ seconds := f(1)]]"),
        ("$a = \\text{频率}$ $N$ 和 $N$", "$N$ and $a = \\text{clock}$"),
        ("只有 1 条", "only one"),
        ("2 台", "two nodes"),
        ("两颗 H100，H100 快", "two H100s, they are fast"),
        ("甲\n\n乙", "A and b"),
        ("1. 甲 11. 乙\n2. 丙", "1. A\n   11. B\n2. C"),
        ("单向还是双向", "the direction"),
        ("decode 一步", "one step of decoding"),
        ('??? question "问"', '??? question "Q"'),
        ("/// details | 甲\n///", "/// details | A\n///"),
        ("```text\n甲\n```", "```text\nA\n```"),
        ("```{ .python .figure alt='图' }\nx\n```", "```{ .python .figure alt='plot' }\nx\n```"),
        ("`a` `b`", "`b`, `a` and `a`"),
        ("不再变慢", "no longer slower"),
        ("上表里，比值低于拐点", "in the table above, the ratio is below the ridge point"),
        ("它快，它就快在这里", "it is faster here"),
        ("模型大了就快不了", "such a model gains nothing"),
    ],
)
def test_what_grammar_decides_is_no_drift(zh, en):
    assert drifts(f"# 甲 {{ #a }}\n\n{zh}\n", f"# A {{ #a }}\n\n{en}\n") == []


def test_a_comment_and_the_inside_of_code_are_not_prose():
    page = "# A { #a }\n\n<!-- 12 -->\n\n```python\nx = 13  # 单向 `14`\n```\n\n`[[1 := 2]]` end\n"
    (section,) = parity.sections(page, SNIPPETS)
    assert [(x.sort, x.text, x.line) for x in section.passages] == [
        ("heading", "A ", 1),
        ("code", "", 5),
        ("paragraph", "`[[1 := 2]]` end", 9),
    ]


def test_a_notebook_is_read_as_a_page():
    cells = [
        {"cell_type": "markdown", "source": ["# 量\n", "\n", "一次。"]},
        {"cell_type": "code", "source": ["print(1)"]},
        {"cell_type": "markdown", "source": ["## 接着做"]},
    ]
    text = parity.notebook(json.dumps({"cells": cells}))
    found = parity.sections(text, SNIPPETS)
    assert [section.id for section in found] == ["heading-1", "heading-2"]
    assert [x.sort for x in found[0].passages] == ["heading", "paragraph", "code"]
    assert found[0].passages[2].fixed == "python\nprint(1)"


def test_a_further_language_has_the_same_structure_and_digits():
    zh = "# 甲 { #a }\n\n第三题：[[4 := f(1)]] 张 H100，单向更快。\n\n- 一\n"
    ja = "# 甲 { #a }\n\n問題三：H100 が [[4 := f(1)]] 枚、片方向で遅い。\n\n- 一\n"
    assert parity.compare(zh, ja, SNIPPETS, "ja") == []
    for right, wrong, what in (
        ("[[4 :=", "[[5 :=", "checked numbers"),
        ("H100", "H200", "numerals"),
        ("- 一", "", "item"),
        ("#a }", "#b }", "sections"),
    ):
        found = parity.compare(zh, ja.replace(right, wrong), SNIPPETS, "ja")
        assert what in {drift.what for drift in found}
        assert "docs/ja/page.md" in parity.report(found, "page.md", "ja")
