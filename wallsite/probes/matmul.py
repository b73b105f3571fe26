"""The compute peak that a machine reaches: a large square matrix product."""

from __future__ import annotations

import math
from contextlib import closing

from wallsite._checks import count
from wallsite.probes.backend import Backend, Task, open_backend, time_and_check
from wallsite.probes.hardware import Device, find_device
from wallsite.probes.plan import HOST_TOTAL
from wallsite.probes.results import MatmulResult
from wallsite.probes.timing import sample
from wallsite.workload import ELEMENT_BYTES

# Rounding of the result and of its check, relative to the largest value.
TOLERANCE = {"fp32": 1e-4, "bf16": 2e-2, "fp16": 5e-3}
# From this side on a product keeps all cores busy. Until it is reached a run may take PATIENCE
# seconds; a type without a fast path then stays at a smaller one, or it would take minutes.
SMALLEST, LEAST, PATIENCE = 256, 1024, 0.5


def measure_matmul(
    device: str | Device = "auto",
    backend: str = "auto",
    dtype: str = "auto",
    threads: int | None = None,
    repeats: int | None = None,
    quick: bool = False,
) -> MatmulResult:
    """Measure FLOP/s of a matrix product, the nearest a program comes to a chip's peak.

    The side doubles as long as the next product is predicted, from the one before, to fit the
    memory and the time: 3 s for all samples, 1 s if ``quick``. A type that the device has no
    fast path for, such as fp16 on most CPUs, is measured on small matrices.

    Args:
        device: as for `measure_bandwidth`.
        backend: as for `measure_bandwidth`.
        dtype: ``fp32``, or with torch ``bf16`` and ``fp16``; ``auto`` takes fp32 on the CPU and
            bf16 elsewhere. fp32 is never replaced by tf32.
        threads: threads of torch on the CPU; numpy's BLAS keeps its own.
        repeats: samples; None takes 15, or 7 if ``quick``.
        quick: take less time.

    Raises:
        ValueError: an argument is out of range, or the backend does not multiply the type.
        DeviceNotFound: this machine has no such device.
        NotEnoughMemory: the matrices do not fit.
        WrongResult: the product is wrong.
        ClockStopped: the clock did not advance.
    """
    repeats = count("repeats", (7 if quick else 15) if repeats is None else repeats)
    where = find_device(device) if isinstance(device, str) else device
    if dtype == "auto":
        dtype = "fp32" if where.kind == "cpu" else "bf16"
    with closing(open_backend(backend, where, threads)) as engine:
        if dtype not in engine.dtypes:
            known = ", ".join(engine.dtypes)
            raise ValueError(f"dtype must be one of {known} with {engine.name}, got {dtype!r}")
        budget = (1.0 if quick else 3.0) / repeats
        n, task = _largest_affordable(engine, dtype, budget, _largest_that_fits(where, dtype))
        samples, error = time_and_check(
            task, engine, what="matmul", repeats=repeats, tolerance=TOLERANCE[dtype]
        )
    return MatmulResult(
        device=where,
        backend=engine.name,
        backend_version=engine.version,
        dtype=dtype,
        n=n,
        samples=samples,
        largest_error=error,
    )


def _largest_affordable(
    engine: Backend, dtype: str, budget: float, largest: int
) -> tuple[int, Task]:
    """Double the side while the next product, eight times the work, is not too long a run."""
    n = SMALLEST
    task, seconds = _try(engine, n, dtype)
    while 2 * n <= largest and 8 * seconds <= (PATIENCE if n < LEAST else budget):
        n *= 2
        task, seconds = _try(engine, n, dtype)
    return n, task


def _try(engine: Backend, n: int, dtype: str) -> tuple[Task, float]:
    task = engine.matmul(n, dtype)
    trial = sample(task.run, repeats=3, warmups=1, synchronise=engine.synchronise)
    return task, trial.best


def _largest_that_fits(device: Device, dtype: str) -> int:
    on_host = device.kind == "cpu"
    side = 4096 if on_host else 16384
    free = device.memory_available
    room = min(
        HOST_TOTAL if on_host else math.inf,
        math.inf if free is None else free / 2,
    )
    while side > LEAST and 3 * side**2 * ELEMENT_BYTES[dtype] > room:
        side //= 2
    return side
