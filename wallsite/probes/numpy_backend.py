"""The CPU through numpy alone: one slice of each array for each thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from wallsite.probes.backend import Task, allocating
from wallsite.probes.hardware import physical_cores
from wallsite.probes.kernels import Q
from wallsite.probes.numpy_operations import OPERATIONS, aligned

# 256 KiB of float32. A triad is two numpy calls; cut into blocks that stay in a core's own cache
# between them, it moves what one loop would move.
BLOCK = 2**16
LINE = 16  # elements of a cache line of 64 bytes

Array = NDArray[Any]
Triple = tuple[Array, Array, Array]
T = TypeVar("T")


class NumpyBackend:
    """Python threads over numpy, which lets go of the interpreter lock while it works."""

    name = "numpy"
    version = np.__version__
    dtypes: tuple[str, ...] = ("fp32",)

    def __init__(self, threads: int | None = None) -> None:
        # A pool of one for each, so that a slice always meets the thread that filled it.
        self._pools = [ThreadPoolExecutor(1) for _ in range(threads or physical_cores())]
        self.threads: int | None = len(self._pools)
        self.least_array_bytes = 2**14 * len(self._pools)

    def synchronise(self) -> None:
        """Nothing to wait for: a numpy call returns when it is done."""

    def close(self) -> None:
        """End the threads."""
        for pool in self._pools:
            pool.shutdown()

    def stream(self, array_bytes: int) -> Mapping[str, Task]:
        """Three arrays; every thread fills, uses and checks a slice of its own."""
        slices = self._slices(array_bytes)
        halves = [_cut(*part, range(len(part[0]) // 2)) for part in slices]

        def task(
            kernel: Callable[[Triple], object], exact: Callable[[Array, Array], Array]
        ) -> Task:
            half = self._task(halves, kernel, exact)
            return self._task(slices, kernel, exact)._replace(half=half)

        return {
            # Adding zero stores as the others do; memcpy, behind np.copyto, chooses by size how.
            "copy": task(lambda s: np.add(s[1], 0, out=s[0]), lambda b, _: b),
            "scale": task(lambda s: np.multiply(s[1], Q, out=s[0]), lambda b, _: Q * b),
            "add": task(lambda s: np.add(s[1], s[2], out=s[0]), lambda b, c: b + c),
            "triad": task(_triad, lambda b, c: b + Q * c),
            "sum": self._sum([b for _, b, _ in slices]),
        }

    def _sum(self, slices: list[Array]) -> Task:
        found = [math.nan]

        def run() -> None:
            found[:] = self._each(_sum, slices)

        def error() -> float:
            exact = math.fsum(self._each(lambda part: np.sum(part, dtype=np.float64), slices))
            return abs(math.fsum(found) - exact) / exact

        return Task(run, error)

    def repeated_add(self, array_bytes: int, times: int) -> Task:
        """``a = b + c`` over three arrays, ``times`` times within one call for each thread.

        As views whose first axis does not move, the arrays are gone over again and again inside
        numpy, where small ones would otherwise be timed together with Python.
        """
        slices = self._slices(array_bytes)

        def run(part: Triple) -> None:
            a, b, c = (as_strided(x, (times, len(x)), (0, x.itemsize)) for x in part)
            np.add(b, c, out=a)

        return self._task(slices, run, lambda b, c: b + c)

    def operation(self, name: str, n: int, dtype: str) -> Task:
        """One of `numpy_operations`; numpy computes them in fp32, the only type it is fast in."""
        del dtype
        return OPERATIONS[name](n)

    def transfers(self, payload: int) -> Mapping[str, Task]:
        """Nothing: a CPU needs no link to its own memory."""
        del payload
        return {}

    def events(self) -> None:
        """Nothing: the host's clock times the host's work."""

    def _slices(self, array_bytes: int) -> list[Triple]:
        """Allocate three arrays; each thread fills its slice of them."""
        elements = array_bytes // 4
        step = -(-elements // len(self._pools) // LINE) * LINE
        with allocating("cpu"):
            a, b, c = (aligned(elements) for _ in range(3))
            slices = [
                _cut(a, b, c, range(i, min(i + step, elements))) for i in range(0, elements, step)
            ]
            self._each(_fill, slices, range(len(slices)))
        return slices

    def _task(
        self,
        slices: list[Triple],
        kernel: Callable[[Triple], object],
        exact: Callable[[Array, Array], Array],
    ) -> Task:
        def largest_error() -> float:
            errors = self._each(lambda part: _largest_error(part, exact), slices)
            return float(np.max(errors))  # unlike Python's max, never loses a NaN

        return Task(lambda: self._each(kernel, slices), largest_error, write_allocates=True)

    def _each(self, work: Callable[..., T], *parts: Iterable[Any]) -> list[T]:
        """Have each thread work on its own part, all at once; wait for all of them."""
        jobs = [pool.submit(work, *own) for pool, *own in zip(self._pools, *parts, strict=False)]
        return [job.result() for job in jobs]


def _cut(a: Array, b: Array, c: Array, part: range) -> Triple:
    where = slice(part.start, part.stop)
    return a[where], b[where], c[where]


def _blocks(part: Triple) -> list[Triple]:
    size = len(part[0])
    return [_cut(*part, range(i, min(i + BLOCK, size))) for i in range(0, size, BLOCK)]


def _fill(part: Triple, seed: int) -> None:
    # Memory belongs to the socket of the thread that first writes to it, so each thread fills
    # its own. NaN in the target shows whatever a kernel leaves out.
    a, b, c = part
    random = np.random.default_rng(seed)
    a.fill(np.nan)
    random.random(out=b, dtype=np.float32)
    random.random(out=c, dtype=np.float32)


def _sum(part: Array) -> float:
    # einsum adds a whole vector at a time, np.sum in pairs: up to a tenth slower from memory.
    whole = len(part) // BLOCK * BLOCK
    rows = np.einsum("ij->i", part[:whole].reshape(-1, BLOCK))
    return math.fsum([*rows, np.sum(part[whole:])])


def _triad(part: Triple) -> None:
    for a, b, c in _blocks(part):
        np.multiply(c, Q, out=a)
        np.add(a, b, out=a)


def _largest_error(part: Triple, exact: Callable[[Array, Array], Array]) -> float:
    errors = []
    for a, b, c in _blocks(part):
        expected = exact(b.astype(np.float64), c.astype(np.float64))
        errors.append(np.abs(a - expected).max() / expected.max())
    return float(np.max(errors))
