"""The roofline of measured machines: what it draws, and the command that writes it."""

import dataclasses
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import lesson
import measured
import pytest
from click.testing import CliRunner
from measured import MIB
from recorded import recorded

pytest.importorskip("matplotlib")

from layout import clashes, text_boxes

from wallsite import cli, probes, tables
from wallsite.figures import measured_roofline, style

EVERYTHING = measured.everything()
PNG = b"\x89PNG\r\n\x1a\n"


def compose(*arguments, **more):
    with style.context():
        return measured_roofline.compose(*arguments, **more)


def named(name, *measurements, **more):
    """A run on a device of another name."""
    device = dataclasses.replace(measured.CPU, name=name)
    return measured.run(*(measurements or EVERYTHING.measurements), device=device, **more)


def lines(drawing):
    """Of the plot: for each line its points, its marker, its face and its colour."""
    return [
        (
            list(zip(line.get_xdata(), line.get_ydata(), strict=True)),
            line.get_marker(),
            line.get_markerfacecolor(),
            line.get_color(),
        )
        for line in drawing.figure.axes[0].lines
    ]


def roofs(drawing):
    return [points for points, marker, *_ in lines(drawing) if marker == "None"]


def marks(drawing):
    """Of the operations: marker → its points and faces."""
    found = {}
    for points, marker, face, _ in lines(drawing)[2:]:
        found.setdefault(marker, []).append((*points[0], face))
    return found


def legend(drawing):
    return [text.get_text() for text in drawing.figure.axes[1].texts]


# -------------------------------------------------------------------------------- what it draws


def test_a_roof_by_hand():
    # The bandwidth is that of add, 3 × 256 MiB ÷ 0.05 s; the peak 2 × 2048³ ÷ 0.04 s.
    (machine,) = measured_roofline.machines([EVERYTHING])
    assert machine.bandwidth == 768 * MIB / 0.05
    assert machine.peak == 2 * 2048**3 / 0.04
    assert machine.ridge == pytest.approx(80 / 3)
    assert (machine.name, machine.dtype, machine.day) == ("a device / numpy", "fp32", "2026-01-01")
    assert machine.roof(1.0) == machine.bandwidth
    assert machine.roof(1e6) == machine.peak


def test_the_roof_is_a_slope_and_a_level_that_meet_at_the_ridge_point():
    drawing = compose([EVERYTHING])
    ((start, bend, end),) = roofs(drawing)
    assert bend == pytest.approx((80 / 3, 429.4967296))
    assert end[1] == bend[1]
    assert bend[1] / start[1] == pytest.approx(bend[0] / start[0])
    assert (start[0], end[0]) == drawing.figure.axes[0].get_xlim()


def test_the_peak_is_the_fastest_product_of_the_type():
    fast = measured.point("gemm", (2048,) * 3, 3 * 4 * 2048**2, 2 * 2048**3, (0.01,))
    result = measured.run(*EVERYTHING.measurements, fast)
    (machine,) = measured_roofline.machines([result])
    assert machine.peak == 2 * 2048**3 / 0.01


def test_points_by_hand():
    found = marks(compose([EVERYTHING]))
    axpy, gemv, gemm = (found[measured_roofline.MARKERS[x]] for x in ("axpy", "gemv", "gemm"))
    # axpy: 2 FLOP for 12 bytes, 2²⁵ FLOP in 0.02 s; gemv: 2 for 4 bytes, 2²¹ in 0.1 ms.
    assert axpy[0][:2] == pytest.approx((1 / 6, 1.6777216))
    assert gemv[0][:2] == pytest.approx((0.5, 20.97152))
    assert gemm[0][:2] == pytest.approx((512 / 6, 268.435456))


@pytest.mark.parametrize(("excess", "hollow"), [(0, True), (1, False), (-1, True)])
def test_hollow_is_what_fits_in_the_last_level_cache(excess, hollow):
    counted = measured.CPU.last_level_cache + excess
    result = measured.run(
        *measured.MEMORY,
        *measured.MATMULS,
        measured.point("axpy", (9,), counted, counted // 6, (0.01,)),
    )
    drawing = compose([result])
    (_, _, face), *_ = marks(drawing)["o"]
    assert (face == style.PAPER) is hollow
    assert ("hollow: in cache" in legend(drawing)) is hollow
    assert ("hollow point" in drawing.caption) is hollow


def test_nothing_is_hollow_where_the_cache_is_not_known():
    device = dataclasses.replace(measured.CPU, last_level_cache=None)
    drawing = compose([measured.everything(device=device)])
    assert not any(face == style.PAPER for _, _, face, _ in lines(drawing))
    assert "hollow: in cache" not in legend(drawing)


def test_operations_of_another_type_are_left_out():
    other = measured.point("axpy", (9,), 100 * MIB, 16 * MIB, (0.01,), "bf16")
    result = measured.run(*EVERYTHING.measurements, other)
    (machine,) = measured_roofline.machines([result])
    assert other not in machine.points
    (machine,) = measured_roofline.machines([result], dtype="bf16")
    assert machine.points == (other,)
    assert machine.peak == 2 * 2048**3 / 0.02


def test_without_operations_the_type_is_that_of_the_first_product():
    result = measured.run(*measured.MEMORY, measured.MATMULS[1], measured.MATMULS[0])
    (machine,) = measured_roofline.machines([result])
    assert machine.dtype == "bf16"
    drawing = compose([result])
    assert not set(measured_roofline.MARKERS) & set(legend(drawing))
    assert len(lines(drawing)) == 2


def test_a_device_of_the_catalog_is_dashed_and_named():
    drawing = compose([EVERYTHING], ["h100-sxm"], dtype="bf16")
    chip = tables.accelerator("h100-sxm")
    own, other = (line for line in drawing.figure.axes[0].lines if line.get_marker() == "None")
    assert own.get_linestyle() == "-"
    assert other.get_linestyle() == "--"
    assert other.get_ydata()[-1] == chip.peak("bf16").si / 1e9
    assert chip.name in legend(drawing)
    assert {"3.35 TB/s, 989 TFLOP/s bf16", "specification: ridge point 295 FLOP/byte"} <= {
        *legend(drawing)
    }
    assert {
        "16.1 GB/s, 859 GFLOP/s bf16",
        "measured 2026-01-01: ridge point 53.3 FLOP/byte",
    } <= {*legend(drawing)}
    assert drawing.caption.endswith(f"Dashed roofs are specifications ({chip.name}).")
    assert chip.name not in drawing.title


def test_a_device_without_a_peak_of_the_type_is_a_slope():
    drawing = compose([EVERYTHING], ["v100-sxm2-32gb"], dtype="bf16")
    own, slope = roofs(drawing)
    assert (len(own), len(slope)) == (3, 2)
    (left, low), (right, high) = slope
    assert high / low == pytest.approx(right / left)
    bandwidth = tables.accelerator("v100-sxm2-32gb").bandwidth.si
    assert low == pytest.approx(left * bandwidth / 1e9)
    assert any(words.endswith("no bf16 peak published") for words in legend(drawing))
    (row,) = [row for row in drawing.table.rows if row[0] == "V100 SXM2 32 GB"]
    assert (row[2], row[4]) == ("", "")


def test_title_caption_and_table():
    drawing = compose([EVERYTHING])
    assert drawing.title == "a device / numpy: the measured ridge point lies at 26.7 FLOP/byte"
    assert drawing.table.rows == (
        ("a device / numpy", "fp32", "26.7", "16.1", "429"),
        ("axpy 16,777,216", "fp32", "0.167", "10.1", "1.68"),
        ("gemv 1,024 × 1,024", "fp32", "0.5", "41.9", "21"),
        ("gemm 512 × 512 × 512", "fp32", "85.3", "3.15", "268"),
    )
    assert "a device / numpy 16.1 GB/s, 429 GFLOP/s fp32, ridge point 26.7 FLOP/byte" in drawing.alt


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "Intel Xeon Gold 6338 / numpy"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763 64-Core / numpy"),
        ("12th Gen Intel(R) Core(TM) i9-12900HK", "12th Gen Intel Core i9-12900HK / numpy"),
        ("Apple M4 Max", "Apple M4 Max / numpy"),
    ],
)
def test_names_without_the_marks_of_their_vendors(name, shown):
    (machine,) = measured_roofline.machines([named(name)])
    assert machine.name == shown


@pytest.mark.parametrize("name", ["US$1 and US$2", "a $x^2$ b", r"a \frac b", "50% #1 & {x}_2"])
def test_a_name_is_text_and_no_formula(name):
    drawing = compose([named(name)])
    label = drawing.figure.axes[1].texts[0]
    plain = f"{name} / numpy"
    with style.context():
        font = label.get_fontproperties()
        expected = drawing.figure.text(0, 0, plain, fontproperties=font, parse_math=False)
        assert label.get_window_extent().width == expected.get_window_extent().width


CHINESE = re.compile(r"[\u3400-\u9fff]")


def test_chinese_legends_are_chinese():
    results = [EVERYTHING, recorded()["xeon-numpy"], recorded()["xeon-torch"]]
    drawing = compose(results[:2], ["h100-sxm", "v100-sxm2-32gb"], "zh")
    names = [measured_roofline.machines([result])[0].name for result in results]
    names += ["H100 SXM5", "V100 SXM2 32 GB", *measured_roofline.MARKERS, "add", "triad"]
    units = ["FLOP/byte", "GFLOP/s", "TFLOP/s", "GB/s", "TB/s", "fp32", "Roofline"]
    axes = [text.get_text() for text in drawing.figure.axes[0].texts]
    for said in (*legend(drawing), *axes, drawing.title, drawing.caption, drawing.alt):
        rest = said
        for known in (*names, *units):
            rest = rest.replace(known, "")
        assert re.findall("[A-Za-z]+", rest) == [], said
    assert sum(bool(CHINESE.search(words)) for words in legend(drawing)) >= 5
    assert drawing.title == "a device / numpy：实测的拐点在 26.7 FLOP/byte"


def test_both_languages_draw_the_same_lines_and_numbers():
    drawings = [compose([EVERYTHING], ["h100-sxm"], lang) for lang in lesson.LANGUAGES]
    one, other = (lines(drawing) for drawing in drawings)
    assert one == other
    numbers = [[row[2:] for row in drawing.table.rows] for drawing in drawings]
    assert numbers[0] == numbers[1]


# -------------------------------------------------------------------------------------- layout

LONG = (
    "Intel(R) Xeon(R) Platinum 8480+ CPU @ 2.00GHz",
    "AMD EPYC 9654 96-Core Processor",
    "AMD Ryzen Threadripper PRO 7995WX 96-Cores",
    "Snapdragon(R) X Elite - X1E80100 - Qualcomm(R) Oryon(TM) CPU",
    "AMD Ryzen 7 PRO 6850U with Radeon Graphics",
    "NVIDIA RTX 6000 Ada Generation Laptop GPU",
    "Intel(R) Data Center GPU Max 1550, 128 GB HBM2e, OAM module (engineering sample)",
)
GPU = (  # three hundred times as fast as the CPU
    measured.arrays("add", (0.00025,)),
    measured.matmul((0.00004,)),
    measured.point("softmax", (8192, 8192), 2 * 4 * 8192**2, 5 * 8192**2, (0.0003,)),
)
CASES = {
    "alone": ([EVERYTHING], []),
    "every kind of point": ([recorded()["xeon-numpy"]], []),
    "without points": ([measured.run(*measured.MEMORY, *measured.MATMULS)], []),
    "the figure of the page": lesson.figure("measured-roofline").data(),
    "a laptop and a GPU": ([EVERYTHING, named("GPU", *GPU)], []),
    "beside the catalog": ([EVERYTHING], ["h100-sxm", "b200", "tpu-v6e"]),
    "beside slopes": ([EVERYTHING], ["xeon-8480", "m4-max", "epyc-9654"]),
    "long names": ([named(name) for name in LONG[:4]], []),
    "longer names": ([named(name, backend="torch") for name in LONG[4:]], ["v100-sxm2-32gb"]),
    "four equal machines": ([EVERYTHING] * 4, []),
}


@pytest.fixture(scope="module")
def drawn():
    """Draw every case once in a language."""
    done = {}

    def draw(case, lang):
        if (case, lang) not in done:
            done[case, lang] = compose(*CASES[case], lang)
        return done[case, lang]

    return draw


@pytest.mark.parametrize("lang", lesson.LANGUAGES)
@pytest.mark.parametrize("case", CASES)
def test_texts_are_clear(drawn, case, lang):
    figure = drawn(case, lang).figure
    with style.context():
        boxes = text_boxes(figure)
    width, height = figure.get_size_inches() * 72
    assert boxes
    assert list(clashes(boxes, width, height)) == []


@pytest.mark.parametrize("case", CASES)
def test_roofs_and_points_lie_inside_the_axes(drawn, case):
    drawing = drawn(case, "en")
    axes = drawing.figure.axes[0]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    slack = 1 + 1e-9
    assert lines(drawing)
    for points, marker, *_ in lines(drawing):
        for x, y in points:
            assert left / slack <= x <= right * slack
            assert bottom / slack <= y <= top * slack
            if marker != "None":  # with room for the mark itself
                assert left < x < right
                assert bottom * 1.1 < y < top / 1.1


@pytest.mark.parametrize("case", CASES)
def test_every_roof_bends_inside_the_axes(drawn, case):
    axes = drawn(case, "en").figure.axes[0]
    bends = [roof[1][0] for roof in roofs(drawn(case, "en")) if len(roof) == 3]
    assert bends
    assert all(axes.get_xlim()[0] < x < axes.get_xlim()[1] for x in bends)


@pytest.mark.parametrize("case", CASES)
def test_a_scale_has_two_labels_at_least(drawn, case):
    axes = drawn(case, "en").figure.axes[0]  # one alone tells nothing of a logarithmic scale
    assert len(axes.get_xticks()) >= 2
    assert len(axes.get_yticks()) >= 2


def test_points_far_from_any_roof_lie_inside_too():
    slow = measured.point("softmax", (9,), 2**30, 1000, (100.0,))  # 1e-6 FLOP/byte, 10 FLOP/s
    drawing = compose([measured.run(*EVERYTHING.measurements, slow)])
    axes = drawing.figure.axes[0]
    ((x, y, _),) = marks(drawing)["s"]
    assert axes.get_xlim()[0] < x < axes.get_xlim()[1]
    assert axes.get_ylim()[0] < y < axes.get_ylim()[1]


# --------------------------------------------------------------------------------- the command


def run(*words):
    return CliRunner().invoke(cli.main, ["roofline", *words])


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(EVERYTHING.to_json(), "utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["out.svg", "out.SVG", "屋顶 1.svg"])
def test_svg_is_written(tmp_path, result, name):
    done = run("--from", result, "--out", str(tmp_path / name))
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("Solid roofs are measured (a device / numpy): ")
    assert ET.parse(tmp_path / name).getroot().tag.endswith("svg")
    assert sorted(tmp_path.iterdir()) == sorted([Path(result), tmp_path / name])


def test_png_is_written_three_pixels_to_a_unit(tmp_path, result):
    path = tmp_path / "out.png"
    path.write_text("old")
    assert run("--from", result, "--out", str(path)).exit_code == 0
    content = path.read_bytes()
    assert content.startswith(PNG)
    assert int.from_bytes(content[16:20], "big") == 3 * style.WIDTH


def test_several_results_and_devices(tmp_path, result):
    other = tmp_path / "other.json"
    other.write_text(named("Other").to_json(), "utf-8")
    out = str(tmp_path / "out.svg")
    devices = ["--device", "H100 SXM5", "--device", "b200"]
    done = run("--from", result, "--from", str(other), *devices, "--lang", "zh", "--out", out)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "实测（a device / numpy、Other / numpy）" in done.stdout
    assert "规格表（H100 SXM5、B200" in done.stdout


WITHOUT = {
    "a bandwidth": (measured.MATMULS, "run the probe memory"),
    "a product": (measured.MEMORY, "run the probe matmul"),
    "anything": ((), "run the probe "),
}


@pytest.mark.parametrize(("measurements", "said"), WITHOUT.values(), ids=WITHOUT)
def test_a_result_that_lacks_a_roof_says_which_probe_to_run(tmp_path, measurements, said):
    path = tmp_path / "result.json"
    path.write_text(measured.run(*measurements).to_json(), "utf-8")
    done = refused(tmp_path, 2, "--from", str(path))
    assert said in done.stderr


def refused(folder, code, *words, out="out.svg"):
    """Run what must fail: one line, its code, and nothing new in the folder."""
    before = sorted(folder.iterdir())
    done = run(*words, "--out", str(folder / out))
    assert (done.exit_code, done.stdout) == (code, "")
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.splitlines()) == 1
    assert sorted(folder.iterdir()) == before
    return done


def test_no_such_device_names_those_that_are_near(tmp_path, result):
    done = refused(tmp_path, 3, "--from", result, "--device", "h10")
    assert "unknown device 'h10'; did you mean h100-sxm" in done.stderr


def test_more_roofs_than_can_be_told_apart(tmp_path, result):
    devices = [word for name in ("h100-sxm", "b200", "mi300x", "a100-sxm") for word in ("-d", name)]
    devices = ["--device" if word == "-d" else word for word in devices]
    done = refused(tmp_path, 2, "--from", result, *devices)
    assert "4 roofs at most can be told apart, got 5" in done.stderr


@pytest.mark.parametrize("dtype", ["fp16", "fp9", ""])
def test_a_type_that_was_not_measured(tmp_path, result, dtype):
    done = refused(tmp_path, 2, "--from", result, "--dtype", dtype)
    assert f"matmul {dtype} was not measured on cpu" in done.stderr


def test_a_type_is_read_in_either_case(tmp_path, result):
    done = run("--from", result, "--dtype", "BF16", "--out", str(tmp_path / "out.svg"))
    assert done.exit_code == 0


@pytest.mark.parametrize("name", ["out", "out.pdf", "out.svg.txt", ".svg", "svg", "-"])
def test_a_file_that_is_neither_svg_nor_png(tmp_path, result, name):
    done = run("--from", result, "--out", str(tmp_path / name))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "must end in .svg or .png" in done.stderr
    assert list(tmp_path.iterdir()) == [Path(result)]


@pytest.mark.parametrize("words", [[], ["--from", "x.json"], ["--out", "x.svg"]])
def test_both_files_must_be_named(words):
    assert run(*words).exit_code == 2


def test_a_result_that_is_damaged_is_named(tmp_path, result):
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    done = refused(tmp_path, 2, "--from", result, "--from", str(bad))
    assert done.stderr.startswith(f"Error: {bad}: ")


def changed(**more):
    """A result whose first operation differs."""
    first = dataclasses.replace(measured.OPERATIONS[0], **more)
    return measured.run(*measured.MEMORY, *measured.MATMULS, first)


ODD = {
    "an operation that it has no mark for": changed(kernel="conv"),
    "an operation without FLOPs": changed(flops=0),
    "a shape that no float holds": changed(shape=(10**400,)),
    "no day": measured.everything(started=""),
    "no name": named(""),
    "a name of two lines": named("a\nb"),
    "a name that looks like a formula": named("a $x^$ b"),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_result_that_is_odd_is_drawn_or_refused_in_one_line(tmp_path, odd):
    path = tmp_path / "odd.json"
    path.write_text(odd.to_json(), "utf-8")
    out = tmp_path / "out.svg"
    done = run("--from", str(path), "--out", str(out))
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code in {0, 2}
    assert len(done.stderr.splitlines()) == (done.exit_code != 0)
    assert out.exists() is (done.exit_code == 0)


@pytest.mark.parametrize("name", ["absent/out.svg", "file/out.svg"])
def test_a_path_that_cannot_be_written(tmp_path, result, name):
    (tmp_path / "file").write_text("")
    done = refused(tmp_path, 1, "--from", result, out=name)
    assert "cannot write" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_full_disk(tmp_path, result, kind):
    (tmp_path / f"out.{kind}").symlink_to("/dev/full")
    done = refused(tmp_path, 1, "--from", result, out=f"out.{kind}")
    assert "No space left on device" in done.stderr
    assert (tmp_path / f"out.{kind}").is_symlink()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("no")])
def test_a_drawing_that_fails_leaves_the_old_file(monkeypatch, tmp_path, result, error):
    from matplotlib.figure import Figure

    def fail(figure, file, **_):
        file.write(b"half")
        raise error

    monkeypatch.setattr(Figure, "savefig", fail)
    path = tmp_path / "out.svg"
    path.write_text("old")
    refused(tmp_path, 1 if isinstance(error, OSError) else 2, "--from", result)
    assert path.read_text() == "old"


PROGRAM = """
import sys
sys.modules.update({name: None for name in sys.argv.pop(1).split()})
from wallsite.cli import main
main()
"""


def as_process(absent, *words):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, absent, "roofline", *words],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_separate_processes_write_the_same_bytes(tmp_path, result):
    paths = [tmp_path / "1.svg", tmp_path / "2.svg"]
    for path in paths:
        done = as_process("", "--from", result, "--out", str(path))
        assert (done.returncode, done.stderr) == (0, "")
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("absent", ["matplotlib", "pylopdf_fonts_zh_cn"])
def test_without_what_figures_need_it_says_what_to_install(tmp_path, result, absent):
    done = as_process(absent, "--from", result, "--out", str(tmp_path / "out.svg"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'Error: a figure needs {absent}: pip install "wallsite[figures]"\n'
    assert list(tmp_path.iterdir()) == [Path(result)]


def test_a_recorded_result_is_drawn_as_it_is_read(tmp_path):
    (tmp_path / "r.json").write_text(recorded()["xeon-torch"].to_json(), "utf-8")
    read = probes.Result.from_json((tmp_path / "r.json").read_text("utf-8"))
    assert lines(compose([read])) == lines(compose([recorded()["xeon-torch"]]))
