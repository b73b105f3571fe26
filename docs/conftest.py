"""Every example of every page is a test: code blocks, their output, and checked numbers.

A page runs from top to bottom in one namespace, in a folder of its own that holds copies of the
snippets. Test ids name the page, and so its language, and the line.
"""

import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from doctests import evaluators, update
from doctests.document import Page
from doctests.parsers import CodeParser, NumberParser
from sybil import Sybil

from wallsite import lessons

SNIPPETS = Path(__file__).parent.parent / "snippets"

page = ExitStack()


def set_up(namespace):
    folder = page.enter_context(TemporaryDirectory())
    shutil.copytree(SNIPPETS, folder, dirs_exist_ok=True)
    for record in lessons.recorded().values():  # which the site serves as well
        shutil.copy(record, folder)
    patch = page.enter_context(pytest.MonkeyPatch.context())
    patch.chdir(folder)
    patch.setenv("MPLBACKEND", "Agg")
    patch.setenv("COLUMNS", "80")
    patch.setenv("CUDA_VISIBLE_DEVICES", "")  # the pages show what a machine without GPU prints
    patch.setattr(sys, "argv", ["page.py"])
    namespace["__name__"] = "__main__"


def pytest_configure(config):
    update.enabled = config.getoption("--update", default=False)


def tear_down(namespace):
    update.write()
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
    page.close()


sybil = Sybil(
    parsers=[
        CodeParser(
            SNIPPETS,
            evaluators={
                **dict.fromkeys(("python", "py", "python3"), evaluators.run_python),
                "pycon": evaluators.run_doctest,
                **dict.fromkeys(("bash", "sh", "shell"), evaluators.run_shell),
            },
            shown={"text", "toml", "json", "yaml", "markdown"},
            refuse=evaluators.refuse_block,
        ),
        NumberParser(SNIPPETS, evaluators.check_number, evaluators.refuse_number),
    ],
    patterns=["*.md"],
    document_types={".md": Page},
    setup=set_up,
    teardown=tear_down,
)
pytest_collect_file = sybil.pytest()
