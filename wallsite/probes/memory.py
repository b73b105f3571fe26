"""Memory bandwidth: four kernels over arrays too large for the caches."""

from __future__ import annotations

from contextlib import closing

from wallsite._checks import count
from wallsite.probes.backend import open_backend, time_and_check
from wallsite.probes.errors import WrongResult
from wallsite.probes.hardware import Device, find_device
from wallsite.probes.kernels import COUNTING_RULE, KERNELS
from wallsite.probes.plan import plan_arrays
from wallsite.probes.results import BandwidthResult, KernelResult

# float32 rounds twice in a triad, by 6e-8 each time.
TOLERANCE = 1e-6
# A spread of the triad's samples that says: something else was running.
RESTLESS = 0.25
# Above the hardware's own rate, with a little for its clock, a number was not measured.
IMPOSSIBLE = 1.02


def measure_bandwidth(
    device: str | Device = "auto",
    backend: str = "auto",
    array_bytes: int | None = None,
    threads: int | None = None,
    repeats: int | None = None,
    quick: bool = False,
) -> BandwidthResult:
    """Measure the memory bandwidth of a device with copy, scale, add and triad.

    The triad is the headline. What a copy moves changes with its size, since memcpy decides by
    size whether to store past the cache.

    Args:
        device: ``auto`` (an accelerator that torch finds, else the CPU), ``cpu``, ``cuda:1`` …
        backend: ``auto`` (numpy on the CPU, torch elsewhere), ``numpy`` or ``torch``.
        array_bytes: size of each of the three arrays; None plans it, see `plan_arrays`.
        threads: threads on the CPU; None takes one for each physical core.
        repeats: samples of each kernel; None takes 10, or 5 if ``quick``.
        quick: smaller arrays and fewer samples.

    Raises:
        ValueError: an argument is out of range.
        DeviceNotFound: this machine has no such device.
        NotEnoughMemory: the arrays do not fit.
        WrongResult: a kernel computed something else, or was faster than the hardware can be.
        ClockStopped: the clock did not advance.
    """
    repeats = count("repeats", (5 if quick else 10) if repeats is None else repeats)
    where = find_device(device) if isinstance(device, str) else device
    plan = plan_arrays(where, 3, array_bytes=array_bytes, quick=quick)
    kernels: dict[str, KernelResult] = {}
    with closing(open_backend(backend, where, threads)) as engine:
        tasks = engine.stream(plan.array_bytes)
        for kernel in KERNELS:
            task = tasks[kernel.name]
            samples, error = time_and_check(
                task, engine, what=kernel.name, repeats=repeats, tolerance=TOLERANCE
            )
            kernels[kernel.name] = KernelResult(
                name=kernel.name,
                formula=kernel.formula,
                bytes_counted=kernel.bytes_counted(plan.array_bytes),
                bytes_with_write_allocate=kernel.bytes_with_write_allocate(plan.array_bytes)
                if task.write_allocates
                else None,
                samples=samples,
                largest_error=error,
            )
            _refuse_impossible(kernels[kernel.name], where)

    warnings = plan.warnings
    if (spread := kernels["triad"].samples.spread) > RESTLESS:
        warnings += (
            f"samples of the triad spread by {spread:.0%} of their median: the machine was busy",
        )
    return BandwidthResult(
        device=where,
        backend=engine.name,
        backend_version=engine.version,
        threads=engine.threads,
        dtype="fp32",
        array_bytes=plan.array_bytes,
        rule=COUNTING_RULE,
        kernels=tuple(kernels.values()),
        warnings=warnings,
    )


def _refuse_impossible(result: KernelResult, device: Device) -> None:
    limit = device.theoretical_bandwidth
    if limit is not None and result.best > IMPOSSIBLE * limit:
        raise WrongResult(
            f"{result.name} came out at {result.best / 1e9:,.0f} GB/s, above the "
            f"{limit / 1e9:,.0f} GB/s that {device.name} can move: it is not reported"
        )
