"""The figures: the numbers behind them, what they say, how they are written and asked for."""

import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import lesson
import pylopdf_fonts_zh_cn
import pytest

pytest.importorskip("matplotlib")

from click.testing import CliRunner
from matplotlib.ft2font import FT2Font

from wallsite import figures, lessons
from wallsite.figures import (
    __main__ as cli,
)
from wallsite.figures import labels, style, worker
from wallsite.figures.svg import document, themed
from wallsite.tables import UnknownName

ROOT = Path(__file__).parents[2]
CASES = [(name, lang) for name in lesson.figures() for lang in lesson.LANGUAGES]
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
    assert labels.bandwidth(999.4e9) == "999 GB/s"
    assert labels.bandwidth(999.6e9) == "1 TB/s"
    assert labels.bandwidth(0.4e9) == "0.4 GB/s"
    assert labels.bandwidth(7.7e12) == "7.7 TB/s"
    assert labels.rate(989.4e12) == "989 TFLOP/s"
    assert labels.span([752e12, 800e12], "TFLOP/s") == "752–800 TFLOP/s"
    assert labels.span([0.96], "%") == "96%"
    assert labels.listed(["a", "b"], "zh") == "a、b"


# --- What they say ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", lesson.figures())
def test_data_knows_no_language(name):
    module = lesson.figure(name)
    assert list(inspect.signature(module.data).parameters) == []


@pytest.mark.parametrize("name", lesson.figures())
def test_the_numbers_of_a_figure_are_tested_in_its_lesson(name):
    folder = Path(lesson.figure(name).__file__).parents[1] / "tests"
    tests = "".join(path.read_text("utf-8") for path in folder.glob("test_*.py"))
    assert f'figure("{name}").data()' in tests, (
        f"{folder}/test_figures.py: compare the numbers of figure({name!r}).data() with sums done "
        "by hand"
    )


WORDS = [*lessons.files("figures/*.zh.toml"), *(ROOT / "wallsite/figures").glob("*.zh.toml")]


@pytest.mark.parametrize("path", WORDS, ids=lambda path: path.name)
def test_a_figure_says_the_same_things_in_each_language(path):
    other = path.with_name(path.name.replace(".zh.", ".en."))
    zh, en = (tomllib.loads(each.read_text("utf-8")) for each in (path, other))
    assert zh.keys() == en.keys()
    filled = re.compile(r"\{\w*")
    for key, text in zh.items():
        assert set(filled.findall(str(text))) == set(filled.findall(str(en[key]))), key


@pytest.mark.parametrize("name", lesson.figures())
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


@pytest.mark.parametrize("name", lesson.figures())
def test_chinese_is_spaced_as_the_guide_asks(answers, name):
    autocorrect = pytest.importorskip("autocorrect_py")
    said = texts(answers[name, "zh"])
    assert [autocorrect.format(text) for text in said] == said


@pytest.mark.parametrize("lang", lesson.LANGUAGES)
def test_titles_carry_computed_numbers(answers, lang):
    titles = {name: answers[name, lang]["title"] for name in lesson.figures()}
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
    assert root.get("viewBox").startswith(f"0 0 {style.WIDTH:g} ")
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
    assert [file.name for file in first] == sorted(f"{name}.zh.svg" for name in lesson.figures())
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_drawing_twice_gives_the_same_fragment(answers):
    for name in lesson.figures():
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
    with pytest.raises(ValueError, match=r"roofline\.fr\.toml is missing"):
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
