"""How large the arrays are: big enough to leave the caches, small enough for the machine."""

from __future__ import annotations

from dataclasses import dataclass

from wallsite._checks import count as check_count
from wallsite.probes.errors import NotEnoughMemory
from wallsite.probes.hardware import Device

MIB = 2**20
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
    check_count(count=count)
    free = device.memory_available
    fits = None if free is None else free // 2 // count
    if array_bytes is not None:
        check_count(LINE, array_bytes=array_bytes)
        array_bytes = array_bytes // LINE * LINE
        if fits is not None and array_bytes > fits:
            raise NotEnoughMemory(
                f"{count} arrays of {_mib(array_bytes)} exceed half of the {_mib(free or 0)} that "
                f"are free on {device}; array_bytes={_whole(fits)} would fit"
            )
        return ArrayPlan(array_bytes, count, _cache_warning(array_bytes, device))

    on_host = device.kind == "cpu"
    wanted = max((256 if on_host else 1024) * MIB, CACHES * (device.last_level_cache or 0))
    if on_host:
        wanted = min(wanted, (HOST_TOTAL_QUICK if quick else HOST_TOTAL) // count)
    size = _whole(wanted if fits is None else min(wanted, fits))
    if size < FLOOR:
        raise NotEnoughMemory(
            f"{_mib(free or 0)} are free on {device}; {count} arrays of {_mib(FLOOR)} need twice "
            f"their {_mib(count * FLOOR)}"
        )
    warnings = _cache_warning(size, device)
    if fits is not None and fits < wanted:
        warnings = (
            f"only {_mib(free or 0)} are free on {device}: arrays shrunk from {_mib(wanted)} "
            f"to {_mib(size)}",
            *warnings,
        )
    return ArrayPlan(size, count, warnings)


def _cache_warning(size: int, device: Device) -> tuple[str, ...]:
    cache = device.last_level_cache
    if cache is None:
        return (
            "the size of the last-level cache is not known, so part of the traffic may stay in it",
        )
    if size < CACHES * cache:
        return (
            f"arrays of {_mib(size)} are smaller than {CACHES} × the last-level cache of "
            f"{_mib(cache)} that the system reports: part of the traffic may stay in it",
        )
    return ()


def _whole(size: int) -> int:
    return size // MIB * MIB


def _mib(size: int) -> str:
    return f"{size // MIB:,} MiB"
