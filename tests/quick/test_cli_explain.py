"""`wallsite explain` as people type it: flags, a file, a pipe, and what they get wrong."""

import json

import pytest
from click.testing import CliRunner

from wallsite import cli

STREAM = (
    "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
    "Triad:         131000.0     0.018400     0.018321     0.018500\n"
)
A_4090 = ("--device", "rtx-4090", "--file-size", "4.68GB", "--batch", "1")


def run(*words, text=None, **variables):
    known = {"LANG": "C", "WALLSITE_LANG": "", "COLUMNS": "80"} | variables
    return CliRunner().invoke(cli.main, ["explain", *words], input=text, env=known)


def test_flags():
    done = run(*A_4090, "--tokens-per-second", "171.5")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "at most 215 tokens/s" in done.stdout
    assert "Share       80% (50 to 90%: healthy)" in done.stdout


def test_a_pipe_and_a_file_give_the_same(tmp_path):
    (tmp_path / "stream.txt").write_text(STREAM, "utf-8")
    machine = ("--memory", "8xDDR4-3200")
    piped = run("-", *machine, text=STREAM)
    assert piped.exit_code == 0
    assert "Share       64%" in piped.stdout  # 131 ÷ 204.8
    assert piped.stdout == run(str(tmp_path / "stream.txt"), *machine).stdout


def test_zero_is_an_answer():
    said = run(*A_4090, "--context", "0", "--tokens-per-second", "171.5").stdout
    assert "--context" not in said
    assert "--context" in run(*A_4090, "--tokens-per-second", "171.5").stdout


def test_json_is_data():
    found = json.loads(run(*A_4090, "--tokens-per-second", "171.5", "--json").stdout)
    assert found["share"] == pytest.approx(171.5 * 4.68 / 1008)
    assert found["wall"] == "memory"
    assert found["bounds"][0]["unit"] == "s"
    several = json.loads(run("-", "--memory", "8xDDR4-3200", "--json", text=STREAM).stdout)
    assert several["share"] == pytest.approx(131 / 204.8)


@pytest.mark.parametrize(
    ("words", "variables", "label"),
    [
        ((), {}, "Share"),
        (("--lang", "zh"), {}, "占比"),
        ((), {"WALLSITE_LANG": "zh"}, "占比"),
        ((), {"LANG": "zh_CN.UTF-8"}, "占比"),
        (("--lang", "en"), {"LANG": "zh_CN.UTF-8"}, "Share"),
    ],
)
def test_the_language_is_asked_for_or_that_of_the_system(words, variables, label):
    assert label in run(*A_4090, "--tokens-per-second", "171.5", *words, **variables).stdout


@pytest.mark.parametrize(
    ("words", "text", "code", "said"),
    [
        ((), None, 2, "nothing to explain"),
        (("--device", "h100"), None, 2, "nothing that was measured"),
        (("--device", "h10", "--rate", "3TB/s"), None, 3, "did you mean h100-sxm"),
        (("--device", "h100", "--rate", "3.3"), None, 2, "'3.3' has no unit"),
        (("--device", "h100", "--rate", "3.3 bananas"), None, 2, "has the unit 'bananas'"),
        (("--device", "h100", "--rate", "-3TB/s"), None, 2, "is no quantity above 0"),
        (("--device", "h100", "--rate", "1e999 TB/s"), None, 2, "has the unit"),
        (("--device", "h100", "--rate", "3,3 TB/s"), None, 2, "has a comma"),
        (("--memory", "DDR5", "--rate", "3GB/s"), None, 2, "12xDDR5-4800"),
        (("--params", "7B", "--bits", "8"), None, 2, "no memory bandwidth: give --device"),
        (("--collective", "all-reduce"), None, 2, "--collective needs --ranks"),
        (("--link", "pcie9-x16", "--rate", "3GB/s"), None, 3, "unknown link"),
        (("--experts", "8", *A_4090), None, 2, "is not written all/used"),
        (("--bits", "0", "--params", "7B", "--device", "h100"), None, 2, "bits must be"),
        (("--kind", "fpga", "--bandwidth", "1TB/s", "--rate", "1GB/s"), None, 2, "kind must be"),
        (("-",), "", 2, "got nothing"),
        (("-",), "hello", 2, "expected the output of"),
        (("-",), STREAM, 2, "to judge a memory bandwidth, give --device"),
        (("-",), '{"measurements": 3}', 2, "not a wallsite probe result"),
        (("no-such-file.log",), None, 2, "No such file"),
    ],
)
def test_a_mistake_is_one_line_and_no_output(words, text, code, said):
    done = run(*words, text=text)
    assert (done.exit_code, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
