"""How large the arrays are: big enough to leave the caches, small enough for the machine."""

from __future__ import annotations

from dataclasses import dataclass

from wallsite._checks import count as whole
from wallsite.probes.errors import NotEnoughMemory
from wallsite.probes.hardware import Device

KIB, MIB = 2**10, 2**20
# STREAM's rule: an array of four times the last-level cache leaves little of itself in it.
CACHES = 4
# Main memory is shared with everything else that runs, so all arrays together stay below this.
HOST_TOTAL, HOST_TOTAL_QUICK = 1024 * MIB, 576 * MIB
FLOOR = 16 * MIB
LINE = 64  # bytes of a cache line; arrays are whole ones


@dataclass(frozen=True)
class ArrayPlan:
    """Arrays that a probe may allocate.

    Attributes:
        array_bytes: bytes of one array.
        count: arrays of that size.
        warnings: what the size gives up, one sentence each.
    """

    array_bytes: int
    count: int
    warnings: tuple[str, ...] = ()


def plan_arrays(
    device: Device, count: int, *, array_bytes: int | None = None, quick: bool = False
) -> ArrayPlan:
    """Choose the size of ``count`` equal arrays before any of them is allocated.

    Four times the last-level cache, and 256 MiB at least (1 GiB on an accelerator), but never
    more than half of the memory that is free, and on the CPU never more than 1 GiB together.

    Args:
        device: where the arrays will live.
        count: how many there will be.
        array_bytes: size of one array, at least 64; None chooses.
        quick: take less memory and time on the CPU, 576 MiB together.

    Raises:
        ValueError: ``array_bytes`` or ``count`` is not a whole number, or too small.
        NotEnoughMemory: even small arrays would not fit, or those asked for do not.
    """
    count = whole("count", count)
    free = device.memory_available
    fits = None if free is None else free // 2 // count
    if array_bytes is not None:
        array_bytes = whole("array_bytes", array_bytes, LINE) // LINE * LINE
        if fits is not None and array_bytes > fits:
            largest = _whole(fits) or fits // LINE * LINE
            raise NotEnoughMemory(
                f"{count} arrays of {binary(array_bytes)} exceed half of the {binary(free or 0)} "
                f"that are free on {device}; "
                + (f"array_bytes={largest} would fit" if largest else "no size would fit")
            )
        return ArrayPlan(array_bytes, count, _cache_warning(array_bytes, count, device))

    on_host = device.kind == "cpu"
    wanted = max((256 if on_host else 1024) * MIB, CACHES * (device.last_level_cache or 0))
    if on_host:
        wanted = min(wanted, (HOST_TOTAL_QUICK if quick else HOST_TOTAL) // count)
    size = _whole(wanted if fits is None else min(wanted, fits))
    if size < FLOOR:
        largest = (fits or 0) // LINE * LINE
        hint = f"; array_bytes={largest} would fit, in a cache perhaps" if largest else ""
        raise NotEnoughMemory(
            f"{binary(free or 0)} are free on {device}; {count} arrays of {binary(FLOOR)} need "
            f"twice their {binary(count * FLOOR)}{hint}"
        )
    warnings = _cache_warning(size, count, device)
    if fits is not None and fits < wanted:
        warnings = (
            f"only {binary(free or 0)} are free on {device}: arrays shrunk from {binary(wanted)} "
            f"to {binary(size)}",
            *warnings,
        )
    return ArrayPlan(size, count, warnings)


def _cache_warning(size: int, count: int, device: Device) -> tuple[str, ...]:
    cache = device.last_level_cache
    if cache is None:
        return (
            "the size of the last-level cache is not known, so part of the traffic may stay in it",
        )
    if size < CACHES * cache:
        all_fit = count * size <= cache
        return (
            f"arrays of {binary(size)} are smaller than {CACHES} × the last-level cache of "
            f"{binary(cache)} that the system reports: "
            + ("they all fit in it" if all_fit else "part of the traffic may stay in it"),
        )
    return ()


def _whole(size: int) -> int:
    return size // MIB * MIB


def binary(size: int) -> str:
    """Write a number of bytes in whole MiB, or in smaller units where there is not one."""
    if size >= MIB:
        return f"{size // MIB:,} MiB"
    return f"{size // KIB:,} KiB" if size >= KIB else f"{size:,} bytes"
