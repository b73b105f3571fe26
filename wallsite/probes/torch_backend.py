"""Whatever torch can drive: a GPU, or the CPU with torch's own threads.

Written against ``torch.accelerator``, so that CUDA, ROCm, XPU, MPS and others share one path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from wallsite.probes.backend import Task, allocating
from wallsite.probes.hardware import Device, physical_cores
from wallsite.probes.kernels import Q
from wallsite.probes.torch_operations import DTYPES, OPERATIONS

CHECKED = 2**22  # elements checked at a time, so that checking takes little memory
# Smaller arrays take less time than the start of a kernel on them, on a CPU and on an accelerator.
LEAST_ON_HOST, LEAST_ON_DEVICE = 2**20, 2**23

Arrays = list[Any]


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
        self._precision_before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")  # fp32 must not be done in tf32
        self._has_events = not self._on_host and _has_events(self._device)
        self.least_array_bytes = LEAST_ON_HOST if self._on_host else LEAST_ON_DEVICE
        self.threads: int | None = None
        if self._on_host:
            self.threads = threads or physical_cores()
            torch.set_num_threads(self.threads)

    def synchronise(self) -> None:
        """Wait for the accelerator; the CPU is done when a call returns."""
        if not self._on_host:
            torch.accelerator.synchronize(self._device)

    def events(self) -> DeviceEvents | None:
        """A pair of the device's events, where it has any that tell the time."""
        return DeviceEvents(self._device) if self._has_events else None

    def close(self) -> None:
        """Give back torch's settings and what the allocator kept."""
        torch.set_num_threads(self._threads_before)
        torch.set_float32_matmul_precision(self._precision_before)
        if not self._on_host:
            # Not every allocator keeps anything.
            getattr(getattr(torch, self._kind), "empty_cache", lambda: None)()

    def stream(self, array_bytes: int) -> Mapping[str, Task]:
        """Three arrays on the device.

        The copy is an addition of zero: ``copy_`` hands large copies to the copy engine, which
        on some GPUs is much slower than their cores.
        """
        whole = self._arrays(array_bytes)
        halves = [x[: len(x) // 2] for x in whole]

        def task(
            kernel: Callable[[Any, Any, Any], object], exact: Callable[[Any, Any], Any]
        ) -> Task:
            half = self._task(halves, lambda: kernel(*halves), exact)
            return self._task(whole, lambda: kernel(*whole), exact)._replace(half=half)

        return {
            "copy": task(lambda a, b, _: torch.add(b, 0, out=a), lambda b, _: b),
            "scale": task(lambda a, b, _: torch.mul(b, Q, out=a), lambda b, _: Q * b),
            "add": task(lambda a, b, c: torch.add(b, c, out=a), lambda b, c: b + c),
            "triad": task(lambda a, b, c: torch.add(b, c, alpha=Q, out=a), lambda b, c: b + Q * c),
            "sum": _sum(whole[1]),
        }

    def repeated_add(self, array_bytes: int, times: int) -> Task:
        """``a = b + c`` over three arrays, ``times`` times in a row."""
        arrays = a, b, c = self._arrays(array_bytes)

        def run() -> None:
            for _ in range(times):
                torch.add(b, c, out=a)

        return self._task(arrays, run, lambda b, c: b + c)

    def operation(self, name: str, n: int, dtype: str) -> Task:
        """One of `torch_operations`."""
        return OPERATIONS[name](n, dtype, self._device)

    def transfers(self, payload: int) -> Mapping[str, Task | Callable[[], Task]]:
        """Copies to and from the host, in pages that may not move and in ordinary ones.

        A copy to another accelerator of the same kind is added where there is one. No copy brings
        what its target already holds, so that one that did not take place is seen.
        """
        if self._on_host:
            return {}
        here = self._bytes(payload, self._device)
        tasks: dict[str, Task | Callable[[], Task]] = {}
        kinds = {", pinned": True, "": False}
        if self._kind == "mps":  # torch pins nothing there
            del kinds[", pinned"]
        for kind, pinned in kinds.items():
            there, back = (self._bytes(payload, "cpu", pinned) for _ in range(2))
            tasks[f"host-to-device{kind}"] = _copy(there, here)
            tasks[f"device-to-host{kind}"] = _copy(here, back)
        if peer := self._peer():
            tasks[f"to {peer}"] = lambda: _copy(here, self._bytes_like(here, peer))
        return tasks

    def _bytes(self, size: int, device: str, pinned: bool = False) -> Any:
        """Allocate random bytes."""
        with allocating(device):
            made = torch.empty(size, dtype=torch.uint8, device=device, pin_memory=pinned)
            return made.random_()

    def _bytes_like(self, like: Any, device: str) -> Any:
        with allocating(device):
            return torch.empty_like(like, device=device).random_()

    def _peer(self) -> str | None:
        count, index = torch.accelerator.device_count(), torch.device(self._device).index or 0
        return f"{self._kind}:{(index + 1) % count}" if count > 1 else None

    def _arrays(self, array_bytes: int) -> Arrays:
        """Allocate a target of NaN, which show whatever a kernel leaves out, and two sources.

        Torch fills them with all its threads: memory belongs to the socket that first writes it.
        """
        elements = array_bytes // 4
        with allocating(self._device):
            arrays = [torch.full((elements,), torch.nan, device=self._device) for _ in range(3)]
            for source in arrays[1:]:
                source.uniform_()
        return arrays

    def _task(
        self, arrays: Arrays, run: Callable[[], object], exact: Callable[[Any, Any], Any]
    ) -> Task:
        def largest_error() -> float:
            errors = []
            parts = (x.split(CHECKED) for x in arrays)
            for found, left, right in zip(*parts, strict=True):
                expected = exact(left, right)
                errors.append((found - expected).abs().max() / expected.max())
            return float(torch.stack(errors).max())

        return Task(run, largest_error, write_allocates=self._on_host)


class DeviceEvents:
    """Two events on the current stream of a device."""

    def __init__(self, device: str) -> None:
        self._first, self._second = (torch.Event(device, enable_timing=True) for _ in range(2))

    def begin(self) -> None:
        """Record the first."""
        self._first.record()

    def end(self) -> None:
        """Record the second."""
        self._second.record()

    def seconds(self) -> float:
        """Time between the two; torch counts it in ms."""
        return float(self._first.elapsed_time(self._second)) / 1e3


def _has_events(device: str) -> bool:
    """Whether events of the device tell the time; some backends have none, or none that do."""
    try:
        events = DeviceEvents(device)
        events.begin()
        events.end()
        torch.accelerator.synchronize(device)
        return events.seconds() >= 0
    except (RuntimeError, NotImplementedError, TypeError):
        return False


def _sum(array: Any) -> Task:
    found: list[Any] = [math.nan]

    def run() -> None:
        found[:] = [torch.sum(array)]

    def largest_error() -> float:
        exact = math.fsum(float(part.cpu().double().sum()) for part in array.split(CHECKED))
        return abs(float(found[0]) - exact) / exact

    return Task(run, largest_error)


def _copy(source: Any, target: Any) -> Task:
    def largest_error() -> float:
        return float(not torch.equal(source.to(target.device), target))

    return Task(lambda: target.copy_(source, non_blocking=True), largest_error)
