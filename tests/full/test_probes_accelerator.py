"""Torch's backend on a CPU that pretends to be an accelerator."""

import math
import types

import pytest
from probe_fakes import GIB, MIB, device

from wallsite import probes
from wallsite.probes import backend, session, suite, timing

torch = pytest.importorskip("torch")

from wallsite.probes import torch_backend  # noqa: E402 - imports torch


class Pretended(probes.Device):
    """An accelerator by its kind, for which torch allocates and computes on the CPU."""

    def __str__(self):
        return "cpu"


def pretended(kind="cuda", **more):
    return Pretended(kind, 0, "a pretended device", 64 * GIB, MIB, **more)


class Event:
    """A `torch.Event` that tells its time only once the device was waited for."""

    made = ()
    clock = None

    def __init__(self, where, *, enable_timing=False):
        assert enable_timing
        self.where, self.time, self.is_done = where, None, False
        Event.made.append(self)

    def record(self):
        self.time, self.is_done = Event.clock(), False

    def elapsed_time(self, end):
        if not (self.is_done and end.is_done):
            raise RuntimeError("not ready")
        return (end.time - self.time) * 1e3


class Driver:
    """What torch was asked to do to the device, on which every call takes a second."""

    def __init__(self):
        self.now = 0.0
        self.waits, self.emptied, self.pinned, self.peers = [], 0, [], []

    def synchronize(self, where):
        self.waits.append(where)
        for event in Event.made:
            event.is_done = True

    def empty_cache(self):
        self.emptied += 1

    def clock(self):
        return self.now

    def sample(self, call, **more):
        def one():
            call()
            self.now += 1.0

        return timing.sample(one, clock=self.clock, **more)


@pytest.fixture
def driver(monkeypatch):
    """Torch as if an accelerator were there."""
    driver = Driver()
    empty, empty_like = torch.empty, torch.empty_like

    def unpinned(*size, pin_memory=False, **more):
        driver.pinned.append(pin_memory)
        return empty(*size, **more)

    def here(like, device=None):
        driver.peers.append(device)
        return empty_like(like)

    monkeypatch.setattr(torch.accelerator, "synchronize", driver.synchronize)
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 1)
    monkeypatch.setattr(torch, "Event", Event)
    monkeypatch.setattr(Event, "made", [])
    monkeypatch.setattr(Event, "clock", driver.clock)
    monkeypatch.setattr(session, "sample", driver.sample)
    monkeypatch.setattr(torch, "empty", unpinned)
    monkeypatch.setattr(torch, "empty_like", here)
    for kind in ("cuda", "mps", "xpu"):
        monkeypatch.setattr(getattr(torch, kind), "empty_cache", driver.empty_cache)
    monkeypatch.setattr(suite, "find_device", lambda name: pretended())
    return driver


@pytest.fixture
def engine(driver):
    opened = backend.open_backend("auto", pretended())
    yield opened
    opened.close()


# ------------------------------------------------------------------------- waiting, and the clock


def test_torch_drives_what_is_not_the_cpu(engine):
    assert (engine.name, engine.version) == ("torch", torch.__version__)
    assert engine.dtypes == ("fp32", "bf16", "fp16")
    assert engine.threads is None
    assert engine.least_array_bytes == 8 * MIB


def test_the_device_that_is_measured_is_waited_for(engine, driver):
    driver.waits.clear()
    engine.synchronise()
    assert driver.waits == ["cpu"]


def test_the_cpu_is_not_waited_for(driver):
    on_host = backend.open_backend("torch", device())
    on_host.synchronise()
    assert on_host.events() is None
    on_host.close()
    assert (driver.waits, Event.made, driver.emptied) == ([], [], 0)


def test_events_of_the_device_in_seconds(engine, driver):
    events = engine.events()
    first, second = Event.made[-2:]
    assert (first.where, second.where) == ("cpu", "cpu")
    events.begin()
    events.end()
    first.time, second.time = 10.0, 10.25
    with pytest.raises(RuntimeError):
        events.seconds()
    engine.synchronise()
    assert events.seconds() == 0.25


@pytest.mark.parametrize("where", ["__init__", "record", "elapsed_time"])
@pytest.mark.parametrize("error", [RuntimeError, NotImplementedError, TypeError])
def test_events_that_the_driver_lacks_are_not_used(driver, monkeypatch, where, error):
    def refuse(*arguments, **more):
        raise error("no such thing")

    monkeypatch.setattr(Event, where, refuse)
    engine = backend.open_backend("torch", pretended())
    assert engine.events() is None
    engine.close()


@pytest.mark.parametrize("told", [-1.0, math.nan])
def test_events_that_tell_no_time_are_not_used(driver, monkeypatch, told):
    monkeypatch.setattr(Event, "elapsed_time", lambda self, end: told)
    engine = backend.open_backend("torch", pretended())
    assert engine.events() is None
    engine.close()


def test_a_run_waits_around_each_sample_and_records_events(driver):
    result = probes.measure("link", "cuda", array_bytes=4096, repeats=2)
    samples = 4 * (2 + 2)  # four copies, two warm-ups and two samples each
    assert driver.waits == ["cpu"] * (1 + 2 * samples)  # and once to see that events tell the time
    assert len(Event.made) == 2 * (1 + 4)
    for x in result.measurements:
        assert (x.status, x.bandwidth) == ("ok", 4096.0)


def test_a_run_without_events_uses_the_host_s_clock(driver, monkeypatch):
    monkeypatch.setattr(Event, "record", None)  # not callable: a TypeError
    result = probes.measure("link", "cuda", array_bytes=4096, repeats=1)
    assert [x.bandwidth for x in result.select("link")] == [4096.0] * 4
    assert driver.waits == ["cpu"] * (2 * 4 * 3)


def test_memory_of_an_accelerator(driver):
    result = probes.measure("memory", "cuda", array_bytes=MIB, repeats=1)
    assert (result.backend, result.threads, result.device.kind) == ("torch", None, "cuda")
    assert len(result.select("memory")) == 7
    for x in result.measurements:
        assert x.bytes_hardware is None  # no write-allocate is known of there
        assert x.largest_error < 1e-6
    assert driver.emptied == 1


def test_a_driver_that_fails_while_it_is_waited_for(driver, monkeypatch):
    def fail(where):
        raise RuntimeError("CUDA error: unspecified launch failure\nmore")

    def open_and_fail(*arguments):
        engine = backend.open_backend(*arguments)
        monkeypatch.setattr(torch.accelerator, "synchronize", fail)
        return engine

    monkeypatch.setattr(suite, "open_backend", open_and_fail)
    with pytest.raises(probes.ProbeError, match="copy fp32: CUDA error: unspecified launch fail"):
        probes.measure("memory", "cuda", array_bytes=MIB, repeats=1)


@pytest.mark.parametrize(
    ("allocate", "ask"),
    [
        ("full", lambda engine: engine.stream(MIB)),
        ("full", lambda engine: engine.repeated_add(MIB, 2)),
        ("randn", lambda engine: engine.operation("axpy", 32, "bf16")),
        ("full_like", lambda engine: engine.operation("axpy", 32, "bf16")),
        ("empty", lambda engine: engine.transfers(MIB)),
    ],
)
def test_an_accelerator_without_room(engine, monkeypatch, allocate, ask):
    def refuse(*arguments, **more):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB\nmore")

    monkeypatch.setattr(torch, allocate, refuse)
    with pytest.raises(probes.NotEnoughMemory) as caught:
        ask(engine)
    assert str(caught.value) == (
        "an allocation on cpu failed: CUDA out of memory. Tried to allocate 1 GiB"
    )


# --------------------------------------------------------------------------------------- settings


@pytest.fixture
def settings():
    """Torch's settings, as they were before."""
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    yield
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision)


@pytest.mark.usefixtures("settings", "driver")
@pytest.mark.parametrize("where", [device(), pretended()], ids=["cpu", "cuda"])
def test_settings_are_given_back(where):
    torch.set_float32_matmul_precision("high")
    torch.set_num_threads(2)
    opened = backend.open_backend("torch", where, threads=1)
    assert torch.get_float32_matmul_precision() == "highest"  # fp32, not tf32
    assert torch.get_num_threads() == (1 if where.kind == "cpu" else 2)
    opened.close()
    assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("settings")
def test_settings_are_given_back_after_an_error(monkeypatch):
    torch.set_float32_matmul_precision("medium")
    with pytest.raises(ValueError, match="dtype"):
        probes.measure("matmul", "cpu", "torch", dtype="fp8")
    assert torch.get_float32_matmul_precision() == "medium"


@pytest.mark.parametrize("kind", ["cuda", "mps", "xpu"])
def test_what_the_allocator_kept_is_given_back(driver, kind):
    opened = backend.open_backend("torch", pretended(kind))
    assert driver.emptied == 0
    opened.close()
    assert driver.emptied == 1


def test_an_allocator_that_keeps_nothing(driver, monkeypatch):
    monkeypatch.setattr(torch, "other", types.SimpleNamespace(), raising=False)
    backend.open_backend("torch", pretended("other")).close()


# ------------------------------------------------------------------------------------------- link

FOUR = ["host-to-device, pinned", "device-to-host, pinned", "host-to-device", "device-to-host"]


def test_buffers_are_pinned_or_ordinary(engine, driver):
    copies = engine.transfers(4096)
    assert list(copies) == FOUR
    # One on the device; two on the host that are pinned, and two that are not.
    assert driver.pinned == [False, True, True, False, False]
    assert driver.peers == []


def test_apple_s_gpus_pin_nothing(driver):
    engine = backend.open_backend("torch", pretended("mps"))
    assert list(engine.transfers(4096)) == FOUR[2:]
    assert True not in driver.pinned
    engine.close()


def test_a_copy_that_did_not_take_place_is_seen(engine):
    for name, task in engine.transfers(4096).items():
        assert task.largest_error() == 1.0, name
        task.run()
        assert task.largest_error() == 0.0, name
        assert not task.write_allocates


@pytest.mark.parametrize("broken", range(4))
def test_a_link_that_loses_what_it_carries_gives_no_number(driver, monkeypatch, broken):
    copy, seen = torch.Tensor.copy_, []

    def losing(target, source, non_blocking=False):
        route = (source.data_ptr(), target.data_ptr())
        if route not in seen:
            seen.append(route)
        return target if seen.index(route) == broken else copy(target, source)

    monkeypatch.setattr(torch.Tensor, "copy_", losing)
    result = probes.measure("link", "cuda", array_bytes=4096, repeats=1)
    assert len(seen) == 4
    for number, x in enumerate(result.measurements):
        assert x.kernel == FOUR[number]
        assert (x.error, x.samples is None) == (
            ("WrongResult", True) if number == broken else ("", False)
        )


def test_copies_do_not_wait_for_themselves(engine, monkeypatch):
    asked = []

    def copy(target, source, non_blocking=False):
        asked.append((len(source), len(target), non_blocking))

    tasks = engine.transfers(4096)
    monkeypatch.setattr(torch.Tensor, "copy_", copy)
    for task in tasks.values():
        task.run()
    assert asked == [(4096, 4096, True)] * 4


def test_a_copy_to_another_accelerator(engine, driver, monkeypatch):
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    *four, (name, make) = engine.transfers(4096).items()
    assert (len(four), name, driver.peers) == (4, "to cuda:1", [])
    task = make()
    assert driver.peers == ["cuda:1"]
    assert task.largest_error() == 1.0
    task.run()
    assert task.largest_error() == 0.0


@pytest.mark.parametrize(
    ("count", "index", "peer"),
    [(1, 0, None), (2, 0, "cuda:1"), (2, 1, "cuda:0"), (8, 6, "cuda:7"), (8, 7, "cuda:0")],
)
def test_the_next_one_is_the_other(engine, monkeypatch, count, index, peer):
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: count)
    monkeypatch.setattr(engine, "_device", f"cuda:{index}")
    assert engine._peer() == peer


def test_a_peer_without_room_leaves_the_other_copies(driver, monkeypatch):
    def refuse(like, device):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    monkeypatch.setattr(torch, "empty_like", refuse)
    result = probes.measure("link", "cuda", array_bytes=4096, repeats=1)
    *four, peer = result.measurements
    assert [x.kernel for x in four if x.samples] == FOUR
    assert (peer.kernel, peer.error) == ("to cuda:1", "NotEnoughMemory")
    assert peer.reason == "an allocation on cuda:1 failed: CUDA out of memory"


# ------------------------------------------------------------------------------------- operations


@pytest.mark.parametrize("name", torch_backend.OPERATIONS)
@pytest.mark.parametrize("dtype", torch_backend.DTYPES)
def test_operations_are_checked_on_the_device(engine, name, dtype):
    task = engine.operation(name, 32, dtype)
    assert math.isnan(task.largest_error())
    task.run()
    assert task.largest_error() < {"fp32": 1e-4, "bf16": 2e-2, "fp16": 5e-3}[dtype]
