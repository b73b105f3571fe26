"""Devices, results and accelerators made by hand, for the tests of the probes."""

import dataclasses
import math

from wallsite import probes
from wallsite.probes import matmul, session, timing
from wallsite.probes.backend import Task
from wallsite.workload import gemm

KIB, MIB, GIB = 2**10, 2**20, 2**30


def device(free=64 * GIB, cache=32 * MIB, kind="cpu", **more):
    return probes.Device(kind, 0, "a device", free, cache, **more)


def samples(*seconds):
    return probes.Samples(tuple(map(float, seconds)), warmups=(9.0,))


def measurement(probe="memory", kernel="triad", seconds=(2.0, 1.0, 4.0), **more):
    """A triad over arrays of 1 GiB that took 1 s at best; None for ``seconds``: not measured."""
    fields = {
        "formula": "a = b + q·c",
        "dtype": "fp32",
        "shape": (GIB // 4,),
        "array_bytes": GIB,
        "bytes_counted": 3 * GIB,
        "bytes_hardware": 4 * GIB,
        "rule": "a rule",
        "flops": GIB // 2,
        "samples": seconds and samples(*seconds),
        "largest_error": None if seconds is None else 0.0,
        "limit": None,
        "status": "failed" if seconds is None else "ok",
        "reason": "",
        "error": "",
        "warnings": (),
        "wall_seconds": 9.0,
    }
    return probes.Measurement(probe, kernel, **(fields | more))


def product(seconds=(1.0, 0.5), n=1024, dtype="fp32", **more):
    """A matrix product that took 0.5 s at best."""
    counts = {"shape": (n, n, n), "array_bytes": 4 * n * n, "bytes_counted": 12 * n * n}
    counts |= {"bytes_hardware": None, "flops": 2 * n**3}
    return measurement("matmul", "matmul", seconds, dtype=dtype, **(counts | more))


def result(*measurements, **more):
    """A run of two threads of numpy on the CPU."""
    fields = {
        "wallsite": "0",
        "started": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:00:01+00:00",
        "wall_seconds": 1.0,
        "interrupted": False,
        "machine": dataclasses.replace(probes.machine(), cpu="a CPU", cpus=2),
        "device": device(),
        "environment": probes.Environment((0, 1), 1, "madvise", 0.5, "3.13", {"A": "1"}),
        "backend": "numpy",
        "backend_version": "2",
        "threads": 2,
        "peak_memory": GIB,
        "measurements": measurements,
    }
    return probes.Result(**(fields | more))


class Accelerator:
    """A backend whose kernels are only queued, on a clock that only it moves.

    A call returns once the kernel is launched. The time that the kernel takes passes while the
    host waits for it, and the waiting itself costs some more, which only events leave out.

    Args:
        rate: byte/s of every kernel but products, and FLOP/s of those, by type.
        has_events: whether it can time itself.
    """

    name, version, threads = "fake", "1", None
    least_array_bytes = 8 * MIB
    launch, wait = 1e-6, 1e-3

    def __init__(self, rate=1e9, flops=None, has_events=True):
        self.now = 0.0  # what the host's clock says
        self.done = 0.0  # when the device will have done what is queued
        self.rate, self.flops = rate, flops or {"fp32": 1e12}
        self.dtypes = tuple(self.flops)
        self.has_events = has_events
        self.gain = 1.0  # how much faster arrays of half the size are
        self.error = 0.0  # that a check finds
        self.faults = {}  # what a kernel raises, by name; "make …" is its allocation
        self.asked = []  # what was allocated

    def clock(self):
        return self.now

    def synchronise(self):
        self.now = max(self.now, self.done) + self.wait

    def events(self):
        return Events(self) if self.has_events else None

    def queue(self, seconds):
        self.now += self.launch
        self.done = max(self.now, self.done) + seconds

    def fail(self, name):
        if name in self.faults:
            raise self.faults[name]

    def task(self, name, seconds, half=None, **more):
        def run():
            self.fail(name)
            self.queue(seconds)

        return Task(run, lambda: self.error, half=half, **more)

    def stream(self, array_bytes):
        self.fail("make stream")
        self.asked.append(("stream", array_bytes))
        arrays = {"copy": 2, "scale": 2, "add": 3, "triad": 3, "sum": 1}
        times = {name: array_bytes * n / self.rate for name, n in arrays.items()}
        return {
            name: self.task(name, t, self.task(name, t / 2 / self.gain))
            for name, t in times.items()
        }

    def repeated_add(self, array_bytes, times):
        self.asked.append(("add", array_bytes, times))
        return self.task("add", times * 3 * array_bytes / self.rate, write_allocates=True)

    def operation(self, name, n, dtype):
        self.fail(f"make {name} {dtype}")
        self.asked.append((name, n, dtype))
        seconds = gemm(n, n, n).flops / self.flops[dtype] if name == "gemm" else 0.25
        return self.task(f"{name} {dtype}", seconds)

    def transfers(self, payload):
        self.fail("make transfers")
        self.asked.append(("transfers", payload))
        return {name: self.task(name, payload / self.rate) for name in ("there", "back")}

    def close(self):
        pass


class Events:
    """Two events in the queue of an `Accelerator`."""

    def __init__(self, engine, speed=1.0):
        self.engine, self.speed = engine, speed
        self.times = [math.nan, math.nan]

    def record(self, index):
        self.times[index] = max(self.engine.done, self.engine.now)

    def begin(self):
        self.record(0)

    def end(self):
        self.record(1)

    def seconds(self):
        if self.engine.now < self.times[1]:
            raise RuntimeError("the event is not completed yet")
        return self.speed * (self.times[1] - self.times[0])


def put_on_clock_of(engine, monkeypatch):
    """Have the probes read the clock of a backend; return the arguments of every `sample`."""
    seen = []

    def sample(call, **more):
        seen.append(more)
        return timing.sample(call, clock=engine.clock, **more)

    for module in (session, matmul):
        monkeypatch.setattr(module, "sample", sample)
    return seen


def open_session(engine, where=None, told=None, budget=None, **options):
    """Make a session on a backend, three samples for each kernel unless told otherwise."""
    return session.Session(
        where or device(kind="cuda"),
        engine,
        session.Options(**({"repeats": 3} | options)),
        timing.Deadline(budget, engine.clock),
        (lambda what: None) if told is None else told.append,
    )


def run(probe, engine, where=None, **more):
    """Run one probe on a backend; return its measurements."""
    return list(probes.PROBES[probe].measure(open_session(engine, where, **more)))
