"""What the commands cost: seconds from start to exit, and the most memory they held.

This module must stay small: Linux counts what its parent held when a process was started as that
process's own peak, so numpy is not imported here.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from .table import Row, Target, at_most, row, show

COMMAND = str(Path(sys.executable).with_name("wallsite"))
MIB = 2**20
RUNS = 5
# Arguments, the most seconds, the most MiB (None: not limited).
PROBES = (
    (("memory",), 6.0, 1.1 * 1024),
    (("memory", "--quick"), 3.0, 700.0),
    (("all",), 45.0, None),
)
RIDGE = ("ridge", "h100-sxm")
HEADER = ("command", "what", "found")


@dataclass(frozen=True)
class Cost:
    """What a process took.

    Attributes:
        seconds: from its start to its exit.
        peak_mib: the most memory it held.
        error: the last line it wrote, if it failed.
    """

    seconds: float
    peak_mib: float
    error: str = ""


def run(arguments: Iterable[str]) -> Cost:
    """Run the command and wait for it."""
    with TemporaryDirectory() as directory:
        errors = Path(directory, "errors")
        with errors.open("wb") as stream:
            start = time.perf_counter()
            process = subprocess.Popen(
                [COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=stream
            )
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # so that nobody waits again
        lines = errors.read_text("utf-8", "replace").splitlines()
    unit = 1 if sys.platform == "darwin" else 1024
    error = f"exit {process.returncode}: {lines[-1] if lines else ''}" if process.returncode else ""
    return Cost(seconds, usage.ru_maxrss * unit / MIB, error)


class NotInstalled(RuntimeError):
    """The command is not beside this Python."""


def check() -> list[Row]:
    """Run the commands, and print what they cost.

    Raises:
        NotInstalled: there is no command to run.
    """
    if not Path(COMMAND).exists():
        raise NotInstalled(f"no command {COMMAND}: install the package")
    rows: list[Row] = []
    for arguments, seconds, mib in PROBES:
        rows += _cost(("probe", *arguments), seconds, mib)
    rows += _spread()
    rows.append(_ridge())
    show(HEADER, rows)
    return rows


def _cost(arguments: tuple[str, ...], seconds: float, mib: float | None) -> list[Row]:
    cost = run(arguments)
    if cost.error:
        return [_failed(arguments, cost)]
    rows = [_row(arguments, "time", f"{cost.seconds:.1f} s", cost.seconds, at_most(seconds, "s"))]
    target = None if mib is None else at_most(mib, "MiB")
    rows.append(_row(arguments, "peak memory", f"{cost.peak_mib:.0f} MiB", cost.peak_mib, target))
    return rows


def _spread() -> list[Row]:
    """Run the memory probe again and again; compare the medians of each kernel."""
    arguments = ("probe", "memory")
    with TemporaryDirectory() as directory:
        files = [Path(directory, f"{number}.json") for number in range(RUNS)]
        for file in files:
            cost = run((*arguments, "--json", str(file)))
            if cost.error:
                return [_failed(arguments, cost)]
        texts = [file.read_text("utf-8") for file in files]
    from wallsite.probes import Result  # no process is measured for its memory after this

    found: dict[str, list[float]] = {}
    for text in texts:
        result = Result.from_json(text)
        for x in result.select("memory"):
            if x.array_bytes == result.triad.array_bytes:
                found.setdefault(x.kernel, []).append(x.median_bandwidth)
    rows = []
    for kernel, medians in found.items():
        spread = 100 * (max(medians) - min(medians)) / statistics.median(medians)
        what = f"{kernel}, {RUNS} medians within"
        rows.append(_row(arguments, what, f"{spread:.1f} %", spread, at_most(5, "%")))
    return rows


def _ridge() -> Row:
    costs = [run(RIDGE) for _ in range(10)]
    if costs[0].error:
        return _failed(RIDGE, costs[0])
    best = min(cost.seconds for cost in costs) * 1e3
    return _row(RIDGE, "time, best of 10", f"{best:.0f} ms", best, at_most(150, "ms"))


def _row(
    arguments: tuple[str, ...], what: str, text: str, value: float, target: Target | None
) -> Row:
    return row((" ".join(["wallsite", *arguments]), what, text), value, target)


def _failed(arguments: tuple[str, ...], cost: Cost) -> Row:
    return Row((" ".join(["wallsite", *arguments]), "failed", cost.error), "exit 0", met=False)
