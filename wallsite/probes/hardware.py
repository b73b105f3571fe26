"""What this machine is: its CPU, its caches, the memory a program may take, its accelerators.

Each fact is asked of the system, never guessed from a name. Functions that read Linux's files
take the directory that stands for ``/``, so that a test can hand them a tree of its own.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wallsite.probes.errors import DeviceNotFound

ROOT = Path("/")
_SUFFIX = {"K": 2**10, "M": 2**20, "G": 2**30}


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
        memory_limit: what sets ``memory_available``, for example ``MemAvailable`` or ``cgroup``.
    """

    cpu: str
    architecture: str
    system: str
    cpus: int
    cores: int
    last_level_cache: int | None
    memory_total: int | None
    memory_available: int | None
    memory_limit: str


@dataclass(frozen=True)
class Limit:
    """The most that the hardware can do, as it is specified.

    Attributes:
        rate: byte/s.
        source: where the rate comes from, for example memory clock and bus width.
    """

    rate: float
    source: str


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
    available, limit = memory_available()
    return Machine(
        cpu=cpu_name(),
        architecture=platform.machine(),
        system=f"{platform.system()} {platform.release()}",
        cpus=len(usable_cpus()),
        cores=physical_cores(),
        last_level_cache=last_level_cache(),
        memory_total=_memory_total(),
        memory_available=available,
        memory_limit=limit,
    )


def find_device(name: str = "auto") -> Device:
    """Find the device to measure.

    Args:
        name: ``auto`` (the first accelerator, else the CPU), ``cpu``, or a torch device such as
            ``cuda``, ``cuda:1``, ``mps``, ``xpu``.

    Raises:
        ValueError: ``name`` is not the name of a device.
        DeviceNotFound: it is, but this machine has no such device.
    """
    parts = re.fullmatch(r"([a-z]+)(?::(\d+))?", name)
    if not parts:
        raise ValueError(f"device must look like auto, cpu, cuda or cuda:1, got {name!r}")
    if name == "cpu":
        return _cpu()
    accelerators, reason = _accelerators()
    if name == "auto":
        return accelerators[0] if accelerators else _cpu(f"{reason}, so the CPU is measured")
    wanted = parts[1], int(parts[2] or 0)
    for device in accelerators:
        if (device.kind, device.index) == wanted:
            return device
    present = ", ".join(["cpu", *map(str, accelerators)])
    because = f" ({reason})" if reason else ""
    raise DeviceNotFound(f"no device {name!r}: this machine has {present}{because}")


def _cpu(note: str = "") -> Device:
    available, _ = memory_available()
    return Device("cpu", 0, cpu_name(), available, last_level_cache(), note=note)


def _accelerators() -> tuple[list[Device], str]:
    """Accelerators that torch can drive; where there are none, the reason."""
    try:
        import torch  # noqa: PLC0415 - two seconds that only this search needs
    except (ImportError, OSError) as error:
        return [], no_torch(error)
    if not hasattr(torch, "accelerator"):
        return [], f"torch {torch.__version__} is older than 2.6"
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    if found is None:
        return [], f"torch {torch.__version__} finds no accelerator"
    kind = found.type
    driver = getattr(torch, kind)
    indices = range(torch.accelerator.device_count())
    return [_accelerator(driver, kind, index) for index in indices], ""


def no_torch(error: Exception) -> str:
    """Say why torch could not be imported: it is not there, or it is and does not load."""
    if isinstance(error, ModuleNotFoundError):
        return "torch is not installed"
    return f"torch does not load ({str(error).splitlines()[0]})"


def _accelerator(driver: Any, kind: str, index: int) -> Device:
    if kind == "mps":
        # Unified memory: the driver recommends a share, and takes some of it itself.
        free = driver.recommended_max_memory() - driver.driver_allocated_memory()
        return Device(kind, index, cpu_name(), free, last_level_cache())
    properties = driver.get_device_properties(index)
    return Device(
        kind,
        index,
        properties.name,
        driver.mem_get_info(index)[0],
        getattr(properties, "L2_cache_size", None),
        bandwidth_limit(properties) if kind == "cuda" else None,
    )


def bandwidth_limit(properties: Any) -> Limit | None:
    """Bandwidth of a CUDA device: 2 × memory clock × bus width ÷ 8.

    Memory transfers on both edges of its clock, hence the 2. CUDA gives the clock in kHz and the
    width in bits; drivers that no longer tell give zero or nothing.
    """
    kilohertz = getattr(properties, "memory_clock_rate", None)
    bits = getattr(properties, "memory_bus_width", None)
    if not kilohertz or not bits:
        return None
    rate = 2 * kilohertz * 1e3 * bits / 8
    return Limit(rate, f"2 × {kilohertz / 1e3:g} MHz × {bits} bit ÷ 8, as the driver reports them")


# ---------------------------------------------------------------------------- CPU and caches


def cpu_name(root: Path = ROOT) -> str:
    """Name of the processor, by the best source that answers."""
    for line in _text(root / "proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in {"model name", "Model"} and value.strip():
            return " ".join(value.split())
    return (
        _sysctl("machdep.cpu.brand_string")
        or platform.processor()
        or platform.machine()
        or "unknown CPU"
    )


def usable_cpus() -> set[int]:
    """Logical CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def physical_cores(root: Path = ROOT, cpus: set[int] | None = None) -> int:
    """Physical cores behind the usable CPUs. One thread on each is what saturates memory."""
    cpus = usable_cpus() if cpus is None else cpus
    base = root / "sys/devices/system/cpu"
    siblings = {_text(base / f"cpu{cpu}/topology/thread_siblings_list").strip() for cpu in cpus}
    siblings.discard("")
    return len(siblings) or int(_sysctl("hw.physicalcpu") or 0) or len(cpus)


def last_level_cache(root: Path = ROOT, cpus: set[int] | None = None) -> int | None:
    """Bytes of last-level cache that the usable CPUs have together, None if not known.

    A chip of several dies has several last-level caches. An array spread over all cores is
    spread over all of them, so they are added, each once, told apart by the CPUs that share it.
    """
    cpus = usable_cpus() if cpus is None else cpus
    base = root / "sys/devices/system/cpu"
    found: dict[tuple[int, str], int] = {}
    for cpu in cpus:
        for index in base.glob(f"cpu{cpu}/cache/index*"):
            level, size = _text(index / "level").strip(), _cache_bytes(_text(index / "size"))
            if level and size and _text(index / "type").strip() != "Instruction":
                found[int(level), _text(index / "shared_cpu_list").strip()] = size
    if found:
        last = max(level for level, _ in found)
        return sum(size for (level, _), size in found.items() if level == last)
    for key in ("hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"):
        if size := int(_sysctl(key) or 0):
            return size
    return None


def numa_nodes(root: Path = ROOT) -> int | None:
    """Nodes of memory, each near to some of the CPUs; None where the system does not tell."""
    return len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or None


def huge_pages(root: Path = ROOT) -> str | None:
    """Policy of Linux for transparent huge pages: always, madvise or never; None elsewhere."""
    text = _text(root / "sys/kernel/mm/transparent_hugepage/enabled")
    chosen = re.search(r"\[(\w+)\]", text)
    return chosen[1] if chosen else None


def _cache_bytes(text: str) -> int:
    number = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    return int(number[1]) * _SUFFIX.get(number[2], 1) if number else 0


# ------------------------------------------------------------------------------------ memory


def memory_available(root: Path = ROOT) -> tuple[int | None, str]:
    """Bytes that this process may still take, and which limit says so.

    The least of what the system has to spare, what every control group up the tree leaves (a
    container's limit is not visible in MemAvailable) and the limit on the address space.
    """
    limits = [
        (spare, name)
        for spare, name in (
            (_system_spare(root), "MemAvailable"),
            (_control_group_spare(root), "cgroup"),
            (_address_space_spare(root), "RLIMIT_AS"),
        )
        if spare is not None
    ]
    return min(limits) if limits else (None, "unknown")


def _memory_total(root: Path = ROOT) -> int | None:
    return _meminfo(root).get("MemTotal") or int(_sysctl("hw.memsize") or 0) or None


def _meminfo(root: Path) -> dict[str, int]:
    lines = re.findall(r"^(\w+):\s+(\d+) kB$", _text(root / "proc/meminfo"), re.MULTILINE)
    return {key: int(value) * 1024 for key, value in lines}


def _system_spare(root: Path) -> int | None:
    spare = _meminfo(root).get("MemAvailable")
    return vm_stat_spare(_command("vm_stat")) if spare is None else spare


def vm_stat_spare(text: str) -> int | None:
    """Bytes to spare from what macOS's ``vm_stat`` prints: free, inactive and speculative."""
    page = re.search(r"page size of (\d+) bytes", text)
    pages = re.findall(r"^Pages (?:free|inactive|speculative):\s+(\d+)\.$", text, re.MULTILINE)
    return int(page[1]) * sum(map(int, pages)) if page and pages else None


def _control_group_spare(root: Path) -> int | None:
    spares = [
        max(0, limit - used)
        for group in _control_groups(root)
        if (usage := _usage(group))
        for limit, used in [usage]
    ]
    return min(spares, default=None)


def _control_groups(root: Path) -> Iterator[Path]:
    """Directories of this process's memory control group and of all those above it."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        hierarchy, controllers, path = line.split(":", 2)
        if hierarchy == "0":
            mount = root / "sys/fs/cgroup"
        elif "memory" in controllers.split(","):
            mount = root / "sys/fs/cgroup/memory"
        else:
            continue
        # In a container the path may be the host's, of which only the mount itself exists.
        group = mount / path.strip("/")
        yield group
        while group != mount:
            group = group.parent
            yield group


def _usage(group: Path) -> tuple[int, int] | None:
    """Limit of a control group and what it uses, page cache that can be dropped aside."""
    for limit, used, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        text = _text(group / limit).strip()
        # Version 1 writes "no limit" as a number near 2**63.
        if text.isdigit() and int(text) < 2**60:
            stat = dict(re.findall(r"^(\w+) (\d+)$", _text(group / "memory.stat"), re.MULTILINE))
            return int(text), int(_text(group / used) or 0) - int(stat.get(cache, 0))
    return None


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
    return max(0, limit - (int(used[1]) * 1024 if used else 0))


# ----------------------------------------------------------------------------------- sources


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _sysctl(key: str) -> str:
    return _command("sysctl", "-n", key)


def _command(*words: str) -> str:
    """Output of a macOS command; empty on other systems, where the same name means another."""
    if sys.platform != "darwin":
        return ""
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
