"""Sybil evaluators: run an example of a page, and say what is wrong with it in one text."""

import ast
import contextlib
import difflib
import doctest
import importlib.util
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from sybil import Example

from doctests import update
from wallsite.cli import main
from wallsite.locale import languages
from wallsite.site.blocks import Block
from wallsite.site.checked.numbers import NumberError

_ROOT = Path(__file__).parents[2]
_OPTIONAL = {"torch", "matplotlib"}
_NUMERAL = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TIMEOUT_S = 120
# One command without anything that needs a shell but a document on its standard input.
_EXPLAIN = re.compile(r"(wallsite explain (?:\\\n|[^\n<>|;&$`*])*)(?:<<'END'\n(.*\n)END)?\n?", re.S)


def run_python(example: Example) -> str | None:
    """Run a Python block in the page's namespace; compare what it prints with the page."""
    block, output = example.parsed
    if "not-run" in block.classes:
        return "only a shell block can be marked .not-run"
    printed = io.StringIO()
    try:
        code = _compile(block, example.path)
        with contextlib.redirect_stdout(printed):
            exec(code, example.namespace)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in _OPTIONAL or importlib.util.find_spec(package):
            raise
        pytest.skip(f"{_place(example)}: needs {package}")
    except SystemExit as error:
        if error.code:
            return f"exits with {error.code!r}"
    return _compared(example.path, block, output, printed.getvalue())


def run_doctest(example: Example) -> str | None:
    """Run a session with ``>>>`` prompts in the page's namespace."""
    block, output = example.parsed
    if output:
        return f"line {output.line}: the output of a session stands in the session"
    session = doctest.DocTestParser().get_doctest(
        block.source, {}, example.path, example.path, block.line
    )
    if not session.examples:
        return "a session without a >>> prompt"
    session.globs = example.namespace
    report = io.StringIO()
    doctest.DocTestRunner().run(session, out=report.write, clear_globs=False)
    return report.getvalue()


def run_shell(example: Example) -> str | None:
    """Run a shell block in the page's folder; compare what it prints if the page shows it."""
    block, output = example.parsed
    if "not-run" in block.classes:
        if not block.title.strip():
            return "a block that is not run needs a title that tells the reader why"
        pytest.skip(f"{_place(example)}: {block.title}")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # A reader of the page has a system in its language.
    language = next((part for part in Path(example.path).parts[::-1] if part in languages()), "en")
    mine = {"WALLSITE_LANG": language, "COLUMNS": "80"}
    if plain := _EXPLAIN.fullmatch(block.source):
        return _explained(plain, mine, example)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", block.source],
        env=os.environ | {"PATH": path, "PYTHONIOENCODING": "utf-8"} | mine,
        capture_output=True,
        encoding="utf-8",
        timeout=_TIMEOUT_S,
        check=False,
    )
    if "needs torch" in done.stderr and not importlib.util.find_spec("torch"):
        pytest.skip(f"{_place(example)}: needs torch")
    if done.returncode:
        return f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return _compared(example.path, block, output, done.stdout) if output else None


def _explained(plain: re.Match[str], variables: dict[str, str], example: Example) -> str | None:
    """Run an explanation in this process: pages have dozens, and a shell is slow to start."""
    _, *words = shlex.split(plain[1].replace("\\\n", " "))
    done = CliRunner().invoke(main, words, input=plain[2], env=variables)
    if done.exit_code:
        return f"exit status {done.exit_code}\n{done.output}"
    block, output = example.parsed
    return _compared(example.path, block, output, done.stdout) if output else None


def check_number(example: Example) -> str | None:
    """Compare the digits of a checked number with its expression."""
    try:
        example.parsed.check()
    except NumberError as error:
        if error.right is not None:
            update.number(example.path, example.parsed, error.right)
        return str(error)
    return None


def _compared(path: str, block: Block, output: Block | None, printed: str) -> str | None:
    different = difference(printed, output)
    if different:
        update.output(path, block, output, printed)
    return different


def refuse_block(example: Example) -> str:
    """Refuse a block that nothing would run and that is not known to be mere data."""
    language = example.parsed.block.language
    if not language:
        return "a code block without a language"
    if language == "output":
        return "an output block that follows no block which prints"
    return f"nothing runs {language!r}; write python, pycon, bash, output or text"


def refuse_number(example: Example) -> str:
    """Refuse text that looks like a checked number but does not read as one."""
    return example.parsed.message


def difference(printed: str, output: Block | None) -> str | None:
    """Say where printed text differs from an output block; blanks at the end are invisible."""
    if output is None:
        return f"prints, but no output block follows:\n{printed}" if printed else None
    shown, actual = output.source.rstrip().splitlines(), printed.rstrip().splitlines()
    readable = _masked if "varies" in output.classes else str.rstrip
    pairs = itertools.zip_longest(map(readable, shown), map(readable, actual))
    different = [index for index, (left, right) in enumerate(pairs) if left != right]
    if not different:
        return None
    line = output.line + 1 + min(different[0], len(shown))
    diff = difflib.unified_diff(shown, actual, "shown on the page", "printed", lineterm="")
    return "\n".join([f"line {line}: prints something else than the page shows", *diff])


def _place(example: Example) -> str:
    return f"{os.path.relpath(example.path, _ROOT)}:{example.line}"


def _compile(block: Block, path: str):
    """Compile a block so that tracebacks name the page and the page's own lines."""
    try:
        tree = ast.parse(block.source, path)
    except SyntaxError as error:
        error.lineno = error.end_lineno = block.lines[min(error.lineno or 1, len(block.lines)) - 1]
        raise
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            # The lines of an embedded snippet become one, on which its columns mean nothing.
            node.lineno = node.end_lineno = block.lines[node.lineno - 1]
            node.end_col_offset = node.col_offset
    return compile(tree, path, "exec", dont_inherit=True)


def _masked(line: str) -> str:
    """Text of a line whose numbers depend on the machine, and so the blanks that align them."""
    return " ".join(_NUMERAL.sub("#", line).split())
