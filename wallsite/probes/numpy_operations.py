"""Products, softmax and axpy through numpy, each checked against another way to compute it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wallsite.probes.backend import Task, allocating
from wallsite.probes.kernels import Q
from wallsite.probes.plan import LINE

Array = NDArray[Any]
CHECKED = 2**20  # elements checked at a time, so that checking takes little memory
ROWS = 16  # rows of a matrix that are computed again, evenly spread


def gemm(n: int) -> Task:
    """Product of two random fp32 matrices by the BLAS that numpy was built with.

    BLAS has threads of its own, so those of the backend are not used.
    """
    x, y = _random(0, n, n), _random(1, n, n)
    out = _unset(x)
    vector = _random(2, n)

    def largest_error() -> float:
        # Freivalds: (x·y)·v against x·(y·v) looks at every element in n² work, not n³.
        return _error(out @ vector, x @ (y @ vector))

    return Task(lambda: np.matmul(x, y, out=out), largest_error)


def gemv(n: int) -> Task:
    """Product of a random fp32 matrix and a vector."""
    matrix, vector = _random(0, n, n), _random(1, n)
    out = _unset(vector)

    def largest_error() -> float:
        some = slice(0, n, n // ROWS)
        return _worst(out, _error(out[some], matrix[some].astype(np.float64) @ vector))

    return Task(lambda: np.matmul(matrix, vector, out=out), largest_error)


def softmax(n: int) -> Task:
    """Softmax over the rows of a matrix, in the five passes that numpy takes."""
    x = _random(0, n, n)
    out = _unset(x)
    largest, total = np.empty((n, 1), np.float32), np.empty((n, 1), np.float32)

    def run() -> None:
        np.max(x, axis=1, keepdims=True, out=largest)
        np.subtract(x, largest, out=out)
        np.exp(out, out=out)
        np.sum(out, axis=1, keepdims=True, out=total)
        np.divide(out, total, out=out)

    def largest_error() -> float:
        some = slice(0, n, n // ROWS)
        powers = np.exp(x[some].astype(np.float64))
        return _worst(out, _error(out[some], powers / powers.sum(axis=1, keepdims=True)))

    return Task(run, largest_error)


def axpy(n: int) -> Task:
    """Scaled sum of two vectors of n² elements, in the two passes that numpy takes."""
    x, y = _random(0, n * n), _random(1, n * n)
    out = _unset(x)

    def run() -> None:
        np.multiply(x, Q, out=out)
        np.add(out, y, out=out)

    def largest_error() -> float:
        parts = (slice(i, i + CHECKED) for i in range(0, n * n, CHECKED))
        errors = [_error(out[p], Q * x[p].astype(np.float64) + y[p]) for p in parts]
        return float(np.max(errors))  # unlike Python's max, never loses a NaN

    return Task(run, largest_error)


def aligned(*shape: int) -> Array:
    """Allocate float32 that start where a cache line does.

    `numpy.empty` starts 16 bytes into a line, so that with vectors as long as a line every store
    touches two: on a Xeon, two threads then add 256 MiB arrays at 0.6 of the speed.
    """
    size = math.prod(shape) * 4
    raw = np.empty(size + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(np.float32).reshape(shape)


OPERATIONS: dict[str, Callable[[int], Task]] = {
    "axpy": axpy,
    "softmax": softmax,
    "gemv": gemv,
    "gemm": gemm,
}


def _random(seed: int, *shape: int) -> Array:
    with allocating("cpu"):
        x = aligned(*shape)
    np.random.default_rng(seed).standard_normal(out=x, dtype=np.float32)
    return x


def _unset(like: Array) -> Array:
    """Make a target whose NaN show whatever a kernel leaves out."""
    with allocating("cpu"):
        x = aligned(*like.shape)
    x.fill(np.nan)
    return x


def _error(found: Array, exact: Array) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def _worst(found: Array, error: float) -> float:
    """Return the error of the rows looked at, or NaN if an element of any row is missing."""
    return float("nan") if np.isnan(found).any() else error
