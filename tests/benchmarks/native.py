"""The C kernels, compiled for this machine and loaded."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

SOURCE = Path(__file__).with_name("kernels.c")
FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")


class CannotCompile(RuntimeError):
    """There is no C compiler, or it refuses; one line says which."""


@contextmanager
def kernels() -> Iterator[ctypes.CDLL]:
    """Compile and load the kernels; nothing is left of them on the disk."""
    names = filter(None, (os.environ.get("CC"), "gcc", "cc"))
    compiler = next(filter(None, map(shutil.which, names)), None)
    if compiler is None:
        raise CannotCompile("no C compiler: install gcc, or name one in CC")
    with TemporaryDirectory() as directory:
        library = Path(directory, "kernels.so")
        done = subprocess.run(
            [compiler, *FLAGS, "-o", library, SOURCE],
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            reason = next((x for x in done.stderr.splitlines() if "error" in x), "no reason given")
            raise CannotCompile(f"{compiler} {' '.join(FLAGS)} failed: {reason}")
        yield ctypes.CDLL(str(library))
