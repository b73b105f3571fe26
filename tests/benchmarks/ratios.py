"""The backends' kernels against the same loops in C, in one process and on the same arrays.

Both sides take turns repetition by repetition, so that whatever else the machine does meets both;
only their ratio is judged.
"""

from __future__ import annotations

import ctypes
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from wallsite.probes.backend import Backend, Task
from wallsite.probes.hardware import Device, find_device, physical_cores
from wallsite.probes.kernels import KERNELS, READ, Q
from wallsite.probes.memory import SUM_TOLERANCE, TOLERANCE, stream_work
from wallsite.probes.numpy_backend import NumpyBackend
from wallsite.probes.results import OK
from wallsite.probes.session import Options, Session, unmeasured
from wallsite.probes.timing import Deadline, Samples

from .table import Row, Target, at_least, below, near_one, row, show

TARGETS: dict[tuple[str, str], Target] = {
    ("numpy", "scale"): at_least(0.95),
    ("numpy", "add"): at_least(0.95),
    ("torch", "scale"): at_least(0.98),
    ("torch", "add"): at_least(0.98),
    ("torch", "triad"): at_least(0.98),
    ("numpy", "sum"): at_least(0.90),
    ("torch", "sum"): at_least(0.95),
}
HARDWARE = near_one(0.06)
CONTROL = below(0.95)
HEADER = ("kernel", "backend", "C GB/s", "Python GB/s", "ratio of best", "median ratio")

PAST_CACHE = "copy_nontemporal"
FRESH, ONE_THREAD = "one thread, fresh target, once", "one thread, warm"
WARMUPS = 2
COPY = KERNELS[0]
_C_SUM = 1e-3  # relative error of a float that took in millions of numbers

Call = Callable[[], object]


class Wrong(RuntimeError):
    """C and Python left different results, so their times are not of the same work."""


class Arrays:
    """The three arrays of a backend, wherever it allocated them.

    Args:
        addresses: of a, b and c.
        elements: float32 in each.
    """

    def __init__(self, addresses: tuple[int, ...], elements: int) -> None:
        self.addresses, self.elements = addresses, elements
        floats = ctypes.POINTER(ctypes.c_float)
        self.a, self.b, self.c = (
            np.ctypeslib.as_array(ctypes.cast(address, floats), (elements,))
            for address in addresses
        )

    def call(self, function: Any, threads: int) -> Call:
        """Run a C kernel over them."""
        pointers = [ctypes.c_void_p(address) for address in self.addresses]
        rest = ctypes.c_float(Q), ctypes.c_ssize_t(self.elements), ctypes.c_int(threads)
        function.restype = None
        return lambda: function(*pointers, *rest)


class Observed(Backend, Protocol):
    """A backend that says which arrays its kernels run over."""

    arrays: Arrays


def observed_numpy(threads: int) -> Observed:
    class Numpy(NumpyBackend):
        def _slices(self, array_bytes: int) -> list[Any]:
            slices = super()._slices(array_bytes)  # which follow each other without a gap
            addresses = tuple(x.ctypes.data for x in slices[0])
            self.arrays = Arrays(addresses, sum(len(part[0]) for part in slices))
            return slices

    return Numpy(threads)


def observed_torch(device: Device, threads: int) -> Observed:
    from wallsite.probes.torch_backend import TorchBackend

    class Torch(TorchBackend):
        def _arrays(self, array_bytes: int) -> list[Any]:
            arrays = super()._arrays(array_bytes)
            self.arrays = Arrays(tuple(x.data_ptr() for x in arrays), len(arrays[0]))
            return arrays

    return Torch(device, threads)


def compare(c: ctypes.CDLL, array_bytes: int, repeats: int, threads: int | None) -> list[Row]:
    """Measure each backend that is installed against C, and print the ratios."""
    device, threads = find_device("cpu"), threads or physical_cores()
    print(f"{device.name}, {threads} threads, arrays of {array_bytes >> 20} MiB, {repeats} turns")
    print("ratio: time of C ÷ time of Python; above 1, Python is faster\n")
    engines = [observed_numpy(threads)]
    if importlib.util.find_spec("torch"):
        engines.append(observed_torch(device, threads))
    rows: list[Row] = []
    for engine in engines:
        with closing(engine):
            rows += _against(c, engine, device, array_bytes, repeats)
    show(HEADER, rows)
    return rows


def _against(
    c: ctypes.CDLL, engine: Observed, device: Device, array_bytes: int, repeats: int
) -> Iterator[Row]:
    tasks = engine.stream(array_bytes)
    arrays, threads = engine.arrays, engine.threads or 1
    calls: dict[str, Call] = {}
    for name, task in tasks.items():
        calls |= {f"C {name}": arrays.call(getattr(c, name), threads), name: task.run}
    calls[PAST_CACHE] = arrays.call(c.copy_nontemporal, threads)
    if engine.name == "numpy":
        calls[ONE_THREAD] = lambda: np.copyto(arrays.a, arrays.b)
        calls[FRESH] = lambda: _into_fresh_target(arrays.b)
    found = take_turns(calls, repeats)
    _check(calls, tasks, arrays)

    def row_of(what: str, left: str, right: str, target: Target | None, counted: int) -> Row:
        return _row((what, engine.name), found[left], found[right], target, counted)

    for kernel in (*KERNELS, READ):
        name, counted = kernel.name, kernel.bytes_counted(array_bytes)
        yield row_of(name, f"C {name}", name, TARGETS.get((engine.name, name)), counted)
    yield _hardware(engine, device, tasks, found, array_bytes)
    for control, target in ((ONE_THREAD, None), (FRESH, CONTROL)):
        if control in calls:
            counted = COPY.bytes_counted(array_bytes)
            yield row_of(control, "C copy", control, target, counted)


def take_turns(calls: Mapping[str, Call], repeats: int) -> dict[str, Samples]:
    """Time every call once a turn, in an order that each turn reverses."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(WARMUPS + repeats):
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            start = time.perf_counter()
            kept = calls[name]()
            seconds[name].append(time.perf_counter() - start)
            del kept  # it takes time to free
    return {
        name: Samples(tuple(found[WARMUPS:]), tuple(found[:WARMUPS]))
        for name, found in seconds.items()
    }


def _into_fresh_target(source: Any) -> Any:
    target = np.empty_like(source)
    np.copyto(target, source)
    return target


def _check(calls: Mapping[str, Call], tasks: Mapping[str, Task], arrays: Arrays) -> None:
    """Compare what C and Python leave; only a triad may differ, where C rounds once, and a sum.

    Raises:
        Wrong: they left different results.
    """
    same = {name: f"C {name}" for name in tasks} | {PAST_CACHE: "C copy", ONE_THREAD: "C copy"}
    del same[READ.name]
    _check_sum(calls, tasks, arrays)
    for name, in_c in same.items():
        if name not in calls:
            continue
        left, right = (_left_by(calls[x], arrays) for x in (name, in_c))
        tolerance = TOLERANCE * right.max() if name == "triad" else 0.0
        if not np.allclose(left, right, rtol=0, atol=tolerance):  # False where NaN is left, too
            raise Wrong(f"{name} and {in_c} leave different results")


def _check_sum(calls: Mapping[str, Call], tasks: Mapping[str, Task], arrays: Arrays) -> None:
    """Hold both sums against one in double precision; C adds millions of numbers in a row."""
    exact = float(np.sum(arrays.b, dtype=np.float64))
    in_c = float(_left_by(calls[f"C {READ.name}"], arrays)[0])
    calls[READ.name]()
    if abs(in_c / exact - 1) > _C_SUM or tasks[READ.name].largest_error() > SUM_TOLERANCE:
        raise Wrong(f"{READ.name}: {in_c} in C, {exact} in double precision")


def _left_by(call: Call, arrays: Arrays) -> Any:
    arrays.a.fill(np.nan)
    call()
    return arrays.a.copy()


def _row(
    what: tuple[str, str], left: Samples, right: Samples, target: Target | None, counted: int
) -> Row:
    rates = (f"{counted / x.best / 1e9:.1f}" for x in (left, right))
    best, median = left.best / right.best, _median_ratio(left, right)
    # Judged by the median: one lucky turn in sixty moves the best by several per cent.
    return row((*what, *rates, f"{best:.3f}", f"{median:.3f}"), median, target)


def _median_ratio(left: Samples, right: Samples) -> float:
    """Compare turn by turn, so that a machine that slows down for a while slows both."""
    return statistics.median(x / y for x, y in zip(left.seconds, right.seconds, strict=True))


def _hardware(
    engine: Observed,
    device: Device,
    tasks: Mapping[str, Task],
    found: Mapping[str, Samples],
    array_bytes: int,
) -> Row:
    """Hold the best estimate of what the hardware moved against C that stores past the cache."""
    session = Session(device, engine, Options(), Deadline(), lambda what: None)
    estimates = {}
    for kernel in KERNELS:
        if tasks[kernel.name].write_allocates:
            work = stream_work(session, kernel, array_bytes)
            measured = replace(unmeasured(work, OK, ""), samples=found[kernel.name])
            estimates[kernel.name] = measured.hardware_bandwidth or 0.0
    name = max(estimates, key=estimates.__getitem__)
    exact, counted = found[PAST_CACHE], COPY.bytes_counted(array_bytes)
    rates = counted / exact.best, estimates[name]
    best = rates[1] / rates[0]
    more = best * found[name].best / exact.best  # bytes estimated ÷ bytes of the copy
    median = more * _median_ratio(exact, found[name])
    cells = (f"{x / 1e9:.1f}" for x in rates)
    what = f"hardware, from {name}", engine.name
    # Judged by the best, of which the package makes its estimate.
    return row((*what, *cells, f"{best:.3f}", f"{median:.3f}"), best, HARDWARE)
