"""The kernels of numpy and torch on the CPU: what they compute, and that a wrong one is seen."""

import threading

import numpy as np
import pytest
from probe_fakes import MIB, device

from wallsite import probes
from wallsite.probes import backend, matmul, numpy_backend, numpy_operations
from wallsite.probes.hardware import usable_cpus
from wallsite.probes.kernels import Q
from wallsite.probes.matmul import TOLERANCE
from wallsite.probes.memory import TOLERANCE as ROUNDING

BACKENDS = ["numpy", "torch"]
THREADS = min(2, len(usable_cpus()))
N = 64  # side of small matrices
OPERATIONS = ["axpy", "softmax", "gemv", "gemm"]
IN_EACH_TYPE = [
    (name, dtype)
    for name, types in {"numpy": ["fp32"], "torch": ["fp32", "bf16", "fp16"]}.items()
    for dtype in types
]


def start(name):
    if name == "torch":
        pytest.importorskip("torch").manual_seed(0)
    return backend.open_backend(name, device(), threads=THREADS)


@pytest.fixture(params=BACKENDS)
def engine(request):
    opened = start(request.param)
    yield opened
    opened.close()


# -------------------------------------------------------------------------------------- streaming


class Allocated:
    """Arrays that a backend allocated, as numpy arrays over the same memory."""

    def __init__(self, monkeypatch, name):
        self.arrays = []
        if name == "numpy":
            for module in (numpy_backend, numpy_operations):
                monkeypatch.setattr(module, "aligned", self.keeping(numpy_operations.aligned))
        else:
            torch = pytest.importorskip("torch")
            for allocate in ("full", "randn", "full_like"):
                monkeypatch.setattr(torch, allocate, self.keeping(getattr(torch, allocate)))

    def keeping(self, allocate):
        def allocated(*arguments, **more):
            self.arrays.append(allocate(*arguments, **more))
            return self.arrays[-1]

        return allocated

    def __getitem__(self, index):
        """One of them, or several, in float64."""
        if isinstance(index, slice):
            return [self[i] for i in range(len(self.arrays))[index]]
        array = self.arrays[index]
        return np.array(array.double().numpy() if hasattr(array, "double") else array, np.float64)

    def spoil(self, index, where, value):
        """Overwrite an element."""
        self.arrays[index].reshape(-1)[where] = value

    def turn(self, index):
        """Put the rows of one in the opposite order."""
        array = self.arrays[index]
        array[...] = array.flip(0) if hasattr(array, "flip") else array[::-1].copy()


@pytest.fixture
def allocated(monkeypatch, engine):
    return Allocated(monkeypatch, engine.name)


COMPUTED = {
    "copy": lambda b, c: b,
    "scale": lambda b, c: 3 * b,
    "add": lambda b, c: b + c,
    "triad": lambda b, c: b + 3 * c,
}


@pytest.mark.parametrize("size", [MIB, 8 * MIB + 64])
def test_a_sum_reads_every_element(engine, allocated, size):
    task = engine.stream(size)["sum"]
    task.run()
    _, b, _ = allocated[:]
    assert task.largest_error() < 1e-6  # of pairwise or blocked summation, far below the tolerance
    # What it has not seen, a hundredth of the array, is noticed.
    allocated.spoil(1, slice(0, b.size // 100), 0.0)
    assert task.largest_error() == pytest.approx(0.01, rel=0.05)


@pytest.mark.parametrize("kernel", COMPUTED)
def test_kernels_compute_what_they_claim(engine, allocated, kernel):
    task = engine.stream(MIB + 64)[kernel]
    task.run()
    a, b, c = allocated[:]
    assert (a.size, b.size, c.size) == ((MIB + 64) // 4,) * 3
    np.testing.assert_allclose(a, COMPUTED[kernel](b, c), rtol=3e-7)
    assert task.largest_error() < ROUNDING
    assert task.write_allocates


@pytest.mark.parametrize("kernel", COMPUTED)
def test_the_half_of_a_kernel_works_on_half_of_the_elements(engine, allocated, kernel):
    half = engine.stream(MIB + 64)[kernel].half
    half.run()
    a, b, c = allocated[:]
    done = ~np.isnan(a)
    assert done.sum() == (MIB + 64) // 8
    np.testing.assert_allclose(a[done], COMPUTED[kernel](b, c)[done], rtol=3e-7)
    assert half.largest_error() < ROUNDING


def test_sources_are_random_and_differ(engine, allocated):
    engine.stream(MIB)
    _, b, c = allocated[:]
    for source in (b, c):
        assert 0 <= source.min() < 0.01
        assert 0.99 < source.max() <= 1
        assert 0.45 < source.mean() < 0.55
    assert (b == c).mean() < 0.01


def test_slices_of_threads_differ(engine, allocated):
    engine.stream(MIB)
    for source in allocated[1:]:
        first, second = np.split(source, 2)
        assert (first == second).mean() < 0.01


def test_what_no_kernel_wrote_is_not_a_number(engine):
    for name, task in engine.stream(MIB).items():
        assert np.isnan(task.largest_error())
        assert name == "sum" or np.isnan(task.half.largest_error())
    assert np.isnan(engine.repeated_add(MIB, 2).largest_error())


@pytest.mark.parametrize("element", [0, 1, 1000, MIB // 8, MIB // 4 - 1])
@pytest.mark.parametrize("value", [np.nan, 99.0, 0.0, np.inf])
def test_one_wrong_element_is_seen(engine, allocated, element, value):
    task = engine.stream(MIB)["add"]
    task.run()
    allocated.spoil(0, element, value)
    assert not task.largest_error() <= ROUNDING


def test_an_error_is_relative_to_the_largest_value(engine, allocated):
    task = engine.stream(MIB)["scale"]
    task.run()
    a, b, _ = allocated[:]
    allocated.spoil(0, 5, a[5] + 0.3)
    assert task.largest_error() == pytest.approx(0.3 / (Q * b.max()), rel=1e-4)


def test_each_check_refuses_the_other_kernels(engine):
    tasks = engine.stream(MIB)
    del tasks["sum"]  # writes no array
    for name, task in tasks.items():
        task.run()
        refused = {other for other, t in tasks.items() if t.largest_error() > ROUNDING}
        assert refused == set(tasks) - {name}


@pytest.mark.parametrize("times", [1, 3])
def test_an_addition_repeated(engine, allocated, times):
    task = engine.repeated_add(2**14 + 64, times)
    task.run()
    a, b, c = allocated[:]
    assert a.size == 2**12 + 16
    np.testing.assert_array_equal(a, (b + c).astype(np.float32))
    assert task.largest_error() < ROUNDING
    allocated.spoil(0, 7, 0.0)
    assert task.largest_error() > ROUNDING


def test_torch_adds_as_often_as_it_counts(monkeypatch):
    torch, calls = pytest.importorskip("torch"), []
    monkeypatch.setattr(torch, "add", lambda *arguments, out: calls.append(len(out)))
    engine = start("torch")
    engine.repeated_add(4096, 7).run()
    engine.close()
    assert calls == [1024] * 7


def test_numpy_adds_as_often_as_it_counts(monkeypatch):
    sizes = []

    def add(*arguments, out):
        sizes.append(out.size)

    engine = numpy_backend.NumpyBackend(threads=1)
    task = engine.repeated_add(4096, 7)
    monkeypatch.setattr(np, "add", add)
    task.run()
    engine.close()
    assert sizes == [7 * 1024]


# ----------------------------------------------------------------------------- numpy's threads


@pytest.mark.parametrize(("size", "threads"), [(64, 8), (64, 1), (640, 3), (MIB + 64, 3)])
def test_slices_cover_all_elements_each_once(size, threads):
    engine = numpy_backend.NumpyBackend(threads)
    slices = engine._slices(size)
    engine.close()
    assert sum(len(a) for a, _, _ in slices) == size // 4
    assert len(slices) <= threads
    for part in slices:
        assert all(x.ctypes.data % 64 == 0 for x in part)


def test_fewer_elements_than_threads():
    engine = numpy_backend.NumpyBackend(threads=8)
    for task in engine.stream(64).values():
        if task.half:
            task.half.run()
            assert task.half.largest_error() < ROUNDING
        task.run()
        assert task.largest_error() < ROUNDING
    engine.close()


def test_a_slice_always_meets_the_thread_that_filled_it():
    engine = numpy_backend.NumpyBackend(threads=4)
    seen = [engine._each(lambda part: threading.get_ident(), [None] * 4) for _ in range(20)]
    assert len(set(seen[0])) == 4
    assert seen == [seen[0]] * 20
    engine.close()


def test_closed_threads_are_gone():
    before = threading.active_count()
    engine = numpy_backend.NumpyBackend(threads=3)
    engine.stream(4096)
    assert threading.active_count() == before + 3
    engine.close()
    assert threading.active_count() == before


def test_threads_that_cannot_be_started_are_one_line(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    engine = numpy_backend.NumpyBackend(threads=1)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(probes.NotEnoughMemory, match="on cpu failed: can't start new thread"):
        engine.stream(4096)


@pytest.mark.parametrize("shape", [(1,), (1000,), (7, 9)])
def test_arrays_start_where_a_cache_line_does(shape):
    kept = [numpy_operations.aligned(*shape) for _ in range(20)]
    for x in kept:
        assert (x.shape, x.dtype, x.flags.c_contiguous) == (shape, np.float32, True)
        assert x.ctypes.data % 64 == 0
        x.fill(0)


def test_arrays_of_a_stream_start_where_a_cache_line_does(engine, allocated):
    engine.stream(MIB)
    for x in allocated.arrays:
        assert (x.data_ptr() if hasattr(x, "data_ptr") else x.ctypes.data) % 64 == 0


# ------------------------------------------------------------------------------------- operations

EXACT = {
    "axpy": lambda x, y: 3 * x + y,
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    "gemv": lambda a, x: (a * x).sum(1),
    "gemm": lambda a, b: np.einsum("ik,kj->ij", a, b),
}
OPERANDS = {"axpy": 2, "softmax": 1, "gemv": 2, "gemm": 2}
# Half a unit in the last place of each type, relative to values up to the largest.
ULP = {"fp32": 2**-24, "bf16": 2**-8, "fp16": 2**-11}


@pytest.fixture(params=IN_EACH_TYPE, ids=" ".join)
def typed(request, monkeypatch):
    """A backend, a type it computes in, and what it allocates."""
    name, dtype = request.param
    opened = start(name)
    yield opened, dtype, Allocated(monkeypatch, name)
    opened.close()


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_compute_what_they_claim(typed, name):
    engine, dtype, allocated = typed
    task = engine.operation(name, N, dtype)
    operands, out = allocated[: OPERANDS[name]], OPERANDS[name]
    task.run()
    exact = EXACT[name](*operands)
    assert allocated[out].shape == exact.shape
    error = np.abs(allocated[out] - exact).max() / np.abs(exact).max()
    assert error < 20 * ULP[dtype]
    assert task.largest_error() < TOLERANCE[dtype]
    if dtype != "fp32" and name != "softmax":
        assert error > ULP["fp32"]  # it was indeed rounded to the type


@pytest.mark.parametrize("name", OPERATIONS)
def test_operands_differ_so_that_none_can_stand_for_the_other(typed, name):
    engine, dtype, allocated = typed
    engine.operation(name, N, dtype)
    operands = [x.reshape(-1)[:N] for x in allocated[: OPERANDS[name]]]
    assert all(0.5 < x.std() < 1.5 for x in operands)
    if len(operands) == 2:
        assert (operands[0] == operands[1]).mean() < 0.1


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_that_did_not_run_is_not_a_number(typed, name):
    engine, dtype, _ = typed
    assert np.isnan(engine.operation(name, N, dtype).largest_error())


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("element", [0, -1, 17])
def test_one_element_left_out_is_not_a_number(typed, name, element):
    engine, dtype, allocated = typed
    task = engine.operation(name, N, dtype)
    task.run()
    allocated.spoil(OPERANDS[name], element, np.nan)
    assert np.isnan(task.largest_error())


@pytest.mark.parametrize("name", OPERATIONS)
def test_one_wrong_element_of_an_operation_is_seen(typed, name):
    engine, dtype, allocated = typed
    task = engine.operation(name, N, dtype)
    task.run()
    allocated.spoil(OPERANDS[name], 0, 2 * np.abs(allocated[OPERANDS[name]]).max())
    assert task.largest_error() > TOLERANCE[dtype]


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_wrong_operand_is_seen(typed, name):
    engine, dtype, allocated = typed
    task = engine.operation(name, N, dtype)
    task.run()
    allocated.turn(0)
    assert task.largest_error() > TOLERANCE[dtype]


def test_large_values_do_not_overflow_a_softmax(monkeypatch):
    def large(seed, *shape):
        return np.full(shape, 100, np.float32)

    monkeypatch.setattr(numpy_operations, "_random", large)
    task = numpy_operations.softmax(32)
    task.run()
    assert task.largest_error() < TOLERANCE["fp32"]


def test_a_vector_is_checked_to_its_end_in_parts(monkeypatch):
    monkeypatch.setattr(numpy_operations, "CHECKED", 1000)
    kept = []
    unset = numpy_operations._unset
    monkeypatch.setattr(
        numpy_operations, "_unset", lambda like: kept.append(unset(like)) or kept[0]
    )
    task = numpy_operations.axpy(N)
    task.run()
    assert task.largest_error() < TOLERANCE["fp32"]
    for element in (0, 999, 1000, 4095):
        right = kept[0][element]
        kept[0][element] = right + 1
        assert task.largest_error() > TOLERANCE["fp32"]
        kept[0][element] = np.nan
        assert np.isnan(task.largest_error())
        kept[0][element] = right


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_write_into_the_same_memory_each_time(typed, name):
    engine, dtype, allocated = typed
    task = engine.operation(name, N, dtype)
    count = len(allocated.arrays)
    task.run()
    task.run()
    assert len(allocated.arrays) == count


# --------------------------------------------------------------------------- refusals, and cleanup


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("threads", [0, -1, 1.5, True, 10**6])
def test_threads_out_of_range(name, threads):
    with pytest.raises(ValueError, match="threads must be"):
        backend.open_backend(name, device(), threads)


def test_as_many_threads_as_asked_for(engine):
    assert engine.threads == THREADS


@pytest.mark.parametrize("name", BACKENDS)
def test_a_thread_for_each_core_unless_told_otherwise(monkeypatch, name):
    pytest.importorskip(name)
    opened = backend.open_backend(name, device())
    assert opened.threads == probes.machine().cores
    opened.close()


def test_numpy_for_the_cpu_unless_told_otherwise():
    opened = backend.open_backend("auto", device())
    assert (opened.name, opened.version, opened.dtypes) == ("numpy", np.__version__, ("fp32",))
    opened.close()


def test_a_cpu_has_no_link_and_no_events(engine):
    assert engine.transfers(MIB) == {}
    assert engine.events() is None
    assert engine.synchronise() is None


def failing(error):
    def fail(*arguments, **more):
        raise error

    return fail


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("numpy", MemoryError("Unable to allocate 9 GiB\nmore")),
        ("torch", RuntimeError("can't allocate memory\nx")),
    ],
)
def test_a_failed_allocation_is_one_line(monkeypatch, name, error):
    module = pytest.importorskip(name)
    for allocate in ("empty", "full", "randn", "full_like"):
        monkeypatch.setattr(module, allocate, failing(error), raising=False)
    reason = str(error).splitlines()[0]
    for probe in ("memory", "matmul", "cache", "operations"):
        with pytest.raises(probes.NotEnoughMemory) as caught:
            probes.measure(probe, "cpu", name, repeats=1, quick=True)
        assert str(caught.value) == f"an allocation on cpu failed: {reason}"


def test_a_type_that_cannot_be_filled_is_no_lack_of_memory(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(
        torch, "randn", failing(RuntimeError("\"normal\" not implemented for 'Half'"))
    )
    with pytest.raises(probes.ProbeError, match="not implemented for 'Half'") as caught:
        probes.measure("operations", "cpu", "torch", dtype="fp16", repeats=1, quick=True)
    assert not isinstance(caught.value, probes.NotEnoughMemory)


def test_a_failure_to_fill_the_arrays_is_a_probe_s(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.Tensor, "uniform_", failing(RuntimeError("the driver fails")))
    with pytest.raises(probes.ProbeError, match="the driver fails"):
        probes.measure("memory", "cpu", "torch", array_bytes=MIB, repeats=1)


def test_a_kernel_that_stops_short_gives_no_number(monkeypatch):
    def short(part):
        a, b, c = (x[:-1] for x in part)
        a[:] = b + np.float32(Q) * c

    monkeypatch.setattr(numpy_backend, "_triad", short)
    result = probes.measure("memory", "cpu", "numpy", array_bytes=MIB, repeats=1)
    *others, half, triad, read = result.measurements
    assert all(x.samples for x in (*others, read))
    for x in (half, triad):
        assert (x.kernel, x.samples, x.error) == ("triad", None, "WrongResult")
        assert x.reason.startswith(f"triad fp32 with numpy {np.__version__} is off by ")
    with pytest.raises(probes.NotMeasured, match="is off by"):
        _ = result.triad


def test_a_product_with_one_wrong_element_gives_no_number(monkeypatch):
    def almost(x, y, out):
        np.dot(x, y, out=out)
        out[-1, -1] += np.sqrt(len(x))  # one element, by its own size

    monkeypatch.setattr(np, "matmul", almost)
    monkeypatch.setattr(matmul, "_largest_that_fits", lambda *arguments: 256)
    with pytest.raises(probes.WrongResult, match="matmul fp32 with numpy"):
        probes.measure("matmul", "cpu", "numpy", repeats=1, quick=True)
