"""What the machine is said to be, against trees of files and drivers written by hand."""

import os
import re
import subprocess
import sys
import types
from dataclasses import replace

import pytest

from wallsite import probes
from wallsite.probes import hardware

KIB, MIB, GIB = 2**10, 2**20, 2**30

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux itself")


def tree(root, files):
    """Write files under a directory that stands for the root of a system."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def no_commands(monkeypatch):
    """Nothing to ask but files, as on Linux."""
    monkeypatch.setattr(hardware, "_command", lambda *words: "")


@pytest.fixture(autouse=True)
def driver_loaded(monkeypatch):
    """Search for devices as on a machine with a driver, whatever this one has."""
    monkeypatch.setattr(hardware, "may_have_accelerator", lambda: True)


# -------------------------------------------------------------------------------------- caches


def describe_caches(root, cpu, *levels):
    """Write sysfs's description of the caches of one CPU: level, type, size, CPUs that share."""
    for i, description in enumerate(levels):
        names = ("level", "type", "size", "shared_cpu_list")
        folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{i}"
        files = zip(names, description, strict=True)
        tree(root, {f"{folder}/{name}": f"{text}\n" for name, text in files})


@pytest.fixture
def two_dies(tmp_path):
    """Two dies of two CPUs, with 32 MiB of L3 for each die."""
    for cpu in range(4):
        describe_caches(
            tmp_path,
            cpu,
            (1, "Data", "32K", cpu),
            (1, "Instruction", "64K", cpu),
            (2, "Unified", "1024K", cpu),
            (3, "Unified", "32768K", "0-1" if cpu < 2 else "2-3"),
        )
    return tmp_path


def test_last_level_cache_counts_each_instance_once(two_dies):
    found = hardware.last_level_cache(two_dies, {0, 1, 2, 3})
    assert found == (64 * MIB, "sysfs cpu*/cache")


@pytest.mark.parametrize("cpus", [{0}, {3}, {0, 1}])
def test_last_level_cache_of_the_cpus_that_the_process_may_use(two_dies, cpus):
    assert hardware.last_level_cache(two_dies, cpus).value == 32 * MIB


def test_caches_of_each_level(two_dies):
    assert hardware.caches(two_dies, {0, 1, 2, 3}).value == (
        hardware.Cache(1, "data", 32 * KIB, 4),
        hardware.Cache(2, "unified", MIB, 4),
        hardware.Cache(3, "unified", 32 * MIB, 2),
    )
    assert hardware.caches(two_dies, {2}).value[-1].instances == 1


def test_last_level_cache_without_l3(tmp_path):
    for cpu in (0, 1):
        describe_caches(tmp_path, cpu, (1, "Data", "64K", cpu), (2, "Unified", "2M", "0-1"))
    assert hardware.last_level_cache(tmp_path, {0, 1}).value == 2 * MIB


def test_last_level_cache_of_320_mib(tmp_path):
    describe_caches(tmp_path, 0, (2, "Unified", "2048K", 0), (3, "Unified", "327680K", "0-1"))
    describe_caches(tmp_path, 1, (2, "Unified", "2048K", 1), (3, "Unified", "327680K", "0-1"))
    assert hardware.last_level_cache(tmp_path, {0, 1}).value == 320 * MIB


def test_cores_of_which_only_some_reach_an_l3(tmp_path):
    describe_caches(tmp_path, 0, (2, "Unified", "2M", "0"), (3, "Unified", "12M", "0"))
    for cpu in (1, 2):
        describe_caches(tmp_path, cpu, (1, "Data", "32K", cpu), (2, "Unified", "4M", "1-2"))
    assert hardware.last_level_cache(tmp_path, {0, 1, 2}).value == 16 * MIB
    assert hardware.last_level_cache(tmp_path, {1, 2}).value == 4 * MIB
    assert hardware.caches(tmp_path, {0, 1, 2}).value == (
        hardware.Cache(1, "data", 32 * KIB, 2),
        hardware.Cache(2, "unified", 2 * MIB, 1),
        hardware.Cache(2, "unified", 4 * MIB, 1),
        hardware.Cache(3, "unified", 12 * MIB, 1),
    )


def test_caches_that_name_no_cpus_are_each_their_own(tmp_path):
    for cpu in (0, 1):
        describe_caches(tmp_path, cpu, (2, "Unified", "1M", ""))
    assert hardware.last_level_cache(tmp_path, {0, 1}).value == 2 * MIB


@pytest.mark.usefixtures("no_commands")
@pytest.mark.parametrize(
    "damaged",
    [
        (3, "Unified", "", 0),
        (3, "Unified", "0K", 0),
        (3, "Unified", "-32K", 0),
        (3, "Unified", "32 MB", 0),
        (3, "Unified", "32T", 0),
        ("", "Unified", "32M", 0),
        ("three", "Unified", "32M", 0),
        (3, "", "32M", 0),
    ],
)
def test_a_damaged_description_is_left_out_not_guessed(tmp_path, damaged):
    describe_caches(tmp_path, 0, damaged)
    assert hardware.last_level_cache(tmp_path, {0}) == (None, "not known")
    assert hardware.caches(tmp_path, {0}) == ((), "not known")
    describe_caches(tmp_path, 0, damaged, (2, "Unified", "2M", 0))
    assert hardware.last_level_cache(tmp_path, {0}).value == 2 * MIB


@pytest.mark.usefixtures("no_commands")
def test_no_description_at_all(tmp_path):
    assert hardware.last_level_cache(tmp_path, {0}) == (None, "not known")


# --------------------------------------------------------------------------------------- cores


def siblings(*lists):
    return {
        f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list": text
        for cpu, text in enumerate(lists)
    }


def test_two_threads_of_a_core_are_one_core(tmp_path):
    tree(tmp_path, siblings("0,2\n", "1,3\n", "0,2\n", "1,3\n"))
    assert hardware.physical_cores(tmp_path, {0, 1, 2, 3}) == 2
    assert hardware.physical_cores(tmp_path, {0, 2}) == 1
    assert hardware.physical_cores(tmp_path, {0, 1}) == 2


@pytest.mark.usefixtures("no_commands")
def test_cores_that_are_not_described_are_one_for_each_cpu(tmp_path):
    assert hardware.physical_cores(tmp_path, {0, 5, 9}) == 3


def test_affinity_to_one_cpu(monkeypatch, two_dies):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2}, raising=False)
    tree(two_dies, siblings("0-1", "0-1", "2-3", "2-3"))
    assert hardware.usable_cpus() == {2}
    assert hardware.physical_cores(two_dies) == 1
    assert hardware.last_level_cache(two_dies).value == 32 * MIB
    found = probes.machine()
    assert (found.cpus, found.found["cpus"]) == (1, "sched_getaffinity")


@linux_only
def test_a_process_bound_to_one_cpu():
    run(
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from wallsite import probes; found = probes.machine();"
        "assert (found.cpus, found.cores) == (1, 1), found;"
        "assert all(cache.instances == 1 for cache in found.caches), found"
    )


def run(program):
    subprocess.run([sys.executable, "-c", program], check=True)


def test_without_affinity_all_cpus_count(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert hardware.usable_cpus() == {0, 1, 2}
    assert probes.machine().found["cpus"] == "os.cpu_count"


@pytest.mark.parametrize("key", ["model name\t", "Model\t\t"])
def test_cpu_name(tmp_path, key):
    tree(tmp_path, {"proc/cpuinfo": f"processor : 0\n{key}: A  CPU @ 2 GHz\nflags : sse\n"})
    assert hardware.cpu_name(tmp_path) == ("A CPU @ 2 GHz", "/proc/cpuinfo")


@pytest.mark.usefixtures("no_commands")
def test_cpu_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr(hardware.platform, "processor", lambda: "")
    monkeypatch.setattr(hardware.platform, "machine", lambda: "aarch64")
    assert hardware.cpu_name(tmp_path) == ("aarch64", "uname")
    monkeypatch.setattr(hardware.platform, "machine", lambda: "")
    assert hardware.cpu_name(tmp_path) == ("unknown CPU", "not known")


# -------------------------------------------------------------------------------------- memory

MEMINFO = "MemTotal:       16777216 kB\nMemFree:  1024 kB\nMemAvailable:    8388608 kB\n"
CGROUPS = "sys/fs/cgroup"


@pytest.fixture
def host(tmp_path, monkeypatch, no_commands):
    """16 GiB of memory, 8 GiB of them free, in a process without a limit of its own."""
    monkeypatch.setattr(hardware, "_address_space_spare", lambda root: None)
    return tree(tmp_path, {"proc/meminfo": MEMINFO})


def test_memory_without_limits(host):
    assert hardware.memory_available(host) == (8 * GIB, "MemAvailable")
    assert hardware.memory_total(host) == (16 * GIB, "MemTotal")


@pytest.mark.parametrize(
    ("cgroup", "files", "available"),
    [
        pytest.param(
            "0::/system/job",
            {
                "system/job/memory.max": "max",
                "system/memory.max": 3 * GIB,
                "system/memory.current": 2 * GIB,
                "system/memory.stat": f"anon 1\ninactive_file {GIB}",
            },
            2 * GIB,
            id="v2: that of a parent, files that can be dropped left out",
        ),
        pytest.param(
            "0::/a/b/c",
            {
                "a/memory.max": 6 * GIB,
                "a/memory.current": 5 * GIB,
                "a/b/memory.max": 4 * GIB,
                "a/b/memory.current": 2 * GIB,
                "a/b/c/memory.max": 3 * GIB,
                "a/b/c/memory.current": GIB,
            },
            GIB,
            id="v2: the tightest of nested ones",
        ),
        pytest.param(
            "0::/a",
            {"a/memory.max": 4 * GIB, "a/memory.high": 3 * GIB, "a/memory.current": GIB},
            2 * GIB,
            id="v2: beyond its high mark it is throttled",
        ),
        pytest.param(
            "0::/", {"memory.max": GIB, "memory.current": 2 * GIB}, 0, id="v2: over its limit"
        ),
        pytest.param(
            # The path is the host's; inside a container, only the mount itself exists.
            "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/",
            {
                "memory/memory.limit_in_bytes": GIB,
                "memory/memory.usage_in_bytes": 256 * MIB,
                "memory/memory.stat": f"total_inactive_file {64 * MIB}",
            },
            832 * MIB,
            id="v1: seen from a container",
        ),
        pytest.param(
            "4:cpuset,memory:/a/b",
            {
                "memory/a/b/memory.limit_in_bytes": 5 * GIB,
                "memory/a/memory.limit_in_bytes": 2 * GIB,
                "memory/a/memory.usage_in_bytes": GIB // 2,
            },
            3 * GIB // 2,
            id="v1: that of a parent",
        ),
        pytest.param(
            "0::/",
            {
                "memory.max": GIB,
                "memory.current": "much",
                "memory.stat": f"inactive_file\ninactive_file {MIB}",
            },
            GIB,
            id="v2: a use that is no number leaves the limit",
        ),
    ],
)
def test_memory_of_a_cgroup(host, cgroup, files, available):
    described = {f"{CGROUPS}/{name}": f"{value}\n" for name, value in files.items()}
    tree(host, {"proc/self/cgroup": f"{cgroup}\n"} | described)
    assert hardware.memory_available(host) == (available, "cgroup")


def test_cgroup_v1_without_a_limit(host):
    unlimited = {f"{CGROUPS}/memory/memory.limit_in_bytes": "9223372036854771712\n"}
    tree(host, {"proc/self/cgroup": "4:memory:/\n"} | unlimited)
    assert hardware.memory_available(host) == (8 * GIB, "MemAvailable")
    (host / "proc/meminfo").unlink()
    assert hardware.memory_available(host) == (None, "not known")


@pytest.mark.parametrize("limit", ["", "max\n", "-1\n", "1e9\n", "four\n", "²\n"])
def test_a_limit_that_is_no_number_is_none(host, limit):
    tree(host, {"proc/self/cgroup": "0::/\n", f"{CGROUPS}/memory.max": limit})
    assert hardware.memory_available(host) == (8 * GIB, "MemAvailable")


def test_an_unreadable_limit_is_none(host):
    tree(host, {"proc/self/cgroup": "0::/\n"})
    (host / CGROUPS / "memory.max").mkdir(parents=True)  # reading it fails, even for root
    assert hardware.memory_available(host) == (8 * GIB, "MemAvailable")


@pytest.mark.parametrize("line", ["", "0", "0:", "nonsense", "x:memory:/a", ":::", "\x00"])
def test_a_malformed_list_of_cgroups_is_read_past(host, line):
    tree(host, {"proc/self/cgroup": f"{line}\n0::/\n", f"{CGROUPS}/memory.max": f"{GIB}\n"})
    assert hardware.memory_available(host) == (GIB, "cgroup")


def test_a_process_in_no_cgroup(host):
    tree(host, {"proc/self/cgroup": "", f"{CGROUPS}/memory.max": f"{GIB}\n"})
    assert hardware.memory_available(host) == (8 * GIB, "MemAvailable")


@pytest.mark.parametrize("text", ["", "MemAvailable: lots\n", "MemTotal 16 kB\n"])
def test_memory_that_is_not_known(host, text):
    tree(host, {"proc/meminfo": text})
    assert hardware.memory_available(host) == (None, "not known")
    assert hardware.memory_total(host) == (None, "not known")


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
@pytest.mark.usefixtures("no_commands")
def test_limit_of_the_address_space_by_hand(tmp_path, monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda which: (GIB, GIB))
    tree(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/status": "VmSize:\t  262144 kB\n"})
    assert hardware.memory_available(tmp_path) == (384 * MIB, "RLIMIT_AS")  # half of 768
    tree(tmp_path, {"proc/self/status": "VmSize:\t 2097152 kB\n"})
    assert hardware.memory_available(tmp_path) == (0, "RLIMIT_AS")


@linux_only
def test_limit_of_the_address_space_of_a_process():
    run(
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30));"
        "from wallsite import probes; found = probes.machine();"
        "assert found.found['memory_available'] == 'RLIMIT_AS', found;"
        "assert 0 < found.memory_available < 2**30, found"
    )


# --------------------------------------------------------------------------------------- macOS

VM_STAT = """\
Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               10.
Pages active:                            999.
Pages inactive:                           20.
Pages speculative:                         5.
"""


def test_vm_stat_of_macos():
    assert hardware.vm_stat_spare(VM_STAT) == 35 * 16384
    assert hardware.vm_stat_spare("") is None
    assert hardware.vm_stat_spare(VM_STAT.splitlines()[0]) is None


def test_what_macos_answers(tmp_path, monkeypatch):
    answers = {
        "machdep.cpu.brand_string": "Apple M2",
        "hw.physicalcpu": "8",
        "hw.perflevel0.l2cachesize": str(16 * MIB),
        "hw.l2cachesize": str(4 * MIB),
        "hw.memsize": str(16 * GIB),
    }

    def command(*words):
        return VM_STAT if words == ("vm_stat",) else answers.get(words[-1], "")

    monkeypatch.setattr(hardware, "_command", command)
    monkeypatch.setattr(hardware, "_address_space_spare", lambda root: None)
    assert hardware.cpu_name(tmp_path) == ("Apple M2", "sysctl machdep.cpu.brand_string")
    assert hardware.physical_cores(tmp_path, set(range(8))) == 8
    last = hardware.last_level_cache(tmp_path, set(range(8)))
    assert last == (16 * MIB, "sysctl hw.perflevel0.l2cachesize")
    assert hardware.memory_total(tmp_path) == (16 * GIB, "sysctl hw.memsize")
    assert hardware.memory_available(tmp_path) == (35 * 16384, "vm_stat")


def test_a_command_that_is_not_there_answers_nothing(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert hardware._command("no-such-command-as-this") == ""


# ------------------------------------------------------------------------------- the whole host


def test_every_fact_says_how_it_was_found():
    found = probes.machine()
    facts = [name for name in vars(found) if name != "found"]
    assert list(found.found) == facts
    assert all(found.found.values())
    for name, how in found.found.items():
        if getattr(found, name) in (None, ()):
            assert how == "not known"


def test_a_machine_survives_json():
    result = probes.Result(
        wallsite="0",
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:00:01+00:00",
        wall_seconds=1.0,
        interrupted=False,
        machine=probes.machine(),
        device=probes.find_device("cpu"),
        environment=probes.Environment((0,), 1, "madvise", 0.5, "3", {}),
        backend="numpy",
        backend_version="2",
        threads=1,
        peak_memory=None,
        measurements=(),
    )
    assert probes.Result.from_json(result.to_json()) == result


# --------------------------------------------------------------------------------------- torch


@pytest.fixture(autouse=True)
def no_nvml(monkeypatch):
    """What a GPU of the machine that runs the tests says of itself is no concern of theirs."""
    monkeypatch.setitem(sys.modules, "pynvml", None)


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


def fake_torch(monkeypatch, kind, count=1, **driver):
    torch = types.SimpleNamespace(
        __version__="2.99",
        accelerator=types.SimpleNamespace(
            is_available=lambda: count > 0,
            current_accelerator=lambda: types.SimpleNamespace(type=kind) if count else None,
            device_count=lambda: count,
        ),
        **{kind: types.SimpleNamespace(**driver)},
    )
    monkeypatch.setitem(sys.modules, "torch", torch)


def properties(name="a device", **more):
    return types.SimpleNamespace(name=name, **more)


H200 = properties(
    "NVIDIA H200",
    uuid="1234",
    L2_cache_size=60 * MIB,
    memory_clock_rate=3201000,
    memory_bus_width=6144,
    is_integrated=0,
)


@pytest.mark.usefixtures("no_torch")
class TestWithoutTorch:
    def test_auto_takes_the_cpu_and_says_why(self):
        found = probes.find_device()
        assert found.kind == "cpu"
        assert found.note == "torch is not installed, so the CPU is measured"

    @pytest.mark.parametrize("name", ["cuda", "cuda:1", "mps", "xpu", "npu"])
    def test_a_gpu_is_not_found(self, name):
        why = rf"no device '{name}': this machine has cpu \(torch is not installed\)"
        with pytest.raises(probes.DeviceNotFound, match=why):
            probes.find_device(name)

    def test_the_cpu_is_all_there_is(self):
        (cpu,), reason = hardware.devices()
        assert (str(cpu), reason) == ("cpu", "torch is not installed")
        # Whatever memory is free by then, it is the same device.
        first, second = (probes.find_device(name) for name in ("cpu", "cpu:0"))
        assert replace(first, memory_available=None) == replace(second, memory_available=None)

    def test_the_torch_backend_is_not_there(self, monkeypatch):
        monkeypatch.delitem(sys.modules, "wallsite.probes.torch_backend", raising=False)
        with pytest.raises(ValueError, match="backend torch is not installed"):
            probes.measure("memory", device="cpu", backend="torch", array_bytes=MIB)


def break_torch(monkeypatch, error):
    """Make the import of torch raise an error."""

    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "torch":
                raise error

    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "wallsite.probes.torch_backend", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])


LIBRARY = "libcudart.so.12: cannot open shared object file"


@pytest.mark.parametrize("error", [ImportError(f"{LIBRARY}\nmore"), OSError(f"{LIBRARY}\nmore")])
def test_a_torch_that_does_not_load_is_not_called_absent(monkeypatch, error):
    break_torch(monkeypatch, error)
    why = f"torch does not load ({LIBRARY})"
    assert probes.find_device().note == f"{why}, so the CPU is measured"
    with pytest.raises(ValueError, match=rf"^backend {re.escape(why)}; numpy measures the CPU$"):
        probes.measure("memory", device="cpu", backend="torch", array_bytes=MIB)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RuntimeError("Failed to load the backend extension: torch_npu."), "torch_npu"),
        (ImportError(), "ImportError"),
    ],
)
def test_an_extension_of_torch_that_does_not_load(monkeypatch, error, why):
    break_torch(monkeypatch, error)
    with pytest.raises(probes.DeviceNotFound, match=rf"torch does not load \(.*{why}\.?\)\)$"):
        probes.find_device("npu")


def test_torch_without_a_gpu_takes_the_cpu_and_says_why(monkeypatch):
    fake_torch(monkeypatch, "cuda", 0)
    assert probes.find_device().note == "torch 2.99 finds no accelerator, so the CPU is measured"


def test_torch_too_old(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.1"))
    assert probes.find_device().note.startswith("torch 2.1 is older than 2.6")


@pytest.mark.parametrize("name", ["", "CUDA", "cuda:", "cuda:-1", "cuda:1:2", "gpu 1", "0", "cu\n"])
def test_a_name_that_is_none(name):
    with pytest.raises(ValueError, match="device must look like"):
        probes.find_device(name)


# ------------------------------------------------------------------------------------- devices


def test_cuda_devices(monkeypatch):
    fake_torch(
        monkeypatch,
        "cuda",
        2,
        get_device_properties=lambda index: H200,
        mem_get_info=lambda index: ((100 + index) * GIB, 141 * GIB),
    )
    assert str(probes.find_device()) == "cuda:0"
    assert probes.find_device().note == ""
    second = probes.find_device("cuda:1")
    assert (second.name, second.memory_available) == ("NVIDIA H200", 101 * GIB)
    assert second.last_level_cache == 60 * MIB
    assert second.bandwidth_limit.rate == 4916.736e9
    with pytest.raises(probes.DeviceNotFound, match=r"this machine has cpu, cuda:0, cuda:1$"):
        probes.find_device("cuda:2")
    with pytest.raises(probes.DeviceNotFound):
        probes.find_device("mps")


def test_ascend_npu(monkeypatch):
    fake_torch(
        monkeypatch,
        "npu",
        get_device_properties=lambda index: properties("Ascend910B2"),
        mem_get_info=lambda index: (60 * GIB, 64 * GIB),
    )
    found = probes.find_device("npu")
    assert found == probes.Device("npu", 0, "Ascend910B2", 60 * GIB, None, None)
    assert found == probes.find_device() == probes.find_device("npu:0")


@pytest.mark.parametrize("kind", ["cuda", "xpu", "npu"])
def test_a_driver_that_tells_next_to_nothing(monkeypatch, kind):
    fake_torch(monkeypatch, kind, get_device_properties=lambda index: object())
    assert probes.find_device(kind) == probes.Device(kind, 0, kind, None, None, None)


def test_intel_names_its_cache_otherwise(monkeypatch):
    intel = properties(last_level_cache_size=18 * MIB, memory_clock_rate=2375, memory_bus_width=64)
    fake_torch(
        monkeypatch,
        "xpu",
        get_device_properties=lambda index: intel,
        mem_get_info=lambda index: (10 * GIB, 12 * GIB),
    )
    assert probes.find_device("xpu") == probes.Device(
        "xpu", 0, "a device", 10 * GIB, 18 * MIB, None
    )


def refuse(index):
    raise RuntimeError("the driver is gone\nand more that nobody reads")


def test_an_integrated_intel_gpu_takes_of_the_host_s_memory(monkeypatch):
    monkeypatch.setattr(hardware, "memory_available", lambda: hardware.Found(5 * GIB, "cgroup"))
    fake_torch(
        monkeypatch, "xpu", get_device_properties=lambda index: properties(), mem_get_info=refuse
    )
    assert probes.find_device("xpu").memory_available == 5 * GIB


@pytest.mark.parametrize("kind", ["cuda", "npu"])
@pytest.mark.parametrize("question", ["get_device_properties", "mem_get_info"])
def test_a_driver_that_fails_is_one_clear_line(monkeypatch, kind, question):
    driver = {
        "get_device_properties": lambda index: properties(),
        "mem_get_info": lambda index: (GIB, GIB),
        question: refuse,
    }
    fake_torch(monkeypatch, kind, **driver)
    why = f"the driver of {kind}:0 fails: the driver is gone"
    with pytest.raises(probes.DeviceNotFound) as caught:
        probes.find_device(kind)
    assert str(caught.value) == f"no device '{kind}': this machine has cpu ({why})"
    assert probes.find_device().note == f"{why}, so the CPU is measured"


def test_the_other_gpu_is_measured_and_the_fault_is_told(monkeypatch):
    fake_torch(
        monkeypatch,
        "cuda",
        2,
        get_device_properties=lambda index: H200 if index else refuse(index),
        mem_get_info=lambda index: (GIB, GIB),
    )
    found = probes.find_device()
    assert str(found) == "cuda:1"
    assert found.note == "the driver of cuda:0 fails: the driver is gone"


@pytest.mark.parametrize(("allocated", "free"), [(GIB, 11 * GIB), (13 * GIB, 0)])
def test_apple_gpu_shares_main_memory(monkeypatch, allocated, free):
    fake_torch(
        monkeypatch,
        "mps",
        recommended_max_memory=lambda: 12 * GIB,
        driver_allocated_memory=lambda: allocated,
    )
    found = probes.find_device("mps")
    assert (found.memory_available, found.bandwidth_limit) == (free, None)
    assert found.name == probes.machine().cpu


# ----------------------------------------------------------------------------- bandwidth limit


def fake_nvml(monkeypatch, megahertz, bits, **more):
    class Missing(Exception):
        pass

    def handle(uuid):
        if uuid != "GPU-1234":
            raise Missing(uuid)
        return uuid

    nvml = types.SimpleNamespace(
        NVML_CLOCK_MEM=2,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=handle,
        nvmlDeviceGetMaxClockInfo=lambda card, clock: {2: megahertz}[clock],
        nvmlDeviceGetMemoryBusWidth=lambda card: bits,
    )
    vars(nvml).update(more)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)


def test_two_transfers_a_clock_and_no_more():
    # 2 × 3201 MHz × 6144 bit ÷ 8 bit/byte = 4.916736 TB/s
    limit = hardware.bandwidth_limit(H200)
    assert limit.rate == 2 * 3201e6 * 768
    assert limit.source == "2 × 3201 MHz × 6144 bit ÷ 8, as CUDA reports them"


@pytest.mark.parametrize(
    "quiet",
    [
        properties(),
        properties(memory_clock_rate=0, memory_bus_width=0),
        properties(memory_clock_rate=3201000),
        properties(memory_bus_width=6144),
    ],
)
def test_a_driver_that_does_not_tell_its_clock(quiet):
    assert hardware.bandwidth_limit(quiet) is None


@pytest.mark.parametrize("other", [{"gcnArchName": "gfx942:sramecc+:xnack-"}, {"is_integrated": 1}])
def test_a_clock_that_is_not_the_memory_s(other):
    assert hardware.bandwidth_limit(types.SimpleNamespace(**{**vars(H200), **other})) is None


def test_a_second_opinion_that_agrees(monkeypatch):
    fake_nvml(monkeypatch, 3201 * 1.019, 6144)
    assert hardware.bandwidth_limit(H200).rate == 2 * 3201e6 * 768


@pytest.mark.parametrize(("megahertz", "bits"), [(3201 * 1.03, 6144), (1600, 6144), (3201, 3072)])
def test_two_opinions_that_differ_are_no_limit(monkeypatch, megahertz, bits):
    fake_nvml(monkeypatch, megahertz, bits)
    assert hardware.bandwidth_limit(H200) is None


def test_nvml_alone_where_torch_is_too_old_to_tell(monkeypatch):
    fake_nvml(monkeypatch, 2619, 5120)
    limit = hardware.bandwidth_limit(properties("NVIDIA H100", uuid="1234"))
    assert limit.rate == 2 * 2619e6 * 640
    assert limit.source.endswith("as NVML reports them")


def test_a_second_opinion_that_fails_is_none(monkeypatch):
    def fail(*given):
        raise KeyError("an error of its own")

    for function in ("nvmlInit", "nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetMemoryBusWidth"):
        fake_nvml(monkeypatch, 1, 1, **{function: fail})
        assert hardware.bandwidth_limit(H200).rate == 2 * 3201e6 * 768
    fake_nvml(monkeypatch, 1, 1)
    other = types.SimpleNamespace(**{**vars(H200), "uuid": "another card"})
    assert hardware.bandwidth_limit(other).rate == 2 * 3201e6 * 768


may_have_accelerator = hardware.may_have_accelerator


@linux_only
@pytest.mark.parametrize(
    ("node", "may"),
    [
        ("null", False),
        ("dri/card0", False),
        ("nvidia-uvm", False),
        ("nvidia0", True),
        ("dxg", True),
        ("kfd", True),
        ("dri/renderD128", True),
        ("davinci7", True),
    ],
)
def test_device_files_tell_of_a_driver(tmp_path, node, may):
    tree(tmp_path, {f"dev/{node}": ""})
    assert may_have_accelerator(tmp_path) is may


def test_without_a_driver_torch_is_not_asked(monkeypatch):
    monkeypatch.setattr(hardware, "may_have_accelerator", lambda: False)
    monkeypatch.setitem(sys.modules, "torch", None)
    note = "no driver of an accelerator is loaded, so the CPU is measured"
    assert probes.find_device().note == note
    with pytest.raises(probes.DeviceNotFound, match="torch is not installed"):
        probes.find_device("cuda")


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"}, 1.5),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, None),
        # The tightest of a group and those around it.
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
                "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
            },
            2.0,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/a\n",
                "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/a\n",
                "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({}, None),
    ],
)
def test_the_quota_of_a_container(tmp_path, files, quota):
    assert hardware.cpu_quota(tree(tmp_path, files)) == quota
