"""The compute peak that a machine reaches: a large square matrix product."""

from __future__ import annotations

import math
from collections.abc import Iterator

from wallsite.probes.errors import LIBRARY_ERRORS
from wallsite.probes.plan import HOST_TOTAL
from wallsite.probes.results import SKIPPED, Measurement
from wallsite.probes.session import Session, Work, failed, unmeasured
from wallsite.probes.timing import LEAST_SAMPLES, WARMUPS, sample
from wallsite.workload import ELEMENT_BYTES, gemm

# Rounding of the result and of its check, relative to the largest value.
TOLERANCE = {"fp32": 1e-4, "bf16": 2e-2, "fp16": 5e-3}
# From this side on a product keeps all cores busy. Until it is reached a run may take PATIENCE
# seconds; a type without a fast path then stays at a smaller one, or it would take minutes.
SMALLEST, LEAST, PATIENCE = 256, 1024, 0.5
TRIES = 2  # runs that tell how long a side takes
RULE = "each matrix counts once"


def measure(session: Session) -> Iterator[Measurement]:
    """Measure FLOP/s of a matrix product in each type: the nearest a program comes to the peak.

    The side doubles as long as the next product is predicted, from the one before, to fit the
    memory and the time: 3 s for all samples, 1 s if quick. A type that the device has no fast
    path for, such as fp16 on many CPUs, is measured on small matrices and says so. fp32 is never
    replaced by tf32.

    Raises:
        ValueError: the backend does not multiply the type asked for.
    """
    for dtype in dtypes(session):
        yield _measured(session, dtype)


def dtypes(session: Session) -> tuple[str, ...]:
    """Types to measure in: the one asked for, or all that the backend multiplies.

    Raises:
        ValueError: the backend does not multiply the type asked for.
    """
    wanted, known = session.options.dtype, session.engine.dtypes
    if wanted == "auto":
        return known
    if wanted not in known:
        raise ValueError(
            f"dtype must be auto or one of {', '.join(known)} with {session.engine.name}, "
            f"got {wanted!r}"
        )
    return (wanted,)


def matmul_work(dtype: str, n: int, warnings: tuple[str, ...] = ()) -> Work:
    """Count a product of two square matrices."""
    work = gemm(n, n, n, ELEMENT_BYTES[dtype])
    return Work(
        probe="matmul",
        kernel="matmul",
        formula="C = A·B",
        dtype=dtype,
        shape=(n, n, n),
        array_bytes=int(n * n * ELEMENT_BYTES[dtype]),
        bytes_counted=int(work.traffic),
        bytes_hardware=None,  # blocking decides how often a cache reads a matrix again
        rule=RULE,
        flops=int(work.flops),
        tolerance=TOLERANCE[dtype],
        warnings=warnings,
    )


def _measured(session: Session, dtype: str) -> Measurement:
    if session.deadline.left <= 0:
        return unmeasured(
            matmul_work(dtype, SMALLEST),
            SKIPPED,
            f"the budget of {session.deadline.budget:g} s is used up",
        )
    session.tell(f"matmul {dtype}")
    seconds = min(1.0 if session.options.quick else 3.0, session.deadline.left)
    try:
        n = _largest_affordable(session, dtype, seconds)
    except LIBRARY_ERRORS as error:
        return failed(matmul_work(dtype, SMALLEST), error)
    slow = () if n >= LEAST else (f"{dtype} has no fast product here: measured at {n} × {n} only",)
    return session.measure(
        matmul_work(dtype, n, slow), lambda: session.engine.operation("gemm", n, dtype)
    )


def _largest_affordable(session: Session, dtype: str, budget: float) -> int:
    """Double the side while the next product, eight times the work, leaves time to measure it."""
    largest = _largest_that_fits(session, dtype)
    runs = TRIES + WARMUPS + session.repeats
    fewest = TRIES + WARMUPS + LEAST_SAMPLES
    n, seconds = SMALLEST, _try(session, SMALLEST, dtype)
    while 2 * n <= largest:
        seconds *= 8
        patient = n < LEAST and seconds <= PATIENCE and fewest * seconds <= session.deadline.left
        if runs * seconds > budget and not patient:
            break
        n *= 2
        seconds = _try(session, n, dtype)
    return n


def _try(session: Session, n: int, dtype: str) -> float:
    engine = session.engine
    task = engine.operation("gemm", n, dtype)
    return sample(
        task.run,
        repeats=1,
        warmups=TRIES - 1,
        synchronise=engine.synchronise,
        events=engine.events(),
    ).best


def _largest_that_fits(session: Session, dtype: str) -> int:
    on_host = session.device.kind == "cpu"
    side = 4096 if on_host else 16384
    free = session.device.memory_available
    room = min(
        HOST_TOTAL if on_host else math.inf,
        math.inf if free is None else free / 2,
    )
    while side > LEAST and 3 * side**2 * ELEMENT_BYTES[dtype] > room:
        side //= 2
    return side
