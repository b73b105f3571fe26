"""The figures: the numbers behind them, what they say, how they are written and asked for."""

import inspect
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pylopdf_fonts_zh_cn
import pytest

pytest.importorskip("matplotlib")

from click.testing import CliRunner
from matplotlib.ft2font import FT2Font

from wallsite import figures
from wallsite.figures import (
    __main__ as cli,
)
from wallsite.figures import (
    all_reduce_flow,
    bandwidth_staircase,
    data_path,
    decode_prefill,
    energy_per_op,
    labels,
    models_vs_chips,
    q1_decision_tree,
    q2_three_walls,
    q3_scaling,
    roofline,
    style,
    worker,
)
from wallsite.figures.svg import document, themed
from wallsite.tables import UnknownName

ROOT = Path(__file__).parents[2]
CASES = [(name, lang) for name in figures.NAMES for lang in figures.LANGUAGES]
CJK = re.compile(r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]")


@pytest.fixture(scope="module")
def answers():
    """Every figure in both languages, as a page gets it."""
    return {case: worker.answer({"name": case[0], "lang": case[1]}) for case in CASES}


def texts(answer):
    """Everything an answer says to a reader."""
    table = answer["table"] or {"headers": (), "rows": ()}
    said = [answer["title"], answer["alt"], answer["caption"], *table["headers"]]
    said += [cell for row in table["rows"] for cell in row]
    return said + [element.text for element in ET.fromstring(answer["svg"]).iter() if element.text]


def drawn_texts(svg):
    return [element.text for element in ET.fromstring(svg).iter() if element.tag.endswith("}text")]


# --- The numbers, against hand arithmetic -----------------------------------------------------


def test_data_path_divides_the_peak_by_each_bandwidth():
    assert data_path.data().waiting == pytest.approx((295.34, 2198.67, 19788), rel=1e-4)


def test_staircase_factors():
    a100, h100, b300 = bandwidth_staircase.data()
    assert a100.bandwidths == pytest.approx((2.039e12, 300e9, 25e9))
    assert h100.bandwidths == pytest.approx((3.35e12, 450e9, 50e9))
    assert b300.bandwidths == pytest.approx((7.7e12, 900e9, 100e9))
    assert a100.steps == pytest.approx((6.797, 12), rel=1e-3)
    assert h100.steps == pytest.approx((7.444, 9), rel=1e-3)
    assert b300.steps == pytest.approx((8.556, 9), rel=1e-3)


def test_models_and_chips_cover_one_window_and_no_ratio_uses_the_rumour():
    numbers = models_vs_chips.data()
    assert (numbers.models[0].year, numbers.models[-1].year) == (2018, 2024)
    assert (numbers.chips[0].year, numbers.chips[-1].year) == (2018, 2024)
    assert numbers.years == 6
    assert numbers.models[-1].growth == pytest.approx(405 / 0.34)
    assert numbers.chips[-1].growth == pytest.approx(2250 / 125)
    assert models_vs_chips.yearly(18, 6) == pytest.approx(1.619, rel=1e-3)
    assert models_vs_chips.yearly(405 / 0.34, 6) == pytest.approx(3.256, rel=1e-3)
    assert numbers.rumour not in numbers.models
    assert [chip.value for chip in numbers.chips] == pytest.approx(
        [125e12, 312e12, 989.4e12, 2250e12]
    )


def test_roofline_ridges():
    ridges = {name: roof.ridge for name, roof in roofline.data().items()}
    assert ridges == pytest.approx(
        {"A100": 153.02, "H100": 295.34, "H200": 206.13, "B200": 292.21}, rel=1e-4
    )


def test_decode_and_prefill_intensities():
    numbers = decode_prefill.data()
    cache = 4096 * 2 * 32 * 32 * 128 * 2  # bytes of one sequence: tokens · 2 · L · h · d · b
    weights = 14e9
    assert numbers.context == 4096
    for lane, batch in zip(numbers.lanes, (1, 32, 256), strict=False):
        assert lane.batch == batch
        assert lane.weights_only == pytest.approx(batch)
        assert lane.intensity == pytest.approx(14e9 * batch / (weights + batch * cache))
        assert lane.share == pytest.approx(lane.intensity / 295.343, rel=1e-4)
        assert lane.intensity < numbers.cap
    assert numbers.cap == pytest.approx(6.519, rel=1e-3)
    assert numbers.grouped_cap == pytest.approx(29.80, rel=1e-3)
    prefill = numbers.lanes[-1]
    assert prefill.weights_only == pytest.approx(2048)
    assert prefill.intensity == pytest.approx(14e9 * 2048 / (weights + cache / 2))
    assert prefill.share == 1


def test_energy_ratios():
    numbers = energy_per_op.data()
    assert numbers.ratios == pytest.approx((1300 / 3.7, 2600 / 3.7))
    assert numbers.energies["int8-add"] == pytest.approx(0.03e-12)
    assert numbers.energies["sram-1m"] == pytest.approx(100e-12)


def test_q1_states_the_premise_of_the_question():
    assert q1_decision_tree.data().dram == pytest.approx(0.95)


def test_q2_keeps_what_sources_disagree_on():
    chips = q2_three_walls.data()
    assert chips["910C"].peak == pytest.approx((752e12, 800e12))
    assert chips["910B"].peak == pytest.approx((376e12, 280e12, 414e12))
    assert chips["B200"].bandwidth == pytest.approx((7.7e12, 8.0e12))
    assert chips["B200"].ridge == pytest.approx((292.21, 281.25), rel=1e-4)
    assert chips["910B"].ridge == pytest.approx((235, 175, 258.75))
    assert chips["910B"].scale_up == pytest.approx((196e9, 392e9))
    assert chips["910C"].scale_up == pytest.approx((392e9,))
    assert chips["910B"].scale_out == ()
    assert [chips[name].scale_out for name in ("H100", "B200", "910C")] == [(50e9,)] * 3


def test_q3_terms_turning_point_and_efficiency():
    numbers = q3_scaling.data()
    compute = 6 * 7e9 * 1e6 / (989.4e12 * 0.4)
    assert numbers.compute == pytest.approx(compute)
    assert numbers.turning == pytest.approx(((compute - 0.56) / 1e-5) ** 0.5)
    few, many = numbers.step(128), numbers.step(256)
    assert few.volume == pytest.approx(2 * 127 / 128 * 14e9 / 50e9)
    assert few.latency == pytest.approx(2 * 127 * 5e-6)
    assert few.total == pytest.approx(few.compute + few.volume + few.latency)
    assert (few.efficiency, many.efficiency) == pytest.approx((0.598, 0.425), abs=5e-4)
    assert many.total < few.total, "below 70 % is diminishing, not negative"
    turning = round(numbers.turning)
    least = numbers.step(turning).total
    assert all(numbers.step(n).total > least for n in (turning // 2, 2 * turning))
    assert (
        numbers.step(numbers.fades).efficiency < 0.7 <= numbers.step(numbers.fades - 1).efficiency
    )


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_ring_sums_every_chunk_once_on_every_rank(ranks):
    start, *steps = all_reduce_flow.ring(ranks)
    assert start.summed == ((1,) * ranks,) * ranks
    assert start.received == frozenset()
    assert len(steps) == 2 * (ranks - 1)
    for state in steps:
        assert sorted(rank for rank, _ in state.received) == list(range(ranks))
    scattered = steps[ranks - 2].summed
    assert [row.count(ranks) for row in scattered] == [1] * ranks, "one finished chunk each"
    assert steps[-1].summed == ((ranks,) * ranks,) * ranks


def test_all_reduce_volumes():
    numbers = all_reduce_flow.data()
    volumes = (numbers.sent, numbers.inside, numbers.across, numbers.flat)
    assert volumes == pytest.approx((1.5, 1.5, 0.25, 1.75))


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (7.7, 3, "7.7"),
        (3.35, 3, "3.35"),
        (281.25, 4, "281.3"),
        (19788, 3, "19,800"),
        (2250, 3, "2,250"),
        (0.0299, 2, "0.03"),
        (0, 3, "0"),
    ],
)
def test_significant(value, digits, expected):
    assert labels.significant(value, digits) == expected


def test_handy_units():
    assert labels.bandwidth(450e9) == "450 GB/s"
    assert labels.bandwidth(7.7e12) == "7.7 TB/s"
    assert labels.rate(989.4e12) == "989 TFLOP/s"
    assert labels.span([752e12, 800e12], "TFLOP/s") == "752–800 TFLOP/s"
    assert labels.span([0.96], "%") == "96%"
    assert labels.listed(["a", "b"], "zh") == "a、b"


# --- What they say ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", figures.NAMES)
def test_data_knows_no_language(name):
    module = import_module(f"wallsite.figures.{name.replace('-', '_')}")
    assert list(inspect.signature(module.data).parameters) == []
    assert set(module.WORDS) == set(figures.LANGUAGES)


@pytest.mark.parametrize("name", figures.NAMES)
def test_both_languages_show_the_same_lines_and_numbers(answers, name):
    zh, en = (answers[name, lang] for lang in ("zh", "en"))
    lines = [[e.get("d") for e in ET.fromstring(a["svg"]).iter() if e.get("d")] for a in (zh, en)]
    assert lines[0] == lines[1]
    if zh["table"] is None:
        assert en["table"] is None
        return
    numerals = [
        [[re.findall(r"\d[\d.,]*", cell) for cell in row] for row in answer["table"]["rows"]]
        for answer in (zh, en)
    ]
    assert numerals[0] == numerals[1]
    for answer in (zh, en):
        width = len(answer["table"]["headers"])
        assert all(len(row) == width for row in answer["table"]["rows"])


@pytest.mark.parametrize(("name", "lang"), CASES)
def test_texts_are_complete_and_in_their_language(answers, name, lang):
    answer = answers[name, lang]
    assert all(answer[part] for part in ("title", "alt", "caption"))
    said = texts(answer)
    assert not [text for text in said if re.search(r"[{}]|None|nan|inf\b", text)]
    foreign = [text for text in said if CJK.search(text)]
    if lang == "en":
        assert foreign == []
    else:
        assert {answer["title"], answer["alt"], answer["caption"]} <= set(foreign)
        half_width = re.compile(r"[\u3400-\u9fff] ?[,;:?!()]|[,;:?!()][\u3400-\u9fff]")
        assert [text for text in said if half_width.search(text)] == []


@pytest.mark.parametrize("name", figures.NAMES)
def test_chinese_is_spaced_as_the_guide_asks(answers, name):
    autocorrect = pytest.importorskip("autocorrect_py")
    said = texts(answers[name, "zh"])
    assert [autocorrect.format(text) for text in said] == said


@pytest.mark.parametrize("lang", figures.LANGUAGES)
def test_titles_carry_computed_numbers(answers, lang):
    titles = {name: answers[name, lang]["title"] for name in figures.NAMES}
    assert "19,788" in titles["data-path"]
    assert "6.8" in titles["bandwidth-staircase"]
    assert "1,191" in titles["models-vs-chips"]
    assert "295" in titles["roofline"]
    assert "2.2%" in titles["decode-prefill"]
    assert "0.25 S" in titles["all-reduce-flow"]
    assert "351" in titles["energy-per-op"]
    assert "76–81%" in titles["q2-three-walls"]
    assert "3,249" in titles["q3-scaling"]


def test_every_glyph_is_in_the_font(answers):
    known = set(FT2Font(pylopdf_fonts_zh_cn.sans_path()).get_charmap())
    missing = {
        (case, letter)
        for case, answer in answers.items()
        for text in drawn_texts(answer["svg"])
        for letter in text
        if ord(letter) not in known
    }
    assert missing == set()


# --- How they are written ---------------------------------------------------------------------


@pytest.mark.parametrize(("name", "lang"), CASES)
def test_fragment_is_themed_small_and_accessible(answers, name, lang):
    answer = answers[name, lang]
    svg = answer["svg"]
    assert len(svg.encode()) <= 40_000
    assert svg.startswith("<svg")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgb\(|font-family", svg), "a raw colour or a font"
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("width") is root.get("height") is None
    assert root.get("viewBox").startswith("0 0 440 ")
    named = {element.get("id"): element.text for element in root}
    spoken = [named[name] for name in root.get("aria-labelledby").split()]
    assert spoken == [answer["title"], answer["alt"]]


def test_ids_are_unique_over_all_figures(answers):
    ids = [
        name for answer in answers.values() for name in re.findall(r' id="([^"]+)"', answer["svg"])
    ]
    assert len(ids) == len(set(ids))
    for answer in answers.values():
        here = set(re.findall(r' id="([^"]+)"', answer["svg"]))
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', answer["svg"])) <= here


def test_separate_processes_write_the_same_bytes(tmp_path):
    writing = [
        subprocess.Popen(
            [sys.executable, "-m", "wallsite.figures", "--out", tmp_path / seed, "--lang", "zh"],
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.DEVNULL,
        )
        for seed in ("1", "2")
    ]
    assert [process.wait() for process in writing] == [0, 0]
    first, second = (sorted((tmp_path / seed).iterdir()) for seed in ("1", "2"))
    assert [file.name for file in first] == sorted(f"{name}.zh.svg" for name in figures.NAMES)
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_drawing_twice_gives_the_same_fragment(answers):
    for name in figures.NAMES:
        assert worker.answer({"name": name, "lang": "en"}) == answers[name, "en"]


def test_document_stands_alone_in_both_themes():
    with style.context():
        fragment = themed(figures.draw("roofline", "en").figure)
    file = document(fragment)
    ET.fromstring(file)
    for name, (light, dark) in style.PALETTE.items():
        assert f"--ws-{name}:{light}" in file
        assert f"--ws-{name}:{dark}" in file


def test_colours_follow_the_theme():
    with style.context():
        fig = style.figure(100)
        ax = style.axes(fig, 40, 10, 300, 60)
        ax.plot([0, 1], color="black")
        ax.axhline(0.5, color="0.6")
        ax.plot([1, 0], color=style.MEMORY)
        svg = themed(fig)
        assert {"var(--ws-ink)", "var(--ws-muted)", "var(--ws-memory)"} <= set(
            re.findall(r"stroke:([^;\"]+)", svg)
        )
        ax.plot([0, 0], color="red")
        with pytest.raises(ValueError, match=r"#ff0000 is neither grey nor in the palette: ink #"):
            themed(fig)


def test_the_site_defines_the_same_colours():
    css = (ROOT / "docs/assets/wallsite.css").read_text(encoding="utf-8")
    for theme, scheme in enumerate(("default", "slate")):
        rules = "".join(re.findall(rf'\[data-md-color-scheme="{scheme}"\] \{{(.*?)\}}', css, re.S))
        defined = dict(re.findall(r"--ws-(\w+): (#\w+)", rules))
        wanted = {name: pair[theme] for name, pair in style.PALETTE.items()}
        assert {name: defined.get(name) for name in wanted} == wanted


# --- Colours that everyone can tell apart -----------------------------------------------------


def linear(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def dot(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def luminance(rgb):
    return dot([[0.2126, 0.7152, 0.0722]], rgb)[0]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("name", [name for name in style.PALETTE if name != "paper"])
def test_text_contrast_on_paper_and_on_a_tint(name, theme):
    colour, paper = style.PALETTE[name][theme], style.PALETTE["paper"][theme]
    mixed = [
        round(
            style.TINT * int(colour[i : i + 2], 16) + (1 - style.TINT) * int(paper[i : i + 2], 16)
        )
        for i in (1, 3, 5)
    ]
    tint = "#" + "".join(f"{channel:02x}" for channel in mixed)
    assert contrast(linear(colour), linear(paper)) >= 4.5
    assert contrast(linear(colour), linear(tint)) >= 4.5


# What eyes without red or green receptors see (Machado, Oliveira, Fernandes 2009, severity 1).
BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
               [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


def lab(rgb):
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = dot(to_xyz, [min(1, max(0, channel)) for channel in rgb])
    scaled = [value / white for value, white in zip(xyz, (0.9505, 1, 1.089), strict=True)]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in scaled)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("kind", BLINDNESS)
def test_walls_differ_for_colour_blind_eyes(kind, theme):
    seen = {
        name: lab(dot(BLINDNESS[kind], linear(style.PALETTE[name][theme])))
        for name in ("compute", "memory", "comm")
    }
    for one, other in combinations(seen, 2):
        apart = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5
        assert apart > 25, (one, other)


# --- How they are asked for -------------------------------------------------------------------


def test_unknown_figure_and_language():
    with pytest.raises(UnknownName, match="unknown figure 'rooflin'; did you mean roofline"):
        figures.draw("rooflin", "en")
    with pytest.raises(ValueError, match="lang must be one of zh, en, got 'fr'"):
        figures.draw("roofline", "fr")


CODE = """
import matplotlib.pyplot as plt
print("not an answer")
fig, ax = plt.subplots(figsize=(6.4, 4))
ax.loglog([1, 10, 100], [1, 10, 10])
ax.axhline(3, color="gray")
ax.set(xlabel="算术强度", ylabel="y")
"""


def ask(*requests):
    """Send requests to a worker process, and return its answers."""
    done = subprocess.run(
        [sys.executable, "-m", "wallsite.figures.worker"],
        input="".join(json.dumps(request) + "\n" for request in requests),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_worker_answers_each_line(answers):
    named, code, broken, odd = ask(
        {"name": "roofline", "lang": "en"},
        {"code": CODE, "lang": "zh", "title": "标题", "alt": "说明"},
        {"code": "x = 1\n1 / 0", "lang": "zh"},
        {"name": "roofline"},
    )
    assert named == json.loads(json.dumps(answers["roofline", "en"]))
    assert (code["title"], code["alt"], code["caption"], code["table"]) == (
        "标题",
        "说明",
        "",
        None,
    )
    assert "算术强度" in drawn_texts(code["svg"])
    assert broken == {"error": "ZeroDivisionError: division by zero (line 2 of the code)"}
    assert odd == {"error": "KeyError: 'lang'"}


def test_code_draws_in_the_house_style_and_keeps_log_labels():
    svg = worker.answer({"code": CODE, "lang": "zh", "title": "t", "alt": "a"})["svg"]
    assert "var(--ws-compute)" in svg, "the first colour of the cycle"
    assert "".join(element.text for element in ET.fromstring(svg).iter() if "tspan" in element.tag)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("figure = 1", "TypeError: the code leaves no Matplotlib figure in a variable called fig"),
        ("a = 1\nb = = 2", "SyntaxError: .*line 2 of the code"),
        (CODE + "ax.plot([1, 2], color='red')", "ValueError: colour #ff0000 is neither grey nor"),
        ("def f():\n    raise KeyError('x')\n\nf()", r"KeyError: 'x' \(line 2 of the code\)"),
    ],
)
def test_worker_explains_bad_code(code, message):
    assert re.match(message, worker.reply({"code": code, "lang": "en"})["error"])


def test_command_line_writes_chosen_figures(tmp_path):
    out = tmp_path / "new"
    result = CliRunner().invoke(cli.main, ["--out", str(out), "--lang", "en", "--name", "roofline"])
    assert result.exit_code == 0
    assert [file.name for file in out.iterdir()] == ["roofline.en.svg"]
    wrong = CliRunner().invoke(cli.main, ["--out", str(out), "--lang", "en", "--name", "rooflin"])
    assert wrong.exit_code == 2


def test_worker_leaves_quietly_when_its_build_has_ended():
    process = subprocess.Popen(
        [sys.executable, "-m", "wallsite.figures.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    process.stdin.write('{"name": "roofline", "lang": "en"}\n')
    process.stdin.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
