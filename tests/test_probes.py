"""The probes count, check and plan as they say. No test passes or fails by how fast a thing was."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

from wallsite import probes
from wallsite.probes import backend, hardware, matmul, memory, numpy_backend
from wallsite.probes.kernels import KERNELS, Q
from wallsite.probes.plan import FLOOR, HOST_TOTAL, HOST_TOTAL_QUICK

KIB, MIB, GIB = 2**10, 2**20, 2**30
N = 1000  # bytes of an array, for counting by hand


def device(free=64 * GIB, cache=32 * MIB, kind="cpu", **more):
    return probes.Device(kind, 0, "a device", free, cache, **more)


# ------------------------------------------------------------------------------------ counting


@pytest.mark.parametrize(
    ("name", "counted", "allocated"),
    [("copy", 2, 3), ("scale", 2, 3), ("add", 3, 4), ("triad", 3, 4)],
)
def test_bytes_by_hand(name, counted, allocated):
    (kernel,) = (kernel for kernel in KERNELS if kernel.name == name)
    assert kernel.bytes_counted(N) == counted * N
    assert kernel.bytes_with_write_allocate(N) == allocated * N


def samples(*seconds):
    return probes.Samples(seconds, warmups=(9.0,))


def bandwidth_result(where=None, seconds=(2.0, 1.0, 4.0)):
    kernels = tuple(
        probes.KernelResult(
            kernel.name,
            kernel.formula,
            kernel.bytes_counted(GIB),
            kernel.bytes_with_write_allocate(GIB),
            samples(*seconds),
            largest_error=0.0,
        )
        for kernel in KERNELS
    )
    where = where or device()
    return probes.BandwidthResult(
        where, "numpy", "2", 2, "fp32", GIB, "rule", kernels, ("careful",)
    )


def matmul_result(where=None, seconds=(1.0, 0.5)):
    return probes.MatmulResult(
        where or device(), "numpy", "2", "fp32", 1024, samples(*seconds), 0.0
    )


def test_rates_by_hand():
    triad = bandwidth_result().triad
    assert triad.best == 3 * GIB / 1.0
    assert triad.median == 3 * GIB / 2.0
    assert triad.best_with_write_allocate == 4 * GIB / 1.0
    assert matmul_result().best == 2 * 1024**3 / 0.5
    assert matmul_result().median == 2 * 1024**3 / 0.75


def test_no_estimate_where_stores_may_pass_the_cache():
    kernel = dataclasses.replace(bandwidth_result().triad, bytes_with_write_allocate=None)
    assert kernel.best_with_write_allocate is None


def test_ridge_is_matmul_over_triad():
    assert probes.measured_ridge(matmul_result(), bandwidth_result()) == (2 * 1024**3 / 0.5) / (
        3 * GIB / 1.0
    )


def test_ridge_belongs_to_one_device():
    with pytest.raises(ValueError, match="matmul was measured on cuda:0, bandwidth on cpu"):
        probes.measured_ridge(matmul_result(device(kind="cuda")), bandwidth_result())


# -------------------------------------------------------------------------------------- timing


def fake_clock(*readings):
    left = list(readings)
    return lambda: left.pop(0)


def test_device_is_idle_whenever_the_clock_is_read():
    log = []

    def clock():
        log.append("clock")
        return len(log)

    probes.sample(
        lambda: log.append("call"),
        repeats=2,
        warmups=1,
        synchronise=lambda: log.append("idle"),
        clock=clock,
    )
    assert log == ["idle", "clock", "call", "idle", "clock"] * 3


def test_warmups_are_kept_apart():
    result = probes.sample(
        lambda: None, repeats=2, warmups=2, clock=fake_clock(0, 5, 5, 6, 6, 8, 8, 11)
    )
    assert result == probes.Samples(seconds=(2, 3), warmups=(5, 1), calls=1)
    assert (result.best, result.median) == (2, 2.5)


def test_short_calls_are_repeated_within_a_sample():
    calls = []
    result = probes.sample(
        lambda: calls.append(1), repeats=1, warmups=1, clock=fake_clock(0, 0.001, 1, 1.005)
    )
    assert (result.calls, len(calls)) == (5, 6)
    assert result.seconds == pytest.approx((0.001,))


def test_percentiles_and_spread():
    ten = samples(*range(10, 0, -1))
    assert (ten.p10, ten.p90) == (1, 9)
    assert ten.spread == 8 / 5.5


def test_a_clock_that_stands_still_is_an_error_not_infinity():
    with pytest.raises(probes.ClockStopped, match="did not advance"):
        probes.sample(lambda: None, clock=lambda: 1.0)


def test_a_clock_that_runs_backwards_is_an_error():
    with pytest.raises(probes.ClockStopped):
        probes.sample(lambda: None, repeats=1, warmups=1, clock=fake_clock(0, 1, 3, 2))


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"warmups": 0}, {"repeats": 1.5}])
def test_sample_names_the_wrong_argument(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        probes.sample(lambda: None, **wrong)


# ------------------------------------------------------------------------------------- machine


def tree(root, **files):
    """Write files; double underscores in a name stand for slashes."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def caches(root, cpu, *levels):
    """Write sysfs's description of the caches of one CPU: level, type, size, CPUs that share."""
    for i, (level, kind, size, shared) in enumerate(levels):
        folder = root / f"sys/devices/system/cpu/cpu{cpu}/cache/index{i}"
        folder.mkdir(parents=True)
        for name, text in {
            "level": level,
            "type": kind,
            "size": size,
            "shared_cpu_list": shared,
        }.items():
            (folder / name).write_text(f"{text}\n")


def test_last_level_cache_counts_each_instance_once(tmp_path):
    # Two dies of two CPUs, with 32 MiB of L3 for each die.
    for cpu in range(4):
        die = "0-1" if cpu < 2 else "2-3"
        caches(
            tmp_path,
            cpu,
            (1, "Data", "32K", cpu),
            (1, "Instruction", "64K", cpu),
            (2, "Unified", "1024K", cpu),
            (3, "Unified", "32768K", die),
        )
    assert hardware.last_level_cache(tmp_path, {0, 1, 2, 3}) == 64 * MIB
    assert hardware.last_level_cache(tmp_path, {0}) == 32 * MIB  # bound to one CPU of one die


def test_last_level_cache_without_l3(tmp_path):
    caches(tmp_path, 0, (1, "Data", "64K", 0), (2, "Unified", "2M", "0-1"))
    caches(tmp_path, 1, (1, "Data", "64K", 1), (2, "Unified", "2M", "0-1"))
    assert hardware.last_level_cache(tmp_path, {0, 1}) == 2 * MIB


def test_cores_of_which_only_some_reach_the_last_level(tmp_path):
    caches(tmp_path, 0, (2, "Unified", "2M", "0"), (3, "Unified", "12M", "0"))
    caches(tmp_path, 1, (2, "Unified", "4M", "1-2"))
    assert hardware.last_level_cache(tmp_path, {0, 1, 2}) == 12 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system is asked, not files")
def test_unreadable_caches_are_unknown_not_zero(tmp_path):
    assert hardware.last_level_cache(tmp_path, {0}) is None
    caches(tmp_path, 0, (3, "Unified", "", "0"))
    assert hardware.last_level_cache(tmp_path, {0}) is None


def test_two_threads_of_a_core_are_one_core(tmp_path):
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        tree(
            tmp_path,
            **{f"sys__devices__system__cpu__cpu{cpu}__topology__thread_siblings_list": siblings},
        )
    assert hardware.physical_cores(tmp_path, {0, 1, 2, 3}) == 2
    assert hardware.physical_cores(tmp_path, {0, 2}) == 1


def test_cpu_name(tmp_path):
    tree(tmp_path, proc__cpuinfo="processor : 0\nmodel name\t: A  CPU @ 2 GHz\nflags : sse\n")
    assert hardware.cpu_name(tmp_path) == "A CPU @ 2 GHz"


MEMINFO = "MemTotal:       16777216 kB\nMemFree:  1024 kB\nMemAvailable:    8388608 kB\n"


@pytest.fixture
def unlimited(monkeypatch):
    monkeypatch.setattr(hardware, "_address_space_spare", lambda root: None)


@pytest.mark.usefixtures("unlimited")
class TestMemoryAvailable:
    def test_without_limits(self, tmp_path):
        tree(tmp_path, proc__meminfo=MEMINFO)
        assert hardware.memory_available(tmp_path) == (8 * GIB, "MemAvailable")

    def test_cgroup_v2_limit_of_a_parent(self, tmp_path):
        tree(
            tmp_path,
            proc__meminfo=MEMINFO,
            proc__self__cgroup="0::/system/job\n",
            **{
                "sys__fs__cgroup__system__job__memory.max": "max\n",
                "sys__fs__cgroup__system__memory.max": f"{3 * GIB}\n",
                "sys__fs__cgroup__system__memory.current": f"{2 * GIB}\n",
                "sys__fs__cgroup__system__memory.stat": f"anon 1\ninactive_file {GIB}\n",
            },
        )
        assert hardware.memory_available(tmp_path) == (2 * GIB, "cgroup")

    def test_cgroup_v1_limit_seen_from_a_container(self, tmp_path):
        # The path is the host's; inside, only the mount itself exists.
        tree(
            tmp_path,
            proc__meminfo=MEMINFO,
            proc__self__cgroup="5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n",
            **{
                "sys__fs__cgroup__memory__memory.limit_in_bytes": f"{GIB}\n",
                "sys__fs__cgroup__memory__memory.usage_in_bytes": f"{256 * MIB}\n",
                "sys__fs__cgroup__memory__memory.stat": f"total_inactive_file {64 * MIB}\n",
            },
        )
        assert hardware.memory_available(tmp_path) == (832 * MIB, "cgroup")

    def test_cgroup_v1_without_a_limit(self, tmp_path):
        tree(
            tmp_path,
            proc__meminfo=MEMINFO,
            proc__self__cgroup="4:memory:/\n",
            **{"sys__fs__cgroup__memory__memory.limit_in_bytes": "9223372036854771712\n"},
        )
        assert hardware.memory_available(tmp_path) == (8 * GIB, "MemAvailable")

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system is asked")
    def test_nothing_known(self, tmp_path):
        assert hardware.memory_available(tmp_path) == (None, "unknown")


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_limit_of_the_address_space():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30));"
        "from wallsite.probes import hardware; spare, limit = hardware.memory_available();"
        "assert limit == 'RLIMIT_AS', limit; assert 0 < spare < 2**30, spare"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_vm_stat_of_macos():
    text = (
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n"
        "Pages free:                               10.\n"
        "Pages active:                            999.\n"
        "Pages inactive:                           20.\n"
        "Pages speculative:                         5.\n"
    )
    assert hardware.vm_stat_spare(text) == 35 * 16384
    assert hardware.vm_stat_spare("") is None


# ------------------------------------------------------------------------------------- devices


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


def fake_torch(monkeypatch, kind, count, **driver):
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


H200 = types.SimpleNamespace(
    name="NVIDIA H200", L2_cache_size=60 * MIB, memory_clock_rate=3201000, memory_bus_width=6144
)


@pytest.mark.usefixtures("no_torch")
class TestWithoutTorch:
    def test_auto_takes_the_cpu_and_says_why(self):
        found = probes.find_device()
        assert found.kind == "cpu"
        assert found.note == "torch is not installed, so the CPU is measured"

    def test_a_gpu_is_not_found(self):
        with pytest.raises(probes.DeviceNotFound, match=r"has cpu \(torch is not installed\)"):
            probes.find_device("cuda")

    def test_the_torch_backend_is_not_there(self, monkeypatch):
        monkeypatch.delitem(sys.modules, "wallsite.probes.torch_backend", raising=False)
        with pytest.raises(ValueError, match="backend torch is not installed"):
            probes.measure_bandwidth("cpu", "torch", array_bytes=MIB)


@pytest.mark.parametrize("error", [ImportError, OSError])
def test_a_torch_that_does_not_load_is_not_called_absent(monkeypatch, error):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "torch":
                raise error("libcudart.so.12: cannot open shared object file\nmore")

    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "wallsite.probes.torch_backend", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    why = "torch does not load (libcudart.so.12: cannot open shared object file)"
    assert probes.find_device().note == f"{why}, so the CPU is measured"
    with pytest.raises(ValueError, match=rf"^backend {re.escape(why)}; numpy measures the CPU$"):
        probes.measure_bandwidth("cpu", "torch", array_bytes=MIB)


def test_torch_without_a_gpu_takes_the_cpu_and_says_why(monkeypatch):
    fake_torch(monkeypatch, "cuda", 0)
    assert probes.find_device().note == "torch 2.99 finds no accelerator, so the CPU is measured"


def test_torch_too_old(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__version__="2.1"))
    assert probes.find_device().note.startswith("torch 2.1 is older than 2.6")


def test_cuda_devices(monkeypatch):
    fake_torch(
        monkeypatch,
        "cuda",
        2,
        get_device_properties=lambda index: H200,
        mem_get_info=lambda index: ((100 + index) * GIB, 141 * GIB),
    )
    assert str(probes.find_device()) == "cuda:0"
    second = probes.find_device("cuda:1")
    assert (second.name, second.memory_available) == ("NVIDIA H200", 101 * GIB)
    assert second.last_level_cache == 60 * MIB
    assert second.theoretical_bandwidth == pytest.approx(4.917e12, rel=1e-3)
    with pytest.raises(probes.DeviceNotFound, match="this machine has cpu, cuda:0, cuda:1"):
        probes.find_device("cuda:2")
    with pytest.raises(probes.DeviceNotFound):
        probes.find_device("mps")


def test_a_driver_that_does_not_tell_its_clock():
    assert hardware.theoretical_bandwidth(types.SimpleNamespace(memory_clock_rate=0)) is None


def test_apple_gpu_shares_main_memory(monkeypatch):
    fake_torch(
        monkeypatch,
        "mps",
        1,
        recommended_max_memory=lambda: 12 * GIB,
        driver_allocated_memory=lambda: GIB,
    )
    found = probes.find_device("mps")
    assert (found.memory_available, found.theoretical_bandwidth) == (11 * GIB, None)


@pytest.mark.parametrize("name", ["", "CUDA", "cuda:", "cuda:-1", "gpu 1", "0"])
def test_a_name_that_is_none(name):
    with pytest.raises(ValueError, match="device must look like"):
        probes.find_device(name)


# ------------------------------------------------------------------------------------ planning


def test_four_times_the_cache():
    assert probes.plan_arrays(device(cache=70 * MIB), 3).array_bytes == 280 * MIB


def test_at_least_256_mib():
    plan = probes.plan_arrays(device(cache=MIB), 3)
    assert (plan.array_bytes, plan.warnings) == (256 * MIB, ())


@pytest.mark.parametrize(("quick", "total"), [(False, HOST_TOTAL), (True, HOST_TOTAL_QUICK)])
def test_a_huge_cache_does_not_take_the_machine(quick, total):
    plan = probes.plan_arrays(device(cache=320 * MIB), 3, quick=quick)
    assert total - 3 * MIB <= plan.count * plan.array_bytes <= total
    assert "smaller than 4 × the last-level cache of 320 MiB" in plan.warnings[0]


def test_an_accelerator_is_not_bound_by_the_host():
    plan = probes.plan_arrays(device(kind="cuda", cache=50 * MIB), 3)
    assert plan.array_bytes == GIB
    plan = probes.plan_arrays(device(kind="cuda", cache=320 * MIB), 3)
    assert (plan.array_bytes, plan.warnings) == (1280 * MIB, ())


def test_arrays_shrink_to_half_of_what_is_free():
    plan = probes.plan_arrays(device(free=600 * MIB), 3)
    assert plan.array_bytes == 100 * MIB
    assert plan.warnings[0] == (
        "only 600 MiB are free on cpu: arrays shrunk from 256 MiB to 100 MiB"
    )


def test_below_the_floor_is_an_error():
    free = 2 * 3 * FLOOR - 1
    with pytest.raises(probes.NotEnoughMemory, match="95 MiB are free on cpu"):
        probes.plan_arrays(device(free=free), 3)


def test_a_size_that_does_not_fit_says_which_would():
    with pytest.raises(probes.NotEnoughMemory, match=f"array_bytes={170 * MIB} would fit"):
        probes.plan_arrays(device(free=GIB), 3, array_bytes=GIB)


def test_a_given_size_is_taken_in_whole_cache_lines():
    assert probes.plan_arrays(device(), 3, array_bytes=MIB + 65).array_bytes == MIB + 64


def test_where_not_even_one_mib_fits():
    with pytest.raises(
        probes.NotEnoughMemory, match=r"MiB that are free.*array_bytes=174720 would"
    ):
        probes.plan_arrays(device(free=MIB), 3, array_bytes=MIB)
    with pytest.raises(
        probes.NotEnoughMemory, match=r"64 bytes exceed half of the 99 bytes.*no siz"
    ):
        probes.plan_arrays(device(free=99), 3, array_bytes=64)


def test_arrays_that_all_fit_in_the_cache_are_said_to():
    (warning,) = probes.plan_arrays(device(cache=3 * MIB), 3, array_bytes=MIB).warnings
    assert warning.endswith("last-level cache of 3 MiB that the system reports: they all fit in it")
    (warning,) = probes.plan_arrays(device(cache=3 * MIB), 3, array_bytes=MIB + 64).warnings
    assert warning.endswith("part of the traffic may stay in it")
    assert probes.plan_arrays(device(), 3, array_bytes=64).warnings[0].startswith("arrays of 64 b")


def test_unknown_cache_and_memory():
    plan = probes.plan_arrays(device(free=None, cache=None), 3)
    assert plan.array_bytes == 256 * MIB
    assert "not known" in plan.warnings[0]


@pytest.mark.parametrize("wrong", [0, -1, 63, 1.5, float("nan"), True])
def test_plan_names_the_wrong_argument(wrong):
    with pytest.raises(ValueError, match="array_bytes"):
        probes.plan_arrays(device(), 3, array_bytes=wrong)


# ------------------------------------------------------------------------------------- kernels

BACKENDS = ["numpy", "torch"]
THREADS = min(2, len(hardware.usable_cpus()))


@pytest.fixture(params=BACKENDS)
def engine(request):
    if request.param == "torch":
        pytest.importorskip("torch")
    opened = backend.open_backend(request.param, probes.find_device("cpu"), threads=THREADS)
    yield opened
    opened.close()


def test_kernels_compute_what_they_claim(engine):
    for task in engine.stream(3 * MIB + 64).values():
        task.run()
        assert task.largest_error() < memory.TOLERANCE
    product = engine.matmul(64, "fp32")
    product.run()
    engine.synchronise()
    assert product.largest_error() < matmul.TOLERANCE["fp32"]


def test_what_no_kernel_wrote_is_not_a_number(engine):
    assert all(np.isnan(task.largest_error()) for task in engine.stream(MIB).values())
    assert np.isnan(engine.matmul(64, "fp32").largest_error())


def test_each_check_refuses_the_other_kernels(engine):
    tasks = engine.stream(MIB)
    for name, task in tasks.items():
        task.run()
        refused = {other for other, t in tasks.items() if t.largest_error() > memory.TOLERANCE}
        assert refused == set(tasks) - {name}


def test_fewer_elements_than_threads():
    engine = numpy_backend.NumpyBackend(threads=8)
    for task in engine.stream(64).values():
        task.run()
        assert task.largest_error() < memory.TOLERANCE
    engine.close()


def test_a_slice_always_meets_the_thread_that_filled_it():
    engine = numpy_backend.NumpyBackend(threads=4)
    seen = [engine._each(lambda part: threading.get_ident(), [None] * 4) for _ in range(20)]
    assert len(set(seen[0])) == 4
    assert seen == [seen[0]] * 20
    engine.close()


@pytest.mark.parametrize(
    ("module", "error"),
    [
        (np, MemoryError("Unable to allocate 9 GiB\nmore")),
        (None, RuntimeError("can't allocate\nx")),
    ],
)
def test_a_failed_allocation_is_one_line(monkeypatch, module, error):
    def fail(*args, **more):
        raise error

    name, module = ("numpy", module) if module else ("torch", pytest.importorskip("torch"))
    for allocate in ("empty", "full", "randn", "full_like"):
        if hasattr(module, allocate):
            monkeypatch.setattr(module, allocate, fail)
    reason = str(error).splitlines()[0]
    for measure in (probes.measure_bandwidth, probes.measure_matmul):
        with pytest.raises(probes.NotEnoughMemory) as caught:
            measure("cpu", name)
        assert str(caught.value) == f"an allocation on cpu failed: {reason}"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the address space")
@pytest.mark.parametrize("name", BACKENDS)
def test_within_a_gibibyte_of_address_space_it_measures_or_says_why_not(name):
    pytest.importorskip(name)
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30));"
        "from wallsite.cli import main;"
        f"main(['probe', '--quick', '--device', 'cpu', '--backend', '{name}'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in {0, 4}, done.stderr
    assert "triad" in done.stdout if done.returncode == 0 else "Error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_kernel_that_stops_short_prints_no_number(monkeypatch):
    def short(part):
        a, b, c = (x[:-1] for x in part)
        a[:] = b + np.float32(Q) * c

    monkeypatch.setattr(numpy_backend, "_triad", short)
    with pytest.raises(probes.WrongResult, match=r"triad with numpy .* is not reported"):
        probes.measure_bandwidth("cpu", "numpy", array_bytes=MIB, repeats=1)


def test_a_wrong_product_prints_no_number(monkeypatch):
    def almost(x, y, out):
        np.dot(x, y, out=out)
        out[-1, -1] += np.sqrt(len(x))  # one element, by its own size

    monkeypatch.setattr(np, "matmul", almost)
    with pytest.raises(probes.WrongResult, match="matmul"):
        probes.measure_matmul("cpu", "numpy", repeats=1, quick=True)


def test_nan_prints_no_number():
    engine = types.SimpleNamespace(name="fake", version="0", synchronise=lambda: None)
    task = backend.Task(run=lambda: None, largest_error=lambda: float("nan"))
    with pytest.raises(probes.WrongResult, match="nan"):
        backend.time_and_check(task, engine, what="copy", repeats=1, tolerance=1.0)


def test_faster_than_the_hardware_prints_no_number():
    slow = dataclasses.replace(probes.find_device("cpu"), theoretical_bandwidth=1e6)
    with pytest.raises(probes.WrongResult, match=r"copy came out at .* can move"):
        probes.measure_bandwidth(slow, "numpy", array_bytes=MIB, repeats=1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"backend": "cupy"}, "backend must be auto, numpy or torch"),
        ({"threads": 0}, "threads"),
        ({"threads": 10**6}, r"threads must be at most \d+, the CPUs there are, got 1000000"),
        ({"repeats": 0}, "repeats"),
        ({"array_bytes": -1}, "array_bytes"),
        ({"device": "x y"}, "device"),
    ],
)
def test_measure_names_the_wrong_argument(wrong, message):
    with pytest.raises(ValueError, match=message):
        probes.measure_bandwidth(**{"device": "cpu", **wrong})


def test_numpy_cannot_drive_a_gpu():
    with pytest.raises(ValueError, match="CPU only, got device cuda:0"):
        probes.measure_bandwidth(device(kind="cuda"), "numpy")


def test_numpy_multiplies_fp32_only():
    with pytest.raises(ValueError, match="dtype must be one of fp32 with numpy, got 'bf16'"):
        probes.measure_matmul("cpu", "numpy", "bf16")


def test_side_of_the_matrices_fits_the_memory():
    assert matmul._largest_that_fits(device(), "fp32") == 4096
    assert matmul._largest_that_fits(device(free=100 * MIB), "fp32") == 2048
    assert matmul._largest_that_fits(device(kind="cuda"), "bf16") == 16384


def test_a_slow_type_stays_small(monkeypatch):
    def slow(task, **more):
        return samples(100.0)

    monkeypatch.setattr(matmul, "sample", slow)
    engine = numpy_backend.NumpyBackend(threads=1)
    n, _ = matmul._largest_affordable(engine, "fp32", budget=0.1, largest=4096)
    assert n == matmul.SMALLEST
    engine.close()


# ------------------------------------------------------------------------------------- results


@pytest.mark.usefixtures("no_torch")
def test_whole_measurement_without_torch():
    result = probes.measure(array_bytes=MIB, threads=THREADS, repeats=2, quick=True)
    bandwidth = result.bandwidth
    assert [kernel.name for kernel in bandwidth.kernels] == ["copy", "scale", "add", "triad"]
    assert (bandwidth.backend, bandwidth.threads, bandwidth.array_bytes) == ("numpy", THREADS, MIB)
    assert bandwidth.device.note.startswith("torch is not installed")
    for kernel in bandwidth.kernels:
        assert len(kernel.samples.seconds) == 2
        assert len(kernel.samples.warmups) >= 2
        assert 0 < kernel.median <= kernel.best < float("inf")
    copy, *_, triad = bandwidth.kernels
    assert copy.best_with_write_allocate is None  # memcpy may store past the cache
    assert triad.best_with_write_allocate == pytest.approx(triad.best * 4 / 3)
    assert [matmul.dtype for matmul in result.matmuls] == ["fp32"]
    assert result.started < result.finished
    assert probes.ProbeResult.from_json(result.to_json()) == result


def probe_result():
    return probes.ProbeResult(
        version="0",
        started="2026-01-01T00:00:00+00:00",
        finished="2026-01-01T00:00:01+00:00",
        machine=probes.Machine("CPU", "x86_64", "Linux", 2, 2, None, GIB, None, "unknown"),
        load_average=0.5,
        peak_memory=None,
        bandwidth=bandwidth_result(),
        matmuls=(matmul_result(),),
    )


def test_json_round_trip():
    result = probe_result()
    assert probes.ProbeResult.from_json(result.to_json()) == result
    fields = json.loads(result.to_json())
    assert fields["schema"] == 1
    assert fields["bandwidth"]["kernels"][3]["samples"]["seconds"] == [2.0, 1.0, 4.0]


def test_numbers_without_a_fraction_are_still_floats():
    text = probe_result().to_json().replace('"load_average": 0.5', '"load_average": 1')
    assert type(probes.ProbeResult.from_json(text).load_average) is float


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.pop("schema"), "no field schema"),
        (lambda f: f.update(schema=2), "schema 2 is not 1"),
        (lambda f: f.pop("machine"), "result must have the fields version, started"),
        (lambda f: f.update(more=1), "result must have the fields"),
        (lambda f: f["machine"].update(cpus="2"), "result.machine.cpus must be int, got '2'"),
        (lambda f: f["machine"].update(cpus=None), "result.machine.cpus must be int"),
        (lambda f: f.update(matmuls={}), "result.matmuls must be a list"),
        (lambda f: f.update(load_average=float("nan")), "NaN is not JSON"),
        (lambda f: f["matmuls"][0]["samples"].update(seconds=[]), "seconds must hold durations"),
        (lambda f: f["matmuls"][0]["samples"].update(seconds=[1.0, -1.0]), "seconds must hold"),
        (
            lambda f: f["bandwidth"]["kernels"][1]["samples"].update(seconds=["x"]),
            r"result.bandwidth.kernels\[1\].samples.seconds\[0\] must be float",
        ),
    ],
)
def test_a_damaged_file_names_the_field(change, message):
    fields = json.loads(probe_result().to_json())
    change(fields)
    with pytest.raises(ValueError, match=message):
        probes.ProbeResult.from_json(json.dumps(fields))


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_a_file_that_is_no_result(text):
    with pytest.raises(ValueError, match=r"Expecting|not a wallsite probe result"):
        probes.ProbeResult.from_json(text)


def test_import_is_light():
    program = "import sys, wallsite.probes; assert not {'numpy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
