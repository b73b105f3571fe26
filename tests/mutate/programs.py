"""Mistakes in code, and in what it prints."""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections.abc import Iterator

from .edits import NUMERAL, OPERATORS, Edit, File, digit

# A seed, or what an array is filled with or scaled by: another number is as good.
_ANY_NUMBER = re.compile(r"default_rng\(|manual_seed\(|\.fill\(|^Q = ")


def code(file: File) -> Iterator[Edit]:
    """A line of a block that runs: lost, swapped with the next, or with another token."""
    for block in file.page.blocks:
        if block.language in {"python", "py", "pycon"}:
            yield from _lines_of_code(file, block.line, block.end - 1, python=True)
        elif block.language in {"bash", "sh", "shell"}:
            yield from _lines_of_code(file, block.line, block.end - 1, python=False)


def program(file: File) -> Iterator[Edit]:
    """A line of a program of its own, its docstring and header aside."""
    header = re.match(r"(?s)(?:#[^\n]*\n)*(?:\"\"\".*?\"\"\"\n)?", file.text)
    first = file.text.count("\n", 0, header.end() if header else 0)
    yield from _lines_of_code(file, first, file.text.count("\n"), python=True)


def _lines_of_code(file: File, above: int, last: int, *, python: bool) -> Iterator[Edit]:
    """Mistakes in the lines after one line up to another."""
    lines = file.text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for index in range(above, last):
        line = lines[index]
        if not line.strip() or line.lstrip().startswith(("#", "--8<--", "`", '"""')):
            continue
        places = [*_tokens(file, line)] if python else [*_words(file, line)]
        edits = [(starts[index] + start, starts[index] + end, new) for start, end, new in places]
        edits.append((starts[index], starts[index + 1], ""))
        if index + 1 < last and lines[index + 1].strip():
            swapped = f"{lines[index + 1]}\n{line}\n"
            edits.append((starts[index], starts[index + 2], swapped))
        yield file.random.choice(edits)


def _tokens(file: File, line: str) -> Iterator[Edit]:
    """Tokens of one line of Python, as far as it can be read on its own."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip() + "\n").readline):
            start = len(line) - len(line.lstrip()) + token.start[1]
            end = start + len(token.string)
            if token.type == tokenize.NUMBER:
                if (digits := NUMERAL.search(token.string)) and not _ANY_NUMBER.search(line):
                    yield digit(file, digits, start)
            elif token.type == tokenize.OP and token.string in OPERATORS:
                yield start, end, OPERATORS[token.string]
            elif token.string in {"True", "False"}:
                yield start, end, str(token.string == "False")
            elif token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                yield start, end, f"{token.string}_"
    except (tokenize.TokenError, IndentationError):
        return


def _words(file: File, line: str) -> Iterator[Edit]:
    """Words of a line of shell."""
    for match in re.finditer(r"[\w.-]+", line.partition("#")[0]):
        if digits := NUMERAL.search(match[0]):
            yield digit(file, digits, match.start())
        else:
            yield match.start(), match.end(), match[0][:-1] or "x"


def outputs(file: File) -> Iterator[Edit]:
    """A line of output: another digit, another letter, or lost."""
    lines = file.text.split("\n")
    position = 0
    inside = {
        number
        for block in file.page.blocks
        if block.language == "output"
        for number in range(block.line + 1, block.end)
    }
    for number, line in enumerate(lines, start=1):
        if number in inside and line.strip():
            places = [digit(file, x, position) for x in NUMERAL.finditer(line)]
            places += [
                (position + x.start(), position + x.end(), x[0].swapcase())
                for x in re.finditer(r"[A-Za-z]", line)
            ]
            places.append((position, position + len(line) + 1, ""))
            yield file.random.choice(places)
        position += len(line) + 1


def notebook(file: File) -> Iterator[Edit]:
    """A digit or an operator in a notebook's text and code."""
    for line in re.finditer(r'^ *"(?P<source>(?:[^"\\]|\\.)*)",?$', file.text, re.MULTILINE):
        text = re.sub(r"\\.|\]\([^()]*\)", lambda match: " " * len(match[0]), line["source"])
        places = [digit(file, x, line.start("source")) for x in NUMERAL.finditer(text)]
        places += [
            (at := line.start("source") + x.start(1), at + 1, OPERATORS[x[1]])
            for x in re.finditer(r" ([-+*/]) ", text)
        ]
        if places:
            yield file.random.choice(places)
