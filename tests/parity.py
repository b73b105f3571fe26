"""Compare a page in Chinese with another language, section by section.

Each language has its own prose, so its words are free. What they say is not: both have the same
headings, code, formulas, tables, figures, boxes, links and checked numbers, speak of the same
things, and keep one direction of a link apart from both. The functions take the text of a page in
each language; a `Drift` says in which section they differ, how, and what either side has. Words are
compared as far as `words.toml` and the glossary know those of the language; the rest always is.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

import parity_words
from pymdownx.arithmatex import RE_DOLLAR_BLOCK, RE_SMART_DOLLAR_INLINE

from wallsite.site import blocks
from wallsite.site.checked import numbers
from wallsite.units import UNITS

_CODE_SPAN = re.compile(
    r"(?<![\\`])(?P<ticks>`+)(?!`)(?P<code>(?:[^\n]|\n(?![ \t]*\n))+?)(?<!`)(?P=ticks)(?!`)"
)
_FORMULA = re.compile(rf"{RE_DOLLAR_BLOCK}|{RE_SMART_DOLLAR_INLINE}", re.DOTALL)
_SYMBOL = re.compile(r"\$\s*\\?[A-Za-z]+(?:_(?:\\?\w|\{[^{}]*\}))?\s*\$")
_TARGET = re.compile(r"\]\((?P<target>[^()\s]*)[^()]*\)|<(?P<address>https?://[^>\s]+)>")
_FOOTNOTE = re.compile(r"\[\^(?P<name>[^\]]+)\]")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_NUMERAL = re.compile(
    r"(?P<digits>\d+(?:,\d{3})*(?:\.\d+)?)"
    r"(?:\s?(?P<size>万亿|亿|万|thousand|million|billion|trillion|M(?![A-Za-z])))?"
)
_NAME = re.compile(r"(?<![A-Za-z0-9-])[A-Za-z]+-?\d+[A-Za-z]*(?:-\d+[A-Za-z]*)*")
_UNIT = re.compile(
    r"(?<![A-Za-z/])(?:[kKMGTPE]i?[Bb](?:/s)?|[kMGTPE](?:FL)?OPs?/s|FLOP/byte|byte/s|GT/s"
    r"|[GM]Hz|[nµm]s|[kM]?W)(?![A-Za-z/])"
)
_SIGN = re.compile(
    r"(?<![A-Za-z0-9])[-+−±≈≥≤<>]\s*(?=\d|\[\[)|(?<=[\d\]])\s*[÷×](?=\s*[\d\[])|1/(?=\[\[)"
)
# What these blocks name is not in the reader's language; the title of any other block is.
_NAMES_DATA = {"table", "list", "downloads", "figure", "snippet"}

_LINE = re.compile(
    r"(?P<indent>[ \t>]*)(?:"
    r"(?P<level>\#{1,6})[ ]+(?P<heading>.*)"
    r"|(?P<box>!!!|\?{3}\+?|={3}(?=[+!]*[ ]\"))(?P<sort>[ ]*[\w -]*)(?P<title>.*)"
    r"|/{3,}[ ]*(?:(?P<directive>[\w-]+)[ ]*(?:\|[ ]*(?P<argument>.*))?)?$"
    r"|(?P<row>\|.*)"
    r"|(?P<bullet>[-*+]|\d{1,2}[.)])[ ]+(?P<item>.*)"
    r"|\[\^(?P<footnote>[^\]]+)\]:(?P<note>.*)"
    r"|(?P<formula>\$\$.*)"
    r"|(?P<text>\S.*))"
)
_ID = re.compile(r"\{[^{}]*#(?P<id>[\w-]+)[^{}]*\}[ \t]*$")


Only = tuple[str, ...]
"""What one language has and the other has not."""


class Passage(NamedTuple):
    """A piece of a section: what it is, and what is written in it.

    Attributes:
        sort: heading, paragraph, item, row, cell, box, block, code, footnote or formula.
        fixed: what must read the same in both languages: its level, its marker, its code.
        text: what its author wrote, whose words are free. Paragraphs in a row are one passage,
            with a blank line between.
        line: where it begins, counted from 1.
    """

    sort: str
    fixed: str
    text: str
    line: int


Pair = tuple[Passage, Passage]
"""A passage in Chinese and in the other language."""


class Section(NamedTuple):
    """What stands under a heading, the heading included; the first may have none."""

    id: str
    passages: list[Passage]


class Place(NamedTuple):
    """A line of one language, and what it has that the other has not."""

    line: int
    found: tuple[str, ...]


class Drift(NamedTuple):
    """A difference between the languages of a section."""

    section: str
    what: str
    zh: Place
    other: Place


def report(drifts: Iterable[Drift], name: str, other: str = "en") -> str:
    """Say where and how the languages of a page differ, for a person to read."""
    lines = []
    for drift in drifts:
        lines.append(f"{name} #{drift.section}: {drift.what}")
        for language, place in (("zh", drift.zh), (other, drift.other)):
            lines.append(f"    docs/{language}/{name}:{place.line}")
            lines += [f"        {line}" for found in place.found for line in found.splitlines()]
            lines += [] if place.found else ["        nothing"]
    return "\n".join(lines)


def compare(zh: str, other: str, snippets: Path, language: str = "en") -> list[Drift]:
    """Find every difference between the texts of a page.

    Args:
        zh: the page in Chinese.
        other: the page in another language.
        snippets: folder of the programs that pages embed.
        language: the other language.
    """
    ours, theirs = sections(zh, snippets), sections(other, snippets)
    drifts = []
    for zh_part, other_part in _aligned(ours, theirs, lambda section: section.id):
        if [x.id for x in zh_part] != [x.id for x in other_part]:
            section = (zh_part or other_part)[0].id
            drifts.append(Drift(section, "sections", _ids(zh_part), _ids(other_part)))
            continue
        for pair in zip(zh_part, other_part, strict=True):
            drifts += _compare_sections(*pair, language)
    return drifts


def notebook(text: str) -> str:
    """Write a notebook as a page: text as it is, code in fences, headings with their number."""
    parts, headings = [], 0
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "markdown":
            parts.append(f"```python\n{source}\n```")
            continue
        for line in source.split("\n"):
            heading = re.match(r"#{1,6} ", line)
            headings += bool(heading)
            parts.append(f"{line} {{ #heading-{headings} }}" if heading else line)
        parts.append("")
    return "\n".join(parts)


def sections(text: str, snippets: Path) -> list[Section]:
    """Divide a page at its headings, and what stands between them into passages."""
    found = [Section("", [])]
    for passage in _passages(text, snippets):
        if passage.sort == "heading":
            found.append(Section(passage.fixed.split()[-1], []))
        found[-1].passages.append(passage)
    return [section for section in found if section.passages]


# --- from text to passages ---------------------------------------------------------------------


def _passages(text: str, snippets: Path) -> Iterator[Passage]:
    page = blocks.scan(text, snippets)
    fences = {block.line: block for block in page.blocks}
    current: Passage | None = None  # what the next line may continue
    apart = True  # a blank line stands before
    for number, line in enumerate(_written(text, page).split("\n"), start=1):
        if block := fences.get(number):
            if current:
                yield current
            current = None
            yield _code(block)
            continue
        match = _LINE.match(line)
        if match is None:
            apart = True
            continue
        if current and _continues(current, match, apart):
            blank = "\n\n" if apart else "\n"
            current = current._replace(text=f"{current.text}{blank}{line.strip()}")
            if current.sort == "block":
                current = current._replace(fixed=f"{current.fixed} {line.strip()}", text="")
        else:
            if current:
                yield current
            *whole, current = _begin(match, number)
            yield from whole
        apart = False
    if current:
        yield current


def _written(text: str, page: blocks.Page) -> str:
    """The page without its blocks, comments and front matter, but with code spans."""
    inside = {line for block in page.blocks for line in range(block.line, block.end + 1)}
    written = list(page.prose)
    for match in _CODE_SPAN.finditer(text):
        blank = not page.prose[match.start() : match.end()].strip()
        if blank and text.count("\n", 0, match.start()) + 1 not in inside:
            written[match.start() : match.end()] = match[0]
    return "".join(written)


def _continues(current: Passage, match: re.Match[str], apart: bool) -> bool:
    """Whether a line goes on with a passage rather than beginning one."""
    if current.sort == "formula":
        return "$$" not in current.text[2:]
    if current.sort == "block":
        return bool(match["text"]) and not apart
    if not match["text"]:
        # A number with a dot inside a paragraph is a number, not a list.
        return not apart and bool(match["bullet"]) and match["bullet"] not in "-*+"
    if current.sort == "paragraph":
        return not apart or current.fixed == f"depth {_depth(match)}"
    return current.sort in {"item", "footnote"} and not apart


def _begin(match: re.Match[str], line: int) -> list[Passage]:
    """Passages that a line begins; only the last may go on in the next line."""
    depth = f"depth {_depth(match)}"
    cells: list[str] = []
    if match["level"]:
        explicit = _ID.search(match["heading"])
        fixed = f"{match['level']} {explicit['id'] if explicit else '?'}"
        sort, text = "heading", _ID.sub("", match["heading"])
    elif match["box"]:
        sort, fixed = "box", f"{match['box']}{match['sort'].rstrip()} {depth}"
        text = match["title"]
    elif match["row"]:
        cells = [x.strip() for x in re.split(r"(?<!\\)\|", match["row"].strip().strip("|"))]
        sort, text, fixed = "row", "", f"{len(cells)} cells {depth}"
        if all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            fixed, cells = f"{'|'.join(cells)} {depth}", []
    elif match["bullet"]:
        marker = "-" if match["bullet"] in "-*+" else match["bullet"]
        sort, fixed, text = "item", f"{marker} {depth}", match["item"]
    elif match["footnote"]:
        sort, fixed, text = "footnote", match["footnote"], match["note"]
    elif match["formula"]:
        sort, fixed, text = "formula", depth, match["formula"]
    elif match["text"]:
        sort, fixed, text = "paragraph", depth, match["text"]
    elif match["directive"] in _NAMES_DATA:
        sort, text = "block", ""
        fixed = f"{match['directive']} | {match['argument'] or ''} {depth}"
    else:
        sort, text = "block", match["argument"] or ""
        fixed = f"{match['directive'] or 'end'} {depth}"
    return [Passage(sort, fixed, text, line), *(Passage("cell", "", x, line) for x in cells)]


def _depth(match: re.Match[str]) -> int:
    return len(match["indent"].expandtabs(4)) // 4


def _code(block: blocks.Block) -> Passage:
    """A fenced block: its code, but for what comments say, and as text a title with words."""
    worded = {"title", "alt"} if {"figure", "not-run"} & set(block.classes) else set()
    names = [name if name in worded else f"{name}={x}" for name, x in block.attributes.items()]
    text = [x for name, x in block.attributes.items() if name in worded]
    source = block.source
    if block.language == "output":  # of the same code, run in each language
        source = " ".join(sorted(re.findall(r"\d+(?:[.,]\d+)*", source)))
    if block.language == "text":  # a drawing, or data in the reader's language
        text, source = [*text, source], f"{len(source.splitlines())} lines"
    if block.language in {"python", "bash"}:
        source = _uncommented(source)
    fixed = " ".join([block.language, *block.classes, *names])
    return Passage("code", f"{fixed}\n{source}", "\n".join(text), block.line)


def _uncommented(source: str) -> str:
    """Code with its comments emptied, each after a # that no quotes surround."""
    return re.sub(r"""(?m)^((?:[^"'#\n]|"[^"\n]*"|'[^'\n]*')*#) .*$""", r"\1", source)


def disagreements(zh: str, other: str, language: str = "en") -> dict[str, tuple[Only, Only]]:
    """Find what one of two texts says and the other does not, by what it is."""
    written = _take_apart(zh, "zh"), _take_apart(other, language)
    found = {what: feature(*written) for what, feature in FEATURES.items()}
    return {what: only for what, only in found.items() if any(only)}


# --- from passages to differences --------------------------------------------------------------


class _Number(NamedTuple):
    """A checked number: what it shows, whatever its language calls the unit, and how it is had."""

    quantity: str
    dimension: str
    expression: str


class _Written(NamedTuple):
    """What a passage says, taken apart; `plain` is the rest, in words."""

    language: str
    numbers: Counter[_Number]
    as_written: dict[_Number, str]
    formulas: Counter[str]
    code: Counter[str]
    links: Counter[str]
    footnotes: Counter[str]
    signs: Counter[str]
    plain: str


@cache
def _take_apart(text: str, language: str) -> _Written:
    code = Counter({match["code"]: 1 for match in _CODE_SPAN.finditer(text)})
    text = _CODE_SPAN.sub(" ", text)
    shown = [(_number(x), f"[[{x.shown} := {x.expression}]]") for x in numbers.find(text)]
    signs = Counter(match.strip() for match in _SIGN.findall(text))
    text = numbers.PATTERN.sub(r"[[\g<expression>]]", text)
    formulas = Counter(_formula(match[0], language) for match in _FORMULA.finditer(text))
    text = _FORMULA.sub(" ", text)
    text = re.sub(r"\[\[[^\n]+?\]\](?!\])", " ", text)
    links = Counter({x["target"] or x["address"]: 1 for x in _TARGET.finditer(text)})
    text = _TARGET.sub("]", text)
    footnotes = Counter(match["name"] for match in _FOOTNOTE.finditer(text))
    text = _FOOTNOTE.sub(" ", text)
    found = Counter(number for number, _ in shown)
    return _Written(language, found, dict(shown), formulas, code, links, footnotes, signs, text)


def _number(found: numbers.Checked) -> _Number:
    """Read what a number shows: 70 亿 is 7 billion, and 减半 is half."""
    try:
        shown = found.read()
    except numbers.NumberError:
        return _Number(found.shown, "", found.expression)
    # Integer operations share a scale with floating-point ones, but are not the same.
    measured = UNITS[shown.unit].dimension
    measured = "OP/s" if re.fullmatch(r"[kMGTPE]?OP/s", shown.unit) else measured
    dimension = "" if measured == "1" else measured
    return _Number(f"{shown.si:.12g}", dimension, found.expression)


def _formula(text: str, language: str) -> str:
    """A formula with its words in English."""
    if language == "zh":
        text = parity_words.formula_in_english(text)
    return " ".join(text.split())


def _compare_sections(zh: Section, other: Section, language: str) -> Iterator[Drift]:
    pairs: list[Pair] = []
    for ours, theirs in _aligned(zh.passages, other.passages, lambda x: (x.sort, x.fixed)):
        if [x[:2] for x in ours] != [x[:2] for x in theirs]:
            what = (ours or theirs)[0].sort
            yield Drift(
                zh.id, what, _structure(ours, zh, pairs, 0), _structure(theirs, other, pairs, 1)
            )
        else:
            pairs += zip(ours, theirs, strict=True)
    for one, two in chain.from_iterable(map(_paragraphs, pairs)):
        for what, (only_one, only_two) in disagreements(one.text, two.text, language).items():
            yield Drift(zh.id, what, Place(one.line, only_one), Place(two.line, only_two))
    yield from _repeated_cells(zh.id, pairs)
    yield from _names_of_section(zh, other, language)
    if language == "en":  # the languages of the glossary
        yield from _terms(zh, other)


def _paragraphs(pair: Pair) -> list[Pair]:
    """Divide a passage into its paragraphs, if both languages have as many."""
    divided = []
    for passage in pair:
        texts = passage.text.split("\n\n")
        lines = accumulate((text.count("\n") + 2 for text in texts), initial=passage.line)
        divided.append(
            [passage._replace(text=x, line=y) for x, y in zip(texts, lines, strict=False)]
        )
    zh, other = divided
    return list(zip(zh, other, strict=True)) if len(zh) == len(other) else [pair]


def _counted(what: str) -> Callable[[_Written, _Written], tuple[Only, Only]]:
    def feature(zh: _Written, other: _Written) -> tuple[Only, Only]:
        return _minus(getattr(zh, what), getattr(other, what))

    return feature


def _minus(ours: Counter[str], theirs: Counter[str]) -> tuple[Only, Only]:
    return tuple(sorted((ours - theirs).elements())), tuple(sorted((theirs - ours).elements()))


def _checked_numbers(zh: _Written, other: _Written) -> tuple[Only, Only]:
    """Checked numbers; one language may leave a unit to its sentence, as in 295 次 for 295 FLOP."""
    only_zh, only_other = zh.numbers - other.numbers, other.numbers - zh.numbers
    for number in [*only_zh, *only_other]:
        bare = number._replace(dimension="")
        for one, two in ((only_zh, only_other), (only_other, only_zh)):
            both = min(one[number], two[bare])
            one[number] -= both
            two[bare] -= both
    return (
        tuple(zh.as_written[number] for number in only_zh.elements()),
        tuple(other.as_written[number] for number in only_other.elements()),
    )


def _formulas(zh: _Written, other: _Written) -> tuple[Only, Only]:
    """Formulas. How often a sentence names $N$ alone is a matter of grammar."""
    symbols = [
        Counter({x: n for x, n in side.items() if _SYMBOL.fullmatch(x)})
        for side in (zh.formulas, other.formulas)
    ]
    if symbols[0].total() == symbols[1].total():
        return _minus(zh.formulas, other.formulas)
    once = (Counter(dict.fromkeys(x, 1)) for x in symbols)
    ours, theirs = (
        side.formulas - named + x for side, named, x in zip((zh, other), symbols, once, strict=True)
    )
    return _minus(ours, theirs)


def _numerals(zh: _Written, other: _Written) -> tuple[Only, Only]:
    """Numerals that stand bare: years, names such as H100, and ordinals.

    Each language may name a thing twice or say "it", so what counts is which ones occur, and a
    small one may be spelled out.
    """
    plain = parity_words.with_months_in_digits(other.plain)
    ours, theirs = ({_value(x) for x in _NUMERAL.finditer(text)} for text in (zh.plain, plain))
    only_zh = {x for x in ours - theirs if not parity_words.spells_out(plain, x, other.language)}
    only_other = {x for x in theirs - ours if not parity_words.spells_out(zh.plain, x, "zh")}
    return tuple(sorted(only_zh)), tuple(sorted(only_other))


def _names(zh: _Written, other: _Written) -> tuple[Only, Only]:
    """Names with a number. A passage may say a pronoun instead, but not another name."""
    ours, theirs = _named(zh.plain), _named(other.plain)
    only_zh, only_other = ours - theirs, theirs - ours
    return (
        (tuple(sorted(only_zh)), tuple(sorted(only_other))) if only_zh and only_other else ((), ())
    )


def _named(text: str) -> set[str]:
    return {name.casefold().rstrip("s") for name in _NAME.findall(text)}


def _value(match: re.Match[str]) -> str:
    """A numeral without commas and leading zeros, whatever its language counts in."""
    size = UNITS[{"M": "million"}.get(match["size"], match["size"])].scale if match["size"] else 1
    return f"{float(match['digits'].replace(',', '')) * size:.12g}"


def _units(zh: _Written, other: _Written) -> tuple[Only, Only]:
    """Units in words, such as "networks are sold in Gb/s"."""
    ours, theirs = (Counter(set(_UNIT.findall(x.plain))) for x in (zh, other))
    return _minus(ours, theirs)


def _directions(zh: _Written, other: _Written) -> tuple[Only, Only]:
    """How often a link is taken in one direction, and how often in both."""
    ways = [
        (way, forms) for way, forms in parity_words.DIRECTIONS.items() if other.language in forms
    ]
    ours, theirs = (
        Counter({way: len(forms[side.language].findall(side.plain)) for way, forms in ways})
        for side in (zh, other)
    )
    return _minus(ours, theirs)


def _opposites(zh: _Written, other: _Written) -> tuple[Only, Only]:
    """Claims that one language turns round.

    As grammar has it, a language may say "faster" once more, or leave it to the context. So a pair
    differs only if both languages speak of it, but not of the same sides; or if they speak of it
    equally often, but not of each side. Of a loose pair, whose words say other things as well,
    each language must speak of another side only; sentences that match must not do so either.
    """
    only: tuple[list[str], list[str]] = ([], [])
    if not {zh.language, other.language} <= parity_words.NEITHER.keys():
        return (), ()
    texts = {
        side.language: parity_words.NEITHER[side.language].sub(" ", side.plain)
        for side in (zh, other)
    }
    for pair in parity_words.OPPOSITES:
        sentences = [
            [pair.count(x, code) for x in _sentences(text)] for code, text in texts.items()
        ]
        ours, theirs = ((sum(x for x, _ in each), sum(x for _, x in each)) for each in sentences)
        turned = [(ours, theirs)] if _turned(ours, theirs, loose=pair.loose) else []
        if len(sentences[0]) == len(sentences[1]) and not pair.loose:
            matched = zip(*sentences, strict=True)
            turned += [x for x in matched if _turned(*x, loose=sum(x[0]) != sum(x[1]))]
        if turned:
            for found, counts in zip(only, turned[0], strict=True):
                words = pair.name.split(" or ")
                found.append(f"{pair.name}: {counts[0]} × {words[0]}, {counts[1]} × {words[1]}")
        if pair.apart:
            texts = {code: pair.without(text, code) for code, text in texts.items()}
    return tuple(only[0]), tuple(only[1])


def _turned(ours: tuple[int, int], theirs: tuple[int, int], *, loose: bool) -> bool:
    """Whether two texts that speak of a pair turn it round, told how often of each side."""
    if not (any(ours) and any(theirs)):
        return False
    sides = [tuple(map(bool, counts)) for counts in (ours, theirs)]
    if loose:
        return sides[0] != sides[1] and not any(map(all, sides))
    return sides[0] != sides[1] or (sum(ours) == sum(theirs) and ours != theirs)


def _sentences(text: str) -> list[str]:
    return [x for x in re.split(r"(?<=[。！？；：])|(?<=[.!?;:])\s", text) if x.strip()]


def _pairs(zh: _Written, other: _Written) -> tuple[Only, Only]:
    """Terms that the Chinese text gives in English as well."""
    return parity_words.mispaired(zh.plain), ()


FEATURES: dict[str, Callable[[_Written, _Written], tuple[Only, Only]]] = {
    "checked numbers": _checked_numbers,
    "formulas": _formulas,
    "inline code": _counted("code"),
    "links": _counted("links"),
    "footnotes": _counted("footnotes"),
    "signs": _counted("signs"),
    "numerals": _numerals,
    "names": _names,
    "units": _units,
    "directions": _directions,
    "opposites": _opposites,
    "terms in both languages": _pairs,
}
"""What both languages of a passage must agree on, besides its structure."""


def _repeated_cells(section: str, pairs: Iterable[Pair]) -> Iterator[Drift]:
    """In a column, cells that are the same in one language are the same in the other."""
    first: dict[Hashable, Pair] = {}
    for pair, *column in _cells(pairs):
        for side in (0, 1):
            above = first.setdefault((*column, side, pair[side].text), pair)
            if above[1 - side].text != pair[1 - side].text:
                places = (
                    Place(cell.line, (before.text, cell.text))
                    for before, cell in zip(above, pair, strict=True)
                )
                yield Drift(section, "cells that repeat", *places)


def _cells(pairs: Iterable[Pair]) -> Iterator[tuple[Pair, int, int]]:
    """Every cell with the number of its table and of its column."""
    table = column = 0
    for pair in pairs:
        if pair[0].sort == "row":
            column = 0
        elif pair[0].sort == "cell":
            column += 1
            yield pair, table, column
        else:
            table += 1


def _names_of_section(zh: Section, other: Section, language: str) -> Iterator[Drift]:
    """Names with a number: a section names the same things in both languages."""
    ours, theirs = _named(_plain(zh, "zh")), _named(_plain(other, language))
    if ours != theirs:
        sides = (zh, ours - theirs), (other, theirs - ours)
        places = (Place(section.passages[0].line, tuple(sorted(x))) for section, x in sides)
        yield Drift(zh.id, "names", *places)


def _terms(zh: Section, en: Section) -> Iterator[Drift]:
    """Terms of the glossary: where one language uses one, the other uses its pair."""
    words = {"zh": _plain(zh, "zh"), "en": _plain(en, "en")}
    for term in parity_words.terms():
        used = {language: term.used[language].search(words[language]) for language in words}
        for language, other in (("zh", "en"), ("en", "zh")):
            if used[language] and not term.accepted[other].search(words[other]):
                yield Drift(
                    zh.id,
                    f"the term {term.name}",
                    *(
                        Place(section.passages[0].line, (match[0],) if match else ())
                        for section, match in ((zh, used["zh"]), (en, used["en"]))
                    ),
                )


def _plain(section: Section, language: str) -> str:
    return "\n".join(_take_apart(x.text, language).plain for x in section.passages)


def _aligned(zh: Sequence, en: Sequence, key: Callable) -> Iterator[tuple[Sequence, Sequence]]:
    """Cut two sequences into stretches that have the same keys and stretches that have not."""
    matcher = SequenceMatcher(None, [key(x) for x in zh], [key(x) for x in en], autojunk=False)
    for _, zh_from, zh_to, en_from, en_to in matcher.get_opcodes():
        yield zh[zh_from:zh_to], en[en_from:en_to]


def _ids(found: Sequence[Section]) -> Place:
    line = found[0].passages[0].line if found else 1
    return Place(line, tuple(section.id for section in found))


def _structure(
    found: Sequence[Passage], section: Section, pairs: Sequence[Pair], side: int
) -> Place:
    """Passages that the other language has not; if there are none, where they should stand."""
    before = pairs[-1][side] if pairs else section.passages[0]
    line = found[0].line if found else before.line
    return Place(line, tuple(f"{x.sort} {x.fixed}" for x in found))
