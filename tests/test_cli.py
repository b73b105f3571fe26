"""The command line: what it prints, and the code it leaves with."""

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from wallsite import cli, probes, tables

MIB = 2**20


def run(*words):
    return CliRunner().invoke(cli.main, words)


def test_ridge():
    done = run("ridge", "h100-sxm")
    assert (done.exit_code, done.stdout) == (
        0,
        "H100 SXM5, fp16: 989.4 TFLOP/s ÷ 3.35 TB/s = 295.3 FLOP/byte\n",
    )


def test_ridge_of_another_type():
    assert "fp8" in run("ridge", "h100 sxm5", "--dtype", "fp8").stdout


def test_ridge_for_every_bandwidth_that_sources_give():
    points = [line.rpartition("= ")[2] for line in run("ridge", "b200").stdout.splitlines()]
    assert points == ["292.2 FLOP/byte", "281.3 FLOP/byte"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ridge", "h10"], "unknown device 'h10'; did you mean h100-sxm"),
        (["ridge", "h100-sxm", "--dtype", "fp9"], "unknown dtype 'fp9'; did you mean"),
        (["ridge", "v100-sxm2-32gb", "--dtype", "bf16"], "does not support bf16"),
        (["decode", "h10", "--params", "7B"], "unknown device 'h10'"),
        (["decode", "h100-sxm", "--params", "7B", "--dtype", "fp17"], "unknown dtype 'fp17'"),
        (["table", "rigde"], "unknown table 'rigde'; did you mean ridge"),
        (["table", "nosuch"], "known: accelerators, ridge, ridge-trend, links, "),
        (["table", "ridge", "--device", "h10"], "unknown device 'h10'"),
        (["probe", "--device", "npu:7"], "no device 'npu:7': this machine has cpu"),
    ],
)
def test_no_such_name(words, said):
    done = run(*words)
    assert done.exit_code == 3
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nothing"],
        ["ridge"],
        ["decode", "h100-sxm"],
        ["decode", "h100-sxm", "--params", "seven"],
        ["decode", "h100-sxm", "--params", "0"],
        ["decode", "h100-sxm", "--params", "7"],
        ["decode", "h100-sxm", "--params", "70k"],
        ["decode", "h100-sxm", "--params", "-7B"],
        ["decode", "h100-sxm", "--params", ".B"],
        ["decode", "h100-sxm", "--params", "nan"],
        ["decode", "h100-sxm", "--params", "1e999"],
        ["table", "links", "--dtype", "fp8"],
        ["table", "ridge", "--lang", "fr"],
        ["probe", "--backend", "cupy"],
        ["probe", "--array-bytes", "many"],
        ["probe", "--array-bytes", "-1"],
        ["probe", "--threads", "0"],
        ["probe", "--device", "CPU 1"],
    ],
)
def test_wrong_usage(words):
    done = run(*words)
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr


def test_billions_without_their_letter_are_refused():
    said = run("decode", "h100-sxm", "--params", "7").stderr
    assert "'7' is 7 parameters, too few for a model; for 7 billion write 7B" in said


@pytest.mark.parametrize(
    "words", [["ridge", "h100"], ["decode", "h100", "--params", "7B"], ["table", "ridge"]]
)
def test_broken_data_is_one_line(monkeypatch, words):
    def broken(*_):
        raise tables.DataError("accelerators.toml: [h100-sxm] bandwidth.value: is missing")

    monkeypatch.setattr(tables, "accelerators", broken)
    done = run(*words)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: accelerators.toml: [h100-sxm] bandwidth.value: is missing\n"


def test_data_that_is_missing_is_named(monkeypatch, capsys):
    def missing(*_):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "links.toml")

    monkeypatch.setattr(tables, "accelerators", missing)
    with pytest.raises(SystemExit, match="1"):
        cli.main(["ridge", "h100"])
    assert capsys.readouterr().err == "Error: links.toml: No such file or directory\n"


@pytest.mark.parametrize(
    "params", ["7B", "7e9", "7E+9", "7000M", "7_000_000_000", "0.007t", ".007T", "7e-3T"]
)
def test_decode(params):
    done = run("decode", "h100-sxm", "--params", params)
    assert done.exit_code == 0
    assert "14 GB of bf16 weights ÷ 3.35 TB/s = at least 4.18 ms a token" in done.stdout
    assert "do not fit" not in done.stdout


def test_a_type_is_read_in_either_case():
    for words in (["ridge", "h100"], ["decode", "h100", "--params", "7B"], ["table", "ridge"]):
        upper, lower = (run(*words, "--dtype", dtype) for dtype in ("BF16", "bf16"))
        assert upper.exit_code == lower.exit_code == 0
        assert upper.stdout.casefold() == lower.stdout.casefold()


def test_decode_of_what_does_not_fit():
    done = run("decode", "h100-sxm", "--params", "70B")
    assert "They do not fit: H100 SXM5 has 80 GB" in done.stdout


@pytest.mark.parametrize(("lang", "header"), [("en", "Ridge point"), ("zh", "拐点")])
def test_table(lang, header):
    done = run("table", "ridge", "--lang", lang, "--device", "h100-sxm", "--device", "b200")
    assert done.exit_code == 0
    _, headers, h100, b200, *_ = done.stdout.splitlines()
    assert header in headers
    assert "295.3" in h100
    assert "292.2 / 281.3" in b200


def test_columns_line_up_in_both_scripts():
    first, second = cli._aligned([["器件", "x"], ["abcdef", "y"]])
    assert (first, second) == ("器件    x", "abcdef  y")


@pytest.mark.parametrize("command", ["ridge", "decode", "table", "probe"])
def test_help_shows_an_example(command):
    done = run(command, "--help")
    assert done.exit_code == 0
    assert f"Example: wallsite {command} " in done.stdout


# --------------------------------------------------------------------------------------- probe

QUICK = ["probe", "--device", "cpu", "--backend", "numpy", "--quick", "--array-bytes", str(MIB)]


@pytest.fixture(scope="module")
def result():
    return probes.measure("cpu", "numpy", array_bytes=MIB, threads=1, repeats=1, quick=True)


@pytest.fixture
def measured(monkeypatch, result):
    """Stand in for a measurement; says with which arguments it was asked for."""
    calls = []
    monkeypatch.setattr(probes, "measure", lambda *args, **more: calls.append(args) or result)
    return calls


def test_probe_measures_and_reports():
    done = run(*QUICK)
    assert done.exit_code == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[4:8]] == [
        "copy",
        "scale",
        "add",
        "triad",
    ]
    assert "ridge point" in done.stdout
    assert "Decoding a 7B model in bf16 for one sequence does 1 FLOP/byte" in done.stdout


def test_probe_hands_its_options_on(measured):
    run("probe", "--device", "cpu", "--backend", "numpy", "--array-bytes", "4096", "--threads", "3")
    assert measured == [("cpu", "numpy", 4096, 3)]


@pytest.mark.usefixtures("measured")
def test_json_to_standard_output_is_json_and_nothing_else(result):
    done = run(*QUICK, "--json", "-")
    assert probes.ProbeResult.from_json(done.stdout) == result
    assert done.stderr == ""


@pytest.mark.usefixtures("measured")
def test_json_to_a_file(tmp_path, result):
    path = tmp_path / "result.json"
    path.write_text("old")
    done = run(*QUICK, "--json", str(path))
    assert "triad" in done.stdout
    assert probes.ProbeResult.from_json(path.read_text("utf-8")) == result
    assert json.loads(path.read_text("utf-8"))["schema"] == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (probes.DeviceNotFound, 3),
        (probes.NotEnoughMemory, 4),
        (probes.WrongResult, 5),
        (probes.ClockStopped, 5),
        (ValueError, 2),
    ],
)
def test_a_failed_measurement_leaves_its_code_and_no_file(monkeypatch, tmp_path, error, code):
    def fail(*args, **more):
        raise error("what went wrong")

    monkeypatch.setattr(probes, "measure", fail)
    path = tmp_path / "result.json"
    path.write_text("old")
    done = run(*QUICK, "--json", str(path))
    assert (done.exit_code, done.stdout, done.stderr) == (code, "", "Error: what went wrong\n")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_that_cannot_be_written_fails_before_measuring(measured, tmp_path):
    done = run(*QUICK, "--json", str(tmp_path / "absent" / "result.json"))
    assert done.exit_code == 1
    assert "cannot write" in done.stderr
    assert not measured


@pytest.mark.usefixtures("measured")
def test_json_into_a_pipe_leaves_the_pipe(tmp_path, result):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # so that opening for writing finds one
    assert run(*QUICK, "--json", str(pipe)).exit_code == 0
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert probes.ProbeResult.from_json(os.read(reader, 2**16).decode()) == result
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.usefixtures("measured")
def test_json_through_a_link_leaves_the_link(tmp_path, result):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    assert run(*QUICK, "--json", str(link)).exit_code == 0
    assert link.is_symlink()
    assert probes.ProbeResult.from_json(target.read_text("utf-8")) == result


@pytest.mark.usefixtures("measured")
def test_a_failed_write_is_one_line_and_leaves_the_old_file(monkeypatch, tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(probes.ProbeResult, "to_json", full)
    done = run(*QUICK, "--json", str(path))
    assert (done.exit_code, done.stderr) == (1, "Error: No space left on device\n")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("words", [["ridge", "h100"], ["table", "links"], ["--help"]])
def test_output_to_a_full_disk_is_one_line(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from wallsite.cli import main; main()", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device\n")


def test_a_closed_pipe_is_no_error():
    program = "from wallsite.cli import main; main(['table', 'accelerators'])"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as table:
        table.stdout.close()
        assert table.stderr.read() == b""


def test_more_memory_than_there_is():
    done = run("probe", "--device", "cpu", "--array-bytes", str(10**15))
    assert done.exit_code == 4
    assert "would fit" in done.stderr


def test_a_lookup_loads_nothing_heavy():
    program = (
        "import sys; from wallsite.cli import main;"
        "main(['ridge', 'h100-sxm'], standalone_mode=False);"
        "assert not {'numpy', 'torch', 'wallsite.probes'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
