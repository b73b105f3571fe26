"""What runs the kernels: numpy on the CPU, or torch on anything that it can drive.

A backend turns the name of a kernel into a `Task`: a call that does the work once, and a check
that the work was done. Timing and validation are the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from wallsite._checks import count
from wallsite.probes.errors import LIBRARY_ERRORS, explained
from wallsite.probes.hardware import Device, no_torch, usable_cpus
from wallsite.probes.timing import Events


class Task(NamedTuple):
    """Work to be timed.

    Attributes:
        run: do it once; on an accelerator this only queues it.
        largest_error: of what the last run left, relative to the largest value expected.
        write_allocates: whether it writes with a CPU's ordinary stores, each of which first
            reads the line it will overwrite.
        half: the same over the first half of each array, None where there is none.
    """

    run: Callable[[], object]
    largest_error: Callable[[], float]
    write_allocates: bool = False
    half: Task | None = None


class Backend(Protocol):
    """A library that computes on a device."""

    name: str
    version: str
    threads: int | None
    dtypes: tuple[str, ...]
    least_array_bytes: int
    """Smallest arrays whose time is not mostly that of the calls."""

    def synchronise(self) -> None:
        """Wait until everything queued is done."""

    def events(self) -> Events | None:
        """Make a pair of the device's events; None where it has none."""

    def stream(self, array_bytes: int) -> Mapping[str, Task]:
        """Allocate three float32 arrays; return the four kernels that run over them."""

    def repeated_add(self, array_bytes: int, times: int) -> Task:
        """Allocate three float32 arrays; return an addition that goes over them ``times`` times."""

    def operation(self, name: str, n: int, dtype: str) -> Task:
        """Allocate what an axpy, softmax, gemv or gemm of side ``n`` needs; return it."""

    def transfers(self, payload: int) -> Mapping[str, Task | Callable[[], Task]]:
        """Allocate buffers on both ends of the link; return the copies, or what makes them."""

    def close(self) -> None:
        """Give back threads and settings."""


def open_backend(name: str, device: Device, threads: int | None = None) -> Backend:
    """Start the backend for a device.

    Args:
        name: ``numpy``, ``torch``, or ``auto``: numpy for the CPU, torch for the rest.
        device: what it will compute on.
        threads: on the CPU, at most one for each logical CPU that the process may use; None
            takes one for each physical core.

    Raises:
        ValueError: no such backend, it is not installed, it cannot drive the device, or
            ``threads`` is out of range.
    """
    if name not in {"auto", "numpy", "torch"}:
        raise ValueError(f"backend must be auto, numpy or torch, got {name!r}")
    if threads is not None:
        threads = count("threads", threads)
        if threads > (cpus := len(usable_cpus())):
            raise ValueError(f"threads must be at most {cpus}, the CPUs there are, got {threads}")
    if name == "torch" or (name == "auto" and device.kind != "cpu"):
        try:
            from wallsite.probes.torch_backend import TorchBackend  # noqa: PLC0415 - optional
        except (ImportError, OSError, RuntimeError) as error:
            raise ValueError(f"backend {no_torch(error)}; numpy measures the CPU") from None
        return TorchBackend(device, threads)
    if device.kind != "cpu":
        raise ValueError(f"backend numpy computes on the CPU only, got device {device}")
    from wallsite.probes.numpy_backend import NumpyBackend  # noqa: PLC0415 - as for torch

    return NumpyBackend(threads)


@contextmanager
def allocating(where: str) -> Iterator[None]:
    """Turn a failed allocation into one line.

    Raises:
        NotEnoughMemory: there is no room, on the device or for a thread.
        KernelFailed: the library cannot make such an array at all.
    """
    try:
        yield
    except LIBRARY_ERRORS as error:
        raise explained(f"an allocation on {where} failed", error) from error
