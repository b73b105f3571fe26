"""The probes on an accelerator whose kernels are only queued, on a clock moved by hand."""

import dataclasses
import math

import pytest
from probe_fakes import (
    GIB,
    MIB,
    Accelerator,
    Events,
    device,
    measurement,
    open_session,
    put_on_clock_of,
    result,
    run,
)

from wallsite import probes
from wallsite.probes import matmul, memory
from wallsite.probes.session import Work

EVERY_PROBE = sorted(probes.PROBES)
SMALL = 64 * MIB


@pytest.fixture
def engine(monkeypatch):
    engine = Accelerator()
    engine.seen = put_on_clock_of(engine, monkeypatch)
    return engine


def tell_types(monkeypatch, **flops):
    """An accelerator that multiplies at so many FLOP/s."""
    engine = Accelerator(flops=flops)
    put_on_clock_of(engine, monkeypatch)
    return engine


# -------------------------------------------------------------- the device is waited for, always


@pytest.mark.parametrize("probe", EVERY_PROBE)
def test_every_probe_waits_for_the_device_and_asks_for_its_events(engine, probe):
    taken = run(probe, engine, array_bytes=SMALL)
    assert len(engine.seen) >= len(taken) > 0
    for arguments in engine.seen:
        assert arguments["synchronise"] == engine.synchronise
        assert isinstance(arguments["events"], Events)


@pytest.mark.parametrize("has_events", [True, False])
@pytest.mark.parametrize("probe", ["memory", "cache", "link"])
def test_the_bandwidth_is_the_device_s_and_not_that_of_the_launch(engine, probe, has_events):
    engine.has_events = has_events
    taken = run(probe, engine, array_bytes=SMALL)
    assert taken
    for x in taken:
        # Every kernel moves 1 GB/s, and is waited for 1 ms, which only events leave out.
        waiting = 0 if has_events else engine.wait
        true = x.bytes_counted / engine.rate
        assert x.seconds.best == pytest.approx(true + waiting, rel=1e-3)
        assert x.status == "ok"


@pytest.mark.parametrize("probe", ["matmul", "operations"])
def test_the_rate_of_products_is_the_device_s(engine, probe):
    products = [x for x in run(probe, engine) if x.computes and x.flops > 1e9]
    assert products
    for x in products:
        assert x.performance == pytest.approx(1e12, rel=1e-3)


@pytest.mark.parametrize("probe", EVERY_PROBE)
def test_a_clock_of_the_device_that_lies_gives_no_number(engine, probe):
    engine.events = lambda: Events(engine, speed=3.0)
    taken = run(probe, engine, array_bytes=SMALL)
    assert taken
    for x in taken:
        assert (x.status, x.error, x.samples) == ("failed", "ClockStopped", None)


# ------------------------------------------------------------------------- one kernel, measured

WORK = Work("memory", "triad", "a = b + q·c", "fp32", (3,), 64, 192, 256, "rule", 6, 0.5)


def test_a_measurement_by_hand(engine):
    told = []
    session = open_session(engine, told=told, repeats=4)
    x = session.measure(WORK, engine.task("triad", 0.25, write_allocates=True))
    assert told == ["triad fp32 3"]
    assert (x.probe, x.kernel, x.formula, x.dtype) == ("memory", "triad", "a = b + q·c", "fp32")
    assert (x.shape, x.array_bytes, x.bytes_counted, x.flops) == ((3,), 64, 192, 6)
    assert (x.rule, x.bytes_hardware) == ("rule", 256)
    assert x.seconds.seconds == pytest.approx([0.25] * 4, rel=1e-4)
    assert len(x.seconds.warmups) == 2
    assert (x.status, x.reason, x.error, x.largest_error) == ("ok", "", "", 0.0)
    assert x.wall_seconds > 0


def test_stores_that_may_pass_the_cache_get_no_estimate(engine):
    x = open_session(engine).measure(WORK, engine.task("triad", 0.25))
    assert (x.bytes_hardware, x.bytes_counted) == (None, 192)


def test_a_task_may_be_made_only_when_it_is_measured(engine):
    x = open_session(engine).measure(WORK, lambda: engine.task("triad", 0.25))
    assert x.status == "ok"


@pytest.mark.parametrize(
    ("options", "samples"),
    [
        ({"repeats": None}, 10),
        ({"repeats": None, "quick": True}, 5),
        ({"repeats": 7}, 7),
        ({"repeats": 7, "quick": True}, 7),
    ],
)
def test_how_many_samples(engine, options, samples):
    x = open_session(engine, **options).measure(WORK, engine.task("triad", 0.25))
    assert len(x.seconds.seconds) == samples


def test_after_the_budget_nothing_is_allocated(engine):
    told, made = [], []
    session = open_session(engine, told=told, budget=2.0)
    engine.now += 2.0
    x = session.measure(WORK, lambda: made.append(1))
    assert (x.status, x.reason) == ("skipped", "the budget of 2 s is used up")
    assert (x.samples, x.error, told, made) == (None, "", [], [])


def test_a_budget_that_ends_within_a_kernel_leaves_it_three_samples(engine):
    session = open_session(engine, budget=1.0, repeats=9)
    x = session.measure(WORK, engine.task("triad", 0.5))
    assert (len(x.seconds.seconds), x.status) == (3, "ok")


@pytest.mark.parametrize(
    ("last", "status", "reason"),
    [
        (1.2, "ok", ""),
        (1.3, "unstable", "its samples spread by 30% of their median: the machine was busy"),
    ],
)
def test_samples_that_spread_are_called_unstable(engine, last, status, reason):
    times = iter([1.0, 1.0, 1.0, 1.0, last])
    task = engine.task("triad", 0)._replace(run=lambda: engine.queue(next(times)))
    x = open_session(engine).measure(WORK, task)
    assert (x.status, x.reason) == (status, reason)
    assert len(x.seconds.seconds) == 3


# --------------------------------------------------------------------------- what must be refused


@pytest.mark.parametrize("error", [0.51, 1.0, math.inf, math.nan])
def test_a_wrong_result_keeps_no_sample(engine, error):
    engine.error = error
    x = open_session(engine).measure(WORK, engine.task("triad", 0.25))
    assert (x.status, x.error) == ("failed", "WrongResult")
    assert (x.samples, x.largest_error) == (None, None)
    assert x.reason.startswith(f"triad fp32 with fake 1 is off by {error:.2g} of its largest value")


@pytest.mark.parametrize("error", [0.0, 0.5])
def test_an_error_that_rounding_explains_is_told(engine, error):
    engine.error = error
    x = open_session(engine).measure(WORK, engine.task("triad", 0.25))
    assert (x.status, x.largest_error) == ("ok", error)


@pytest.mark.parametrize("error", [2e-2 * 1.01, math.nan])
@pytest.mark.parametrize("probe", EVERY_PROBE)
def test_every_probe_refuses_a_wrong_result(engine, probe, error):
    engine.error = error
    taken = run(probe, engine, array_bytes=SMALL)
    assert taken
    for x in taken:
        assert (x.status, x.error, x.samples) == ("failed", "WrongResult", None)


@pytest.mark.parametrize(
    ("limit", "error"), [(0.97e9, "WrongResult"), (0.985e9, ""), (1e9, ""), (1e10, "")]
)
def test_what_beats_the_hardware_is_refused(engine, limit, error):
    where = device(kind="cuda", bandwidth_limit=probes.Limit(limit, "2 × clock"))
    for x in run("memory", engine, where, array_bytes=SMALL):
        assert (x.error, x.samples is None) == (error, bool(error))
        if error:
            assert x.reason == (
                f"{x.kernel} came out at 1 GB/s, above the 1 GB/s that a device can move "
                "(2 × clock): it is not reported"
            )
        else:
            assert x.fraction_of_limit == pytest.approx(1e9 / limit, rel=1e-3)


def test_caches_and_links_may_beat_the_memory(engine):
    where = device(kind="cuda", bandwidth_limit=probes.Limit(1e6, "2 × clock"))
    for probe in ("cache", "link"):
        assert all(x.status == "ok" for x in run(probe, engine, where, array_bytes=SMALL))


def out_of_memory():
    torch = pytest.importorskip("torch")
    return torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB\nmore")


FAULTS = [
    (lambda: MemoryError("Unable to allocate\nmore"), "NotEnoughMemory", "Unable to allocate"),
    (MemoryError, "NotEnoughMemory", "out of memory"),
    (out_of_memory, "NotEnoughMemory", "CUDA out of memory. Tried to allocate 1 GiB"),
    (
        lambda: RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)"),
        "NotEnoughMemory",
        "MPS backend out of memory (MPS allocated: 9 GB)",
    ),
    (
        lambda: RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"),
        "NotEnoughMemory",
        "DefaultCPUAllocator: can't allocate memory: you tried",
    ),
    (
        lambda: RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'\nmore"),
        "KernelFailed",
        "\"addmm_impl_cpu_\" not implemented for 'Half'",
    ),
    (lambda: NotImplementedError("no kernel"), "KernelFailed", "no kernel"),
    # What torch raises for a type that Apple's GPUs lack.
    (
        lambda: TypeError("BFloat16 is not supported on MPS"),
        "KernelFailed",
        "BFloat16 is not supported on MPS",
    ),
]


@pytest.mark.parametrize("when", ["gemv fp32", "make gemv fp32"])
@pytest.mark.parametrize(("fault", "error", "reason"), FAULTS)
def test_one_that_fails_leaves_the_others(engine, when, fault, error, reason):
    engine.faults[when] = fault()
    failed = [x for x in run("operations", engine) if x.kernel == "gemv"]
    assert failed
    for x in failed:
        assert (x.status, x.error) == ("failed", error)
        assert (x.reason, x.samples) == (f"gemv fp32: {reason}", None)
    others = [x for x in run("operations", engine) if x.kernel != "gemv"]
    assert {x.kernel for x in others} == {"axpy", "softmax", "gemm"}
    assert all(x.status == "ok" for x in others)


def test_one_that_fails_in_the_middle_of_its_samples_keeps_none(engine):
    runs = iter(range(100))

    def fail_at_the_fourth():
        if next(runs) == 3:
            raise MemoryError("no more")
        engine.queue(0.25)

    task = engine.task("triad", 0)._replace(run=fail_at_the_fourth)
    x = open_session(engine).measure(WORK, task)
    assert (x.error, x.samples) == ("NotEnoughMemory", None)


@pytest.mark.parametrize("when", ["gemm bf16", "make gemm bf16"])
@pytest.mark.parametrize(("fault", "error", "reason"), FAULTS)
def test_a_type_that_fails_leaves_the_products_of_the_others(
    monkeypatch, when, fault, error, reason
):
    engine = tell_types(monkeypatch, fp32=1e12, bf16=1e12, fp16=1e12)
    engine.faults[when] = fault()
    single, brain, half = run("matmul", engine)
    assert (single.dtype, single.status) == ("fp32", "ok")
    assert (brain.dtype, brain.status, brain.error) == ("bf16", "failed", error)
    assert reason in brain.reason
    assert (half.dtype, half.status) == ("fp16", "ok")


# ---------------------------------------------------------------------------------------- memory


def test_halves_come_before_the_whole_they_are_compared_with(engine):
    told = []
    taken = run("memory", engine, told=told, array_bytes=SMALL)
    assert [(x.kernel, x.array_bytes) for x in taken] == [
        ("copy", SMALL),
        ("scale", SMALL),
        ("add", SMALL // 2),
        ("add", SMALL),
        ("triad", SMALL // 2),
        ("triad", SMALL),
        ("sum", SMALL),
    ]
    assert told[2:4] == ["add fp32 8388608", "add fp32 16777216"]
    assert engine.asked == [("stream", SMALL)]


def test_memory_counted_by_hand(engine):
    by_kernel = {
        (x.kernel, x.array_bytes): (x.bytes_counted, x.flops)
        for x in run("memory", engine, array_bytes=SMALL)
    }
    assert by_kernel == {
        ("copy", SMALL): (134217728, 0),
        ("scale", SMALL): (134217728, 16777216),
        ("add", SMALL): (201326592, 16777216),
        ("triad", SMALL): (201326592, 33554432),
        ("add", SMALL // 2): (100663296, 8388608),
        ("triad", SMALL // 2): (100663296, 16777216),
        ("sum", SMALL): (67108864, 16777216),
    }


@pytest.mark.parametrize(
    ("gain", "reason"),
    [
        (1.11, "arrays half as large give +11%: not yet a plateau"),
        (1.09, ""),
        (0.91, ""),
        (0.89, "arrays half as large give -11%: not yet a plateau"),
        (3.0, "arrays half as large give +200%: not yet a plateau"),
    ],
)
def test_half_the_size_must_give_the_same(engine, gain, reason):
    engine.gain = gain
    for x in run("memory", engine, array_bytes=SMALL):
        judged = reason if x.kernel in {"add", "triad"} and x.array_bytes == SMALL else ""
        assert (x.status, x.reason) == ("unstable" if judged else "ok", judged)
        assert x.samples


@pytest.mark.parametrize(("cache", "status"), [(192, "unstable"), (191, "ok"), (None, "ok")])
def test_arrays_that_fit_in_a_cache_are_not_memory(cache, status):
    whole = measurement(array_bytes=64 * MIB, bytes_counted=192 * MIB)
    judged = memory.judged(whole, None, cache and cache * MIB)
    assert judged.status == status
    if status == "unstable":
        assert judged.reason == (
            "its arrays fit in the last-level cache of 192 MiB: this is not memory"
        )


def test_what_is_unstable_or_failed_already_keeps_its_reason():
    half = measurement(seconds=(0.1,))
    for whole in (
        measurement(status="unstable", reason="a busy machine"),
        measurement(seconds=None, reason="no room"),
    ):
        assert memory.judged(whole, half, None) is whole


def test_a_number_that_is_not_of_memory_says_so_rather_than_that_the_machine_was_busy():
    whole = measurement(bytes_counted=GIB, status="unstable", reason="a busy machine")
    assert "fit in the last-level cache" in memory.judged(whole, None, GIB).reason
    unmeasured = measurement(seconds=None, reason="no room")
    assert memory.judged(unmeasured, None, GIB) is unmeasured


def test_a_half_that_failed_judges_nothing():
    whole = measurement()
    assert memory.judged(whole, measurement(seconds=None), None) is whole


def test_the_whole_is_measured_though_its_half_failed(engine, monkeypatch):
    tasks = engine.stream(SMALL)

    def refuse():
        raise RuntimeError("not this size")

    broken = tasks["add"]._replace(half=tasks["add"].half._replace(run=refuse))
    monkeypatch.setattr(engine, "stream", lambda size: tasks | {"add": broken})
    taken = [x for x in run("memory", engine, array_bytes=SMALL) if x.kernel == "add"]
    assert [(x.array_bytes, x.status) for x in taken] == [(SMALL // 2, "failed"), (SMALL, "ok")]


def test_headline_comes_from_the_large_arrays(engine):
    engine.gain = 3.0
    taken = run("memory", engine, array_bytes=SMALL)
    assert result(*taken).headline.array_bytes == SMALL
    assert result(*taken).triad.array_bytes == SMALL


def test_planned_arrays_carry_the_warnings_of_the_plan(engine):
    where = device(free=600 * MIB, cache=32 * MIB, kind="cuda")
    taken = run("memory", engine, where)
    assert {x.array_bytes for x in taken} == {100 * MIB, 50 * MIB}
    for x in taken:
        assert bool(x.warnings) == (x.array_bytes == 100 * MIB)


def test_memory_that_the_budget_ends(engine):
    # A copy takes 2 × 64 MiB ÷ 1 GB/s = 0.134 s a run, five of them 0.67 s.
    taken = run("memory", engine, array_bytes=SMALL, budget=0.7)
    assert [x.status for x in taken] == ["ok", "ok", *["skipped"] * 5]
    assert {x.reason for x in taken[2:]} == {"the budget of 0.7 s is used up"}


# ----------------------------------------------------------------------------------------- cache


def test_sizes_double_from_the_least_to_the_plan(engine):
    taken = run("cache", engine, array_bytes=100 * MIB)
    assert [x.array_bytes for x in taken] == [8 * MIB, 16 * MIB, 32 * MIB, 64 * MIB]
    passes = [(8, 2), (16, 1), (32, 1), (64, 1)]
    assert engine.asked == [("add", size * MIB, times) for size, times in passes]


def test_caches_counted_by_hand(engine):
    engine.least_array_bytes = 16384
    first, second, *_ = run("cache", engine, array_bytes=MIB)
    # 2^26 bytes at least, in whole passes over three arrays: 1365 × 49152 and 682 × 98304.
    assert (first.bytes_counted, first.flops) == (1365 * 49152, 1365 * 4096)
    assert (second.bytes_counted, second.flops) == (682 * 98304, 682 * 8192)
    assert (first.probe, first.kernel, first.shape) == ("cache", "add", (4096,))
    assert (first.bytes_hardware, first.limit) == (None, None)


def test_arrays_smaller_than_the_least_are_measured_once(engine):
    (only,) = run("cache", engine, array_bytes=64)
    assert (only.array_bytes, only.bytes_counted) == (64, 2**26 // 192 * 192)


# ---------------------------------------------------------------------------------------- matmul


def test_products_counted_by_hand():
    work = matmul.matmul_work("bf16", 1024)
    assert (work.flops, work.bytes_counted, work.array_bytes) == (2**31, 6 * 2**20, 2 * 2**20)
    assert matmul.matmul_work("fp32", 1024).bytes_counted == 12 * 2**20


@pytest.mark.parametrize(
    ("flops", "quick", "n"),
    [
        # 3 s for 2 tries, 2 warm-ups and 3 samples: a run may take 0.43 s. 8192 takes 0.27 s at
        # 4 TFLOP/s, 0.55 s at 2.
        (4e12, False, 8192),
        (2e12, False, 4096),
        (1e12, False, 4096),
        (2e12, True, 4096),
        (1e18, False, 16384),
        # Up to 1024 a run may take 0.5 s: 512 takes 0.27 s at 1 GFLOP/s, 1024 would take 2.1 s.
        (1e9, False, 512),
        (1e8, False, 256),
        (1e5, False, 256),
    ],
)
def test_the_side_doubles_while_a_run_is_predicted_to_be_short(monkeypatch, flops, quick, n):
    engine = tell_types(monkeypatch, bf16=flops)
    (x,) = run("matmul", engine, quick=quick)
    assert (x.shape, x.kernel, x.dtype) == ((n, n, n), "matmul", "bf16")
    small = f"bf16 has no fast product here: measured at {n} × {n} only"
    assert x.warnings == ((small,) if n < 1024 else ())
    assert x.performance == pytest.approx(flops, rel=1e-2)


def test_small_sides_are_given_more_patience(monkeypatch):
    # 0.1 s a run are enough for 256 alone, which takes 0.017 s at 2 GFLOP/s, and 512 0.13 s.
    engine = tell_types(monkeypatch, bf16=2e9)
    (x,) = run("matmul", engine, quick=True, repeats=10)
    assert x.shape == (512, 512, 512)


def test_patience_ends_with_the_budget(monkeypatch):
    # 512 takes 0.27 s at 1 GFLOP/s: 2 tries, 2 warm-ups and 3 samples of it would outlast 1.5 s.
    engine = tell_types(monkeypatch, bf16=1e9)
    (x,) = run("matmul", engine, budget=1.5)
    assert (x.shape, x.status) == ((256, 256, 256), "ok")


def test_a_slow_type_is_not_tried_at_a_size_that_takes_minutes(monkeypatch):
    engine = tell_types(monkeypatch, fp16=1e8)
    run("matmul", engine)
    assert {n for _, n, _ in engine.asked} == {256}


@pytest.mark.parametrize(
    ("free", "kind", "dtype", "n"),
    [
        (64 * GIB, "cpu", "fp32", 4096),
        (100 * MIB, "cpu", "fp32", 2048),  # three of 16 MiB; half of 100 MiB holds them
        (90 * MIB, "cpu", "fp32", 1024),
        (90 * MIB, "cpu", "bf16", 2048),
        (0, "cpu", "fp32", 1024),
        (64 * GIB, "cuda", "bf16", 16384),
        (2 * GIB, "cuda", "bf16", 8192),
        (None, "cuda", "fp32", 16384),
        (None, "cpu", "fp32", 4096),
    ],
)
def test_the_side_fits_the_memory(monkeypatch, free, kind, dtype, n):
    engine = tell_types(monkeypatch, **{dtype: 1e20})
    (x,) = run("matmul", engine, device(free=free, kind=kind))
    assert x.shape == (n, n, n)


def test_each_type_is_measured_or_the_one_asked_for(monkeypatch):
    engine = tell_types(monkeypatch, fp32=1e12, bf16=1e13)
    assert [x.dtype for x in run("matmul", engine)] == ["fp32", "bf16"]
    assert [x.dtype for x in run("matmul", engine, dtype="bf16")] == ["bf16"]
    with pytest.raises(ValueError, match="dtype must be auto or one of fp32, bf16 with fake, got"):
        run("matmul", engine, dtype="fp8")


def test_products_that_the_budget_ends(monkeypatch):
    engine = tell_types(monkeypatch, fp32=1e12, bf16=1e12)
    told = []

    def tell(what):
        told.append(what)
        engine.now += 3.0

    short = dataclasses.replace(open_session(engine, budget=5.0), tell=tell)
    single, brain = matmul.measure(short)
    assert (single.status, brain.status) == ("ok", "skipped")
    assert brain.reason == "the budget of 5 s is used up"
    assert told == ["matmul fp32", "matmul fp32 4096×4096×4096"]


@pytest.mark.parametrize("repeats", [1, 3, 10])
def test_trying_sizes_leaves_time_to_measure_one(monkeypatch, repeats):
    engine = tell_types(monkeypatch, fp32=1e12)
    (only,) = run("matmul", engine, budget=0.5, repeats=repeats)
    assert only.status == "ok"


# ------------------------------------------------------------------------------------ operations


def test_operations_on_an_accelerator(monkeypatch):
    engine = tell_types(monkeypatch, fp32=1e12, bf16=1e12)
    taken = run("operations", engine)
    # 1 GiB of bf16 are 2^29 elements: the side is the largest power of two below their root.
    sides = {"axpy": [1024, 16384], "softmax": [1024, 16384], "gemv": [1024, 16384]}
    sides["gemm"] = [32, 128, 512, 2048, 8192]
    assert engine.asked == [(name, n, "bf16") for name, list_ in sides.items() for n in list_]
    assert [x.kernel for x in taken] == [name for name, list_ in sides.items() for _ in list_]
    assert taken[0].shape == (1024**2,)
    assert [x.shape for x in taken[2:6]] == [(1024, 1024), (16384, 16384)] * 2
    assert taken[-1].shape == (8192, 8192, 8192)


def test_operations_on_a_cpu(monkeypatch):
    engine = tell_types(monkeypatch, fp32=1e12, bf16=1e12)
    run("operations", engine, device(cache=MIB))
    assert {dtype for *_, dtype in engine.asked} == {"fp32"}
    assert [n for name, n, _ in engine.asked if name == "gemm"] == [32, 128, 512, 2048]
    assert [n for name, n, _ in engine.asked if name == "axpy"] == [1024, 8192]


def test_operations_as_large_as_the_memory_allows(engine):
    # Half of 96 MiB holds three arrays of 16 MiB: matrices of side 2048 in fp32.
    run("operations", engine, device(free=96 * MIB, kind="cuda"))
    assert [n for name, n, _ in engine.asked if name == "gemm"] == [32, 128, 512, 2048]
    assert [n for name, n, _ in engine.asked if name == "gemv"] == [1024, 2048]


def test_operations_in_the_type_asked_for(monkeypatch):
    engine = tell_types(monkeypatch, fp32=1e12, bf16=1e12)
    run("operations", engine, dtype="fp32")
    assert {dtype for *_, dtype in engine.asked} == {"fp32"}
    with pytest.raises(ValueError, match="dtype must be auto or one of"):
        run("operations", engine, dtype="int8")


@pytest.mark.parametrize(
    ("dtype", "width", "intensities"),
    [
        ("fp32", 4, {"axpy": 2 / 12, "softmax": 5 / 8, "gemv": 2 / (4 + 8 / 1024)}),
        ("bf16", 2, {"axpy": 2 / 6, "softmax": 5 / 4, "gemv": 2 / (2 + 4 / 1024)}),
    ],
)
def test_intensity_by_hand(monkeypatch, dtype, width, intensities):
    engine = tell_types(monkeypatch, **{dtype: 1e12})
    taken = run("operations", engine)
    for name, intensity in intensities.items():
        small = next(x for x in taken if x.kernel == name)
        assert small.intensity == pytest.approx(intensity, rel=1e-12)
        assert small.array_bytes == width * 1024**2
    for x in taken:
        if x.kernel == "gemm":
            n = x.shape[0]
            assert x.intensity == pytest.approx(n / 6 if dtype == "fp32" else n / 3, rel=1e-12)
            assert x.flops == 2 * n**3


def test_operands_that_fit_in_a_cache_are_said_to(engine):
    # Three matrices of side 2048 in fp32 are 48 MiB.
    for cache, cached in [(48, True), (47, False)]:
        taken = run("operations", engine, device(cache=cache * MIB, kind="cuda"))
        (large,) = [x for x in taken if x.kernel == "gemm" and x.shape[0] == 2048]
        assert bool(large.warnings) is cached
        (small,) = [x for x in taken if x.kernel == "gemm" and x.shape[0] == 32]
        assert f"last-level cache of {cache} MiB" in small.warnings[0]
    assert not any(x.warnings for x in run("operations", engine, device(cache=None, kind="cuda")))


# ------------------------------------------------------------------------------------------ link


def test_a_copy_over_the_link_counts_its_payload_once(engine):
    taken = run("link", engine)
    assert [x.kernel for x in taken] == ["there", "back"]
    for x in taken:
        assert (x.bytes_counted, x.array_bytes, x.flops) == (256 * MIB, 256 * MIB, 0)
        assert x.bandwidth == pytest.approx(1e9, rel=1e-3)
        assert (x.dtype, x.limit, x.bytes_hardware) == ("bytes", None, None)


def test_payload_of_the_size_asked_for(engine):
    taken = run("link", engine, array_bytes=SMALL)
    assert {x.bytes_counted for x in taken} == {SMALL}
    assert engine.asked == [("transfers", SMALL)]


def test_a_cpu_has_no_link(engine):
    with pytest.raises(probes.DeviceNotFound, match="the device measured is the CPU"):
        run("link", engine, device())


def test_buffers_that_do_not_fit(engine):
    with pytest.raises(probes.NotEnoughMemory, match="2 arrays of 256 MiB exceed half"):
        run("link", engine, device(free=GIB - 1, kind="cuda"))
