"""What a run measured: its rates by hand, its files, and files that are damaged."""

import csv
import dataclasses
import io
import json
import math

import measured as of_a_machine
import pytest
from probe_fakes import GIB, device, measurement, product, result, samples

from wallsite import probes
from wallsite.probes.parse import read


def test_rates_by_hand():
    triad = measurement()
    assert triad.bandwidth == 3 * GIB / 1.0
    assert triad.median_bandwidth == 3 * GIB / 2.0
    assert triad.hardware_bandwidth == 4 * GIB / 1.0
    assert triad.intensity == 0.5 / 3
    assert triad.rate(0.5) == 3 * GIB / 0.5
    mm = product()
    assert mm.performance == 2 * 1024**3 / 0.5
    assert mm.median_performance == 2 * 1024**3 / 0.75
    assert mm.intensity == 1024 / 6
    assert mm.rate(0.25) == 2 * 1024**3 / 0.25


def test_no_estimate_where_it_is_not_known():
    assert measurement(bytes_hardware=None).hardware_bandwidth is None


def test_fraction_of_what_the_hardware_is_specified_to_reach():
    assert measurement().fraction_of_limit is None
    limited = measurement(limit=probes.Limit(12.0 * GIB, "a source"))
    assert limited.fraction_of_limit == 0.25


@pytest.mark.parametrize(
    ("probe", "kernel", "computes"),
    [
        ("matmul", "matmul", True),
        ("operations", "gemm", True),
        ("operations", "gemv", False),
        ("memory", "triad", False),
        ("link", "host-to-device", False),
    ],
)
def test_only_matrix_products_are_told_in_flops(probe, kernel, computes):
    assert measurement(probe, kernel).computes is computes


def test_a_measurement_in_words():
    assert str(product(n=64)) == "matmul fp32 64×64×64"
    assert str(measurement("link", "there", dtype="", shape=(7,))) == "there 7"


def test_what_was_not_measured_says_why():
    skipped = measurement(seconds=None, status="skipped", reason="no time")
    for name in ("seconds", "bandwidth", "median_bandwidth", "performance", "hardware_bandwidth"):
        with pytest.raises(probes.NotMeasured, match="triad fp32 was not measured: no time"):
            getattr(skipped, name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: measurement(bytes_counted=0),
            "what was measured must count bytes, and a product FLOPs",
        ),
        (lambda: product(flops=0), "what was measured must count bytes, and a product FLOPs"),
        (lambda: measurement(bytes_counted=-1), "must be 0 or above"),
        (lambda: measurement(array_bytes=-1), "must be 0 or above"),
        (lambda: product(flops=-1), "must be 0 or above"),
    ],
)
def test_counts_that_give_no_rate_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ------------------------------------------------------------------------------------ headline


def test_select_leaves_out_what_holds_no_number():
    triad, failed, mm = measurement(), measurement(seconds=None), product()
    copy = measurement(kernel="copy")
    found = result(copy, failed, triad, mm)
    assert found.select("memory") == (copy, triad)
    assert found.select("memory", "triad") == (triad,)
    assert found.select("link") == ()


def test_triad_is_the_one_over_the_largest_arrays():
    fast_half = measurement(seconds=(0.1,), array_bytes=GIB // 2)
    other = measurement("cache", seconds=(0.1,), array_bytes=2 * GIB)
    whole = measurement()
    assert result(fast_half, whole, other).triad is whole
    assert result(whole, fast_half, other).triad is whole


@pytest.mark.parametrize(("faster", "slower"), [("add", "triad"), ("triad", "add")])
def test_headline_is_the_faster_of_add_and_triad(faster, slower):
    best = measurement(kernel=faster, seconds=(1.0,))
    rest = [
        measurement(kernel=slower, seconds=(2.0,)),
        measurement(kernel="copy", seconds=(0.1,)),
        measurement(kernel=faster, seconds=(0.1,), array_bytes=GIB // 2),
        measurement("cache", "add", seconds=(0.1,)),
    ]
    assert result(*rest, best).headline is best


def test_a_half_is_no_headline_even_if_the_whole_failed():
    half = measurement(array_bytes=GIB // 2)
    whole = measurement(seconds=None, reason="it broke")
    with pytest.raises(probes.NotMeasured, match="bandwidth was not measured on cpu: it broke"):
        _ = result(half, whole).headline


def test_peak_is_the_fastest_product_of_the_type():
    gemm = measurement("operations", "gemm", (0.25,), flops=2 * 1024**3)
    found = result(product(), gemm, product((0.1,), dtype="bf16"))
    assert found.matmul("fp32") is gemm
    assert found.matmul_dtypes == ("fp32", "bf16")


def test_ridge_point_by_hand():
    found = result(measurement(), product())
    assert found.ridge_point("fp32") == (2 * 1024**3 / 0.5) / (3 * GIB / 1.0)


@pytest.mark.parametrize(
    ("measurements", "ask", "message"),
    [
        ((), lambda r: r.triad, "triad was not measured on cpu: run the probe memory"),
        ((), lambda r: r.headline, "bandwidth was not measured on cpu: run the probe memory"),
        ((), lambda r: r.matmul("fp32"), "matmul fp32 was not measured on cpu: run the probe mat"),
        ((product(),), lambda r: r.ridge_point("fp32"), "bandwidth was not measured"),
        ((measurement(),), lambda r: r.ridge_point("fp32"), "matmul fp32 was not measured"),
        (
            (product(),),
            lambda r: r.matmul("bf16"),
            "matmul bf16 was not measured on cpu: only fp32",
        ),
        (
            (measurement(seconds=None, reason="no room"),),
            lambda r: r.triad,
            "triad was not measured on cpu: no room",
        ),
        (
            (product(None, reason="no time"), measurement()),
            lambda r: r.ridge_point("fp32"),
            "matmul fp32 was not measured on cpu: no time",
        ),
        (
            (measurement("memory", "memory", None, reason="no arrays"),),
            lambda r: r.headline,
            "bandwidth was not measured on cpu: no arrays",
        ),
    ],
)
def test_what_the_run_lacks_says_why(measurements, ask, message):
    with pytest.raises(probes.NotMeasured, match=message):
        ask(result(*measurements))


# --------------------------------------------------------------------------------------- files


def everything():
    """A result in which every field that may be empty is so once, and once is not."""
    return result(
        measurement(limit=probes.Limit(5e12, "2 × 1 MHz")),
        product(warnings=("slow", "small"), status="unstable", reason="spread"),
        measurement(seconds=None, largest_error=None, status="skipped", reason="no time"),
        measurement("link", "link", None, status="failed", error="NotEnoughMemory", shape=()),
    )


def nothing_known():
    machine = dataclasses.replace(
        probes.machine(), last_level_cache=None, memory_total=None, memory_available=None
    )
    return result(
        machine=machine,
        device=device(None, None, "cuda", bandwidth_limit=None),
        environment=probes.Environment((), None, None, None, "3.13", {}),
        threads=None,
        peak_memory=None,
        interrupted=True,
    )


@pytest.mark.parametrize("make", [everything, nothing_known])
def test_json_round_trip(make):
    whole = make()
    text = whole.to_json()
    assert probes.Result.from_json(text) == whole
    assert probes.Result.from_json(text).to_json() == text


def test_an_array_of_a_byte_is_one():
    assert of_a_machine.arrays("copy", (1.0,), 1, shape=(1,), flops=0).bandwidth == 2.0


def test_json_is_indented_by_a_blank():
    assert everything().to_json().startswith('{\n "schema": ')


def test_json_by_hand():
    fields = json.loads(everything().to_json())
    assert next(iter(fields)) == "schema"
    assert fields["schema"] == 3
    first, _, skipped, _ = fields["measurements"]
    assert first["samples"] == {"seconds": [2.0, 1.0, 4.0], "warmups": [9.0], "calls": 1}
    assert first["limit"] == {"rate": 5e12, "source": "2 × 1 MHz"}
    assert (skipped["samples"], skipped["reason"]) == (None, "no time")


def test_every_sample_survives_to_the_last_digit():
    seconds = (math.pi, math.nextafter(1.0, 2.0), 1e-9 / 3)
    again = probes.Result.from_json(result(measurement(seconds=seconds)).to_json())
    assert again.measurements[0].seconds.seconds == seconds


def test_the_same_file_is_read_in_any_order_of_its_fields():
    whole = everything()
    assert probes.Result.from_json(json.dumps(json.loads(whole.to_json()), sort_keys=True)) == whole


def test_numbers_without_a_fraction_are_still_floats():
    text = result().to_json().replace('"wall_seconds": 1.0', '"wall_seconds": 1')
    assert type(probes.Result.from_json(text).wall_seconds) is float


def test_what_is_no_number_is_never_written():
    with pytest.raises(ValueError, match="Out of range"):
        result(wall_seconds=math.nan).to_json()


def first(name, value):
    """Set a field of the first measurement."""
    return lambda fields: fields["measurements"][0].update({name: value})


def taken(name, value):
    """Set a field of the first measurement's samples."""
    return lambda fields: fields["measurements"][0]["samples"].update({name: value})


DAMAGED = [
    (lambda f: f.pop("schema"), "no field schema"),
    (lambda f: f.update(schema=1), "schema 1 is not 3, the one this version reads"),
    (lambda f: f.update(schema=4), "schema 4 is not 3"),
    (lambda f: f.update(schema="2"), "schema '2' is not 3"),
    (lambda f: f.update(schema=None), "schema None is not 3"),
    (lambda f: f.pop("machine"), "result.machine is missing"),
    (lambda f: f.update(more=1), r"result.'more' is no field; known: wallsite, started"),
    (lambda f: f.update(machine=[]), r"result.machine must be an object, got \[\]"),
    (lambda f: f.update(machine=None), "result.machine must be an object, got None"),
    (lambda f: f["machine"].pop("cpu"), "result.machine.cpu is missing"),
    (lambda f: f["machine"].update(cpus="2"), "result.machine.cpus must be a whole number, got '2"),
    (lambda f: f["machine"].update(cpus=None), "result.machine.cpus must be a whole number, got N"),
    (lambda f: f["machine"].update(cpus=2.0), "result.machine.cpus must be a whole number, got 2"),
    (lambda f: f["machine"].update(cpus=True), "result.machine.cpus must be a whole number, got T"),
    (lambda f: f["machine"].update(found=[]), "result.machine.found must be an object"),
    (lambda f: f["machine"].update(found={"cpu": 1}), "result.machine.found.cpu must be a text"),
    (lambda f: f.update(interrupted=0), "result.interrupted must be true or false, got 0"),
    (lambda f: f.update(wall_seconds="1"), "result.wall_seconds must be a finite number, got '1'"),
    (lambda f: f.update(wall_seconds=False), "result.wall_seconds must be a finite number, got F"),
    (lambda f: f.update(wall_seconds=10**400), "result.wall_seconds must be a finite number"),
    (lambda f: f.update(wall_seconds=math.nan), "NaN is not JSON"),
    (lambda f: f.update(wall_seconds=math.inf), "Infinity is not JSON"),
    (lambda f: f.update(wall_seconds=-math.inf), "-Infinity is not JSON"),
    (lambda f: f.update(measurements={}), "result.measurements must be a list"),
    (lambda f: f.update(measurements=[1]), r"result.measurements\[0\] must be an object, got 1"),
    (lambda f: f["device"].update(index=-0.5), "result.device.index must be a whole number"),
    (
        lambda f: f["environment"].update(affinity=[0, "x"]),
        r"environment.affinity\[1\] must be a w",
    ),
    (first("status", "fine"), r"measurements\[0\].status must be one of ok, unstable.*got 'fine'"),
    (first("shape", [1, None]), r"measurements\[0\].shape\[1\] must be a whole number, got None"),
    (
        first("dtype", "\ud800"),
        r"measurements\[0\].dtype must be a text without control characters",
    ),
    (first("dtype", None), r"measurements\[0\].dtype must be a text, got None"),
    (first("bytes_counted", -1), r"measurements\[0\]: counts of bytes and FLOPs must"),
    (first("bytes_counted", 0), r"measurements\[0\]: what was measured must count"),
    (first("bytes_counted", 10**400), r"measurements\[0\]"),
    (first("bytes_hardware", 10**400), r"measurements\[0\]"),
    (first("bytes_hardware", -1), r"measurements\[0\]"),
    (first("limit", {"rate": 1.0}), r"measurements\[0\].limit.source is missing"),
    (first("limit", {"rate": 0.0, "source": ""}), r"measurements\[0\]"),
    (first("limit", {"rate": -1.0, "source": ""}), r"measurements\[0\]"),
    (first("samples", 1), r"measurements\[0\].samples must be an object, got 1"),
    (taken("seconds", []), r"measurements\[0\].samples: seconds must hold durations"),
    (taken("seconds", [1.0, -1.0]), r"measurements\[0\].samples: seconds must hold"),
    (taken("seconds", [0]), r"measurements\[0\].samples: seconds must hold"),
    (taken("seconds", ["x"]), r"measurements\[0\].samples.seconds\[0\] must be a finite number"),
    (taken("calls", 1.5), r"measurements\[0\].samples.calls must be a whole number, got 1.5"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGED)
def test_a_damaged_file_names_the_field(change, message):
    fields = json.loads(everything().to_json())
    change(fields)
    with pytest.raises(ValueError, match=message):
        probes.Result.from_json(json.dumps(fields))


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_a_number_too_large_for_a_float(number):
    text = result().to_json().replace('"wall_seconds": 1.0', f'"wall_seconds": {number}')
    with pytest.raises(ValueError, match=r"result.wall_seconds must be a finite number, got -?inf"):
        probes.Result.from_json(text)


@pytest.mark.parametrize(
    ("shape", "taken"), [([1], True), ([1024, 0], False), ([0, 1], False), ([], False)]
)
def test_every_side_of_what_was_measured_is_above_zero(shape, taken):
    fields = json.loads(result(measurement()).to_json())
    first("shape", shape)(fields)
    if taken:
        assert probes.Result.from_json(json.dumps(fields)).measurements[0].shape == tuple(shape)
    else:
        with pytest.raises(ValueError, match=r"measurements\[0\]: .* sides above 0"):
            probes.Result.from_json(json.dumps(fields))


@pytest.mark.parametrize("field", ["array_bytes", "bytes_counted", "bytes_hardware", "flops"])
def test_no_count_is_past_what_a_kernel_can_count(field):
    with pytest.raises(ValueError, match="counts of bytes and FLOPs"):
        dataclasses.replace(measurement(), **{field: 10**30})


def test_a_product_that_moves_nothing_has_no_intensity():
    fields = json.loads(result(product()).to_json())
    first("bytes_counted", 0)(fields)
    with pytest.raises(ValueError, match=r"measurements\[0\]"):
        probes.Result.from_json(json.dumps(fields))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "2", '"schema"', '["schema"]', "\ufeff{}"])
def test_a_file_that_is_no_result(text):
    with pytest.raises(ValueError, match=r"Expecting|not a wallsite probe result|BOM"):
        probes.Result.from_json(text)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"schema":' * 100_000])
def test_a_file_nested_too_deep(text):
    with pytest.raises(ValueError, match="nested too deep"):
        probes.Result.from_json(text)


def test_half_a_file_is_refused_wherever_it_ends():
    text = everything().to_json().rstrip()
    for end in range(0, len(text), 50):
        with pytest.raises(ValueError, match=r"Expecting|Unterminated|Invalid"):
            probes.Result.from_json(text[:end])


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (tuple[int, ...], [1, 2], (1, 2)),
        (int | None, None, None),
        (int | None, 3, 3),
        (float, 3, 3.0),
        (dict[str, int], {"a": 1}, {"a": 1}),
        (tuple[tuple[str, ...], ...], [["a"], []], (("a",), ())),
    ],
)
def test_parsed_json_becomes_what_the_annotation_says(kind, value, found):
    assert read(kind, value, "x") == found


# ------------------------------------------------------------------------------------------ CSV

HEADER = (
    "device,name,backend,threads,probe,kernel,dtype,shape,"
    "array_bytes,bytes_counted,bytes_hardware,flops,status,sample,seconds"
)


def test_csv_by_hand():
    mm = product((0.5,), n=64)
    skipped = product(None, n=128, dtype="bf16", status="skipped")
    triad = measurement(
        array_bytes=64, bytes_counted=192, bytes_hardware=256, flops=32, shape=(16,)
    )
    assert result(triad, mm, skipped).to_csv().splitlines() == [
        HEADER,
        "cpu,a device,numpy,2,memory,triad,fp32,16,64,192,256,32,ok,0,2.0",
        "cpu,a device,numpy,2,memory,triad,fp32,16,64,192,256,32,ok,1,1.0",
        "cpu,a device,numpy,2,memory,triad,fp32,16,64,192,256,32,ok,2,4.0",
        "cpu,a device,numpy,2,matmul,matmul,fp32,64x64x64,16384,49152,,524288,ok,0,0.5",
        "cpu,a device,numpy,2,matmul,matmul,bf16,128x128x128,65536,196608,,4194304,skipped,,",
    ]


def test_csv_quotes_a_name_with_a_comma():
    named = dataclasses.replace(device(kind="cuda"), name='a "fast", new one')
    rows = list(csv.DictReader(io.StringIO(result(measurement(), device=named).to_csv())))
    assert len(rows) == len(samples(2, 1, 4).seconds)
    assert {(row["device"], row["name"]) for row in rows} == {("cuda:0", 'a "fast", new one')}
