"""The wide catalog: its size, its evidence, and a second reading of what a database says."""

import csv
import itertools
import re

import pytest
from pages import ROOT

from wallsite import tables
from wallsite.tables.check import findings

LESSON = tables.accelerators()
OTHERS = {key: device for key, device in tables.catalog().items() if key not in LESSON}
READ = {
    row["id"]: row
    for row in csv.DictReader((ROOT / "tests" / "readings" / "catalog.csv").open(encoding="utf-8"))
}
# Transfers of a pin for each period of the clock that the database prints.
TRANSFERS = {
    "GDDR5": 4,
    "GDDR5X": 8,
    "GDDR6": 8,
    "GDDR6X": 16,
    "GDDR7": 16,
    "HBM2": 2,
    "HBM2e": 2,
    "HBM3": 4,
}


def number(device, field):
    return device.fields[field].si


def having(devices, *fields):
    return [each for each in devices.values() if set(fields) <= each.fields.keys()]


def test_there_are_at_least_150_devices_each_with_bandwidth_and_evidence():
    assert len(tables.catalog()) >= 150
    for device in OTHERS.values():
        assert device.bandwidth, device.id
        assert all(value.sources for value in device.fields.values()), device.id


@pytest.mark.parametrize(
    "name",
    [
        *("RTX 2080 Ti", "RTX 3060", "RTX 3090", "RTX 4070 Ti SUPER", "RTX 4090 D", "RTX 5070 Ti"),
        *("RTX A6000", "RTX 6000 Ada", "RTX PRO 6000", "L4", "L40S", "A10", "A30", "A40", "T4"),
        *("A800", "H800", "H20", "H20-3e", "MI210", "MI250X", "MI300A", "308X", "MI355X"),
        *("M1", "M1 Max", "M2 Ultra", "M3 Max", "M4 Pro", "M5", "Jetson AGX Orin", "DGX Spark"),
        *("Jetson Thor", "Strix Halo", "Raspberry Pi 5", "910A", "910B3", "910C", "MLU370-X8"),
        *("NVIDIA GeForce RTX 3090", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"),
        *("Tesla V100-PCIE-16GB", "NVIDIA A100 80GB PCIe", "7900 XTX", "Arc B580"),
    ],
)
def test_people_find_what_they_own(name):
    assert tables.accelerator(name).bandwidth


@pytest.mark.parametrize(
    ("name", "channels", "transfers", "gigabytes"),
    [
        ("AMD EPYC 9754 128-Core Processor", 12, 4800e6, 460.8),
        ("AMD EPYC 7763 64-Core Processor", 8, 3200e6, 204.8),
        ("EPYC 9755", 12, 6400e6, 614.4),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", 4, 2400e6, 76.8),
        ("Intel(R) Xeon(R) CPU E5-2630 v4 @ 2.20GHz", 4, 2133e6, 68.256),
        ("Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", 6, 2933e6, 140.784),
        ("Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz", 8, 3200e6, 204.8),
        ("Xeon 6980P", 12, 6400e6, 614.4),
        ("AMD Ryzen 9 7950X 16-Core Processor", 2, 5200e6, 83.2),
        ("AMD Ryzen Threadripper PRO 7985WX 64-Cores", 8, 5200e6, 332.8),
    ],
)
def test_a_processor_is_found_by_its_model(name, channels, transfers, gigabytes):
    found = tables.accelerator(name)
    assert found.kind == "cpu"
    assert number(found, "channels") == channels
    assert number(found, "transfer_rate") == transfers
    assert found.bandwidth.si == pytest.approx(gigabytes * 1e9)


@pytest.mark.parametrize(
    "model",
    ["epyc7763", "epyc9654", "epyc9755", "e52680v3", "e52680v4", "xeongold6148", "xeongold6248"],
)
def test_models_of_no_two_series_look_alike(model):
    series = [each.id for each in OTHERS.values() if re.fullmatch(each.models or "-", model)]
    assert len(series) == 1


@pytest.mark.parametrize("device", having(OTHERS, "channels"), ids=lambda device: device.id)
def test_a_bandwidth_made_of_channels_is_their_product(device):
    product = number(device, "channels") * number(device, "transfer_rate") * 8
    assert device.bandwidth.si == pytest.approx(product)
    assert device.bandwidth.kind == "derived"


@pytest.mark.parametrize("row", READ.values(), ids=READ.keys())
def test_what_the_database_says_is_what_stands_here(row):
    device = OTHERS[row["id"]]
    printed = float(row["bandwidth_gbs"]) * 1e9
    per_clock = TRANSFERS.get(row["memory_type"])
    if per_clock and row["bus_bits"]:
        made = float(row["memory_clock_mhz"]) * 1e6 * per_clock * float(row["bus_bits"]) / 8
        assert made == pytest.approx(printed, rel=0.01)
        if device.bandwidth.kind == "derived":
            assert device.bandwidth.si == pytest.approx(made, rel=1e-4)
    if device.bandwidth.kind != "derived":
        assert device.bandwidth.si == pytest.approx(printed, rel=1e-3)
    assert number(device, "capacity") == float(row["memory_gb"]) * 1e9
    assert number(device, "clock") == float(row["boost_mhz"]) * 1e6
    assert number(device, "power") == float(row["tdp_w"])
    assert device.year == int(row["released"][:4])
    if "fp32" in device.fields:
        assert number(device, "fp32") == pytest.approx(float(row["fp32_tflops"]) * 1e12, rel=0.02)
    if "cache" in device.fields:
        assert number(device, "cache") == pytest.approx(float(row["l2_mb"]) * 2**20)
    if "cores" in device.fields:
        cores = row["sms"] or int(row["shading_units"]) // 64
        assert number(device, "cores") == int(cores)
    if "fp16" in device.fields and device.fields["fp16"].kind == "third-party":
        assert number(device, "fp16") == pytest.approx(float(row["half_gflops"]) * 1e9, rel=2e-3)


# FLOP of one SM in one clock with FP32 accumulation, as the white papers of the architectures print
# them for one part each: V100 125, T4 65, RTX 3090 71, A6000 154.8, A100 312, RTX 4090 165.2,
# RTX 6000 Ada 364.2, RTX 5080 112.6, RTX PRO 6000 503.8 TFLOPS.
@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("v100-sxm2-32gb", 125),
        ("t4", 65),
        ("titan-rtx", 130.5),
        ("rtx-3090", 71),
        ("rtx-a6000", 154.8),
        ("a40", 149.7),
        ("a30", 165),
        ("a100-pcie-80gb", 312),
        ("rtx-6000-ada", 364.2),
        ("l40", 181.05),
        ("rtx-5080", 112.6),
        ("rtx-pro-6000", 503.8),
    ],
)
def test_a_derived_peak_is_what_its_maker_prints(name, printed):
    assert tables.accelerator(name).peak("fp16").si == pytest.approx(printed * 1e12, rel=0.01)


@pytest.mark.parametrize(
    "device", having(tables.catalog(), "fp16", "cores", "clock"), ids=lambda device: device.id
)
def test_a_peak_is_a_whole_rate_for_each_core_and_clock(device):
    each = number(device, "fp16") / number(device, "cores") / number(device, "clock")
    assert min(abs(each / rate - 1) for rate in (256, 512, 1024, 2048, 4096)) < 0.01


def test_evidence_that_was_not_opened_is_marked():
    recalled = {key for key, source in tables.sources().items() if source.seen == "recalled"}
    assert recalled
    for device in LESSON.values():
        for value in device.fields.values():
            assert not recalled & set(value.sources), device.id
    chinese = [each for each in OTHERS.values() if each.vendor in {"Huawei", "Cambricon", "MetaX"}]
    values = itertools.chain.from_iterable(each.fields.values() for each in chinese)
    assert {value.kind for value in values} == {"rumour"}


@pytest.mark.parametrize("device", OTHERS.values(), ids=lambda device: device.id)
def test_an_entry_fits_together(device):
    assert not list(findings(device))


@pytest.mark.parametrize(
    ("name", "field", "change", "said"),
    [
        ("rtx-3090", "fp16", {"value": 100.0}, "fp16: 719 FLOP for each core and clock"),
        ("rtx-3090", "bandwidth", {"unit": "MB/s"}, "fp16: a ridge point of 7.61e+04 FLOP/byte"),
        ("EPYC 7763", "channels", {"value": 12}, "channels × transfer_rate × 8 B is 307.2 GB/s"),
        ("m1", "capacity", {"sources": ()}, "capacity: has no source"),
    ],
)
def test_what_does_not_fit_together_is_said(name, field, change, said):
    device = tables.accelerator(name)
    value = device.fields[field]._replace(**change)
    (found,) = findings(device._replace(fields={**device.fields, field: value}))
    assert said in found
