"""A run of the probes: memory, cache, matmul, operations and link, one after the other."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType

from wallsite import __version__
from wallsite._checks import count, positive
from wallsite.probes import cache, errors, link, matmul, memory, operations
from wallsite.probes.backend import Backend, open_backend
from wallsite.probes.errors import LIBRARY_ERRORS, DeviceNotFound
from wallsite.probes.hardware import (
    Device,
    cpu_quota,
    cpu_usage,
    find_device,
    huge_pages,
    machine,
    numa_nodes,
    peak_memory,
    usable_cpus,
)
from wallsite.probes.plan import plan_arrays
from wallsite.probes.results import SKIPPED, Environment, Measurement, Result
from wallsite.probes.session import Options, Session, Work, failed, unmeasured
from wallsite.probes.timing import Deadline

PROBES: dict[str, ModuleType] = {
    "memory": memory,
    "matmul": matmul,
    "operations": operations,
    "cache": cache,
    "link": link,
}
"""In the order they run: what a ridge point needs comes first."""
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_WAIT_POLICY")


def measure(
    probes: str | Iterable[str] = ("memory", "matmul"),
    device: str = "auto",
    backend: str = "auto",
    dtype: str = "auto",
    array_bytes: int | None = None,
    threads: int | None = None,
    repeats: int | None = None,
    budget: float | None = None,
    quick: bool = False,
    tell: Callable[[str], object] = lambda what: None,
) -> Result:
    """Measure a device.

    Args:
        probes: ``memory``, ``cache``, ``matmul``, ``operations``, ``link``, several of them, or
            ``all``.
        device: ``auto`` (an accelerator that torch finds, else the CPU), ``cpu``, ``cuda:1`` …
        backend: ``auto`` (numpy on the CPU, torch elsewhere), ``numpy`` or ``torch``.
        dtype: of matrix products and operations: ``fp32``, or with torch ``bf16`` and ``fp16``;
            ``auto`` takes all that the backend has.
        array_bytes: size of each array of the memory probe; None plans it, see `plan_arrays`.
        threads: threads on the CPU; None takes one for each physical core. With numpy it holds
            for the bandwidth only: its matrix product has threads of its own.
        repeats: samples of each kernel; None takes 10, or 5 if ``quick``.
        budget: seconds after which nothing new is started; None for as long as it takes.
        quick: smaller arrays and fewer samples.
        tell: is told what is being measured, in a few words.

    Returns:
        What was measured. A kernel that failed among others that did not is in it, with the
        reason. An interrupt (Ctrl-C) ends the run and keeps what it has.

    Raises:
        ValueError: an argument is out of range.
        DeviceNotFound: this machine has no such device.
        ProbeError: nothing at all could be measured; it is the first error there was.
    """
    options = Options(
        dtype=dtype,
        array_bytes=None if array_bytes is None else count("array_bytes", array_bytes, 64),
        repeats=None if repeats is None else count("repeats", repeats),
        quick=quick,
    )
    deadline = Deadline(None if budget is None else positive("budget", budget))
    wanted, where = _wanted(probes), find_device(device)
    start = Start()
    taken: list[Measurement] = []
    interrupted = False
    with _opened(open_backend(backend, where, threads)) as engine:
        where = find_device(device)  # once more: the library just loaded has taken memory
        session = Session(where, engine, options, deadline, tell)
        _refuse_options(session)
        try:
            for measurement in _measurements(session, wanted):
                taken.append(measurement)
        except KeyboardInterrupt:
            if not any(x.samples for x in taken):
                raise
            interrupted = True
    _refuse_empty(taken)
    return start.result(where, engine.name, engine.version, engine.threads, taken, interrupted)


@contextmanager
def _opened(engine: Backend) -> Iterator[Backend]:
    """Close a backend at the end, if it can be: a driver that has failed may fail in this too."""
    try:
        yield engine
    finally:
        with suppress(RuntimeError):
            engine.close()


def _refuse_options(session: Session) -> None:
    """Refuse what no probe could do before the first of them spends its time."""
    matmul.dtypes(session)
    if session.options.array_bytes is not None:
        plan_arrays(session.device, 3, array_bytes=session.options.array_bytes)


def _wanted(probes: str | Iterable[str]) -> list[str]:
    names = [probes] if isinstance(probes, str) else list(probes)
    if "all" in names:
        return list(PROBES)
    if not names or (unknown := [name for name in names if name not in PROBES]):
        known = ", ".join(["all", *PROBES])
        raise ValueError(f"probes must be among {known}, got {unknown[0] if names else names!r}")
    return [name for name in PROBES if name in names]


def _measurements(session: Session, wanted: list[str]) -> Iterator[Measurement]:
    """Run the probes. One that cannot start is told like a kernel that cannot run."""
    for name in wanted:
        try:
            yield from PROBES[name].measure(session)
        except DeviceNotFound as error:
            yield unmeasured(Work(name, name), SKIPPED, str(error), type(error).__name__)
        except LIBRARY_ERRORS as error:
            yield failed(Work(name, name), error)


def _refuse_empty(taken: list[Measurement]) -> None:
    """Raise the first error if nothing was measured at all."""
    if not any(x.samples for x in taken):
        first = taken[0]
        raise getattr(errors, first.error or "NotMeasured")(first.reason)


class Start:
    """When and in what circumstances a run started; made before anything is measured."""

    def __init__(self) -> None:
        self._clock = Deadline()
        self._usage = cpu_usage()
        self._time = _now()
        self._environment = Environment(
            affinity=tuple(sorted(usable_cpus())),
            numa_nodes=numa_nodes(),
            huge_pages=huge_pages(),
            load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            python=platform.python_version(),
            variables={name: os.environ[name] for name in _VARIABLES if name in os.environ},
            cpu_quota=cpu_quota(),
        )

    def result(
        self,
        device: Device,
        backend: str,
        version: str,
        threads: int | None,
        measurements: Iterable[Measurement],
        interrupted: bool = False,
    ) -> Result:
        """Put together what a run measured, now that it has ended."""
        return Result(
            wallsite=__version__,
            started=self._time,
            finished=_now(),
            wall_seconds=self._clock.elapsed,
            interrupted=interrupted,
            machine=machine(),
            device=device,
            environment=replace(self._environment, switches=self._switches()),
            backend=backend,
            backend_version=version,
            threads=threads,
            peak_memory=peak_memory(),
            measurements=tuple(measurements),
        )

    def _switches(self) -> float | None:
        before, after = self._usage, cpu_usage()
        if before is None or after is None or after.seconds <= before.seconds:
            return None
        return (after.taken - before.taken) / (after.seconds - before.seconds)


def _now() -> str:
    return datetime.now(UTC).isoformat()
