"""The command line without a measurement: what it looks up, and what it says of wrong words."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from wallsite import __version__, cli, tables
from wallsite.cli.common import aligned

PROGRAM = "from wallsite.cli import main; main()"
COMMANDS = (
    "ridge",
    "decode",
    "table",
    "explain",
    "detect",
    "probe",
    "roofline",
    "scale",
    "compare",
)


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
        (["table", "nosuch"], "known: accelerators, catalog, ridge, ridge-trend, links, "),
        (["table", "ridge", "--device", "h10"], "unknown device 'h10'"),
    ],
)
def test_no_such_name(words, said):
    done = run(*words)
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith("Error: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nothing"],
        ["ridge"],
        ["ridge", "h100-sxm", "b200"],
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
    ],
)
def test_wrong_usage(words):
    done = run(*words)
    assert (done.exit_code, done.stdout) == (2, "")
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


def test_data_that_is_missing_is_named(monkeypatch):
    def missing(*_):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "links.toml")

    monkeypatch.setattr(tables, "accelerators", missing)
    done = run("ridge", "h100")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Error: links.toml: No such file or directory\n"


@pytest.mark.parametrize(
    "params", ["7B", "7e9", "7E+9", "7000M", "7_000_000_000", "0.007t", ".007T", "7e-3T"]
)
def test_decode(params):
    done = run("decode", "h100-sxm", "--params", params)
    assert done.exit_code == 0
    # 7e9 × 2 bytes ÷ 3.35e12 byte/s = 4.179 ms
    assert "14 GB of bf16 weights ÷ 3.35 TB/s = at least 4.18 ms a token" in done.stdout
    assert "at most 239 tokens/s for one sequence" in done.stdout
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
    assert list(aligned([["器件", "x"], ["abcdef", "y"]])) == ["器件    x", "abcdef  y"]


def test_rows_may_be_shorter_than_others():
    assert list(aligned([["a"], ["bb", "c"]])) == ["a", "bb  c"]
    assert list(aligned([])) == []


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(command, flag):
    done = run(command, flag)
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"Example: wallsite {command}" in " ".join(done.stdout.split())


def test_help_lists_every_command():
    listed = run("--help").stdout.partition("Commands:\n")[2].splitlines()
    assert sorted(line.split()[0] for line in listed) == sorted(COMMANDS)


def test_version():
    assert __version__ in run("--version").stdout


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("words", [["ridge", "h100"], ["table", "links"], ["--help"]])
def test_output_to_a_full_disk_is_one_line(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "Error: No space left on device\n")


def test_a_closed_pipe_is_no_error():
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "table", "accelerators"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as table:
        table.stdout.close()
        assert table.stderr.read() == b""


def test_a_lookup_loads_nothing_heavy():
    program = (
        "import sys; from wallsite.cli import main;"
        "main(['ridge', 'h100-sxm'], standalone_mode=False);"
        "print({'numpy', 'torch', 'matplotlib', 'wallsite.probes'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, encoding="utf-8"
    )
    assert done.stdout.splitlines()[1:] == ["set()"]
