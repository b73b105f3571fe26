r"""Which numerals state a quantity, and so must be checked, and which may stand bare.

One rule for every page and both languages, without exceptions for a page. A numeral may stand
bare only as

- a **date**: 2018, 2018–2023, 2026-11-30, 2026 年 11 月, 30 November 2026;
- a **name**: digits after letters (H100, FP8, L0.2, GPT-3, DDR5-4800, A100 80GB), the size of a
  model (7B), a chip such as 910B, or a version after a family of `names.toml` (NVLink 5);
- a **reference** or a **counter**: arXiv 2403.14123, CACM 52(4), #48, pp. 10–14, 第 3 步, 第三题,
  question 3, step 2, table 4, 4th, the marker of a list;
- the **definition of a unit**, when it is right: GB is 10⁹;
- a **constant of a formula**: zero, or one digit in a term that holds a symbol, as in
  $2(N-1)/N$. In $N = 8$ the 8 is a term of its own; in $n \times 8\ \text{byte}$ it has a unit.

Every other digit states a quantity. So do words: for fractions (half, a third, 四分之一, 三成), for
multiples (twice, tenfold, 两倍, 翻倍), for an order of magnitude, for numbers from ten upwards
(dozens, hundreds, 几十, 上千, 万亿), and for smaller ones that count time, data, hardware, tokens
or repetitions (two seconds, four cards, 两秒, 四张卡, 两次). From two to nine, words may count what
the text itself names or lists: three walls, two languages, 三堵墙, 五件事. *One*, *both*, 一 and 双
are no numerals. Words in the title of a saying are quoted as people say them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from pymdownx.arithmatex import RE_DOLLAR_BLOCK, RE_SMART_DOLLAR_INLINE

from wallsite import lessons, units
from wallsite.site import blocks
from wallsite.site.checked import numbers

# What is put in the place of a text that is dealt with, so that its neighbours can be judged.
_NUMBER, _NAME, _OTHER = "\ue000", "\ue001", "\ue002"


def _any(*patterns: str) -> str:
    return f"(?:{'|'.join(patterns)})"


# --- Units, and other things whose number is a quantity ------------------------------------------

_KNOWN = {*units.UNITS, "K", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "x", "％"} - {""}
_UNIT = rf"\s?{_any(*map(re.escape, sorted(_KNOWN, key=len, reverse=True)))}(?![A-Za-z])"
_ENGLISH_THING = (
    _any(
        "(?:kilo|mega|giga|tera)?(?:byte|bit)|token|parameter|request|head|expert|FLOP",
        "[GNC]PU|NIC|core|card|chip|die|socket|machine|node|server|host|cabinet|rack|thread",
        "(?:nano|micro|milli)?second|minute|hour|day|week|month|year",
        "time|pass|passe|hop|copy|copie|page|per ?cent",
        f"{_NAME}+",
    )
    + r"s?(?![\w-])"
)
_CHINESE_THING = _any(
    "年|个月|周|天|小时|分钟|[毫微纳]?秒|字节|比特|瓦",
    "番|次(?!方)|遍|趟|圈|页",
    rf"卡|机(?!制)|台|颗|核|[张块]\s?(?:网?卡|[GNC]PU|{_NAME})",
    r"[个条路]?\s?(?:[GNC]PU|NIC|token|FLOP|节点|参数|字节|请求|线程|核|专家)",
)

# --- What may stand bare -------------------------------------------------------------------------

_END = rf"(?![0-9]|[.,][0-9]|{_UNIT})"  # the number is over, and no unit follows
_YEAR = "(?:199[0-9]|20[0-3][0-9])"
_MONTHS = _any(
    "January|February|March|April|May|June",
    "July|August|September|October|November|December",
)
_DATE = _any(
    f"{_YEAR} ?年(?: ?[0-9]{{1,2}} ?月(?: ?[0-9]{{1,2}} ?日)?)?",
    "[0-9]{1,2} ?月(?: ?[0-9]{1,2} ?日)?",
    f"{_YEAR}-[0-9]{{2}}(?:-[0-9]{{2}})?(?![0-9])",
    f"[0-9]{{1,2}} {_MONTHS}(?: {_YEAR}{_END})?",
    f"{_MONTHS} [0-9]{{1,2}}(?:, {_YEAR})?{_END}",
    rf"(?<![\w.,/=×-]){_YEAR}(?:(?:[–～]| 到 | to ){_YEAR})?{_END}(?! {_ENGLISH_THING})",
)
_REFERENCE = _any(
    r"arXiv[:\s]+[0-9]{4}\.[0-9]{4,5}",
    r"(?<= )[0-9]+\([0-9]+\)",
    "#[0-9]+",
    r"pp?\. [0-9]+(?:–[0-9]+)?",
)
_COUNTER = _any(
    "第 ?(?:[0-9]+(?:[.–～][0-9]+)*|[一二三四五六七八九十]+)|其[一二三四五]",
    r"[0-9]+(?:st|nd|rd|th)\b",
    rf"\b(?i:question|step|section|chapter|figure|table|page)s? [0-9]+(?:[.–][0-9]+)*{_END}",
    r"(?m:^[ \t>]*[0-9]{1,2}[.)](?=[ \t]))",
)
_NAMED = _any(
    # A word and a number are no name: not batch-64, not x2.
    r"(?<![A-Za-z0-9.])(?![a-z]+-[0-9]|x[0-9]+\b(?!-))[A-Za-z](?:[A-Za-z_]|[-_.](?=[A-Za-z0-9])|/(?=[A-Za-z]))*[0-9]\w*"
    r"(?:[-_.]\w+|/[A-Za-z]\w*)*(?: [0-9]+GB(?![A-Za-z/]))?",
    r"(?<![0-9.,])(?:[0-9]+(?:\.[0-9])?B|9[0-9]0[A-Z]{1,2})s?(?![A-Za-z0-9/])",
    r"(?<![0-9.,])(?:[1-4]D|[0-9]F[0-9]B|[0-9]+b/[0-9]+b)(?![A-Za-z0-9])",
)
_DEFINITION = (
    r"(?P<unit>[kMGTP]i?B) ?(?:is|=|是|即) ?(?P<base>10|2)(?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹]+)(?! ?[A-Z])"
)
_SYMBOL = "[A-Za-z\u0391-\u03c9]"  # Latin or Greek; formulas without dollars are for figures
_CONSTANT = _any(
    f"1/(?={_NUMBER}|{_SYMBOL}(?![A-Za-z]))",
    rf"= ?0{_END}",
    rf"(?<![\w.,])[0-9](?=\({_SYMBOL}[-−+]|[A-Z\u0391-\u03c9]{{1,3}}(?![A-Za-z])){_END}",
    rf"(?<=[^A-Za-z]{_SYMBOL}[-−+])[0-9](?![0-9]|[.,][0-9])",
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")

# --- What states a quantity ----------------------------------------------------------------------

_DIGITS = re.compile(
    r"(?:[≈~<>≤≥=] ?)?(?:\d+/)?\d(?:[\d,]*\d)?(?:\.\d+)?(?: ?[×x] ?10)?[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*"
    rf"(?:{_UNIT})?|[¼-¾⅐-⅞]"
)
_ONE_TO_NINE = "一二两三四五六七八九"
_CHINESE = re.compile(
    _any(
        f"[{_ONE_TO_NINE}十百千万]+分之[{_ONE_TO_NINE}十百千万]+",
        "(?<!多)半(?!导体|精度|双工|径|路)",
        f"[{_ONE_TO_NINE}]倍|翻[一两]?[倍番]|加倍|双倍",
        f"(?<![统单合])[{_ONE_TO_NINE}]成(?!不变|为|了|本|立|员|果)",
        f"[{_ONE_TO_NINE}]个?数量级",
        f"(?!一点一)[零{_ONE_TO_NINE}]点[零{_ONE_TO_NINE}]",
        f"(?!万一|十分(?!之)|百分(?:之[几多]|点|比|数))[{_ONE_TO_NINE}几数上]*[十百千万亿]+",
        rf"[{_ONE_TO_NINE[1:]}]\s?{_CHINESE_THING}",
    )
)
_TWO_TO_NINE = "(?:two|three|four|five|six|seven|eight|nine)"
_FROM_TEN = _any(
    "ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen",
    "(?:twen|thir|for|fif|six|seven|eigh|nine)ty",
    "tens|dozens?|hundreds?|thousands?|[mbtr]+illions?",
)
_PART = "(?:third|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|thousandth)"
_ADJECTIVE = r"(?!(?:of|per|to|in|and|an?|the|for|on|by|at|as|with|is|are)\b)[\w-]+[\s-]+"
_ENGLISH = re.compile(
    r"\b"
    + _any(
        r"half(?!-duplex|[- ]precision)|halves|halved|halving|quarters?",
        rf"{_PART}s|(?:an?|one)[ -]{_PART}(?=\s(?:of|as|the|less|more)\b|[.,;:)”]|\Z)",
        r"twice|thrice|(?:doubl|tripl|trebl|quadrupl)(?:e[ds]?|ing)"
        r"(?![- ](?:precision|binary|tree))",
        f"(?:{_TWO_TO_NINE}|{_FROM_TEN})[ -]?fold|{_FROM_TEN}",
        rf"(?:an?|one|{_TWO_TO_NINE})(?:\s\w+)?\sorders?\sof\smagnitude",
        rf"{_TWO_TO_NINE}[\s-]+(?:{_ADJECTIVE})??{_ENGLISH_THING}",
    )
    + r"(?!\w)",
    re.IGNORECASE,
)

# --- Formulas ------------------------------------------------------------------------------------

_FORMULA = re.compile(rf"{RE_DOLLAR_BLOCK}|{RE_SMART_DOLLAR_INLINE}", re.DOTALL)
_WORDS = re.compile(r"\\text\{(?P<words>[^{}]*)\}")
_RELATION = re.compile(r"[=<>≤≥≈]|\\(?:approx|leq?|geq?|ll|gg|sim|to|propto|q?quad|\\)(?![a-z])")
_IN_FORMULA = re.compile(
    r"(?P<digits>[0-9](?:[0-9.,]*[0-9])?)"
    r"(?P<unit>(?:\\[ ,;:!]|~|\s)*(?:\\%|\\text\{\s*[^{}]+?\s*\}))?"
)
_COMMAND = re.compile(r"\\(?!(?:alpha|beta|gamma|[Dd]elta|eta|lambda|mu|rho|sigma|tau)\b)[A-Za-z]+")

# --- What is not prose ---------------------------------------------------------------------------

_MARKUP = re.compile(
    r"(?P<number>\[\[[^\]\n]*:=[^\n]*?\]\](?!\]))"
    r"|(?m:^(?P<indent>[ \t>]*)/{3,}.*(?:\n(?P=indent) {4,}\S.*)*)"  # a block and its options
    r"|(?<=\])\([^()\s]*\)|(?m:^\[[^\]^]+\]:.*$)|https?://\S+"  # where a link goes
    r"|\[\*[^\]]*\*\](?=\()"  # the title of a work, as a link
    r"|\[\^[^\]\s]+\]|\{:? ?[#.][^{}\n]*\}|</?[A-Za-z][^<>\n]*>"
)
_SAYING = re.compile(r"(?m)^[ \t]*(?:!!!|\?\?\?) saying .*$")
_SENTENCE_END = re.compile(r"[。！？；\n|]|(?<=[.!?])\s")


class Bare(NamedTuple):
    """A numeral that states a quantity and is not checked.

    Attributes:
        line: where it stands, counted from 1.
        text: the numeral, with its unit.
        context: the sentence around it.
    """

    line: int
    text: str
    context: str

    def __str__(self) -> str:
        return f"{self.text!r} states a quantity and is not checked: {self.context}"


def of_page(page: blocks.Page) -> list[Bare]:
    """Find the bare numerals of a page: in its prose, and in titles and descriptions of blocks."""
    found = bare(page.prose)
    for block in page.blocks:
        for name in ("title", "alt"):
            text = block.attributes.get(name, "")
            found += [numeral._replace(line=block.line) for numeral in bare(text)]
    return sorted(found)


def bare(text: str) -> list[Bare]:
    """Find the bare numerals of a text whose code is blanked out already, in order."""
    return [
        Bare(text.count("\n", 0, start) + 1, text[start:end].strip(), _sentence(text, start))
        for start, end in sorted(_places(text))
    ]


def _places(text: str) -> Iterator[tuple[int, int]]:
    text = _MARKUP.sub(lambda match: _fill(match, _NUMBER if match["number"] else " "), text)
    for formula in _FORMULA.finditer(text):
        yield from _moved(_in_formula(formula[0]), formula.start())
    yield from _in_words(_FORMULA.sub(lambda match: _fill(match, _OTHER), text))


def _in_words(text: str) -> Iterator[tuple[int, int]]:
    """Find the bare numerals of a text without markup and formulas."""
    left = _stands().sub(_accepted, text)
    for match in _DIGITS.finditer(left):
        yield match.span()
    # What a saying calls dozens or 几十 is quoted as people say it.
    unquoted = _SAYING.sub(lambda match: _fill(match, _OTHER), left)
    for pattern in (_CHINESE, _ENGLISH):
        for match in pattern.finditer(unquoted):
            yield match.span()


@cache
def _stands() -> re.Pattern[str]:
    """Match what may stand bare; the first call reads the lessons' families of names."""
    family = _any(*map(re.escape, lessons.families())) if lessons.families() else "(?!)"
    version = rf"(?<![A-Za-z]){family} [0-9]+(?:\.[0-9]+)*(?: x[0-9]+|s(?![A-Za-z]))?{_END}"
    return re.compile(
        f"(?P<name>{version}|{_NAMED})|(?P<definition>{_DEFINITION})"
        f"|{_DATE}|{_REFERENCE}|{_COUNTER}|{_CONSTANT}",
        re.ASCII,
    )


def _accepted(match: re.Match[str]) -> str:
    if match["definition"]:
        size = int(match["base"]) ** int(match["power"].translate(_RAISED))
        if size != units.scale(match["unit"]):
            return match[0]
    return _fill(match, _NAME if match["name"] else _OTHER)


def _in_formula(formula: str) -> Iterator[tuple[int, int]]:
    """Find the numerals of a formula that are not constants of it."""
    for words in _WORDS.finditer(formula):
        yield from _moved(_in_words(words["words"]), words.start("words"))
    formula = _WORDS.sub(_unit_or_symbol, formula)
    start = 0
    for end in [*(relation.start() for relation in _RELATION.finditer(formula)), len(formula)]:
        term = formula[start:end]
        symbolic = re.search("[A-Za-z]", _COMMAND.sub("", _WORDS.sub("", term)))
        for match in _IN_FORMULA.finditer(term):
            constant = symbolic and len(match["digits"]) == 1 and not match["unit"]
            if not constant and match["digits"] != "0":
                yield start + match.start(), start + match.end()
        start = end


def _unit_or_symbol(words: re.Match[str]) -> str:
    """Keep a unit of a formula; a word is a symbol like any other."""
    return words[0] if words["words"].strip() in units.UNITS else _fill(words, "x")


def _moved(places: Iterable[tuple[int, int]], by: int) -> Iterator[tuple[int, int]]:
    for start, end in places:
        yield start + by, end + by


def _fill(match: re.Match[str], character: str) -> str:
    """Make a text of one character, with the same length and lines."""
    return re.sub(r"[^\n]", character, match[0])


def _sentence(text: str, position: int) -> str:
    """Return the sentence that holds a position, with checked numbers as they are shown."""
    ends = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
    start = max(end for end in ends if end <= position)
    stop = min(end for end in ends if end > position)
    return " ".join(numbers.plain(text[start:stop]).strip(" |\n").split())
