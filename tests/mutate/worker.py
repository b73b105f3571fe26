"""Run tests in a fork of a process that has loaded everything they need.

A program of its own: it reads a line of JSON, ``{"stages": [[argument of pytest, …], …],
"seconds": …}``, runs the stages until one fails, and answers null or ``{"stage": …, "test": …}``.
Loading the libraries costs more than most tests, and a fork starts with them loaded and with no
page, table or result of an earlier run in its memory.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

LIBRARIES = [
    *("autocorrect_py", "bs4", "click.testing", "markdown", "matplotlib.pyplot", "nbclient"),
    *("nbformat", "numpy", "pymdownx.arithmatex", "pymdownx.snippets", "pymdownx.superfences"),
    *("pytest", "sybil", "sybil.integration.pytest", "yaml"),
]
_OPTIONS = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "--disable-plugin-autoload"]


class _Failures:
    """Notes the first test, or file, that fails."""

    def __init__(self) -> None:
        self.first: str | None = None

    def pytest_runtest_logreport(self, report: object) -> None:
        self._note(report)

    def pytest_collectreport(self, report: object) -> None:
        self._note(report)

    def _note(self, report: object) -> None:
        if report.failed and self.first is None:
            self.first = report.nodeid


def run(stages: list[list[str]], tell: Callable[[int, str], None]) -> None:
    """Run stages of tests in this process until one fails; tell which, and its first failure."""
    import pytest

    for number, arguments in enumerate(stages):
        tell(number, "took too long")  # unless something better is told
        failures = _Failures()
        status = pytest.main([*_OPTIONS, *arguments], plugins=[failures])
        if status not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            tell(number, failures.first or f"pytest {' '.join(arguments)}: {status!r}")
            return
    tell(-1, "")


def run_in_fork(stages: list[list[str]], seconds: float) -> dict | None:
    """Run stages of tests in a fork; one that takes too long has failed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_a_child(stages, writer)
    os.close(writer)
    told = _last_line(reader, time.monotonic() + seconds)
    os.close(reader)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # whatever a test left running
    os.waitpid(child, 0)
    return told if told["stage"] >= 0 else None


def _be_a_child(stages: list[list[str]], writer: int) -> NoReturn:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)

    def tell(stage: int, test: str) -> None:
        os.write(writer, json.dumps({"stage": stage, "test": test}).encode() + b"\n")

    try:
        run(stages, tell)
    finally:
        os._exit(0)


def _last_line(reader: int, until: float) -> dict:
    """Read what a child tells until it ends, or its time is up."""
    told = b""
    while select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
        more = os.read(reader, 1 << 16)
        if not more:
            break
        told += more
    return json.loads(told.splitlines()[-1])


def main() -> None:
    """Answer one line for each line read."""
    os.nice(10)
    for name in LIBRARIES:
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(run_in_fork(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
