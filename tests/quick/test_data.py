"""The data files: every value is well formed, sourced and right, and a broken file is refused."""

import csv
import itertools
import re
from pathlib import Path

import pytest

from wallsite import lessons, tables
from wallsite.tables import DataError, load
from wallsite.tables.schema import KINDS
from wallsite.units import unit

FACTS = Path(__file__).parents[1] / "readings"


def values():
    """Every value of every table with a readable name, alternatives included."""
    for device in tables.accelerators().values():
        for name, value in device.fields.items():
            yield f"{device.id} {name}", value
    for link in tables.links().values():
        yield f"{link.id} bandwidth", link.bandwidth
        yield f"{link.id} quoted", link.quoted
    for model in tables.models().values():
        for name, value in model.fields.items():
            yield f"{model.id} {name}", value
    yield from tables.energies().items()
    yield from lessons.quantities().items()


VALUES = [
    pytest.param(one, id=f"{name} {position}" if position else name)
    for name, value in values()
    for position, one in enumerate((value, *value.alternatives))
]


@pytest.mark.parametrize("value", VALUES)
def test_every_value_says_what_it_is_and_who_says_so(value):
    assert unit(value.unit)
    assert value.kind in KINDS
    assert all(tables.source(source).title for source in value.sources)
    assert value.sources or value.note or value.label, "an assumed value says why"


@pytest.mark.parametrize("link", tables.links().values(), ids=lambda link: link.id)
def test_both_directions_are_twice_one(link):
    assert link.bandwidth.per == "direction"
    assert link.both.per == "both"
    assert link.both.kind == "derived"
    assert link.both.si == 2 * link.bandwidth.si
    ratios = zip(link.both.alternatives, link.bandwidth.alternatives, strict=True)
    assert all(both.si == 2 * one.si for both, one in ratios)


@pytest.mark.parametrize("link", tables.links().values(), ids=lambda link: link.id)
def test_bandwidth_follows_from_what_the_vendor_prints(link):
    printed = link.quoted.si * link.parts
    if link.quoted.unit == "GT/s":  # one bit a transfer, less the encoding
        printed *= 121 / 128 if link.id == "pcie6-x16" else 128 / 130
        printed /= 8
    if link.quoted.per != "direction":  # an undeclared direction is read as both
        printed /= 2
    assert link.bandwidth.si == pytest.approx(printed, rel=1e-3)


@pytest.mark.parametrize("link", tables.links().values(), ids=lambda link: link.id)
def test_a_direction_nobody_states_is_flagged(link):
    if link.quoted.per == "undeclared":
        assert link.bandwidth.note


@pytest.mark.parametrize(
    ("device", "dtype", "bandwidth", "ridge"),
    [
        ("v100-sxm2-32gb", "fp16", 0, 138.9),
        ("a100-sxm-40gb", "bf16", 0, 200.6),
        ("a100-sxm-80gb", "bf16", 0, 153.0),
        ("h100-sxm", "bf16", 0, 295.3),
        ("h100-pcie", "bf16", 0, 378.0),
        ("h200-sxm", "bf16", 0, 206.1),
        ("gh200-144gb", "bf16", 0, 201.9),
        ("b200", "bf16", 0, 292.2),
        ("b200", "bf16", 1, 281.25),
        ("gb200", "bf16", 0, 312.5),
        ("b300", "fp4", 0, 1753.2),
        ("b300", "fp4", 1, 1687.5),
        ("rubin", "bf16", 0, 208.3),
        ("rubin", "bf16", 1, 181.8),
        ("mi300x", "bf16", 0, 246.7),
        ("ascend-910b", "bf16", 0, 235.0),
        ("ascend-910c", "bf16", 0, 235.0),
        ("ascend-950dt", "bf16", 0, 121.5),
        ("tpu7x", "bf16", 0, 312.6),
    ],
)
def test_ridge_points_that_a_reader_would_check(device, dtype, bandwidth, ridge):
    found = tables.accelerator(device)
    below = (found.bandwidth, *found.bandwidth.alternatives)[bandwidth]
    assert found.peak(dtype).si / below.si == pytest.approx(ridge, abs=0.05)


@pytest.mark.parametrize(
    ("link", "gigabytes"),
    [
        ("nvlink2", 150),
        ("nvlink3", 300),
        ("nvlink4", 450),
        ("nvlink4-h800", 200),
        ("nvlink5", 900),
        ("nvlink6", 1500),
        ("pcie5-x16", 63),
        ("ib-hdr", 25),
        ("ib-ndr", 50),
        ("ib-xdr", 100),
        ("roce-400", 50),
        ("efa-v4", 800),
        ("ub-cm384", 392),
        ("hccs-910b", 196),
        ("ici-v5p", 600),
        ("if-mi300x", 448),
    ],
)
def test_links_in_one_direction(link, gigabytes):
    assert tables.link(link).bandwidth.si == gigabytes * 1e9


def rivals(value):
    return [value.value, *(rival.value for rival in value.alternatives)]


def test_conflicts_keep_both_sides_each_with_its_own_source():
    device = tables.accelerator
    assert rivals(device("b200").bandwidth) == [7.7, 8.0]
    assert rivals(device("b300").bandwidth) == [7.7, 8.0]
    assert rivals(device("rubin").bandwidth) == [19.2, 22]
    assert rivals(tables.link("nvlink6").bandwidth) == [1500, 1800]
    assert rivals(device("b200").capacity) == [180, 192]
    assert rivals(device("b300").capacity) == [270, 288]
    assert rivals(device("gb300").capacity) == [279, 288]
    assert rivals(device("b300").peak("fp4")) == [13500, 14000]
    assert rivals(device("ascend-910c").peak("bf16")) == [752, 800]
    assert rivals(device("h20").peak("bf16")) == [148, 147]
    for name, value in values():
        for rival in value.alternatives:
            assert rival.sources, name
            assert rival.sources != value.sources or rival.note, name


def test_what_is_known_to_be_wrong_elsewhere_stays_out():
    device = tables.accelerator
    for name, value in values():
        if not value.dense:
            assert name.endswith("_sparse")
    for found, dtype in itertools.product(tables.accelerators().values(), ("fp16", "bf16")):
        if dtype in found.dtypes:
            assert found.peak(dtype).value not in {1979, 1978.9}, "sparse rate taken as dense"
    assert device("h100-sxm").bandwidth.value == 3.35, "not 3.072, and not the 3.9 of H100 NVL"
    assert tables.link("nvlink4").bandwidth.value == 450, "900 is both directions"
    assert device("b200").peak("fp16").value == 2250, "4500 is sparse"
    assert device("a100-sxm-80gb").peak("fp16").value == 312, "already dense: not to be halved"
    assert device("b300").peak("int8").value == 153.5, "INT8 was cut: not 4500"
    assert device("rubin").peak("int8").value == 250, "not 2500"
    for name in ("tpu-v4", "tpu-v5p", "tpu7x", "trainium2", "trainium3"):
        assert device(name).capacity.unit == "GiB", "GB printed for GiB"


def test_devices_without_a_vendor_document_say_so():
    for name in ("h20", "h800-sxm", "ascend-910b"):
        found = tables.accelerator(name)
        assert {value.kind for value in found.fields.values()} <= {"third-party", "derived"}
        assert "未见" in found.note["zh"]
        assert "no document" in found.note["en"].casefold()


@pytest.mark.parametrize("device", tables.accelerators().values(), ids=lambda device: device.id)
def test_what_a_vendor_states_cites_the_vendor_and_all_sources_cover_the_device(device):
    model = [word for word in re.findall(r"[\w+]+", device.name) if re.search(r"\d", word)]
    model += [word for word in ("Grace", "Vera", "Rubin", "Gaudi") if word in device.name]
    for name, listed in device.fields.items():
        for value in (listed, *listed.alternatives):
            cited = [tables.source(source) for source in value.sources]
            if value.kind in {"vendor", "third-party"}:
                itself = any(source.publisher == device.vendor for source in cited)
                assert itself == (value.kind == "vendor"), name
            for source in cited:
                scope = f"{source.title} {source.supports['en']}"
                assert any(word in scope for word in model), f"{name}: {source.id}"


@pytest.mark.parametrize("link", tables.links().values(), ids=lambda link: link.id)
def test_a_link_is_counted_for_what_its_vendor_sells_and_cites_who_states_it(link):
    counted = {
        "NVIDIA": {"host": "GPU", "scale-up": "GPU", "scale-out": "adapter"},
        "AMD": {"scale-up": "GPU"},
        "Huawei": {"scale-up": "card" if link.id == "hccs-910b" else "NPU", "scale-out": "NPU"},
        "Google": {"scale-up": "chip"},
        "AWS": {"scale-up": "chip", "scale-out": "node"},
        "Intel": {"scale-up": "card"},
        "PCI-SIG": {"host": "slot"},
        "IBTA": {"scale-out": "port"},
        "IEEE": {"scale-out": "adapter" if link.parts == 2 else "port"},
    }
    assert link.counted_per == counted[link.vendor][link.tier]
    cited = [tables.source(source) for source in link.quoted.sources]
    vendors = {device.vendor for device in tables.accelerators().values()}
    assert (link.quoted.kind == "vendor") == any(one.publisher in vendors for one in cited)
    assert (link.quoted.kind == "paper") == any(one.kind == "paper" for one in cited)


def test_gpt_4_is_a_rumour():
    assert tables.model("gpt-4-rumour").params.kind == "rumour"


@pytest.mark.parametrize(
    ("model", "ffn", "vocabulary"),
    [
        ("llama-2-7b", 11008, 32000),
        ("llama-2-70b", 28672, 32000),
        ("llama-3-8b", 14336, 128256),
        ("llama-3.1-405b", 53248, 128256),
    ],
)
def test_parameters_follow_from_the_architecture(model, ffn, vocabulary):
    found = tables.model(model)
    width = found.hidden.value
    keys = found.kv_heads.value * found.head_dim.value
    layer = 2 * width**2 + 2 * width * keys + 3 * width * ffn
    assert found.heads.value * found.head_dim.value == width
    assert found.layers.value * layer + 2 * width * vocabulary == pytest.approx(
        found.params.si, rel=0.04
    )


# --- against the survey the tables were made from ---------------------------------------------

DEVICES = {
    "V100 SXM2 32GB": "v100-sxm2-32gb",
    "A100 SXM4 40GB": "a100-sxm-40gb",
    "A100 SXM4 80GB": "a100-sxm-80gb",
    "H100 SXM5": "h100-sxm",
    "H100 PCIe": "h100-pcie",
    "H200 SXM": "h200-sxm",
    "GH200 (96GB HBM3)": "gh200-96gb",
    "GH200 (144GB HBM3e)": "gh200-144gb",
    "H20": "h20",
    "H800 SXM": "h800-sxm",
    "L4": "l4",
    "L40S": "l40s",
    "A10": "a10",
    "GeForce RTX 4090": "rtx-4090",
    "GeForce RTX 5090": "rtx-5090",
    "B200 (HGX/DGX)": "b200",
    "GB200 (per GPU, NVL72)": "gb200",
    "B300 (HGX/DGX)": "b300",
    "GB300 (per GPU, NVL72)": "gb300",
    "Rubin (Vera Rubin NVL72, per GPU)": "rubin",
    "MI250X": "mi250x",
    "MI300X": "mi300x",
    "MI325X": "mi325x",
    "MI350X": "mi350x",
    "MI355X": "mi355x",
    "MI455X (MI400 series)": "mi455x",
    "Ascend 910B (376T bin)": "ascend-910b",
    "Ascend 910C": "ascend-910c",
    "Ascend 950PR": "ascend-950pr",
    "Ascend 950DT": "ascend-950dt",
    "TPU v4": "tpu-v4",
    "TPU v5e": "tpu-v5e",
    "TPU v5p": "tpu-v5p",
    "TPU v6e (Trillium)": "tpu-v6e",
    "TPU7x (Ironwood)": "tpu7x",
    "Trainium2": "trainium2",
    "Trainium3": "trainium3",
    "Gaudi 2": "gaudi2",
    "Gaudi 3": "gaudi3",
    "M2 Ultra": "m2-ultra",
    "M3 Ultra": "m3-ultra",
    "M4 Max (40-core GPU)": "m4-max",
    "M5 Max": "m5-max",
    "EPYC 9654 (Genoa, 1 socket)": "epyc-9654",
    "Xeon Platinum 8480+ (1 socket)": "xeon-8480",
    "Grace CPU (72 core)": "grace",
    "Vera CPU (88 core)": "vera",
}
LINKS = {
    "NVLink 2 (V100)": "nvlink2",
    "NVLink 3 (A100)": "nvlink3",
    "NVLink 4 (Hopper)": "nvlink4",
    "NVLink 5 (Blackwell)": "nvlink5",
    "NVLink 6 (Rubin), NVLink and NVL72 pages read 2026-09-15 to 2026-10-05": "nvlink6",
    "NVLink-C2C (Grace-Hopper/Blackwell)": "nvlink-c2c",
    "PCIe 3.0 x16": "pcie3-x16",
    "PCIe 4.0 x16": "pcie4-x16",
    "PCIe 5.0 x16": "pcie5-x16",
    "PCIe 6.0 x16": "pcie6-x16",
    "InfiniBand HDR 4x": "ib-hdr",
    "InfiniBand NDR 4x": "ib-ndr",
    "InfiniBand XDR 4x": "ib-xdr",
    "InfiniBand GDR 4x": "ib-gdr",
    "400GbE RoCEv2": "roce-400",
    "800GbE RoCEv2": "roce-800",
    "ConnectX-9 (Rubin)": "cx9",
    "AWS EFA v4 (P6-B300)": "efa-v4",
    "Huawei HCCS (Atlas 800T A2, 910B)": "hccs-910b",
    "Huawei UB (CloudMatrix384, 910C)": "ub-cm384",
    "Huawei CloudMatrix384 RDMA plane (RoCE)": "cm384-roce",
    "Huawei UB 2.0 (Ascend 950 chip)": "ub2",
    "AMD Infinity Fabric MI250X": "if-mi250x",
    "AMD Infinity Fabric MI300X/MI325X": "if-mi300x",
    "AMD Infinity Fabric MI350X/MI355X": "if-mi350x",
    "AMD MI455X scale-up": "mi455x-scaleup",
    "TPU v4 ICI": "ici-v4",
    "TPU v5e ICI": "ici-v5e",
    "TPU v5p ICI": "ici-v5p",
    "TPU v6e ICI": "ici-v6e",
    "TPU7x ICI": "ici-7x",
    "NeuronLink-v3 (Trainium2)": "neuronlink3",
    "NeuronLink-v4 (Trainium3)": "neuronlink4",
    "Gaudi 2 RoCE": "gaudi2-roce",
    "Gaudi 3 RoCE": "gaudi3-roce",
}
SECOND_NVLINK_6 = "NVLink 6 (Rubin), NVIDIA technical blog 2026-07-21 and datasheet"
COLUMNS = {
    "capacity_gb": "capacity",
    "bandwidth_tbs": "bandwidth",
    "fp64_tflops": "fp64",
    "fp64_matrix_tflops": "fp64_matrix",
    "fp32_tflops": "fp32",
    "tf32_tflops": "tf32",
    "bf16_fp16_tflops": "fp16",
    "fp8_tflops": "fp8",
    "int8_tops": "int8",
    "fp4_tflops": "fp4",
    "tdp_w": "power",
}
UNITS_OF = {
    "gb": {"GB", "GiB"},
    "tbs": {"TB/s"},
    "tflops": {"TFLOP/s"},
    "tops": {"TOP/s"},
    "w": {"W"},
}


def survey(name, key="name"):
    with (FACTS / name).open(encoding="utf-8", newline="") as file:
        return {row[key]: row for row in csv.DictReader(file)}


def test_every_device_of_the_survey_is_here_value_by_value():
    rows = survey("accelerators.csv")
    assert DEVICES.keys() == rows.keys()
    assert set(DEVICES.values()) == tables.accelerators().keys()
    for name, row in rows.items():
        device = tables.accelerator(DEVICES[name])
        assert (device.vendor, device.year) == (row["vendor"], int(row["year"])), name
        for column, field in COLUMNS.items():
            value = device.fields.get(field) or (field == "fp16" and device.fields.get("bf16"))
            found = str(float(value.value)) if value else ""
            expected = str(float(row[column])) if row[column] else ""
            assert not value or value.unit in UNITS_OF[column.rpartition("_")[2]], (
                f"{name} {column}"
            )
            assert found == expected, f"{name} {column}"
        if row["link_gbs_per_dir"]:
            assert device.link.bandwidth.value == float(row["link_gbs_per_dir"]), name


def test_every_link_of_the_survey_is_here_value_by_value():
    rows = survey("links.csv")
    assert LINKS.keys() == rows.keys() - {SECOND_NVLINK_6}
    # The two more are the H800's and Vera's, which the survey lists with the device.
    assert set(LINKS.values()) == tables.links().keys() - {"nvlink4-h800", "nvlink-c2c-vera"}
    for name, row in rows.items():
        if name == SECOND_NVLINK_6:
            value = tables.link("nvlink6").bandwidth.alternatives[0]
            assert value.value == float(row["gbs_per_dir"])
            continue
        link = tables.link(LINKS[name])
        assert link.bandwidth.value == float(row["gbs_per_dir"]), name
        assert link.both.value == float(row["gbs_both_dirs"]), name
        assert link.year == (int(row["year"]) if row["year"] else None), name
        assert link.tier == row["scope"].removesuffix("+out"), name


# --- files with a mistake ----------------------------------------------------------------------

SOURCES = """
[sheet]
publisher = "P"
title = "T"
date = "2026"
kind = "datasheet"
seen = "read"
supports = { zh = "全部", en = "all" }
"""
LINK = """
[wire]
name = "Wire"
vendor = "V"
tier = "scale-up"
counted_per = "GPU"
year = 2026
status = "shipping"
bandwidth = { value = 450, unit = "GB/s", per = "direction", kind = "vendor", source = "sheet" }
quoted = { value = 900, unit = "GB/s", per = "both", kind = "vendor", source = "sheet" }
"""
DEVICE = """
[chip]
name = "Chip"
vendor = "V"
kind = "gpu"
year = 2026
status = "shipping"
memory = "HBM"
link = "wire"
bandwidth = { value = 3.35, unit = "TB/s", kind = "vendor", source = "sheet" }
fp16 = { value = 989, unit = "TFLOP/s", kind = "vendor", source = ["sheet"] }
"""


def read_device(text):
    sources = load.read_sources(SOURCES, "sources.toml")
    links = load.read_links(LINK, "links.toml", sources)
    return load.read_accelerators(text, "chips.toml", sources, links)


def test_the_sound_file_is_read():
    chip = read_device(DEVICE)["chip"]
    assert chip.peak("bf16").si == 989e12
    assert chip.link.both.si == 900e9


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("TB/s", "TBs/s", "chips.toml: [chip] bandwidth.unit: unknown unit 'TBs/s'; did you mean"),
        ("TB/s", "TB", "bandwidth.unit: 'TB' measures byte, not byte/s"),
        ('unit = "TB/s", ', "", "bandwidth.unit: is missing"),
        ("3.35", '"3.35"', "bandwidth.value: must be a finite number above 0, got '3.35'"),
        ("3.35", "true", "bandwidth.value: must be a finite number above 0, got True"),
        ("3.35", "nan", "bandwidth.value: must be a finite number above 0, got nan"),
        ("3.35", "-3.35", "bandwidth.value: must be a finite number above 0, got -3.35"),
        (
            "3.35",
            "1" * 400,
            "bandwidth.value: is too large or too small to be real: an int of more",
        ),
        ("value = 3.35, ", "", "bandwidth.value: is missing"),
        ("{ value = 3.35,", "{ value = 3.35, per = 'both',", "bandwidth: per is for links only"),
        ("3.35,", "3.35, per = 'up',", "bandwidth.per: 'up' is not one of direction, both, undec"),
        ("3.35,", "3.35, dense = false,", "bandwidth: dense must be true here"),
        ("3.35,", "3.35, dense = 0,", "bandwidth.dense: expected true or false, found 0"),
        ("3.35,", "3.35, sorce = 'x',", "bandwidth.sorce: unknown field; did you mean source?"),
        ("3.35,", "3.35, note = 'x',", 'bandwidth.note: expected { zh = "…", en = "…" }'),
        ("3.35,", "3.35, note = { zh = 'x' },", "bandwidth.note: expected"),
        ("3.35,", "3.35, alternatives = 4,", "bandwidth.alternatives: expected a list of values"),
        (
            "3.35,",
            "3.35, alternatives = [{ value = 4, unit = 'TB', kind = 'assumed' }],",
            "bandwidth.alternatives.unit: 'TB' measures byte, not byte/s",
        ),
        (
            "3.35,",
            "3.35, alternatives = [{ value = 4, unit = 'TB/s', kind = 'assumed', alternatives = "
            "[{ value = 4, unit = 'TB/s', kind = 'assumed' }] }],",
            "bandwidth.alternatives: an alternative has no alternatives of its own",
        ),
        (
            "3.35,",
            "3.35, alternatives = [{ value = 4, unit = 'TB/s', kind = 'vendor' }],",
            "bandwidth.alternatives.source: is missing",
        ),
        ('"vendor", source = "sheet"', '"vendr", source = "sheet"', "bandwidth.kind: 'vendr' is"),
        (
            ', source = "sheet"',
            "",
            "bandwidth.source: is missing; only kind = 'assumed' needs none",
        ),
        (
            '"vendor", source = "sheet"',
            '"rumour", source = "sheet"',
            "bandwidth.kind: 'rumour' rests on site, and 'sheet' is 'datasheet'",
        ),
        ('source = "sheet"', 'source = "shet"', "unknown source 'shet'; did you mean sheet?"),
        ('["sheet"]', "[]", "fp16.source: expected a source or a list of sources, found []"),
        ('["sheet"]', "[1]", "fp16.source: unknown source 1"),
        ('["sheet"]', "[['sheet']]", "fp16.source: unknown source ['sheet']"),
        (
            "bandwidth =",
            "bandwith =",
            "[chip] bandwith: unknown field; did you mean bandwidth or cpu_bandwidth?",
        ),
        ("link =", "fp4_sparse = 1\nlink =", "[chip] fp4_sparse: expected a table, found 1"),
        ('"wire"', '"wier"', "[chip] link: unknown link 'wier'; did you mean wire?"),
        ("2026", '"2026"', "[chip] year: expected a positive whole number, found '2026'"),
        ("year = 2026", "", "[chip] year: is missing"),
        ('"shipping"', '"shiping"', "[chip] status: 'shiping' is not one of shipping, ended"),
        ('"Chip"', '" "', "[chip] name: expected text, found ' '"),
        ('memory = "HBM"', "", "[chip] memory: is missing"),
        ("link =", "lacks = ['fp16']\nlink =", "[chip] lacks: 'fp16' has a value of its own"),
        ("link =", "lacks = ['fp61']\nlink =", "[chip] lacks: 'fp61' is not one of fp64"),
        ("link =", "aliases = 'c'\nlink =", "[chip] aliases: expected a list of strings"),
        ("link =", "aliases = [' ']\nlink =", "[chip] aliases: expected a list of strings"),
        ("link =", "network =", "[chip] network: 'wire' is scale-up, not scale-out"),
        ("[chip]", '["Chip 1"]', "chips.toml: ['Chip 1']: an id is lower case, such as h100-sxm"),
        ("[chip]", "[[chip]]", "chips.toml: [chip]: expected a table, found [{'name': 'Chip', "),
        ("[chip]", "[chip", "chips.toml: "),
        ("[chip]", "[chip]\n[chip]", "chips.toml: "),
        ("[chip]", "loose = 1\n[chip]", "chips.toml: [loose]: expected a table, found 1"),
    ],
)
def test_a_mistake_is_reported_by_file_entry_and_field(right, wrong, message):
    assert right in DEVICE
    with pytest.raises(DataError) as caught:
        read_device(DEVICE.replace(right, wrong, 1))
    assert message in str(caught.value)
    assert str(caught.value).startswith("chips.toml: ")
    assert "\n" not in str(caught.value)


def test_a_sparse_peak_must_say_so():
    sparse = '[chip]\nfp16_sparse = { value = 1, unit = "TFLOP/s", kind = "assumed"%s }'
    with pytest.raises(DataError, match="fp16_sparse: dense must be false here"):
        read_device(DEVICE.replace("[chip]", sparse % ""))
    chip = read_device(DEVICE.replace("[chip]", sparse % ", dense = false"))["chip"]
    assert chip.peak("fp16").value == 989


def test_two_things_cannot_share_a_name():
    twice = DEVICE + DEVICE.replace("[chip]", "[chip2]")
    with pytest.raises(
        DataError, match=r"chips.toml: \[chip2\] aliases: 'chip' already names chip"
    ):
        read_device(twice)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('per = "direction"', 'per = "both"', "bandwidth: per must be 'direction', found 'both'"),
        ('per = "direction", ', "", "bandwidth: per must be 'direction', found None"),
        ('"scale-up"', '"scaleup"', "tier: 'scaleup' is not one of host, scale-up, scale-out"),
        ('"GPU"', '"gpu"', "counted_per: 'gpu' is not one of GPU"),
        ("quoted", "qoted", "quoted: is missing"),
    ],
)
def test_a_mistake_in_a_link_is_reported(right, wrong, message):
    assert right in LINK
    sources = load.read_sources(SOURCES, "sources.toml")
    with pytest.raises(DataError) as caught:
        load.read_links(LINK.replace(right, wrong, 1), "links.toml", sources)
    assert f"links.toml: [wire] {message}" in str(caught.value)


def test_a_scale_out_link_is_the_network():
    sources = load.read_sources(SOURCES, "sources.toml")
    links = load.read_links(LINK.replace("scale-up", "scale-out"), "links.toml", sources)
    with pytest.raises(DataError, match=r"\[chip\] link: 'wire' is scale-out: that is the network"):
        load.read_accelerators(DEVICE, "chips.toml", sources, links)


CLUSTER = """
[rack]
name = "Rack"
vendor = "V"
year = 2026
device = "chip"
network = "fibre"
domain = { value = 8, unit = "", kind = "vendor", source = "sheet" }
nics = { value = 4, unit = "", kind = "vendor", source = "sheet" }
pod = { value = 64, unit = "", kind = "vendor", source = "sheet" }
oversubscription = { value = 2, unit = "", kind = "vendor", source = "sheet" }
"""
FIBRE = LINK.replace("[wire]", "[fibre]").replace("Wire", "Fibre").replace("scale-up", "scale-out")


def read_cluster(text):
    sources = load.read_sources(SOURCES, "sources.toml")
    links = load.read_links(LINK + FIBRE, "links.toml", sources)
    devices = load.read_accelerators(DEVICE, "chips.toml", sources, links)
    return load.read_clusters(text, "clusters.toml", sources, links, devices)


def test_a_cluster_takes_the_links_of_its_device_or_names_its_own():
    rack = read_cluster(CLUSTER)["rack"]
    assert (rack.link.id, rack.network.id) == ("wire", "fibre")
    assert [x.si for x in (rack.domain, rack.nics, rack.pod, rack.oversubscription)] == [
        8,
        4,
        64,
        2,
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('"chip"', '"chop"', "device: unknown device 'chop'; did you mean chip?"),
        ('"fibre"', '"fiber"', "network: unknown link 'fiber'; did you mean fibre?"),
        ('network = "fibre"', 'network = "wire"', "network: must be scale-out"),
        ('network = "fibre"', "", "network: must be scale-out"),
        ("network =", "link =", "link: must be scale-up"),
        ("value = 8", "value = 8.5", "domain: must be a whole number, found 8.5"),
        ("value = 4", "value = 0", "nics.value: must be a finite number above 0, got 0"),
        ("pod =", "# pod =", "pod: and oversubscription say something only together"),
        ("oversubscription =", "# =", "pod: and oversubscription say something only together"),
        ("nics =", "nic =", "nics: is missing"),
    ],
)
def test_a_mistake_in_a_cluster_is_reported(right, wrong, message):
    assert right in CLUSTER
    with pytest.raises(DataError) as caught:
        read_cluster(CLUSTER.replace(right, wrong, 1))
    assert f"clusters.toml: [rack] {message}" in str(caught.value)


def test_a_file_in_another_encoding_is_named(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "links.toml").write_bytes(b"# \xe4\xb8\xad\n# \xd6\xd0\n")  # UTF-8, GBK
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    with pytest.raises(DataError, match=r"^links.toml: line 2 is not UTF-8$"):
        load.text("links.toml")


def test_quantities_may_be_empty_but_not_twice_the_same():
    sources = load.read_sources(SOURCES, "sources.toml")
    one = "['q.n']\nlabel = { zh = '数', en = 'n' }\nvalue = 1\nunit = ''\nkind = 'assumed'\n"
    assert load.read_quantities({}, sources) == {}
    assert load.read_quantities({"a.toml": one}, sources)["q.n"].value == 1
    with pytest.raises(DataError, match=r"b.toml: \[q.n\]: stands in a.toml already"):
        load.read_quantities({"a.toml": one, "b.toml": one}, sources)
    rival = f"{one}alternatives = [{{ value = 1, unit = 's', kind = 'assumed' }}]"
    with pytest.raises(
        DataError, match=r"a.toml: \[q.n\] alternatives.unit: 's' measures s, not 1"
    ):
        load.read_quantities({"a.toml": rival}, sources)
    with pytest.raises(DataError, match=r"a.toml: \[q.n\] per: 'up' is not one of direction"):
        load.read_quantities({"a.toml": f"{one}per = 'up'"}, sources)
    with pytest.raises(DataError, match=r"a.toml: \[q.n\] label: is missing"):
        load.read_quantities({"a.toml": one.replace("label", "#")}, sources)


def test_a_mistake_in_the_other_files_is_reported():
    sources = load.read_sources(SOURCES, "sources.toml")
    with pytest.raises(DataError, match=r"sources.toml: \[sheet\] seen: 'red' is not one of read"):
        load.read_sources(SOURCES.replace('"read"', '"red"'), "sources.toml")
    with pytest.raises(DataError, match=r"glossary.toml: \[a\] note: is missing"):
        load.read_terms("[a]\nzh = '一'\nen = 'one'", "glossary.toml")
    with pytest.raises(
        DataError, match=r"\[sheet\] url: expected an address that starts with http"
    ):
        load.read_sources(f"{SOURCES}url = 'p.com/t'", "sources.toml")
    term = "[{0}]\nzh = '一'\nen = 'One'\nnote = {{ zh = '甲', en = 'n' }}\n"
    with pytest.raises(DataError, match=r"glossary.toml: \[b\] zh: '一' already names a"):
        load.read_terms(term.format("a") + term.format("b"), "glossary.toml")
    with pytest.raises(DataError, match=r"glossary.toml: \[b\] en: 'one' already names a"):
        load.read_terms(term.format("a") + term.format("b").replace("一", "二"), "glossary.toml")
    half = "params = { value = 1, unit = '', kind = 'assumed' }"
    half += "\nlayers = { value = 1.5, unit = '', kind = 'assumed' }"
    with pytest.raises(DataError, match=r"\[m\] layers: must be a whole number, found 1.5"):
        load.read_models(f"[m]\nname = 'M'\n{half}", "models.toml", sources)
    with pytest.raises(
        DataError, match=r"energy.toml: \[add\] value: must be a finite number above"
    ):
        load.read_energies("[add]\nvalue = -1\nunit = 'J'", "energy.toml", sources)
    with pytest.raises(DataError, match=r"models.toml: \[m\] params: is missing"):
        load.read_models("[m]\nname = 'M'", "models.toml", sources)
    with pytest.raises(DataError, match=r"energy.toml: \[add\] unit: 'W' measures W, not J"):
        load.read_energies("[add]\nvalue = 1\nunit = 'W'", "energy.toml", sources)
