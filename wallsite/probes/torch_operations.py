"""Products, softmax and axpy through torch, each checked against another way to compute it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from wallsite.probes.backend import Task, allocating
from wallsite.probes.kernels import Q

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def gemm(n: int, dtype: str, device: str) -> Task:
    """Product of two random matrices."""
    x, y = _random(dtype, device, n, n), _random(dtype, device, n, n)
    out = _unset(x)
    vector = torch.randn(n, device=device)

    def largest_error() -> float:
        # Freivalds: (x·y)·v against x·(y·v) looks at every element in n² work, not n³.
        return _error(out.float() @ vector, x.float() @ (y.float() @ vector))

    return Task(lambda: torch.matmul(x, y, out=out), largest_error)


def gemv(n: int, dtype: str, device: str) -> Task:
    """Product of a random matrix and a vector."""
    matrix, vector = _random(dtype, device, n, n), _random(dtype, device, n)
    out = _unset(vector)

    def largest_error() -> float:
        return _error(out.float(), (matrix.float() * vector.float()).sum(1))

    return Task(lambda: torch.mv(matrix, vector, out=out), largest_error)


def softmax(n: int, dtype: str, device: str) -> Task:
    """Softmax over the rows of a matrix."""
    x = _random(dtype, device, n, n)
    out = _unset(x)

    def largest_error() -> float:
        powers = x.float().exp()
        return _error(out.float(), powers / powers.sum(1, keepdim=True))

    return Task(lambda: torch.softmax(x, 1, out=out), largest_error)


def axpy(n: int, dtype: str, device: str) -> Task:
    """Scaled sum of two vectors of n² elements."""
    x, y = _random(dtype, device, n * n), _random(dtype, device, n * n)
    out = _unset(x)

    def largest_error() -> float:
        return _error(out.float(), Q * x.float() + y.float())

    return Task(lambda: torch.add(y, x, alpha=Q, out=out), largest_error)


OPERATIONS: dict[str, Callable[[int, str, str], Task]] = {
    "axpy": axpy,
    "softmax": softmax,
    "gemv": gemv,
    "gemm": gemm,
}


def _random(dtype: str, device: str, *shape: int) -> Any:
    with allocating(device):
        return torch.randn(*shape, device=device, dtype=DTYPES[dtype])


def _unset(like: Any) -> Any:
    """Make a target whose NaN show whatever a kernel leaves out."""
    with allocating(str(like.device)):
        return torch.full_like(like, torch.nan)


def _error(found: Any, exact: Any) -> float:
    return float((found - exact).abs().max() / exact.abs().max())
