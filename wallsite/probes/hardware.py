"""What this machine is: its CPU, its caches, the memory a program may take, its accelerators.

Each fact is asked of the system, never guessed from a name, and comes with what answered.
Functions that read Linux's files take the directory that stands for ``/``, so that a test can
hand them a tree of its own.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from wallsite.probes.errors import DeviceNotFound

ROOT = Path("/")
UNKNOWN = "not known"
NO_DRIVER = "no driver of an accelerator is loaded"
_CPUS = "sys/devices/system/cpu"
_SYSFS_CACHE = "sysfs cpu*/cache"
_SUFFIX = {"K": 2**10, "M": 2**20, "G": 2**30}
# Two specifications of one memory that differ by more do not describe the same thing.
_AGREE = 0.02

T = TypeVar("T")


class Found(NamedTuple, Generic[T]):
    """A fact about the machine.

    Attributes:
        value: the fact.
        how: what answered, for example ``/proc/cpuinfo``; ``not known`` if nothing did.
    """

    value: T
    how: str


@dataclass(frozen=True)
class Cache:
    """Caches of one kind behind the usable CPUs.

    Attributes:
        level: 1 is the nearest to a core.
        kind: ``data``, or ``unified`` where instructions share it.
        size: bytes of one.
        instances: how many there are.
    """

    level: int
    kind: str
    size: int
    instances: int


@dataclass(frozen=True)
class Machine:
    """The host, as its operating system describes it.

    Attributes:
        cpu: the processor's name.
        architecture: for example ``x86_64`` or ``arm64``.
        system: operating system and release.
        cpus: logical CPUs that this process may run on (its affinity).
        cores: physical cores behind them; two hyper-threads share one.
        last_level_cache: bytes of it that these CPUs have together, None if not known.
        memory_total: bytes of main memory, None if not known.
        memory_available: bytes this process may still take, None if not known.
        caches: of these CPUs, the nearest first; empty if not known.
        found: for each other field, what answered: ``/proc/cpuinfo``, ``cgroup``, ``not known`` …
    """

    cpu: str
    architecture: str
    system: str
    cpus: int
    cores: int
    last_level_cache: int | None
    memory_total: int | None
    memory_available: int | None
    caches: tuple[Cache, ...]
    found: dict[str, str]


@dataclass(frozen=True)
class Limit:
    """The most that the hardware can do, as it is specified.

    Attributes:
        rate: byte/s.
        source: where the rate comes from, for example memory clock and bus width.
    """

    rate: float
    source: str

    def __post_init__(self) -> None:
        """Refuse a rate that nothing could be a share of."""
        if not self.rate > 0:
            raise ValueError(f"rate must be above 0, got {self.rate}")


@dataclass(frozen=True)
class Device:
    """Something that can be measured: the CPU, or one accelerator that torch can drive.

    Attributes:
        kind: torch's name of the device type: ``cpu``, ``cuda`` (ROCm too), ``mps``, ``xpu`` …
        index: which one of its kind.
        name: the product's name as the driver gives it.
        memory_available: bytes that may still be allocated, None if not known.
        last_level_cache: bytes of the cache in front of its memory, None if not known.
        bandwidth_limit: of its memory, None if not known.
        note: why a search for a device ended at this one, or empty.
    """

    kind: str
    index: int
    name: str
    memory_available: int | None
    last_level_cache: int | None
    bandwidth_limit: Limit | None = None
    note: str = ""

    def __str__(self) -> str:
        """Name as `find_device` takes it: ``cpu``, ``cuda:0``."""
        return self.kind if self.kind == "cpu" else f"{self.kind}:{self.index}"


def machine() -> Machine:
    """Describe the host."""
    cpus = _affinity()
    facts: dict[str, Found[Any]] = {
        "cpu": cpu_name(),
        "architecture": Found(platform.machine(), "uname"),
        "system": Found(f"{platform.system()} {platform.release()}", "uname"),
        "cpus": Found(len(cpus.value), cpus.how),
        "cores": _cores(),
        "last_level_cache": last_level_cache(),
        "memory_total": memory_total(),
        "memory_available": memory_available(),
        "caches": caches(),
    }
    return Machine(
        **{name: fact.value for name, fact in facts.items()},
        found={name: fact.how for name, fact in facts.items()},
    )


def find_device(name: str = "auto") -> Device:
    """Find the device to measure.

    Args:
        name: ``auto`` (the first accelerator, else the CPU), ``cpu``, or a torch device such as
            ``cuda``, ``cuda:1``, ``mps``, ``xpu``, ``npu``.

    Raises:
        ValueError: ``name`` is not the name of a device.
        DeviceNotFound: it is, but this machine has no such device, or one whose driver fails.
    """
    parts = re.fullmatch(r"([a-z]+)(?::(\d+))?", name)
    if not parts:
        raise ValueError(f"device must look like auto, cpu, cuda or cuda:1, got {name!r}")
    if name == "cpu":
        return _cpu()
    if name == "auto" and not may_have_accelerator():
        return replace(_cpu(), note=f"{NO_DRIVER}, so the CPU is measured")
    (cpu, *accelerators), reason = devices()
    if name == "auto" and accelerators:
        return replace(accelerators[0], note=reason)
    if name == "auto":
        return replace(cpu, note=f"{reason}, so the CPU is measured")
    present = [cpu, *accelerators]
    for device in present:
        if (device.kind, device.index) == (parts[1], int(parts[2] or 0)):
            return device
    because = f" ({reason})" if reason else ""
    names = ", ".join(map(str, present))
    raise DeviceNotFound(f"no device {name!r}: this machine has {names}{because}")


def devices() -> tuple[list[Device], str]:
    """List what can be measured here, the CPU first, and say why other devices are missing.

    Returns:
        The devices, and the reason; it is empty if every accelerator that torch finds is listed.
    """
    accelerators, reason = _accelerators()
    return [_cpu(), *accelerators], reason


def may_have_accelerator(root: Path = ROOT) -> bool:
    """Whether a driver of an accelerator is loaded, as far as Linux tells by its device files.

    Importing torch to ask it takes seconds and hundreds of MiB.
    """
    nodes = ("nvidia[0-9]*", "dxg", "kfd", "dri/renderD*", "davinci[0-9]*")
    return sys.platform != "linux" or any(any((root / "dev").glob(node)) for node in nodes)


def _cpu() -> Device:
    available, cache = memory_available().value, last_level_cache().value
    return Device("cpu", 0, cpu_name().value, available, cache)


def _accelerators() -> tuple[list[Device], str]:
    """Accelerators that torch can drive, and why others are missing."""
    try:
        import torch  # noqa: PLC0415 - two seconds that only this search needs
    except (ImportError, OSError, RuntimeError) as error:  # the last by torch_npu and its like
        return [], no_torch(error)
    if not hasattr(torch, "accelerator"):
        return [], f"torch {torch.__version__} is older than 2.6"
    present = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if present is None:
        return [], f"torch {torch.__version__} finds no accelerator"
    kind = present.type
    found, faults = [], []
    for index in range(torch.accelerator.device_count()):
        try:
            found.append(_accelerator(getattr(torch, kind), kind, index))
        except RuntimeError as error:
            faults.append(f"the driver of {kind}:{index} fails: {_first_line(error)}")
    return found, "; ".join(faults)


def no_torch(error: Exception) -> str:
    """Say why torch could not be imported: it is not there, or it is and does not load."""
    if isinstance(error, ModuleNotFoundError):
        return "torch is not installed"
    return f"torch does not load ({_first_line(error)})"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _accelerator(driver: Any, kind: str, index: int) -> Device:
    """Ask a driver for what it tells of a device; none tells everything.

    Raises:
        RuntimeError: the driver fails.
    """
    if kind == "mps":
        # Unified memory: the driver recommends a share, and takes some of it itself.
        free = driver.recommended_max_memory() - driver.driver_allocated_memory()
        return Device(kind, index, cpu_name().value, max(0, free), last_level_cache().value)
    properties = driver.get_device_properties(index)
    # CUDA's name of it, which torch_npu took over, and Intel's.
    sizes = [getattr(properties, name, 0) for name in ("L2_cache_size", "last_level_cache_size")]
    return Device(
        kind,
        index,
        getattr(properties, "name", kind),
        _device_memory(driver, kind, index),
        max(sizes) or None,
        bandwidth_limit(properties) if kind == "cuda" else None,
    )


def _device_memory(driver: Any, kind: str, index: int) -> int | None:
    if not hasattr(driver, "mem_get_info"):
        return None
    try:
        return int(driver.mem_get_info(index)[0])
    except RuntimeError:
        if kind != "xpu":
            raise
        # Intel's integrated GPUs refuse to tell (pytorch #159728); theirs is the host's memory.
        return memory_available().value


def bandwidth_limit(properties: Any) -> Limit | None:
    """Bandwidth of the memory of an NVIDIA card: 2 × memory clock × bus width ÷ 8.

    Memory transfers on both edges of its clock, hence the 2, once. Where CUDA and NVML contradict
    each other there is no limit to hold a measurement against: one of them is wrong, and a right
    number must not be refused for it.

    Nor is there one where the clock is known not to be the memory's own: AMD's is that of its
    controller (openxla/xla #44746), integrated GPUs share the host's memory (intel/llvm #8418),
    and Intel's bus widths differ from the data sheets (intel/xpumanager #126).

    Args:
        properties: what ``torch.cuda.get_device_properties`` returned.
    """
    is_amd = str(getattr(properties, "gcnArchName", "")).startswith("gfx")
    if is_amd or getattr(properties, "is_integrated", False):
        return None
    limits = [
        Limit(
            2 * megahertz * 1e6 * bits / 8,
            f"2 × {megahertz:g} MHz × {bits} bit ÷ 8, as {source} reports them",
        )
        for source, megahertz, bits in (_cuda_memory(properties), _nvml_memory(properties))
        if megahertz and bits
    ]
    rates = [limit.rate for limit in limits]
    return limits[0] if limits and max(rates) <= (1 + _AGREE) * min(rates) else None


def _cuda_memory(properties: Any) -> tuple[str, float, int]:
    """Clock in MHz and bus width in bits; CUDA counts in kHz. Zero where torch is too old."""
    kilohertz = getattr(properties, "memory_clock_rate", 0)
    return "CUDA", kilohertz / 1e3, getattr(properties, "memory_bus_width", 0)


def _nvml_memory(properties: Any) -> tuple[str, float, int]:
    """Clock in MHz and bus width in bits, zero without NVML."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
        # Its own index counts the cards that CUDA_VISIBLE_DEVICES hides.
        card = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}")
        clock = nvml.nvmlDeviceGetMaxClockInfo(card, nvml.NVML_CLOCK_MEM)
        return "NVML", clock, nvml.nvmlDeviceGetMemoryBusWidth(card)
    except Exception:  # its errors are its own class, which is not there when the import fails
        return "NVML", 0, 0


# ---------------------------------------------------------------------------- CPU and caches


def cpu_name(root: Path = ROOT) -> Found[str]:
    """Name of the processor, by the best source that answers."""
    for line in _text(root / "proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "Model"} and value.strip():
            return Found(" ".join(value.split()), "/proc/cpuinfo")
    if name := _sysctl("machdep.cpu.brand_string"):
        return Found(name, "sysctl machdep.cpu.brand_string")
    if name := platform.processor() or platform.machine():
        return Found(name, "uname")
    return Found("unknown CPU", UNKNOWN)


def _affinity() -> Found[set[int]]:
    if hasattr(os, "sched_getaffinity"):
        return Found(os.sched_getaffinity(0), "sched_getaffinity")
    return Found(set(range(os.cpu_count() or 1)), "os.cpu_count")


def usable_cpus() -> set[int]:
    """Logical CPUs that this process may run on."""
    return _affinity().value


def _cores(root: Path = ROOT, cpus: set[int] | None = None) -> Found[int]:
    cpus = usable_cpus() if cpus is None else cpus
    base = root / _CPUS
    siblings = {_text(base / f"cpu{cpu}/topology/thread_siblings_list").strip() for cpu in cpus}
    siblings.discard("")
    if siblings:
        return Found(len(siblings), "sysfs thread_siblings_list")
    if cores := _sysctl_number("hw.physicalcpu"):
        return Found(cores, "sysctl hw.physicalcpu")
    return Found(len(cpus), "not known: one for each logical CPU")


def physical_cores(root: Path = ROOT, cpus: set[int] | None = None) -> int:
    """Physical cores behind the usable CPUs. One thread on each is what saturates memory."""
    return _cores(root, cpus).value


class _Instance(NamedTuple):
    """One cache: those of the same level that serve the same CPUs are the same."""

    level: int
    shared: str
    kind: str
    size: int


def _sysfs_caches(root: Path, cpus: set[int] | None) -> dict[int, list[_Instance]]:
    """Caches that hold data, of each usable CPU, as far as Linux describes them."""
    found: dict[int, list[_Instance]] = {}
    for cpu in usable_cpus() if cpus is None else cpus:
        for index in (root / _CPUS).glob(f"cpu{cpu}/cache/index*"):
            level, kind, size, shared = (
                _text(index / name).strip() for name in ("level", "type", "size", "shared_cpu_list")
            )
            size_bytes = _cache_bytes(size)
            if level.isdecimal() and size_bytes and kind in {"Data", "Unified"}:
                cache = _Instance(int(level), shared or str(cpu), kind.lower(), size_bytes)
                found.setdefault(cpu, []).append(cache)
    return found


def caches(root: Path = ROOT, cpus: set[int] | None = None) -> Found[tuple[Cache, ...]]:
    """Caches of the usable CPUs, each counted once however many of the CPUs share it."""
    instances = {cache for own in _sysfs_caches(root, cpus).values() for cache in own}
    alike = Counter((cache.level, cache.kind, cache.size) for cache in instances)
    found = tuple(Cache(*what, number) for what, number in sorted(alike.items()))
    return Found(found, _SYSFS_CACHE if found else UNKNOWN)


def last_level_cache(root: Path = ROOT, cpus: set[int] | None = None) -> Found[int | None]:
    """Bytes of last-level cache that the usable CPUs have together, None if not known.

    A chip of several dies has several last-level caches. An array spread over all cores is
    spread over all of them, so they are added, each once, told apart by the CPUs that share it.
    Each CPU counts the highest level of its own: beside cores that reach an L3 there may be
    others that have only an L2.
    """
    last = {max(own) for own in _sysfs_caches(root, cpus).values()}
    if last:
        return Found(sum(cache.size for cache in last), _SYSFS_CACHE)
    for key in ("hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"):
        if size := _sysctl_number(key):
            return Found(size, f"sysctl {key}")
    return Found(None, UNKNOWN)


def numa_nodes(root: Path = ROOT) -> int | None:
    """Nodes of memory, each near to some of the CPUs; None where the system does not tell."""
    return len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or None


def huge_pages(root: Path = ROOT) -> str | None:
    """Policy of Linux for transparent huge pages: always, madvise or never; None elsewhere."""
    text = _text(root / "sys/kernel/mm/transparent_hugepage/enabled")
    chosen = re.search(r"\[(\w+)\]", text)
    return chosen[1] if chosen else None


def _cache_bytes(text: str) -> int:
    number = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(number[1]) * _SUFFIX.get(number[2], 1) if number else 0


# ------------------------------------------------------------------------------------ memory


def memory_available(root: Path = ROOT) -> Found[int | None]:
    """Bytes that this process may still take; what answered is the limit that binds.

    The least of what the system has to spare, what every control group up the tree leaves (a
    container's limit is not visible in MemAvailable) and the limit on the address space.
    """
    limits = [
        (spare, limit)
        for spare, limit in (
            (_meminfo(root).get("MemAvailable"), "MemAvailable"),
            (vm_stat_spare(_command("vm_stat")), "vm_stat"),
            (_control_group_spare(root), "cgroup"),
            (_address_space_spare(root), "RLIMIT_AS"),
        )
        if spare is not None
    ]
    return Found(*min(limits)) if limits else Found(None, UNKNOWN)


def memory_total(root: Path = ROOT) -> Found[int | None]:
    """Bytes of main memory, None if not known."""
    if total := _meminfo(root).get("MemTotal"):
        return Found(total, "MemTotal")
    if total := _sysctl_number("hw.memsize"):
        return Found(total, "sysctl hw.memsize")
    return Found(None, UNKNOWN)


def _meminfo(root: Path) -> dict[str, int]:
    lines = re.findall(r"^(\w+):\s+(\d+) kB$", _text(root / "proc/meminfo"), re.MULTILINE)
    return {key: int(value) * 1024 for key, value in lines}


def vm_stat_spare(text: str) -> int | None:
    """Bytes to spare from what macOS's ``vm_stat`` prints: free, inactive and speculative."""
    page = re.search(r"page size of (\d+) bytes", text)
    pages = re.findall(r"^Pages (?:free|inactive|speculative):\s+(\d+)\.$", text, re.MULTILINE)
    return int(page[1]) * sum(map(int, pages)) if page and pages else None


def _control_group_spare(root: Path) -> int | None:
    limits = (limit for group in _control_groups(root) for limit in _limits(group))
    return min((max(0, limit - used) for limit, used in limits), default=None)


def _control_groups(root: Path, controller: str = "memory") -> Iterator[Path]:
    """Directories of this process's control group of a kind and of all those above it."""
    lines = re.findall(r"^(\d+):([^:]*):(.*)$", _text(root / "proc/self/cgroup"), re.MULTILINE)
    for hierarchy, controllers, path in lines:
        if hierarchy == "0":
            mount = root / "sys/fs/cgroup"
        elif controller in controllers.split(","):
            mount = root / "sys/fs/cgroup" / controller
        else:
            continue
        # In a container the path may be the host's, of which only the mount itself exists.
        group = mount / path.strip("/")
        yield group
        while group != mount:
            group = group.parent
            yield group


def _limits(group: Path) -> Iterator[tuple[int, int]]:
    """Limits of a control group and what it uses, page cache that can be dropped aside."""
    stat = dict(re.findall(r"^(\w+) (\d+)$", _text(group / "memory.stat"), re.MULTILINE))
    for name, usage, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.high", "memory.current", "inactive_file"),  # beyond it, work is throttled
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, used = _number(_text(group / name)), _number(_text(group / usage))
        # Version 1 writes "no limit" as a number near 2**63.
        if limit is not None and limit < 2**60:
            yield limit, max(0, (used or 0) - int(stat.get(cache, 0)))


def cpu_quota(root: Path = ROOT) -> float | None:
    """CPUs' worth of time that control groups grant this process; None if they set no limit."""
    quotas = []
    for group in _control_groups(root, "cpu"):
        quota, _, period = _text(group / "cpu.max").strip().partition(" ")
        if not quota:  # version 1
            quota = _text(group / "cpu.cfs_quota_us").strip()
            period = _text(group / "cpu.cfs_period_us").strip()
        if quota.isdecimal() and period.isdecimal() and int(period):
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


class Usage(NamedTuple):
    """CPU time of this process so far, s, and how often another one took its CPU."""

    seconds: float
    taken: int


def cpu_usage() -> Usage | None:
    """What this process, with its threads, has used; None on Windows."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - Unix only

    used = resource.getrusage(resource.RUSAGE_SELF)
    return Usage(used.ru_utime + used.ru_stime, used.ru_nivcsw)


def peak_memory() -> int | None:
    """Most bytes of main memory that this process has held, None on Windows."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - Unix only

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024  # macOS counts bytes, Linux KiB


def _address_space_spare(root: Path) -> int | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - Unix only

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    used = re.search(r"^VmSize:\s+(\d+) kB$", _text(root / "proc/self/status"), re.MULTILINE)
    # Stacks and heaps of threads yet to start take as much address space as what they hold.
    return max(0, limit - (int(used[1]) * 1024 if used else 0)) // 2


# ----------------------------------------------------------------------------------- sources


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def _sysctl(key: str) -> str:
    return _command("sysctl", "-n", key)


def _sysctl_number(key: str) -> int | None:
    return _number(_sysctl(key))


def _command(*words: str) -> str:
    """Output of a macOS command; empty on other systems, where the same name means another."""
    if sys.platform != "darwin":
        return ""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()
