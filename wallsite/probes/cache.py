"""Bandwidth of the caches: one kernel over arrays that grow from a cache's size to memory's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from wallsite.probes.kernels import KERNELS
from wallsite.probes.memory import stream_work
from wallsite.probes.plan import plan_arrays
from wallsite.probes.results import Measurement
from wallsite.probes.session import Session

# Bytes that one call moves at least, by going over the arrays again and again.
MOVED = 2**26
(ADD,) = (kernel for kernel in KERNELS if kernel.name == "add")


def measure(session: Session) -> Iterator[Measurement]:
    """Measure an addition over arrays of doubling size, up to those of the memory probe.

    Where the three arrays together outgrow a cache, the bandwidth falls to that of the next
    level. It is an addition because numpy does it in one pass; a triad takes it two.

    Raises:
        ValueError: the largest array size asked for is out of range.
        NotEnoughMemory: the arrays do not fit.
    """
    options = session.options
    plan = plan_arrays(session.device, 3, array_bytes=options.array_bytes, quick=options.quick)
    size = min(session.engine.least_array_bytes, plan.array_bytes)
    while size <= plan.array_bytes:
        once = stream_work(session, ADD, size)
        times = max(1, MOVED // once.bytes_counted)
        work = replace(
            once,
            probe="cache",
            bytes_counted=times * once.bytes_counted,
            bytes_hardware=None,  # what stays in a cache is not read before it is written
            flops=times * once.flops,
            limit=None,
        )
        yield session.measure(work, partial(session.engine.repeated_add, size, times))
        size *= 2
