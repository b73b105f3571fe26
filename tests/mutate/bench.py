"""A copy of the repository in which changes are made and judged."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from .change import Change

_WORKER = Path(__file__).with_name("worker.py")
_SECONDS = 300.0  # no honest run of a change's tests takes as long
Stage = tuple[str, ...]
"""Arguments of one run of pytest."""


class Verdict(NamedTuple):
    """What became of a change: the test that noticed it, or None."""

    change: Change
    failed: str | None


class Broken(Exception):
    """A test fails although nothing was changed, so that it cannot notice anything."""


def judge(
    root: Path,
    changes: Sequence[Change],
    stages: Callable[[Change], Sequence[Stage]],
    workers: int = 2,
    tell: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    """Make each change in a copy of the repository and run the tests that look at it.

    Args:
        root: the repository.
        changes: what to change, one thing at a time.
        stages: the tests for a change; a stage runs only if the ones before it passed.
        workers: how many changes to judge at once.
        tell: called with each verdict as it comes.

    Raises:
        Broken: a test that seemed to notice a change fails without it.
    """
    free: queue.SimpleQueue[_Bench] = queue.SimpleQueue()
    sound: set[Stage] = set()

    def verdict(change: Change) -> Verdict:
        bench = free.get()
        try:
            failed = bench.failing(change, stages(change), sound)
        finally:
            free.put(bench)
        tell(Verdict(change, failed))
        return Verdict(change, failed)

    with ExitStack() as stack:
        for _ in range(workers):
            free.put(stack.enter_context(_bench(root)))
        pool = ThreadPoolExecutor(workers)
        try:
            return list(pool.map(verdict, changes))
        finally:
            pool.shutdown(cancel_futures=True)


class _Bench(NamedTuple):
    """A copy of the files, and the worker that runs tests in it."""

    folder: Path
    worker: subprocess.Popen[str]

    def failing(self, change: Change, stages: Sequence[Stage], sound: set[Stage]) -> str | None:
        """Name the first test that fails with a change and passes without it."""
        path = self.folder / change.path
        text = path.read_text("utf-8")
        path.write_text(change.apply(text), "utf-8")
        try:
            failed = self._run(stages)
        finally:
            path.write_text(text, "utf-8")
        if failed is None:
            return None
        stage = stages[failed["stage"]]
        if stage not in sound:
            if broken := self._run([stage]):
                raise Broken(f"{broken['test']} fails with nothing changed")
            sound.add(stage)
        return failed["test"]

    def _run(self, stages: Sequence[Stage]) -> dict | None:
        print(
            json.dumps({"stages": stages, "seconds": _SECONDS}), file=self.worker.stdin, flush=True
        )
        return json.loads(self.worker.stdout.readline())


@contextmanager
def _bench(root: Path) -> Iterator[_Bench]:
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        folder = Path(name).resolve()
        copy(root, folder)
        path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        worker = subprocess.Popen(
            [sys.executable, "-P", _WORKER],  # its folder is no place to import from
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            yield _Bench(folder, worker)
        finally:
            worker.stdin.close()
            worker.wait()


def copy(root: Path, folder: Path) -> None:
    """Copy what git knows of, or would take, as it is now."""
    for name in tracked(root):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, target)


def tracked(root: Path) -> list[str]:
    """Paths of the repository's files, those not yet added included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    return sorted(name for name in listed.split("\0") if name and (root / name).is_file())
