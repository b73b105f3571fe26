"""``wallsite probe allreduce`` and ``wallsite scale``, as they are typed."""

import csv
import io
import json
from importlib.util import find_spec

import pytest
import synthetic
from click.testing import CliRunner
from recorded import recorded

from wallsite import cli, probes
from wallsite.probes import allreduce

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed"
)
ALPHA, BETA = 50e-6, 1e9  # s, byte/s


def run(*words):
    return CliRunner().invoke(cli.main, words)


@pytest.fixture(autouse=True)
def _few_sizes(monkeypatch):
    monkeypatch.setattr(allreduce.run_local, "__defaults__", ((1024, 65536), "auto", 10, 60.0))
    monkeypatch.delenv("RANK", raising=False)


@pytest.fixture
def exact(tmp_path):
    """A file of all-reduces among two ranks that fit α and β exactly."""
    path = tmp_path / "exact.json"
    path.write_text(synthetic.result(synthetic.ring(2, ALPHA, BETA)).to_json(), "utf-8")
    return str(path)


# --------------------------------------------------------------------------------- probe allreduce


@pytest.mark.slow
@needs_torch
def test_two_local_ranks_from_end_to_end(tmp_path):
    file, table = tmp_path / "r.json", tmp_path / "r.csv"
    words = ("--nproc", "2", "--device", "cpu", "--quick", "--json", str(file), "--csv", str(table))
    done = run("probe", "allreduce", *words)
    assert (done.exit_code, done.stderr) == (0, "")
    result = probes.Result.from_json(file.read_text("utf-8"))
    assert [x.array_bytes for x in result.select("allreduce")] == [1024, 65536]
    assert len(list(csv.DictReader(io.StringIO(table.read_text("utf-8"))))) == 2 * 5
    lines = done.stdout.splitlines()
    assert lines[3].split() == [
        *("sum", "over", "2", "ranks", "on", "1", "machine", "buffer"),
        *("µs", "algbw", "GB/s", "busbw", "GB/s"),
    ]
    assert [line.split()[:3] for line in lines[4:6]] == [
        ["all-reduce", "1", "KiB"],
        ["all-reduce", "64", "KiB"],
    ]


@pytest.mark.slow
@needs_torch
def test_json_on_standard_output_is_all_there_is():
    done = run("probe", "allreduce", "--nproc", "2", "--device", "cpu", "--quick", "--json", "-")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["backend"] == "torch gloo"


WRONG = [
    (["memory", "allreduce", "--nproc", "2"], 2, "allreduce is measured alone"),
    (["allreduce", "all"], 2, "allreduce is measured alone"),
    (["memory", "--nproc", "2"], 2, "the probe allreduce alone takes --nproc"),
    (["memory", "--timeout", "5"], 2, "the probe allreduce alone takes --timeout"),
    (["allreduce", "--nproc", "2", "--dtype", "fp16"], 2, "does not take --dtype"),
    (["allreduce", "--nproc", "2", "--array-bytes", "1KiB"], 2, "does not take --array-bytes"),
    (["allreduce", "--nproc", "2", "--threads", "1"], 2, "does not take --threads"),
    (["allreduce", "--nproc", "2", "--backend", "numpy"], 2, "does not take --backend"),
    (["allreduce", "--nproc", "2", "--budget", "1"], 2, "does not take --budget"),
    (["allreduce"], 2, "an all-reduce needs ranks: start them with torchrun, or here with nproc"),
    (["allreduce", "--nproc", "1"], 2, "nproc must be 2 or above, got 1: one rank has nobody"),
    (["allreduce", "--nproc", "0"], 2, "nproc must be a whole number, 2 or above, got 0"),
    (["allreduce", "--nproc", "two"], 2, "'two' is not a valid integer"),
    (["allreduce", "--nproc", "99999"], 2, "at most on this machine, got 99999"),
    (["allreduce", "--nproc", "2", "--timeout", "0"], 2, "timeout must be a finite number above 0"),
    pytest.param(
        *(["allreduce", "--nproc", "2", "--device", "npu"], 3, "no device 'npu': this machine has"),
        marks=needs_torch,
    ),
]


@pytest.mark.parametrize(("words", "code", "said"), WRONG)
def test_what_cannot_be_measured_is_one_line(tmp_path, words, code, said):
    file = tmp_path / "r.json"
    done = run("probe", *words, "--json", str(file))
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_failure_between_ranks_is_told_and_leaves_no_file(monkeypatch, tmp_path):
    def lost(*_, **__):
        raise allreduce.PeerLost("rank 1 was ended by SIGKILL")

    monkeypatch.setattr(allreduce, "run_local", lost)
    done = run("probe", "allreduce", "--nproc", "2", "--json", str(tmp_path / "r.json"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: rank 1 was ended by SIGKILL\n"
    assert not list(tmp_path.iterdir())


def test_only_the_first_rank_writes(monkeypatch, tmp_path):
    told = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(allreduce, "measure", lambda **_: None)
    done = run("probe", "allreduce", "--json", str(tmp_path / "r.json"))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------- scale


def test_scale_by_hand(exact):
    # 8 s / 8 + 2·7/8 · 4 GB / 1 GB/s + 14 · 50 µs = 8.0007 s
    done = run("scale", "--from", exact, "--compute", "8", "--bytes", "4GB")
    assert (done.exit_code, done.stderr) == (0, "")
    first, _, head, *rows = done.stdout.splitlines()
    assert first == (
        "Fitted: latency 50.0 µs (50.0–50.0), bandwidth 1.00 GB/s (1.00–1.00) per direction; the "
        "model is off by 0% (median over the sizes)."
    )
    assert head.split() == ["ranks", "step", "s", "low", "high", "efficiency"]
    assert rows[3].split() == ["8", "8.001", "8.001", "8.001", "12.5%"]
    # C − 2S/β = 0: a second rank gains nothing.
    assert rows[-1].startswith("The step is shortest on one rank (1–1): a second one costs more")


def test_the_turning_point_by_hand(exact):
    # √((108 − 8) / (2 · 50 µs)) = 1000
    done = run("scale", "--from", exact, "--compute", "108", "--bytes", "4GB")
    assert done.stdout.splitlines()[-1] == (
        "The step is shortest on N* = 1,000 ranks (1,000–1,000); from there on each rank slows it "
        "down."
    )


def test_without_latency_there_is_no_turning_point(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(synthetic.result(synthetic.ring(2, 0.0, BETA)).to_json(), "utf-8")
    done = run("scale", "--from", str(path), "--compute", "108", "--bytes", "4GB")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].startswith("Without latency each added rank still helps")


@needs_matplotlib
@pytest.mark.parametrize(
    ("lang", "words"), [("en", "Time of a step (s)"), ("zh", "一步的时间（秒）")]
)
def test_scale_draws(tmp_path, exact, lang, words):
    out = tmp_path / "s.svg"
    given = ("--compute", "108", "--bytes", "4GB", "--out", str(out), "--lang", lang)
    assert run("scale", "--from", exact, *given).exit_code == 0
    assert words in out.read_text("utf-8")


GIVEN = {"--compute": "1", "--bytes": "1GB"}
REFUSED = [
    ({"--compute": "0"}, "compute must be a finite number above 0, got 0.0"),
    ({"--compute": "-1"}, "compute must be a finite number above 0, got -1.0"),
    ({"--compute": "nan"}, "compute must be a finite number above 0, got nan"),
    ({"--compute": "soon"}, "'soon' is not a valid float"),
    ({"--bytes": "0"}, "size must be a finite number above 0, got 0"),
    ({"--bytes": "-5"}, "'-5' is not a number of bytes such as 268435456, 1e9 or 256MiB"),
    ({"--bytes": "1TBX"}, "'1TBX' is not a number of bytes"),
    ({"--lang": "fr"}, "'fr' is not one of 'en', 'zh'"),
    ({"--out": "s.jpg"}, "'s.jpg' must end in .svg or .png"),
]


@pytest.mark.parametrize(("changed", "said"), REFUSED)
def test_scale_refuses_in_one_line(tmp_path, monkeypatch, exact, changed, said):
    monkeypatch.chdir(tmp_path)
    words = [word for pair in (GIVEN | changed).items() for word in pair]
    done = run("scale", "--from", exact, *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["exact.json"]


def test_a_file_without_all_reduces(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(recorded()["xeon-numpy"].to_json(), "utf-8")
    done = run("scale", "--from", str(path), "--compute", "1", "--bytes", "1GB")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: two sizes of all-reduce are needed for a latency and a bandwidth, got 0\n"
    )


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe"])
def test_a_file_that_is_no_result(tmp_path, content):
    path = tmp_path / "r.json"
    path.write_bytes(content)
    done = run("scale", "--from", str(path), "--compute", "1", "--bytes", "1GB")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {path}: ")
    assert done.stderr.count("\n") == 1
