"""Words that stand for each other in the two languages, as far as a test can tell."""

import re
from functools import cache
from typing import NamedTuple

from wallsite import tables

Pairs = dict[str, dict[str, re.Pattern[str]]]
"""Things that exclude each other, each with what it is called in either language."""

IN_FORMULAS = {
    "计算量 (FLOP)": "work (FLOP)",
    "访存量 (byte)": "traffic (byte)",
    "张量核数": "tensor cores",
    "每周期乘加": "multiply-adds per cycle",
    "频率": "clock",
    "稠密峰值": "dense peak",
    "权重字节": "bytes of weights",
    "通道数": "channels",
    "传输率": "transfer rate",
    "单卡吞吐": "throughput of one GPU",
    "实测吞吐": "measured throughput",
    "能耗比": "energy ratio",
    "访存": "access",
    "fp32 乘": "FP32 multiply",
    "落差": "drop",
    "近一级的带宽": "bandwidth one level nearer",
    "远一级的带宽": "bandwidth one level farther",
    "都按每卡、单向": "both per GPU and per direction",
}
r"""Words inside ``\text{…}`` of a formula, Chinese to English."""


def formula_in_english(text: str) -> str:
    r"""Put a formula's words in English; what is English already stays."""
    return re.sub(r"(?<=\\text\{)[^{}]*", lambda x: IN_FORMULAS.get(x[0], x[0]), text)


DIRECTIONS: Pairs = {
    "one direction": {
        "zh": re.compile(r"单向(?!还是双向)|一个方向|同一方向"),
        "en": re.compile(
            r"per direction|\b(?:one|each)[- ]way\b(?! of)|(?:one|either|each|single) direction"
            r"|\b(?:and|same) direction\b|[,;] one carries|directions and one\b|\bis one\.",
            re.IGNORECASE,
        ),
    },
    "both directions": {
        "zh": re.compile(r"(?<!还是)双向|两个方向"),
        "en": re.compile(
            r"both directions|both ways|two directions|two-way|bidirectional"
            r"|(?:\bas|\badds) both\b|\d,? both(?=[.,;])",
            re.IGNORECASE,
        ),
    },
}
"""How each language says that a link is taken in one direction, or in both."""

ACCESSES: Pairs = {
    "reads": {
        "zh": re.compile(r"(?<![阅解误未不没])读(?!者|数|懂|作|成|这|错|程序|法|一眼)"),
        "en": re.compile(
            r"\bre-?reads?\b|\bread(?:s|ing)?\b(?! high| “| it as| the pair| as\b)", re.IGNORECASE
        ),
    },
    "write-allocate": {
        "zh": re.compile("写分配"),
        "en": re.compile(r"write-allocat", re.IGNORECASE),
    },
    "reads only": {
        "zh": re.compile(r"只读不写"),
        "en": re.compile(r"hardly writes|only reads", re.IGNORECASE),
    },
    "writes": {
        "zh": re.compile(
            r"(?<![书手不未没缩])写(?=[ 一入进回两满不，。、；）]|分配|过显存)|(?<=[读和])写"
        ),
        "en": re.compile(
            r"(?<!hardly )\bwrites?\b(?! your)|\bwritten\b(?! by| in C| down)|\bwriting\b"
            r"|(?:ordinary|non-temporal) stores?",
            re.IGNORECASE,
        ),
    },
}
"""How each language says that memory is read, or written."""

SIDES: Pairs = {
    "inside": {
        "zh": re.compile(r"机内|scale-up 域|超节点(?!之间)|节点内"),
        "en": re.compile(r"\binside\b(?! out)|scale-up|within (?:the|a|one) node", re.IGNORECASE),
    },
    "outside": {
        "zh": re.compile(r"机间|跨机|出了?机器|scale-out"),
        "en": re.compile(
            r"\bacross\b|scale-out|between (?:nodes|machines|servers)|\boutside\b"
            r"|\bleav\w+ the node|\bcross(?:es|ing)? nodes",
            re.IGNORECASE,
        ),
    },
}
"""How each language says that a link is inside a node, or between nodes."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b")
_SPELLED = {  # from zero to ten
    "zh": ["零", "[一单首]", "[二两双]", *"三四五六七八九十"],
    "en": [
        *("zero|no", "one|an?|single|first", "two|both|twice|second", "three|third"),
        *("four(?:th)?", "five|fifth", "six(?:th)?", "seven(?:th)?", "eighth?", "nine|ninth"),
        "ten(?:th)?",
    ],
}
# What may stand for a term where the other language uses it; regular expressions.
_INSTEAD = {
    "compute-wall": {"en": "compute and memory walls?"},
    "arithmetic-intensity": {"zh": "强度", "en": "intensity"},
    "memory-bound": {"zh": "访存"},
    "memory-bandwidth": {"zh": "带宽", "en": "bandwidth"},
    "flops": {"zh": "FLOP|运算|算力|计算", "en": "operations"},
    "sparse": {"en": "sparsity|sparsely"},
    "write-allocate": {"en": "write-allocated"},
    "kernel": {"zh": "实现"},
    "decode": {"en": "decod(?:es?|ed|ing)"},
    "prefill": {"en": "prefill(?:s|ed|ing)"},
    "quantization": {"en": "(?:de|un)?quantiz(?:es?|ed|ing|ation)"},
    "ring": {"zh": "环", "en": "rings?"},
    "scale-up": {"zh": "超节点|节点内|服务器", "en": "inside|within"},
    "scale-out": {
        "zh": "跨机|网络|机房",
        "en": "across|between (?:nodes|machines)|network|outside",
    },
    "nic": {"en": "network cards?"},
    "tensor-parallelism": {"en": "tensor-parallel"},
    "pipeline-parallelism": {"en": "pipeline-parallel"},
    "data-parallelism": {"en": "data-parallel"},
}


class Term(NamedTuple):
    """A term of the glossary: by language, how it is written, and what may stand for it."""

    name: str
    used: dict[str, re.Pattern[str]]
    accepted: dict[str, re.Pattern[str]]


def with_months_in_digits(text: str) -> str:
    """Write 11 for November, as Chinese does."""
    return _MONTH.sub(lambda match: str(_MONTHS.index(match[0]) + 1), text)


def spells_out(text: str, numeral: str, language: str) -> bool:
    """Whether a text has a whole number up to ten in words."""
    if not numeral.isdecimal() or int(numeral) > 10:
        return False
    word = _SPELLED[language][int(numeral)]
    return bool(re.search(word if language == "zh" else rf"(?i)\b(?:{word})\b", text))


@cache
def terms() -> tuple[Term, ...]:
    """The glossary's terms. Chinese prose may keep the English word, as it does for decode."""
    found = []
    for term in tables.glossary():
        if term.zh in DIRECTIONS["one direction"]["zh"].pattern:
            continue  # counted passage by passage
        used = {"zh": _written(term.zh), "en": _written(term.en)}
        instead = _INSTEAD.get(term.id, {})
        accepted = {
            "zh": [used["zh"], used["en"], instead.get("zh")],
            "en": [used["en"], instead.get("en")],
        }
        found.append(
            Term(
                term.id,
                {language: _whole(form) for language, form in used.items()},
                {language: _whole(*filter(None, forms)) for language, forms in accepted.items()},
            )
        )
    return tuple(found)


def mispaired(text: str) -> tuple[str, ...]:
    """Find Chinese terms that stand with other English than their own, as in 机内（scale-out）."""
    english = {term.zh: term.en.casefold() for term in tables.glossary()}
    return tuple(
        match[0]
        for match in _with_english().finditer(text)
        if not match["en"].startswith(english[match["zh"]])
    )


@cache
def _with_english() -> re.Pattern[str]:
    chinese = (term.zh for term in tables.glossary() if not term.zh.isascii())
    terms = sorted(map(re.escape, chinese), key=len, reverse=True)
    return re.compile(rf"(?P<zh>{'|'.join(terms)})域?\**（(?P<en>[a-z][a-z -]+)")


def _written(word: str) -> str:
    """Match a word in the singular or plural, with a blank, a hyphen or a line's end between."""
    return re.sub(r"\\? ", r"[\\s-]+", re.escape(word)) + "(?:s|es)?"


def _whole(*forms: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z])(?:{'|'.join(forms)})(?![A-Za-z])", re.IGNORECASE)
