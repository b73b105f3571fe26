"""Memory bandwidth: four kernels over arrays too large for the caches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from wallsite.probes.kernels import COUNTING_RULE, KERNELS, Kernel
from wallsite.probes.plan import binary, plan_arrays
from wallsite.probes.results import HEADLINES, OK, UNSTABLE, Measurement
from wallsite.probes.session import Session, Work

# float32 rounds twice in a triad, by 6e-8 each time.
TOLERANCE = 1e-6
# Arrays of half the size must give the same bandwidth, or a cache or a table still shows.
PLATEAU = 0.10


def measure(session: Session) -> Iterator[Measurement]:
    """Measure add and triad over half-size arrays, then copy, scale, add and triad over whole ones.

    Add and triad are the headline: a copy may be done by stores that pass the cache. One that
    changes by more than 10 % with the size of the arrays, or whose samples spread, is unstable.

    Raises:
        ValueError: the array size asked for is out of range.
        NotEnoughMemory: the arrays do not fit.
    """
    options = session.options
    plan = plan_arrays(session.device, 3, array_bytes=options.array_bytes, quick=options.quick)
    halves: dict[str, Measurement] = {}
    headlines = [kernel for kernel in KERNELS if kernel.name in HEADLINES]
    for half in _pass(session, plan.array_bytes // 2, headlines):
        halves[half.kernel] = half
        yield half
    for whole in _pass(session, plan.array_bytes, KERNELS, plan.warnings):
        yield judged(whole, halves.get(whole.kernel), session.device.last_level_cache)


def _pass(
    session: Session, size: int, kernels: Sequence[Kernel], warnings: tuple[str, ...] = ()
) -> Iterator[Measurement]:
    """Measure kernels over one set of arrays, free again at the end."""
    tasks = session.engine.stream(size)
    for kernel in kernels:
        work = replace(stream_work(session, kernel, size), warnings=warnings)
        yield session.measure(work, partial(tasks.__getitem__, kernel.name))


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
    if whole.samples is None or whole.status != OK:
        return whole
    reason = ""
    if cache and whole.bytes_counted <= cache:
        reason = f"its arrays fit in the last-level cache of {binary(cache)}: this is not memory"
    elif half and half.samples:
        change = half.median_bandwidth / whole.median_bandwidth - 1
        if abs(change) > PLATEAU:
            reason = f"arrays half as large give {change:+.0%}: not yet a plateau"
    return replace(whole, status=UNSTABLE, reason=reason) if reason else whole
