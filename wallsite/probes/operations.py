"""What a model is made of, at several sizes: the measured points of a roofline."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from wallsite import workload
from wallsite.probes.hardware import Device
from wallsite.probes.matmul import TOLERANCE, dtypes
from wallsite.probes.plan import binary, plan_arrays
from wallsite.probes.results import Measurement
from wallsite.probes.session import Session, Work
from wallsite.workload import ELEMENT_BYTES

RULE = "each operand counts once, each result counts once"
FORMULAS = {
    "axpy": "y = a·x + y",
    "softmax": "y = softmax(x), by rows",
    "gemv": "y = A·x",
    "gemm": "C = A·B",
}
# Sides of the matrices; softmax and axpy work on as many elements as gemv's matrix has. A larger
# one, of arrays as large as the memory probe's, is added.
SIDE, GEMM_SIDES = 1024, (32, 128, 512, 2048)
ACCELERATOR_SIDES = (*GEMM_SIDES, 8192)


def measure(session: Session) -> Iterator[Measurement]:
    """Measure axpy, softmax, GEMV and GEMM, at several sizes, in one type.

    What they count is the least that they must move. A kernel that goes over its data more than
    once, as a softmax of several passes does, lies below the roof by that factor.

    Raises:
        ValueError: the backend does not compute in the type asked for.
        NotEnoughMemory: the arrays do not fit.
    """
    dtype = _dtype(session)
    largest = plan_arrays(session.device, 3, quick=session.options.quick).array_bytes
    elements = int(largest / ELEMENT_BYTES[dtype])
    sides = (SIDE, 2 ** (math.isqrt(elements).bit_length() - 1))
    squares = GEMM_SIDES if session.device.kind == "cpu" else ACCELERATOR_SIDES
    for name in FORMULAS:
        for side in squares if name == "gemm" else sides:
            if side * side <= elements:
                work = operation_work(name, side, dtype)
                work = replace(work, warnings=_cached(work, session.device))
                yield session.measure(work, partial(session.engine.operation, name, side, dtype))


def _dtype(session: Session) -> str:
    """Take the type asked for, else the one that models run in on such a device."""
    usual = "fp32" if session.device.kind == "cpu" else "bf16"
    known = dtypes(session)
    return usual if usual in known else known[0]


def _cached(work: Work, device: Device) -> tuple[str, ...]:
    """Warn if the operands stay in a cache from one call to the next."""
    cache = device.last_level_cache
    if cache is None or work.bytes_counted > cache:
        return ()
    return (
        f"some operands fit in the last-level cache of {binary(cache)} that the system reports; "
        "memory’s bandwidth is no roof for them",
    )


def operation_work(name: str, side: int, dtype: str) -> Work:
    """Count an operation on matrices of a side."""
    width = ELEMENT_BYTES[dtype]
    work, shape = {
        "axpy": (workload.axpy(side * side, width), (side * side,)),
        "softmax": (workload.softmax(side, side, width), (side, side)),
        "gemv": (workload.gemv(side, side, width), (side, side)),
        "gemm": (workload.gemm(side, side, side, width), (side, side, side)),
    }[name]
    return Work(
        probe="operations",
        kernel=name,
        formula=FORMULAS[name],
        dtype=dtype,
        shape=shape,
        array_bytes=int(side * side * width),
        bytes_counted=int(work.traffic),
        bytes_hardware=None,
        rule=RULE,
        flops=int(work.flops),
        tolerance=TOLERANCE[dtype],
    )
