"""Mistakes in what a page is built of: headings, tables and formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wallsite.site.checked import numbers

from .edits import FORMULA, Edit, File, blank, digit


def headings(file: File) -> Iterator[Edit]:
    """A heading's level or id, or the whole heading."""
    pattern = r"^(?P<level>#{1,5}) (?P<title>.+?) \{ #(?P<id>[\w-]+) \}$"
    for match in re.finditer(pattern, file.page.prose, re.MULTILINE):
        match file.random.randrange(3):
            case 0:
                yield match.start(), match.start(), "#"
            case 1:
                place = match.start("id") + file.random.randrange(len(match["id"]))
                yield place, place + 1, "x" if file.text[place] != "x" else "y"
            case _:
                yield match.start(), match.end(), ""


def cells(file: File) -> Iterator[Edit]:
    """A table cell that repeats the one above, a lost row, or another alignment."""
    above: list[tuple[int, int]] = []
    position = 0
    for line in file.page.prose.split("\n"):
        row = re.fullmatch(r"[ \t>]*\|(.*)\|[ \t]*", line)
        spans = []
        if row:
            start = position + row.start(1)
            for cell in re.split(r"(?<!\\)\|", file.text[start : position + row.end(1)]):
                spans.append((start, start + len(cell)))
                start += len(cell) + 1
        if row and re.fullmatch(r"[ |:-]+", row[1]):
            start = position + row.start(1)
            yield start, start + 3, ":--" if row[1][:3] != ":--" else "--:"
            spans = []
        elif len(above) == len(spans) and spans:
            column = file.random.randrange(len(spans))
            if file.random.randrange(5):
                yield *spans[column], file.text[slice(*above[column])]
            else:
                yield position, position + len(line) + 1, ""
        above = spans
        position += len(line) + 1


def formulas(file: File) -> Iterator[Edit]:
    """A digit, an operator, a symbol or a word of a formula."""
    prose = numbers.PATTERN.sub(blank, file.page.prose)
    for formula in FORMULA.finditer(prose):
        places: list[Edit] = []
        for match in re.finditer(
            r"\\text\{(?P<word>[^{}]*)\}|\\(?P<command>[A-Za-z]+)|(?P<digit>\d)"
            r"|(?P<operator>[-+=<>/])|(?P<symbol>[A-Za-z])",
            formula[0],
        ):
            start = formula.start() + match.start()
            if word := match["word"]:
                at = formula.start() + match.start("word")
                places.append((at, at + len(word), word[:-1] if len(word) > 1 else "x"))
            elif match["command"] in _COMMANDS:
                places.append((start, start + len(match[0]), _COMMANDS[match["command"]]))
            elif match["digit"]:
                places.append(digit(file, re.compile(r"\d").match(match[0]), start))
            elif operator := match["operator"]:
                places.append((start, start + 1, "-" if operator != "-" else "+"))
            elif symbol := match["symbol"]:
                places.append((start, start + 1, "q" if symbol != "q" else "z"))
        if places:
            yield file.random.choice(places)


_COMMANDS = {"times": r"\div", "ge": r"\le", "le": r"\ge", "alpha": r"\beta", "beta": r"\alpha"}
_COMMANDS |= {"min": r"\max", "max": r"\min", "cdot": "+", "approx": r"\ge"}
