"""Whatever torch can drive: a GPU, or the CPU with torch's own threads.

Written against ``torch.accelerator``, so that CUDA, ROCm, XPU, MPS and others share one path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from wallsite.probes.backend import Task, allocating
from wallsite.probes.hardware import Device, physical_cores
from wallsite.probes.kernels import Q

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
CHECKED = 2**22  # elements checked at a time, so that checking takes little memory


class TorchBackend:
    """Torch's element-wise kernels and its matrix product, always into an existing ``out``."""

    name = "torch"
    version = str(torch.__version__)
    dtypes = tuple(DTYPES)

    def __init__(self, device: Device, threads: int | None = None) -> None:
        self._device = str(device)
        self._kind = device.kind
        self._on_host = device.kind == "cpu"
        self._threads_before = torch.get_num_threads()
        self.threads: int | None = None
        if self._on_host:
            self.threads = threads or physical_cores()
            torch.set_num_threads(self.threads)

    def synchronise(self) -> None:
        """Wait for the accelerator; the CPU is done when a call returns."""
        if not self._on_host:
            torch.accelerator.synchronize(self._device)

    def close(self) -> None:
        """Give back the number of threads and what the allocator kept."""
        torch.set_num_threads(self._threads_before)
        if not self._on_host:
            getattr(torch, self._kind).empty_cache()

    def stream(self, array_bytes: int) -> Mapping[str, Task]:
        """Three arrays on the device.

        The copy is an addition of zero: ``copy_`` hands large copies to the copy engine, which
        on some GPUs is much slower than their cores.
        """
        elements = array_bytes // 4
        with allocating(self._device):
            # Filled by all threads at once: memory belongs to the socket that first writes to
            # it, and NaN in the target shows whatever a kernel leaves out.
            arrays: list[Any] = [
                torch.full((elements,), torch.nan, device=self._device) for _ in range(3)
            ]
        a, b, c = arrays
        b.uniform_()
        c.uniform_()

        def task(run: Callable[[], object], exact: Callable[[Any, Any], Any]) -> Task:
            def largest_error() -> float:
                errors = []
                parts = (x.split(CHECKED) for x in arrays)
                for found, left, right in zip(*parts, strict=True):
                    expected = exact(left, right)
                    errors.append((found - expected).abs().max() / expected.max())
                return float(torch.stack(errors).max())

            return Task(run, largest_error, write_allocates=self._on_host)

        return {
            "copy": task(lambda: torch.add(b, 0, out=a), lambda b, _: b),
            "scale": task(lambda: torch.mul(b, Q, out=a), lambda b, _: Q * b),
            "add": task(lambda: torch.add(b, c, out=a), lambda b, c: b + c),
            "triad": task(lambda: torch.add(b, c, alpha=Q, out=a), lambda b, c: b + Q * c),
        }

    def matmul(self, n: int, dtype: str) -> Task:
        """Product of two random matrices."""
        with allocating(self._device):
            x, y, out = (
                torch.randn(n, n, device=self._device, dtype=DTYPES[dtype]) for _ in range(3)
            )
        out.fill_(torch.nan)
        vector = torch.randn(n, device=self._device)

        def largest_error() -> float:
            # Freivalds: (x·y)·v against x·(y·v) looks at every element in n² work, not n³.
            exact = x.float() @ (y.float() @ vector)
            return float((out.float() @ vector - exact).abs().max() / exact.abs().max())

        return Task(lambda: torch.matmul(x, y, out=out), largest_error)
