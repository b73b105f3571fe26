"""Memory bandwidth: STREAM's kernels and a sum, over arrays too large for the caches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wallsite.probes.kernels import COUNTING_RULE, KERNELS, READ, Kernel
from wallsite.probes.plan import binary, plan_arrays
from wallsite.probes.results import HEADLINES, OK, UNSTABLE, Measurement
from wallsite.probes.session import Session, Work

# float32 rounds twice in a triad, by 6e-8 each time.
TOLERANCE = 1e-6
# A sum of many rounds once for each level of its tree.
SUM_TOLERANCE = 1e-5
# Arrays of half the size must give the same bandwidth, or a cache or a table still shows.
PLATEAU = 0.10


def measure(session: Session) -> Iterator[Measurement]:
    """Measure copy, scale, add, triad and sum over large arrays; add and triad over halves too.

    Add and triad are the headline: a copy may be done by stores that pass the cache. One that
    changes by more than 10 % with the size of the arrays, or whose samples spread, is unstable.

    Raises:
        ValueError: the array size asked for is out of range.
        NotEnoughMemory: the arrays do not fit.
    """
    options = session.options
    plan = plan_arrays(session.device, 3, array_bytes=options.array_bytes, quick=options.quick)
    size = plan.array_bytes
    tasks = session.engine.stream(size)
    for kernel in KERNELS:
        task, half = tasks[kernel.name], None
        if task.half and kernel.name in HEADLINES:
            half = session.measure(stream_work(session, kernel, size // 2), task.half)
            yield half
        work = replace(stream_work(session, kernel, size), warnings=plan.warnings)
        whole = session.measure(work, task)
        yield judged(whole, half, session.device.last_level_cache)
    work = replace(
        stream_work(session, READ, size), warnings=plan.warnings, tolerance=SUM_TOLERANCE
    )
    read = session.measure(work, tasks[READ.name])
    yield judged(read, None, session.device.last_level_cache)


def stream_work(session: Session, kernel: Kernel, array_bytes: int) -> Work:
    """Count a kernel over arrays of a size."""
    return Work(
        probe="memory",
        kernel=kernel.name,
        formula=kernel.formula,
        dtype="fp32",
        shape=(array_bytes // 4,),
        array_bytes=array_bytes,
        bytes_counted=kernel.bytes_counted(array_bytes),
        bytes_hardware=kernel.bytes_with_write_allocate(array_bytes),
        rule=COUNTING_RULE,
        flops=kernel.flops(array_bytes // 4),
        tolerance=TOLERANCE,
        limit=session.device.bandwidth_limit,
    )


def judged(whole: Measurement, half: Measurement | None, cache: int | None) -> Measurement:
    """Call a number unstable if its arrays fit in a cache, or if half of them give another."""
    if whole.samples is None:
        return whole
    reason = ""
    if cache and whole.bytes_counted <= cache:
        reason = f"its arrays fit in the last-level cache of {binary(cache)}: this is not memory"
    elif whole.status == OK and half and half.samples:
        change = half.median_bandwidth / whole.median_bandwidth - 1
        if abs(change) > PLATEAU:
            reason = f"arrays half as large give {change:+.0%}: not yet a plateau"
    return replace(whole, status=UNSTABLE, reason=reason) if reason else whole
