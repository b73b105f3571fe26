"""Every argument of every model: what is refused, how, and what numpy hands over."""

import inspect
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from wallsite import collectives, roofline, workload

# A sound value for every argument that any model takes.
SOUND = {
    "acceptance": 0.7,
    "active_params": 7e9,
    "bandwidth": 3.35e12,
    "batch": 4,
    "bucket": 0.1,
    "a_bytes": 1.0,
    "attention": 1e9,
    "b_bytes": 1.0,
    "buckets": 4,
    "c_bytes": 2.0,
    "chips": 8,
    "chosen": 8,
    "collective": "all-gather",
    "columns": 512,
    "communication": 1.0,
    "compression": 0.5,
    "compute": 10.0,
    "context": 100,
    "drafted": 4,
    "elapsed": 0.1,
    "element_bytes": 2.0,
    "experts": 64,
    "flops": 1e12,
    "gradients": 1e9,
    "group": 4,
    "heads": 32,
    "head_dim": 128,
    "hidden": 4096,
    "inner_bandwidth": 450e9,
    "inner_latency": 1e-6,
    "intensity": 100.0,
    "interleaved": 2,
    "k": 32,
    "kv_bytes": 1e6,
    "kv_element_bytes": 2.0,
    "kv_heads": 8,
    "kv_per_token": 1e5,
    "latency": 5e-6,
    "latent": 512,
    "layers": 32,
    "m": 128,
    "many": 2.0,
    "mfu": 0.4,
    "micro_batches": 4,
    "most": 16,
    "n": 64,
    "nodes": 4,
    "one": 10.0,
    "outer_bandwidth": 50e9,
    "outer_latency": 5e-6,
    "overlap": 0.5,
    "overlappable": 0.5,
    "params": 7e9,
    "peak": 989e12,
    "per_node": 8,
    "ranks": 8,
    "read_params": 8e9,
    "rope": 64,
    "routed": 1e10,
    "rows": 256,
    "seconds": 1.0,
    "sequence": 2048,
    "shared": 1e9,
    "size": 1e9,
    "stage": 3,
    "stages": 4,
    "step": lambda ranks: 1 / ranks,
    "tokens": 1000,
    "traffic": 1e9,
    "weight_bytes": 2.0,
    "weights": 1e9,
    "window": 64,
    "windowed": 0.5,
}
FUNCTIONS = [
    function
    for module in (roofline, workload, collectives)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
]
ARGUMENTS = [
    pytest.param(function, name, id=f"{function.__name__}({name})")
    for function in FUNCTIONS
    for name in inspect.signature(function).parameters
    if name not in {"collective", "step"}  # take no number
]
NO_NUMBERS = ["5", b"5", None, True, [1.0], 1j, Decimal(8), Fraction(8), object(), np.bool_(True)]
NO_NUMBERS += [np.ones(100), np.complex128(8)]
NO_QUANTITIES = [-1, -0.5, math.nan, math.inf, -math.inf, np.float32("nan"), np.int8(-1)]
NO_QUANTITIES += [10**400, -(10**400), 10**5000, 1e300, 5e-324]


def call(function, **changed):
    names = inspect.signature(function).parameters
    return function(**{name: SOUND[name] for name in names} | changed)


@pytest.mark.parametrize(("function", "name"), ARGUMENTS)
def test_a_bad_argument_is_named_in_one_short_line(function, name):
    absent = inspect.signature(function).parameters[name].default is None
    for bad in [x for x in NO_NUMBERS + NO_QUANTITIES if not (absent and x is None)]:
        with pytest.raises(ValueError, match=rf"^{name} (must be|is too large or too)") as caught:
            call(function, **{name: bad})
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 240


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize(("function", "name"), ARGUMENTS)
def test_a_scalar_of_numpy_is_a_number_like_any_other(function, name):
    expected = call(function)
    for kind in (np.float64, np.float32, np.int64, np.int32, np.uint8):
        scalar = np.float64(SOUND[name]).astype(kind)
        if math.isclose(scalar, SOUND[name], rel_tol=1e-6):  # the kind can hold it
            found = call(function, **{name: scalar})
            assert type(found) is type(expected)
            assert found == expected or found == pytest.approx(expected, rel=1e-6)


def test_narrow_scalars_do_not_overflow():
    sides = np.uint8(200), np.int16(30_000), np.int32(2**31 - 1)
    for side in sides:
        assert workload.gemm(side, side, side) == workload.gemm(*[int(side)] * 3)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_largest_arguments_have_a_finite_result(function):
    large = dict.fromkeys(inspect.signature(function).parameters, 1e60)
    for name in large:
        if name in {"collective", "step", "most", "stage"}:
            large[name] = SOUND[name]
        elif "bandwidth" in name or name == "peak":
            large[name] = 1e5
        elif name == "tokens":
            large[name] = 1e20  # attention grows with its square
        elif "latency" in name or name in {"mfu", "acceptance", "overlap", "windowed"}:
            large[name] = 1
    found = function(**large)
    if not isinstance(found, str):
        assert all(map(math.isfinite, found if isinstance(found, tuple) else [found]))
