"""Looking things up, the errors for what is not there, and the tables that pages show."""

import pickle
import re
import subprocess
import sys

import pytest

from wallsite import lessons, tables
from wallsite.render import facts
from wallsite.render.table import render
from wallsite.render.words import converted, quantity, summary
from wallsite.tables import UnknownName

NAMES = (
    *("accelerators", "ridge", "ridge-trend", "links", "link-ratio", "clusters"),
    *("models", "models-vs-chips", "energy", "energy-ratio", "sources", "quantities", "glossary"),
)


@pytest.mark.parametrize("name", ["h100-sxm", "H100 SXM5", "h100", " H100-SXM5 ", "H100-80GB"])
def test_a_device_answers_to_its_id_name_and_aliases(name):
    assert tables.accelerator(name).id == "h100-sxm"


def test_other_things_answer_to_theirs():
    assert tables.link("NVLink 4 (Hopper)") is tables.link("nvlink4")
    assert tables.cluster("DGX-H100") is tables.cluster("dgx-h100")
    assert tables.model("llama-405b").id == "llama-3.1-405b"
    assert tables.energy("FP32-mul").si == pytest.approx(3.7e-12)
    assert tables.source("horowitz-2014").date == "2014"


def test_values_come_in_base_units():
    h100 = tables.accelerator("h100-sxm")
    assert h100.bandwidth.si == 3.35e12
    assert h100.capacity.si == 80e9
    assert h100.power.si == 700
    assert h100.peak("bf16").si == pytest.approx(989.4e12)
    assert tables.accelerator("tpu-v5p").capacity.si == 95 * 2**30
    assert tables.model("gpt-3").params.si == 175e9


def test_what_nobody_published_is_none():
    assert tables.accelerator("vera").capacity is None
    assert tables.accelerator("rubin").power is None
    assert tables.accelerator("m4-max").link is None
    assert tables.model("gpt-4-rumour").layers is None


def test_a_dense_model_is_all_active():
    assert tables.model("gpt-3").active_params == tables.model("gpt-3").params
    assert tables.model("deepseek-v3").active_params.si == 37e9


def test_bf16_and_fp16_are_one_figure_except_on_volta():
    h100, v100 = tables.accelerator("h100"), tables.accelerator("v100")
    assert h100.peak("bf16") is h100.peak("FP16")
    assert v100.peak("fp16").value == 125
    assert v100.dtypes == ("fp64", "fp32", "fp16")


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (
            lambda: tables.accelerator("h100-smx"),
            "unknown device 'h100-smx'; did you mean h100-sxm",
        ),
        (lambda: tables.accelerator("toaster"), "unknown device 'toaster'; no known name is close"),
        (lambda: tables.link("nvlik4"), "unknown link 'nvlik4'; did you mean nvlink4"),
        (lambda: tables.model("gpt33"), "unknown model 'gpt33'; did you mean gpt-3"),
        (lambda: tables.energy("fp32-mull"), "unknown energy 'fp32-mull'; did you mean fp32-mul"),
        (lambda: lessons.quantity("zzz"), "unknown quantity 'zzz'"),
        (
            lambda: tables.source("horowitz"),
            "unknown source 'horowitz'; did you mean horowitz-2014",
        ),
        (
            lambda: tables.accelerator("v100").peak("bf16"),
            "V100 SXM2 32 GB does not support bf16; V100 SXM2 32 GB has fp64, fp32, fp16",
        ),
        (
            lambda: tables.accelerator("a100").peak("fp61"),
            "unknown dtype 'fp61'; did you mean fp64 or fp16 or fp8 or fp4? A100 SXM4 80 GB has "
            "fp64, fp64_matrix, fp32, tf32, fp16, bf16, int8",
        ),
        (
            lambda: tables.accelerator("gb200").peak("fp64_matrix"),
            "no fp64_matrix peak is known for GB200 (NVL72); GB200 (NVL72) has fp64, fp32",
        ),
        (
            lambda: tables.accelerator("m4-max").peak("fp16"),
            "no fp16 peak is known for M4 Max; M4 Max has no published peak",
        ),
        (lambda: tables.accelerator("h100").peak("fp16_sparse"), "unknown dtype 'fp16_sparse'"),
        (lambda: render("ridges", "en"), "unknown table 'ridges'; did you mean ridge"),
        (
            lambda: render("ridge", "en", devices=["h100", "b20"]),
            "unknown device 'b20'; did you mean b200",
        ),
        (
            lambda: render("accelerators", "en", vendor="Nvidea"),
            "unknown vendor 'Nvidea'; did you mean NVIDIA?",
        ),
        (
            lambda: render("ridge", "en", dtype="fp61"),
            "unknown dtype 'fp61'; did you mean fp64 or fp16",
        ),
        (
            lambda: render("ridge", "en", dtype=["fp16", "fp8"]),
            "unknown dtype ['fp16', 'fp8']; ",
        ),
        (lambda: render("ridge", "en", devices=910), "unknown device 910; "),
        (lambda: render("ridge", "en", devices=[910]), "unknown device 910; "),
        (lambda: render("links", "en", tier=["host"]), "unknown tier ['host']; did you"),
        (lambda: render("x", "en"), "unknown table 'x'; known: accelerators, catalog, ridge, "),
        (lambda: tables.accelerator(None), "unknown device None; "),
        (lambda: tables.accelerator("h100").peak(None), "unknown dtype None; H100 SXM5 has"),
        (
            lambda: render("links", "en", tier="scalup"),
            "unknown tier 'scalup'; did you mean scale-up",
        ),
    ],
)
def test_an_unknown_name_is_one_clean_line_with_near_matches(look, message):
    with pytest.raises(UnknownName) as caught:
        look()
    assert isinstance(caught.value, KeyError)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    "spelling", ["h100-sxm", "H100 SXM5", "H100 SXM", " h100 ", "H100-sxm5", "h100 80GB"]
)
def test_a_device_is_found_by_id_name_and_alias_however_spelt(spelling):
    assert tables.accelerator(spelling).id == "h100-sxm"


def test_an_option_is_read_like_a_name():
    upper, lower = (render("ridge", "en", dtype=dtype) for dtype in ("BF16", "bf16"))
    assert upper == lower


def test_tables_are_read_once_and_cannot_be_changed():
    assert tables.accelerators() is tables.accelerators()
    with pytest.raises(TypeError):
        tables.accelerators()["h100-sxm"] = None
    with pytest.raises(AttributeError):
        tables.accelerator("h100").bandwidth.value = 4
    with pytest.raises(TypeError):
        tables.accelerator("h100").fields["bandwidth"] = None


def test_importing_reads_nothing():
    program = (
        "import sys, wallsite, wallsite.tables\n"
        "from wallsite import render\n"
        "assert not {'tomllib', 'importlib.resources', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# --- rendering -----------------------------------------------------------------------------------


def rests_on(cell):
    """Everything about a cell that is not in words."""
    basis = cell.basis
    return basis and (basis.value, basis.kind, basis.inputs, len(basis.computed)), len(cell.items)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_the_same_in_both_languages(name):
    zh, en = render(name, "zh"), render(name, "en")
    assert len(zh.rows) == len(en.rows) > 0
    assert [[rests_on(cell) for cell in row] for row in zh.rows] == [
        [rests_on(cell) for cell in row] for row in en.rows
    ]
    assert zh.sources == en.sources
    assert len(zh.notes) == len(en.notes)
    for table in (zh, en):
        assert all(len(row) == len(table.headers) for row in table.rows)
        assert all(row[0].text for row in table.rows)
        assert all(text.strip() == text != "" for text in (*table.headers, *table.notes))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_number_says_where_it_comes_from(name, language):
    table = render(name, language)
    for row in table.rows:
        for cell in row:
            if cell.basis:
                assert cell.basis.inputs
                assert set(cell.basis.sources) <= set(table.sources)


def test_both_ways_rest_on_one_way():
    row = render("links", "en", vendor="Huawei").rows[0]
    assert row[4].basis.computed == ("392 GB/s, both ways = 2 × 196 GB/s, one way",)
    assert [item.key for item in row[4].basis.inputs] == ["hccs-910b.bandwidth"]


def test_every_value_is_a_fact_of_its_own():
    listed = facts.facts()
    stated = [
        *(value for thing in tables.catalog().values() for value in thing.fields.values()),
        *(value for link in tables.links().values() for value in (link.bandwidth, link.quoted)),
        *(value for thing in tables.clusters().values() for value in thing.fields.values()),
        *(value for thing in tables.all_models().values() for value in thing.fields.values()),
        *tables.energies().values(),
        *lessons.quantities().values(),
    ]
    assert len(listed) == len(stated)
    for fact in listed.values():
        assert facts.of(fact.value) is fact
        assert all(fact.label(language) for language in ("zh", "en"))


def test_a_rival_as_an_input_has_the_default_as_its_rival():
    fact = facts.of(tables.accelerator("b200").bandwidth)
    default, rival = facts.Statement(fact), facts.Statement(fact, 1)
    assert (default.key, rival.key) == ("b200.bandwidth", "b200.bandwidth/1")
    assert (default.value.value, rival.value.value) == (7.7, 8.0)
    assert rival.rivals == (default.value,)


@pytest.mark.parametrize(("language", "colon"), [("zh", "："), ("en", ": ")])
def test_a_source_lists_everything_that_rests_on_it(language, colon):
    table = render("sources", language)
    assert len(table.rows) == len(tables.sources())
    for source, row in zip(tables.sources(), table.rows, strict=True):
        cited = [
            (fact.name[language], quantity(value, language))
            for fact in facts.facts().values()
            for value in (fact.value, *fact.value.alternatives)
            if source in value.sources
        ]
        assert re.findall(r"\d+", row[-1].text) == ([str(len(cited))] if cited else [])
        lines = dict(line.rsplit(colon, 1) for line in row[-1].items)
        for name, value in cited:
            assert value in lines[name]


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_conflicts_stand_side_by_side_and_ties_round_away_from_zero():
    table = render("ridge", "en", devices=["b200", "gb200"])
    assert texts(table) == [
        ["B200 (HGX)", "2024", "2,250", "7.7 / 8.0", "292.2 / 281.3"],
        ["GB200 (NVL72)", "2024", "2,500", "8.0", "312.5"],
    ]
    bandwidth, ridge = (cell.basis for cell in table.rows[0][3:])
    assert ridge.value == pytest.approx(292.2, abs=0.05)
    assert summary(ridge, "en").splitlines() == [
        "derived",
        "292.2 = 2,250 TFLOP/s ÷ 7.7 TB/s",
        "281.3 = 2,250 TFLOP/s ÷ 8.0 TB/s",
        "B200 (HGX) dense FP16 / BF16 peak: 2,250 TFLOP/s",
        "B200 (HGX) memory bandwidth: 7.7 TB/s / 8.0 TB/s",
    ]
    assert summary(bandwidth, "zh") == "厂商标称\n7.7 TB/s / 8.0 TB/s"
    default = tables.accelerator("b200").bandwidth
    assert bandwidth.sources == default.sources + default.alternatives[0].sources


def test_the_trend_shows_what_hardware_lacks_and_what_is_preliminary():
    rows = {row[0]: row[1:] for row in texts(render("ridge-trend", "zh"))}
    assert rows["V100 SXM2 32 GB"] == ["2018（已停售）", "138.9", "—", "—"]
    assert rows["B300 (HGX)"][3] == "1,753.2 / 1,687.5 / 1,818.2"
    assert rows["Rubin (NVL72)"][0] == "2026（规格初步）"


def test_accelerators_by_vendor_drop_columns_nobody_fills():
    table = render("accelerators", "en", vendor=["Google"])
    assert [row[0].text for row in table.rows][:2] == ["TPU v4", "TPU v5e"]
    assert "FP64 (TFLOP/s)" not in table.headers
    volta = render("accelerators", "en", devices="v100")
    assert "125 (FP16 only)" in texts(volta)[0]


def test_links_show_what_the_vendor_prints():
    rows = {row[0]: row for row in texts(render("links", "en", vendor="Huawei"))}
    assert rows["HCCS (Atlas 800T A2, 910B)"][3:6] == [
        "196",
        "392",
        "7 × 56 GB/s, direction not stated",
    ]
    assert {row[1] for row in texts(render("links", "en"))} >= {"to the host"}
    host = render("links", "en", tier="host")
    assert "Tier" not in host.headers
    assert {row[1] for row in texts(host)} == {"GPU", "slot"}


def test_links_are_set_against_their_own_generation():
    rows = {row[0]: row for row in texts(render("link-ratio", "en"))}
    assert rows["H100 SXM5"][1:] == ["3.35", "450", "7.4×", "50", "67×"]
    assert rows["A100 SXM4 80 GB"][-1] == "82×"
    assert rows["B300 (HGX)"][-1] == "77× / 80×"


def test_a_rumour_is_marked_wherever_it_counts():
    zh = {row[0]: row for row in texts(render("models-vs-chips", "zh"))}
    assert zh["GPT-4（2023）"][1:3] == ["1.8 万亿 / 1.76 万亿（传闻）", "5,294× / 5,176×（传闻）"]
    en = {row[0]: row for row in texts(render("models-vs-chips", "en"))}
    assert en["GPT-3 175B, 2020"][1:3] == ["175 billion", "515×"]


def test_energy_against_a_multiply():
    rows = dict(row[::2] for row in texts(render("energy-ratio", "en")))
    assert rows["64-bit access, DRAM, low"] == "351×"
    assert rows["64-bit access, DRAM, high"] == "703×"
    assert rows["64-bit access, 1 MiB SRAM"] == "27×"


@pytest.mark.parametrize(
    ("name", "language", "options", "message"),
    [
        ("ridge", "fr", {}, "unknown language 'fr'; tables are in en and zh"),
        ("energy", "en", {"dtype": "fp8"}, "table 'energy' has no option 'dtype'; it takes none"),
        ("ridge", "en", {"dtpye": "fp8"}, "no option 'dtpye'; it takes devices, vendor, dtype"),
        ("ridge", "en", {"vendor": "Apple"}, "table 'ridge' is empty with {'vendor': 'Apple'}"),
        ("link-ratio", "en", {"devices": ["m4-max"]}, "M4 Max has no link"),
    ],
)
def test_options_that_make_no_sense_are_refused(name, language, options, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        render(name, language, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "unit", "name", "shown"),
    [
        (0.28125, "TB/s", "GB/s", "281.3"),  # a tie goes away from zero, as everywhere
        (19788.4, "GB/s", "MB/s", "19,790,000"),
        (3.35, "TB/s", "GB/s", "3,350"),
        (0.05, "TB/s", "GB/s", "50"),
    ],
)
def test_a_converted_value_is_rounded_as_every_other(value, unit, name, shown):
    h100 = tables.accelerator("h100-sxm").bandwidth
    assert converted(h100._replace(value=value, unit=unit), name, "en") == shown


@pytest.mark.parametrize(
    ("asked", "device"),
    [
        ("NVIDIA H100 SXM", "h100-sxm"),
        ("h100sxm", "h100-sxm"),
        ("昇腾910B", "ascend-910b"),
        ("AMD MI300X", "mi300x"),
        ("Google TPU v5e", "tpu-v5e"),
    ],
)
def test_names_as_people_write_them(asked, device):
    assert tables.accelerator(asked).id == device


@pytest.mark.parametrize("asked", ["", "NVIDIA", "100", "H"])
def test_a_vendor_or_a_part_of_a_name_is_no_device(asked):
    with pytest.raises(UnknownName):
        tables.accelerator(asked)


@pytest.mark.parametrize(
    ("asked", "dtype"),
    [("bfloat16", "bf16"), ("BF16", "bf16"), ("float8", "fp8"), ("half", "fp16")],
)
def test_types_as_people_write_them(asked, dtype):
    h100 = tables.accelerator("h100-sxm")
    assert h100.peak(asked).si == h100.peak(dtype).si
