"""No numeral that states a quantity stands bare: on no page, in no notebook, no figure, no term."""

import json
import re
import tomllib
from collections.abc import Iterator

import pytest
from markdown import Markdown
from pages import DOCS, LANGUAGES, ROOT, SNIPPETS, names, scan

from wallsite import lessons, tables, units
from wallsite.site import blocks
from wallsite.site.checked import numbers, numerals
from wallsite.site.errors import PageError

REFUSED = [
    # numbers with units, in either language
    "1.8 TB/s",
    "it has 3.35 TB/s",
    "带宽 3.35 TB/s",
    "80 GB",
    "14GB",
    "64-bit",
    "64 位",
    "5 µs",
    "45 nm",
    "0.9 V",
    "700 W",
    "12 days",
    "20 年间",
    "400G 网卡",
    "376T",
    "8K 张卡",
    "on 16K GPUs",
    "N = 64Mi",
    # ratios, ranges, fractions, powers, approximations
    "≈ 295",
    "约 295",
    "2.4×",
    "10x",
    "5,294",
    "1–2",
    "1～2 个数量级",
    "30%",
    "４０％",
    "4.18 → 1.75 ms",
    "1/7.4",
    "1/34",
    "½",
    "10¹²",
    "3.15×10²³",
    "2:4",
    "-38%",
    "1750 亿",
    "6.1 万个",
    "175 billion",
    # counts, however small
    "batch 1",
    "n = 4096",
    "2,048 tokens",
    "2048",
    "用 8 张卡",
    "8×H100",
    "4 GPUs",
    "TP 8",
    "N=8",
    "batch-64",
    "batch=64",
    "x2",
    "O(1)",
    "H100 SXM5 80 GB",
    "有人写 1979",
    "NVLink 900 GB/s",
    "PCIe 64 GB/s",
    "H100 3.35 TB/s",
    "in 2024 GB",
    "2026 tokens",
    "GB is 10¹² bytes",
    "GiB = 10⁹",
    # words for quantities: Chinese
    "四分之一",
    "三分之二",
    "百分之五",
    "一半",
    "减半",
    "半数",
    "两倍",
    "快一倍",
    "翻倍",
    "翻一番",
    "三成",
    "八成在带宽",
    "一个数量级",
    "两个数量级",
    "十来 kB",
    "几十微秒",
    "几百 GB/s",
    "上千卡",
    "千卡任务",
    "万亿级",
    "一百张",
    "二十年",
    "两年",
    "五微秒",
    "两秒",
    "四台服务器",
    "两张卡",
    "八个 GPU",
    "两次 all-reduce",
    "读两遍",
    "万卡集群",
    "两点五",
    "两个节点",
    # words for quantities: English
    "half of HBM",
    "half the bytes",
    "halves",
    "a quarter of",
    "a third of the time",
    "two thirds",
    "one tenth of it",
    "twice as fast",
    "double it",
    "doubled",
    "tripled",
    "tenfold",
    "ten times",
    "three times as fast",
    "two-fold",
    "a dozen",
    "dozens of cards",
    "tens of kB",
    "hundreds of GB/s",
    "thousands of GPUs",
    "a trillion-parameter model",
    "an order of magnitude",
    "two orders of magnitude",
    "twenty years",
    "every two years",
    "two seconds",
    "four H100 servers",
    "eight GPUs",
    "two nodes",
    "three tokens",
    "two H100s",
    "five per cent",
    "eight in ten",
    # formulas
    "$N = 8$",
    "$n = 4096$",
    "$a=0.8$",
    "$12Lsh$",
    "$1.5 N$",
    r"$B = c \times r \times 8\ \text{byte}$",
    r"$2 \times 80 \times 8$",
    r"$t = 4.18\ \text{ms}$",
    r"$$x = 10^{12}$$",
    r"$\text{每两年}$",
]

PASS = [
    # dates
    "2018",
    "2018–2023",
    "2018 到 2023 年间",
    "2026-11-30",
    "2025-07 交付",
    "2026 年 11 月",
    "2026 年 11 月 30 日",
    "5 月 31 日",
    "November 2026",
    "30 November 2026",
    "on 5 January 2026 and again on 31 May",
    "January 5, 2026",
    "in 2024, too",
    "（2020）",
    # names
    "H100",
    "H100s",
    "B300 与 GB300",
    "FP8、BF16、INT4",
    "FP16/BF16",
    "7B 模型",
    "a 0.6B model",
    "405B",
    "910B",
    "910Bs",
    "Ascend 950DT",
    "L0.2",
    "GPT-3",
    "DeepSeek-V3",
    "ZeRO-3",
    "HBM3e",
    "MI300X",
    "A100 80GB",
    "NVLink 5",
    "NVLink 4 的带宽",
    "PCIe 5.0 x16",
    "Llama 3 405B",
    "Llama-3-8B",
    "Llama 3.1 405B",
    "two configurations of Llama 3",
    "RTX 4090s",
    "EPYC 9654",
    "Gaudi 2",
    "TPU v5e",
    "DDR5-4800",
    "CloudMatrix384",
    "p3.16xlarge",
    "x86-64",
    "fp32",
    "v4",
    "W4A16",
    "TP16",
    "P2P",
    "1F1B",
    "3D",
    "128b/130b",
    "Python 3.11",
    "DCGM 4.6",
    "stas00/ml-engineering",
    "Q1",
    # references, counters
    "arXiv 2403.14123",
    "CACM 52(4), 2009",
    "[Lvllm #35](https://github.com/guqiong96/Lvllm/issues/35)",
    "第 1 步",
    "第三题",
    "第 10–14 页",
    "第 2.1 节",
    "其一",
    "question 3",
    "step 2",
    "table 4",
    "section 2.1",
    "pp. 10–14",
    "4th",
    "the third case",
    "a third case",
    "third-party",
    "1. first\n2. second",
    "①",
    # definitions of units
    "GB is 10⁹ bytes and GiB is 2³⁰ bytes",
    "GB 是 10⁹ 字节，GiB 是 2³⁰ 字节",
    # determiners and idioms
    "一个",
    "两种",
    "两边",
    "三堵墙",
    "五件事",
    "四条曲线",
    "一次",
    "双向",
    "单卡",
    "几分之一",
    "百分之几",
    "几倍",
    "多半",
    "半导体",
    "十分重要",
    "万一",
    "统一成单向",
    "一成不变",
    "成倍增加",
    "one byte",
    "both directions",
    "two languages",
    "three walls",
    "seven layers",
    "half-precision",
    "double precision",
    "double-binary-tree",
    "both times differ",
    "once",
    "a pair of cards",
    "k times the bandwidth",
    "severalfold",
    # formulas
    "$2(N-1)/N$",
    "$C \\approx 6 N_\\text{active} D$",
    "$I = \\frac{2T}{b}$",
    "$r^{\\,t/2}$",
    "$\\log_2 N$",
    "$\\alpha=0$",
    "$S(1+1/N)$",
    "$3 \\times 4Lsh$",
    "$$\\text{dense peak} = \\text{频率} \\times \\text{cores} \\times 2$$",
    "T(N) = C/N + 2(N−1)/N·S/β + 2(N−1)·α",
    "若 α = 0",
    "验证 k+1 个",
    # what is checked, and what is not prose
    "[[295 FLOP/byte := ridge('h100-sxm')]]",
    "1/[[7.4 := bandwidth('h100-sxm') / link('nvlink4')]]",
    "约 [[295 := ridge('h100-sxm')]] 次",
    "$N=[[8 := comm.node_gpus]]$",
    "## Title { #title-2 }",
    "note[^2]\n\n[^2]: text",
    "/// table | ridge\n    devices: [a100-sxm-80gb, h200]\n///",
    "[text](page.md#section-2) and https://example.org/2/3",
    '<span data-x="3">text</span>',
    "[*ZeRO: Toward Training Trillion Parameter Models*](https://arxiv.org/abs/1910.02054)",
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_quantity_may_not_stand_bare(text):
    assert numerals.bare(text)


@pytest.mark.parametrize("text", PASS)
def test_what_states_no_quantity_may_stand(text):
    assert not numerals.bare(text)


def test_a_bare_numeral_is_reported_with_its_place():
    text = "One.\n\nFirst sentence. The link has 1.8 TB/s in all. More.\n"
    assert numerals.bare(text) == [(3, "1.8 TB/s", "The link has 1.8 TB/s in all.")]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("The link has 1.8 TB/s.", 6, "'1.8 TB/s' states a quantity and is not checked: The link"),
        ("$N = 8$", 6, "'8' states a quantity and is not checked: $N = 8$"),
        ('```{ .text title="Half of it" }\nx\n```', 6, "'Half' states a quantity"),
        ("```text\nnever closed", 6, "not a fence, shown as text: ```text"),
    ],
)
def test_the_build_refuses_a_bare_numeral(tmp_path, text, line, message):
    text = f"# Title\n\n{text}\n"
    (tmp_path / "page.md").write_text(f"---\ntitle: T\n---\n{text}", "utf-8")
    site = Markdown(
        extensions=["pymdownx.arithmatex", "pymdownx.superfences", "wallsite.site.extension"],
        extension_configs={
            "wallsite.site.extension": {"docs": str(tmp_path), "page": "page.md"},
        },
    )
    with pytest.raises(PageError) as caught:
        site.convert(text)
    assert str(caught.value).startswith(f"{tmp_path.as_posix()}/page.md:{line}: ")
    assert message in str(caught.value)


def report(where: str, found: list[numerals.Bare]) -> str:
    return "\n".join(f"{where}:{numeral.line}: {numeral}" for numeral in found)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".md"))
def test_no_page_states_a_bare_quantity(language, name):
    path = DOCS / language / name
    found = numerals.of_page(scan(path))
    assert not found, report(path.relative_to(ROOT).as_posix(), found)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".md"))
def test_no_checked_number_of_a_page_could_stand_bare(language, name):
    passed = [
        number[0]
        for paragraph in re.split(r"\n[ \t]*\n", scan(DOCS / language / name).prose)
        for number in numbers.PATTERN.finditer(paragraph)
        if not numerals.bare(
            paragraph[: number.start()] + number["shown"] + paragraph[number.end() :]
        )
    ]
    assert not passed


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".ipynb"))
def test_no_notebook_states_a_bare_quantity(language, name):
    path = DOCS / language / name
    for index, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"], 1):
        if cell["cell_type"] == "markdown":
            found = numerals.of_page(blocks.scan("".join(cell["source"]), SNIPPETS))
            assert not found, report(f"{path.relative_to(ROOT).as_posix()}, cell {index}", found)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("term", tables.glossary(), ids=lambda term: term.id)
def test_no_explanation_of_a_term_states_a_bare_quantity(language, term):
    assert not numerals.bare(term.note[language])


def texts(words: object) -> Iterator[str]:
    """Every text in what a figure says, whatever it is nested in."""
    if isinstance(words, str):
        yield words
    elif isinstance(words, dict):
        yield from texts(list(words.values()))
    elif isinstance(words, list):
        for part in words:
            yield from texts(part)


WORDS = [*lessons.files("figures/*.toml"), *(ROOT / "wallsite" / "figures").glob("*.toml")]


@pytest.mark.parametrize("path", WORDS, ids=lambda path: path.name)
def test_no_figure_states_a_bare_quantity(path):
    # What is filled in comes from data.
    filled = re.compile(r"\{[\w\[\]]*\}")
    for text in texts(tomllib.loads(path.read_text("utf-8"))):
        if text not in units.UNITS:
            found = numerals.bare(filled.sub("[[1 := f()]]", text))
            assert not found, report(path.name, found)
