"""A whole run: what it refuses, in which order it measures, and what an interrupt leaves."""

import math
import os
import subprocess
import sys

import pytest
from probe_fakes import GIB, MIB, Accelerator, device, put_on_clock_of

from wallsite import probes
from wallsite.probes import matmul, suite
from wallsite.probes.hardware import usable_cpus

THREADS = min(2, len(usable_cpus()))
TINY = {"device": "cpu", "backend": "numpy", "array_bytes": 64, "repeats": 1, "quick": True}


@pytest.fixture
def accelerator(monkeypatch):
    """Measure an accelerator on a clock of its own, whatever device is asked for."""
    engine = Accelerator()
    engine.closed = []
    engine.close = lambda: engine.closed.append(True)
    put_on_clock_of(engine, monkeypatch)
    monkeypatch.setattr(suite, "find_device", lambda name: device(kind="cuda"))
    monkeypatch.setattr(suite, "open_backend", lambda name, where, threads: engine)
    return engine


# ------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"probes": "ram"}, "probes must be among all, memory, matmul, .* got 'ram'"),
        ({"probes": ["memory", "ram"]}, "probes must be among all, memory, .* got 'ram'"),
        ({"probes": []}, r"probes must be among .* got \[\]"),
        ({"probes": ""}, "probes must be among .* got ''"),
        ({"backend": "cupy"}, "backend must be auto, numpy or torch, got 'cupy'"),
        ({"dtype": "fp8"}, "dtype must be auto or one of fp32 with numpy, got 'fp8'"),
        ({"dtype": "bf16"}, "dtype must be auto or one of fp32 with numpy, got 'bf16'"),
        ({"dtype": ""}, "dtype must be auto or one of fp32"),
        ({"threads": 0}, "threads must be a whole number, 1 or above, got 0"),
        ({"threads": -1}, "threads"),
        ({"threads": 1.5}, "threads"),
        ({"threads": 10**6}, r"threads must be at most \d+, the CPUs there are, got 1000000"),
        ({"repeats": 0}, "repeats"),
        ({"repeats": math.nan}, "repeats"),
        ({"array_bytes": -1}, "array_bytes must be a whole number, 64 or above, got -1"),
        ({"array_bytes": 0}, "array_bytes"),
        ({"array_bytes": 63}, "array_bytes"),
        ({"array_bytes": math.inf}, "array_bytes"),
        ({"array_bytes": 10**400}, "array_bytes"),
        ({"budget": 0}, "budget must be a finite number above 0, got 0"),
        ({"budget": -1}, "budget"),
        ({"budget": math.nan}, "budget"),
        ({"budget": math.inf}, "budget"),
        ({"device": "x y"}, "device must look like"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named_before_anything_is_measured(wrong, message):
    told = []
    with pytest.raises(ValueError, match=message):
        probes.measure(**{**TINY, "tell": told.append, **wrong})
    assert told == []


def test_types_of_torch_are_listed():
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="one of fp32, bf16, fp16 with torch, got 'fp8'"):
        probes.measure(**{**TINY, "backend": "torch", "dtype": "fp8"})


def test_numpy_cannot_drive_an_accelerator(monkeypatch):
    monkeypatch.setattr(suite, "find_device", lambda name: device(kind="cuda"))
    with pytest.raises(ValueError, match="CPU only, got device cuda:0"):
        probes.measure("memory", "cuda", "numpy")


def test_arrays_that_do_not_fit_are_refused_before_anything_is_measured(monkeypatch):
    told = []
    monkeypatch.setattr(suite, "find_device", lambda name: device(free=GIB))
    with pytest.raises(probes.NotEnoughMemory, match=f"array_bytes={170 * MIB} would fit"):
        probes.measure(["matmul", "memory"], "cpu", "numpy", array_bytes=GIB, tell=told.append)
    assert told == []


# ----------------------------------------------------------------------------------------- a run


def names(result):
    return list(dict.fromkeys(x.probe for x in result.measurements))


def test_all_in_the_order_that_a_ridge_point_needs_first(accelerator):
    result = probes.measure("all", array_bytes=64 * MIB)
    assert names(result) == ["memory", "matmul", "operations", "cache", "link"]
    assert list(probes.PROBES) == names(result)
    assert accelerator.closed == [True]
    assert result.ridge_point("fp32") == pytest.approx(1e12 / 1e9, rel=1e-2)


def test_several_in_their_own_order_each_once(accelerator):
    result = probes.measure(iter(["link", "memory", "link"]), array_bytes=64 * MIB)
    assert names(result) == ["memory", "link"]
    assert len(result.select("link")) == 2


def test_memory_and_matmul_unless_told_otherwise(accelerator):
    assert names(probes.measure(array_bytes=64 * MIB)) == ["memory", "matmul"]


def test_what_a_run_says_of_itself(accelerator):
    result = probes.measure("link", tell=lambda what: None)
    assert (result.backend, result.backend_version, result.threads) == ("fake", "1", None)
    assert result.device == device(kind="cuda")
    assert set(result.environment.affinity) == usable_cpus()
    assert result.started < result.finished
    assert result.wall_seconds > 0
    assert not result.interrupted
    assert result.machine.cpu == probes.machine().cpu


def test_the_environment_names_the_threads_of_libraries(accelerator, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    variables = probes.measure("link").environment.variables
    assert variables["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in variables


def test_each_kernel_is_told_of(accelerator):
    told = []
    probes.measure("link", array_bytes=64 * MIB, tell=told.append)
    assert told == ["there bytes 67108864", "back bytes 67108864"]


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_the_smallest_arrays(backend):
    pytest.importorskip(backend)
    result = probes.measure("memory", **{**TINY, "backend": backend, "threads": THREADS})
    assert [(x.kernel, x.array_bytes, x.bytes_counted) for x in result.measurements] == [
        ("copy", 64, 128),
        ("scale", 64, 128),
        ("add", 32, 96),
        ("add", 64, 192),
        ("triad", 32, 96),
        ("triad", 64, 192),
        ("sum", 64, 64),
    ]
    for x in result.measurements:
        assert x.error == ""
        assert x.largest_error <= 1e-6
        assert 0 < x.median_bandwidth <= x.bandwidth < math.inf
        assert len(x.seconds.seconds) == 1
    assert probes.Result.from_json(result.to_json()) == result


def test_a_whole_run_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(matmul, "_largest_that_fits", lambda *arguments: 256)
    result = probes.measure(array_bytes=MIB, threads=THREADS, repeats=2, quick=True)
    assert (result.backend, result.threads, str(result.device)) == ("numpy", THREADS, "cpu")
    assert result.matmul_dtypes == ("fp32",)
    triad = result.triad
    assert triad.bytes_counted == 3 * MIB
    assert triad.hardware_bandwidth == pytest.approx(triad.bandwidth * 4 / 3)
    assert result.ridge_point("fp32") > 0
    assert probes.Result.from_json(result.to_json()) == result


# ------------------------------------------------------------------------------ what goes wrong


def test_a_link_of_the_cpu_is_skipped_and_the_rest_is_measured():
    result = probes.measure(["memory", "link"], **TINY)
    *_, link = result.measurements
    assert (link.probe, link.status, link.samples) == ("link", "skipped", None)
    assert "the device measured is the CPU" in link.reason
    assert result.triad.samples


def test_a_link_of_the_cpu_alone_is_no_such_device():
    with pytest.raises(probes.DeviceNotFound, match="the device measured is the CPU"):
        probes.measure("link", **TINY)


def test_where_all_fail_the_first_error_is_raised(accelerator):
    accelerator.error = math.nan
    with pytest.raises(probes.WrongResult, match="copy fp32 with fake 1 is off by nan"):
        probes.measure("memory", array_bytes=64 * MIB)
    assert accelerator.closed == [True]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (MemoryError("no room"), probes.NotEnoughMemory),
        (RuntimeError("not implemented for 'Half'"), probes.ProbeError),
        (RuntimeError("an illegal memory access was encountered"), probes.ProbeError),
    ],
    ids=str,
)
@pytest.mark.parametrize("kernel", ["make gemm fp32", "gemm fp32"])
def test_where_the_only_product_fails_its_error_is_raised(accelerator, kernel, fault, error):
    accelerator.faults[kernel] = fault
    with pytest.raises(error, match=str(fault)):
        probes.measure("matmul")


@pytest.mark.parametrize(
    "fault",
    [probes.NotEnoughMemory("no room"), MemoryError("no room"), RuntimeError("the driver fails")],
    ids=repr,
)
@pytest.mark.parametrize(("probe", "rest"), [("stream", "link"), ("transfers", "memory")])
def test_a_probe_that_cannot_start_leaves_the_others(accelerator, probe, rest, fault):
    accelerator.faults[f"make {probe}"] = fault
    result = probes.measure(["memory", "link"], array_bytes=64 * MIB)
    (failed,) = [x for x in result.measurements if x.probe != rest]
    assert (failed.status, failed.samples) == ("failed", None)
    assert str(fault) in failed.reason
    assert all(x.status == "ok" for x in result.select(rest))


def test_a_budget_that_is_used_up_at_once_measured_nothing():
    with pytest.raises(probes.NotMeasured, match="the budget of 1e-09 s is used up"):
        probes.measure("all", **TINY, budget=1e-9)


def test_a_backend_that_cannot_be_closed_keeps_the_result(accelerator):
    # After some errors CUDA answers every call, that which frees its memory included, with them.
    def close():
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    accelerator.close = close
    assert probes.measure("link").select("link")


# ------------------------------------------------------------------------------------- interrupt


def interrupt_at(call):
    """Press Ctrl-C when told for the n-th time."""
    left = iter(range(1, 10**6))

    def tell(what):
        if next(left) == call:
            raise KeyboardInterrupt

    return tell


@pytest.mark.parametrize("call", [2, 3, 6])
def test_an_interrupt_keeps_what_was_taken(accelerator, call):
    result = probes.measure("memory", array_bytes=64 * MIB, tell=interrupt_at(call))
    assert result.interrupted
    assert len(result.measurements) == call - 1
    assert all(x.status == "ok" for x in result.measurements)
    assert accelerator.closed == [True]
    assert probes.Result.from_json(result.to_json()) == result


def test_an_interrupt_in_the_second_probe_keeps_the_first(accelerator):
    result = probes.measure(["memory", "link"], array_bytes=64 * MIB, tell=interrupt_at(9))
    assert (names(result), len(result.measurements)) == (["memory", "link"], 8)
    assert result.interrupted


def test_an_interrupt_before_the_first_number_is_one(accelerator):
    with pytest.raises(KeyboardInterrupt):
        probes.measure("memory", array_bytes=64 * MIB, tell=interrupt_at(1))
    assert accelerator.closed == [True]


def test_an_interrupt_after_failures_alone_is_still_one(accelerator):
    accelerator.faults["make stream"] = probes.NotEnoughMemory("no room")
    with pytest.raises(KeyboardInterrupt):
        probes.measure(["memory", "link"], array_bytes=64 * MIB, tell=interrupt_at(1))


def test_a_run_to_its_end_was_not_interrupted(accelerator):
    result = probes.measure("memory", array_bytes=64 * MIB, tell=interrupt_at(8))
    assert (result.interrupted, len(result.measurements)) == (False, 7)


# ------------------------------------------------------------------------------------- processes


def python(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the address space")
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_within_a_gibibyte_of_address_space_it_measures_or_says_why_not(backend):
    pytest.importorskip(backend)
    done = python(
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30));"
        "from wallsite import probes;"
        "import sys\n"
        f"try: result = probes.measure('memory', 'cpu', '{backend}', repeats=1, quick=True)\n"
        "except (probes.NotEnoughMemory, ValueError) as error: print('refused:', error)\n"
        "else: print('measured', result.triad.bytes_counted)",
        OPENBLAS_NUM_THREADS="1",
        OMP_NUM_THREADS="1",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("refused: ", "measured "))


def test_import_is_light():
    done = python("import sys, wallsite.probes; print({'numpy', 'torch'} & set(sys.modules))")
    assert done.stdout == "set()\n", done.stderr
