"""The command line that measures: what it hands on, prints, writes, and leaves with."""

import dataclasses
import errno
import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import click.testing
import measured
import pytest
from click.testing import CliRunner

from wallsite import cli, probes
from wallsite.cli import report
from wallsite.cli.common import whole_file

KIB, MIB, GIB = 2**10, 2**20, 2**30
HERE, BESIDE = Path(__file__).parent, "/sys/wallsite.json"
TINY = ["--device", "cpu", "--backend", "numpy", "--quick", "--array-bytes", "1MiB"]
full_disk = pytest.mark.skipif(
    not Path("/dev/full").is_char_device(), reason="needs Linux's /dev/full"
)


def run(*words, **more):
    return CliRunner().invoke(cli.main, words, **more)


def is_one_line(done, said=""):
    lines = done.stderr.splitlines()
    return len(lines) == 1 and lines[0].startswith("Error: ") and said in lines[0]


class Measuring:
    """Stand in for a measurement: keep what is asked for, return or raise what is set."""

    def __init__(self):
        self.outcome = measured.everything()
        self.tells = ()
        self.asked = []

    def __call__(self, what, *, tell, **options):
        self.asked.append((what, options))
        for words in self.tells:
            tell(words)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.fixture
def measuring(monkeypatch):
    stand_in = Measuring()
    monkeypatch.setattr(probes, "measure", stand_in)
    return stand_in


@pytest.fixture
def watched(monkeypatch):
    """Have someone watch standard error."""
    monkeypatch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda self: True)


# ------------------------------------------------------------------------------------- options


DEFAULTS = {
    "device": "auto",
    "backend": "auto",
    "dtype": "auto",
    "array_bytes": None,
    "threads": None,
    "budget": None,
    "quick": False,
}


def test_memory_and_matmul_are_measured_unless_told_otherwise(measuring):
    assert run("probe").exit_code == 0
    assert measuring.asked == [(("memory", "matmul"), DEFAULTS)]


@pytest.mark.parametrize(
    ("words", "wanted", "changed"),
    [
        (["cache"], ("cache",), {}),
        (["all"], ("all",), {}),
        (["link", "memory"], ("link", "memory"), {}),
        (["memory", "--device", "cuda:1"], ("memory",), {"device": "cuda:1"}),
        (["memory", "--backend", "torch"], ("memory",), {"backend": "torch"}),
        (["matmul", "--dtype", "bf16"], ("matmul",), {"dtype": "bf16"}),
        (["memory", "--threads", "3"], ("memory",), {"threads": 3}),
        (["memory", "--budget", "1.5"], ("memory",), {"budget": 1.5}),
        (["memory", "--quick"], ("memory",), {"quick": True}),
    ],
)
def test_what_is_asked_for_is_handed_on(measuring, words, wanted, changed):
    assert run("probe", *words).exit_code == 0
    assert measuring.asked == [(wanted, DEFAULTS | changed)]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("268435456", 268435456),
        ("64KiB", 65536),
        ("64kB", 64000),
        ("64KB", 64000),
        ("256MiB", 268435456),
        ("1.5MiB", 1572864),
        ("1e9", 1000000000),
        ("1MB", 1000000),
        ("1GB", 1000000000),
        ("1GiB", 1073741824),
        ("2TiB", 2199023255552),
    ],
)
def test_bytes_of_an_array(measuring, text, size):
    assert run("probe", "--array-bytes", text).exit_code == 0
    ((_, options),) = measuring.asked
    assert options["array_bytes"] == size


@pytest.mark.parametrize(
    "text",
    ["many", "-1", "", "MiB", "1 MiB", "1mib", "1M", "1.5", "1e-1", "0x10", "nan", "inf", "1" * 16],
)
def test_a_size_that_is_none(measuring, text):
    done = run("probe", "--array-bytes", text)
    assert (done.exit_code, done.stdout, measuring.asked) == (2, "", [])
    assert f"{text!r} is not a number of bytes such as 268435456, 1e9 or 256MiB" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["nosuch"],
        ["memory", "nosuch"],
        ["Memory"],
        ["--backend", "cupy"],
        ["--threads", "many"],
        ["--threads", "1.5"],
        ["--budget", "soon"],
        ["--nosuch"],
        ["--json"],
        ["--json", str(HERE)],
        ["--json", "-", "--csv", "-"],
    ],
)
def test_wrong_words_measure_nothing(measuring, words):
    done = run("probe", *words)
    assert (done.exit_code, done.stdout, measuring.asked) == (2, "", [])
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--budget", "nan"], "budget must be a finite number above 0, got nan"),
        (["--budget", "inf"], "budget must be a finite number above 0, got inf"),
        (["--budget", "0"], "budget must be a finite number above 0, got 0.0"),
        (["--budget", "-1"], "budget must be a finite number above 0, got -1.0"),
        (["--threads", "0"], "threads must be a whole number, 1 or above, got 0"),
        (["--threads", "-1"], "threads must be a whole number, 1 or above, got -1"),
        (["--threads", "99999"], "threads must be at most"),
        (["--array-bytes", "0"], "array_bytes must be a whole number, 64 or above, got 0"),
        (["--array-bytes", "63"], "array_bytes must be a whole number, 64 or above, got 63"),
        (["--dtype", "fp9"], "dtype must be auto or one of fp32 with numpy, got 'fp9'"),
        (["--device", "CPU 1"], "device must look like auto, cpu, cuda or cuda:1, got 'CPU 1'"),
        (["--device", ""], "device must look like auto, cpu, cuda or cuda:1, got ''"),
    ],
)
def test_what_a_probe_refuses_is_wrong_usage(tmp_path, words, said):
    path = tmp_path / "result.json"
    done = run("probe", "--device", "cpu", *words, "--json", str(path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert is_one_line(done, said)
    assert list(tmp_path.iterdir()) == []


def test_all_may_stand_beside_others():
    done = run("probe", "all", "memory", "--device", "cpu", "--dtype", "fp9")
    assert is_one_line(done, "dtype must be")  # and not: probes must be among all, got 'all'


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--device", "npu:7"], 3, "no device 'npu:7': this machine has cpu"),
        (["link", *TINY], 3, "a link leads to an accelerator"),
        (["memory", "--device", "cpu", "--array-bytes", "999TB"], 4, "would fit"),
        (["memory", *TINY, "--budget", "1e-9"], 1, "the budget of 1e-09 s is used up"),
    ],
)
def test_what_cannot_be_measured_here_is_one_line(words, code, said):
    done = run("probe", *words)
    assert (done.exit_code, done.stdout) == (code, "")
    assert is_one_line(done, said)


# -------------------------------------------------------------------------------------- report

REPORT = """\
Example(R) CPU, 4 cores, last-level cache 32 MiB
cpu (a device) with numpy 2, 2 threads

GB/s                arrays       best    median  hardware, estimated
copy   a = b        256 MiB      13.4      10.7      13.4
scale  a = q·b      256 MiB      10.7      10.7
add    a = b + c    256 MiB      16.1       8.1      21.5
triad  a = b + q·c  256 MiB      12.9      12.9      17.2
add    a = b + c    128 MiB      16.1      16.1      21.5

GB/s, a = b + c, by the size of the three arrays together
   192 KiB                                                     67.1
    12 MiB                                                     15.7

matmul  fp32  2048 × 2048  0.429 TFLOP/s  ridge point 26.7 FLOP/byte
matmul  bf16  2048 × 2048  0.859 TFLOP/s  ridge point 53.3 FLOP/byte

operation        shape            FLOP/byte      GB/s   GFLOP/s
axpy       fp32  16777216              0.17      10.1       1.7
gemv       fp32  1024 × 1024           0.50      41.9      21.0
gemm       fp32  512 × 512 × 512      85.33       3.1     268.4

GB/s, payload per direction      best    median
host-to-device                   13.4      11.9

Decoding a 7B model in bf16 for one sequence does 1 FLOP/byte: memory-bound, \
about 869 ms a token at the bandwidth of add.
"""


def words(text):
    """The lines of a report, whatever the width of its columns."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_report(measuring):
    # add: 3 × 256 MiB ÷ 0.05 s = 16.1 GB/s; fp32: 2 × 2048³ ÷ 0.04 s = 0.429 TFLOP/s;
    # decoding: 14 GB ÷ 16.1 GB/s = 869 ms.
    done = run("probe")
    assert (done.exit_code, done.stderr) == (0, "")
    assert words(done.stdout) == words(REPORT)


def told(result):
    return words("\n".join(report.lines(result)))


def test_columns_of_the_report_line_up():
    header, copy, scale, *_ = list(report.lines(measured.everything()))[3:]
    ends = {line.index(number) + len(number) for line, number in [(header, "best"), (copy, "13.4")]}
    assert len(ends) == 1
    assert copy.index("256 MiB") == scale.index("256 MiB") == header.index("arrays")


def test_report_of_a_share_of_what_is_specified():
    limit = probes.Limit(4 * 768 * MIB, "2 × clock × width")
    add = measured.arrays("add", (0.5,), limit=limit)  # 2 × 768 MiB/s, half of the limit
    cuda = dataclasses.replace(measured.CPU, kind="cuda", name="a GPU", bandwidth_limit=limit)
    lines = told(measured.run(add, device=cuda, backend="torch", threads=None))
    assert lines[1] == "cuda:0 (a GPU) with torch 2"
    assert lines[3].endswith("hardware, estimated of the specified")
    assert lines[4] == "add a = b + c 256 MiB 1.6 1.6 2.1 50%"


def test_report_of_one_core_and_one_thread():
    machine = dataclasses.replace(measured.MACHINE, cores=1, last_level_cache=None)
    lines = told(measured.run(*measured.MATMULS, machine=machine, threads=1))
    assert lines[0] == "Example(R) CPU, 1 core, last-level cache not known"
    assert lines[1].endswith("with numpy 2, 1 thread")


def test_a_product_without_a_bandwidth_has_no_ridge_point_and_decodes_nothing():
    lines = told(measured.run(*measured.MATMULS))
    assert lines[3] == "matmul fp32 2048 × 2048 0.429 TFLOP/s"
    assert not any("Decoding" in line for line in lines)


def test_a_bandwidth_without_a_product_decodes_nothing():
    assert not any("Decoding" in line for line in told(measured.run(*measured.MEMORY)))


def test_a_product_slower_than_the_memory_is_the_wall():
    # 2048³ × 2 ÷ 4 s = 4.3 GFLOP/s against 16.1 GB/s: a ridge point of 0.27.
    lines = told(measured.run(*measured.MEMORY, measured.matmul((4.0,))))
    assert "ridge point 0.3 FLOP/byte" in "\n".join(lines)
    assert lines[-1].startswith("Decoding a 7B model in bf16 for one sequence does 1 FLOP/byte:")
    assert "compute-bound" in lines[-1]
    # 14 GFLOP ÷ 4.29 GFLOP/s is 3.26 s, longer than the 0.87 s that memory takes.
    assert "about 3,260 ms a token" in lines[-1]


def test_an_unstable_bandwidth_marks_the_ridge_point():
    add = measured.arrays("add", (0.05, 0.1), status="unstable", reason="it spread")
    lines = told(measured.run(add, *measured.MATMULS))
    ridges = [line for line in lines if "ridge point" in line]
    assert ridges
    assert all(line.endswith("FLOP/byte, unstable") for line in ridges)
    assert "Unstable: add fp32 67108864: it spread." in lines


def test_notes_are_told_once_with_all_they_are_about():
    both = ("arrays shrunk", "in a cache")
    run = measured.run(
        measured.arrays("copy", (0.1,), warnings=("arrays shrunk",)),
        measured.arrays("add", (0.1,), 128 * MIB, warnings=both),
        measured.arrays("add", (0.1,), warnings=both),
        device=dataclasses.replace(measured.CPU, note="no driver, so the CPU is measured"),
    )
    assert told(run)[-3:] == [
        "Note: no driver, so the CPU is measured.",
        "Note: copy, add: arrays shrunk.",
        "Note: add: in a cache.",
    ]


def test_what_was_not_measured_says_why():
    skipped = measured.arrays("copy", None, status="skipped", reason="the budget is used up")
    failed = measured.matmul(None, status="failed", reason="it is off", error="WrongResult")
    lines = told(measured.run(measured.arrays("add", (0.1,)), skipped, failed))
    assert lines[-2:] == [
        "Skipped: copy fp32 67108864: the budget is used up.",
        "Failed: matmul fp32 2048×2048×2048: it is off.",
    ]
    assert not any(line.startswith("copy a = b") for line in lines)


def test_a_real_run():
    done = run("probe", "memory", "matmul", *TINY, "--budget", "0.5")
    assert (done.exit_code, done.stderr) == (0, "")
    kernels = [line.split()[0] for line in done.stdout.splitlines()[4:8]]
    assert kernels == ["copy", "scale", "add", "triad"]
    assert "its arrays fit in the last-level cache" in done.stdout


# ------------------------------------------------------------------------------------ progress

ERASED = "\r\x1b[K"


@pytest.mark.usefixtures("watched")
def test_progress_on_a_terminal_is_one_line_that_goes_away(measuring):
    measuring.tells = ("add fp32 64", "triad fp32 64")
    done = run("probe", "--json", "-", color=True)
    assert done.stderr == "".join(
        f"{ERASED}{words}" for words in ("measuring add fp32 64 …", "measuring triad fp32 64 …", "")
    )


def test_no_progress_in_a_pipe(measuring):
    measuring.tells = ("add fp32 64",)
    assert run("probe", color=True).stderr == ""


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("outcome", [probes.WrongResult("it is off"), KeyboardInterrupt()])
def test_an_error_does_not_stand_behind_the_progress(measuring, outcome):
    measuring.tells, measuring.outcome = ("add fp32 64",), outcome
    done = run("probe", color=True)
    shown = done.stderr.rpartition(ERASED)[2]
    assert shown.startswith("Error: ")


# --------------------------------------------------------------------------------------- files


def test_json_to_standard_output_is_json_and_nothing_else(measuring):
    done = run("probe", "--json", "-")
    assert (done.stdout, done.stderr) == (measuring.outcome.to_json(), "")


def test_csv_to_standard_output_is_csv_and_nothing_else(measuring):
    done = run("probe", "--csv", "-")
    assert (done.stdout, done.stderr) == (measuring.outcome.to_csv(), "")


def test_both_files_and_the_report(measuring, tmp_path):
    as_json, as_csv = tmp_path / "result.json", tmp_path / "结果 1.csv"
    as_json.write_text("old")
    done = run("probe", "--json", str(as_json), "--csv", str(as_csv))
    assert words(done.stdout) == words(REPORT)
    assert probes.Result.from_json(as_json.read_text("utf-8")) == measuring.outcome
    assert json.loads(as_json.read_text("utf-8"))["schema"] == 3
    assert as_csv.read_text("utf-8") == measuring.outcome.to_csv()
    assert sorted(tmp_path.iterdir()) == [as_json, as_csv]


def test_a_file_and_standard_output(measuring, tmp_path):
    path = tmp_path / "result.csv"
    assert run("probe", "--json", "-", "--csv", str(path)).stdout == measuring.outcome.to_json()
    assert path.read_text("utf-8") == measuring.outcome.to_csv()


@pytest.mark.parametrize("other", ["result.json", "./result.json", "link.json"])
def test_one_file_cannot_hold_both(measuring, tmp_path, monkeypatch, other):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "result.json"
    path.write_text("old")
    (tmp_path / "link.json").symlink_to(path)
    done = run("probe", "--json", "result.json", "--csv", other)
    assert (done.exit_code, path.read_text("utf-8"), measuring.asked) == (2, "old", [])


UNWRITABLE = ["absent/result.json", "file/result.json", "x" * 300 + ".json", "loop/result.json"]


@pytest.mark.parametrize("option", ["--json", "--csv"])
@pytest.mark.parametrize("name", [*UNWRITABLE, "loop"])
def test_a_path_that_cannot_be_written_costs_no_measurement(measuring, tmp_path, option, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    done = run("probe", option, str(tmp_path / name))
    assert (done.exit_code, done.stdout, measuring.asked) == (1, "", [])
    assert is_one_line(done, str(tmp_path / name))


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs Linux's /sys")
def test_a_folder_that_nothing_can_be_written_to(measuring):
    done = run("probe", "--json", BESIDE)  # even root creates no file there
    assert (done.exit_code, done.stdout, measuring.asked) == (1, "", [])
    assert is_one_line(done, f"cannot write {BESIDE}: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into a folder that is read-only")
def test_a_read_only_folder(measuring, tmp_path):
    tmp_path.chmod(0o500)
    done = run("probe", "--json", str(tmp_path / "result.json"))
    tmp_path.chmod(0o700)
    assert (done.exit_code, measuring.asked) == (1, [])
    assert is_one_line(done, "Permission denied")


@full_disk
@pytest.mark.parametrize("option", ["--json", "--csv"])
@pytest.mark.usefixtures("measuring")
def test_a_full_disk_is_one_line(option):
    done = run("probe", option, "/dev/full")
    assert done.exit_code == 1
    assert is_one_line(done, "No space left on device")
    assert Path("/dev/full").is_char_device()


@full_disk
@pytest.mark.parametrize("option", ["--json", "--csv"])
def test_standard_output_on_a_full_disk_is_one_line(option):
    with open("/dev/full", "w") as full:
        done = as_process("probe", "memory", *TINY, option, "-", stdout=full)
    assert done.returncode == 1
    assert is_one_line(done, "No space left on device")


@pytest.mark.usefixtures("measuring")
@pytest.mark.parametrize(("option", "method"), [("--json", "to_json"), ("--csv", "to_csv")])
def test_a_failed_write_leaves_the_old_file(monkeypatch, tmp_path, option, method):
    path = tmp_path / "result"
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(probes.Result, method, full)
    done = run("probe", option, str(path))
    assert (done.exit_code, done.stderr) == (1, f"Error: {path}: No space left on device\n")
    # What took minutes to measure is on the screen at least.
    assert words(done.stdout) == words(REPORT)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_into_a_pipe_leaves_the_pipe(measuring, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # so that opening for writing finds one
    try:
        assert run("probe", "--json", str(pipe)).exit_code == 0
        assert os.read(reader, MIB).decode() == measuring.outcome.to_json()
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_two_runs_at_once_leave_one_whole_file(tmp_path):
    path = tmp_path / "result.json"
    with whole_file(path) as first:
        first.write("first" * 1000)
        with whole_file(path) as second:
            second.write("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first" * 1000
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_someone_else_stays(measuring, tmp_path):
    other = tmp_path / ".result.json.part"
    other.write_text("theirs")
    run("probe", "--json", str(tmp_path / "result.json"))
    assert measuring.asked
    assert other.read_text() == "theirs"


@pytest.mark.parametrize("exists", [True, False])
def test_through_a_link_leaves_the_link(measuring, tmp_path, exists):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    target, link = folder / "target.json", tmp_path / "link.json"
    if exists:
        target.write_text("old")
    link.symlink_to(target)
    assert run("probe", "--json", str(link)).exit_code == 0
    assert link.is_symlink()
    assert target.read_text("utf-8") == measuring.outcome.to_json()
    assert list(folder.iterdir()) == [target]


@pytest.mark.usefixtures("measuring")
def test_text_that_no_file_can_hold_is_no_traceback(measuring, tmp_path):
    # A byte that is not UTF-8, in an environment variable that the result keeps.
    environment = dataclasses.replace(
        measuring.outcome.environment, variables={"OMP_NUM_THREADS": "\udcff"}
    )
    measuring.outcome = measured.everything(environment=environment)
    path = tmp_path / "result.json"
    done = run("probe", "--json", str(path))
    assert done.exit_code == 0
    assert json.loads(path.read_text("utf-8"))["environment"]["variables"]


# ---------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (probes.ProbeError, 1),
        (probes.NotMeasured, 1),
        (probes.DeviceNotFound, 3),
        (probes.NotEnoughMemory, 4),
        (probes.WrongResult, 5),
        (probes.ClockStopped, 5),
        (ValueError, 2),
    ],
)
def test_a_measurement_that_fails_leaves_its_code_and_no_file(measuring, tmp_path, error, code):
    measuring.outcome = error("what went wrong")
    path = tmp_path / "result.json"
    path.write_text("old")
    done = run("probe", "--json", str(path), "--csv", str(tmp_path / "result.csv"))
    assert (done.exit_code, done.stdout, done.stderr) == (code, "", "Error: what went wrong\n")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def failed(error, kernel="copy", reason="what went wrong"):
    return measured.arrays(kernel, None, status="failed", reason=reason, error=error)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("KernelFailed", 1),
        ("NotEnoughMemory", 4),
        ("WrongResult", 5),
        ("ClockStopped", 5),
        ("", 1),
        ("ErrorOfAnotherVersion", 1),
    ],
)
def test_one_failure_among_others_keeps_them_all(measuring, tmp_path, error, code):
    measuring.outcome = measured.run(failed(error), *measured.MEMORY[1:], *measured.MATMULS)
    path = tmp_path / "result.json"
    done = run("probe", "--json", str(path))
    assert (done.exit_code, done.stderr) == (code, "Error: what went wrong\n")
    assert "triad a = b + q·c 256 MiB 12.9 12.9 17.2" in words(done.stdout)
    assert "Failed: copy fp32 67108864: what went wrong." in done.stdout
    assert probes.Result.from_json(path.read_text("utf-8")) == measuring.outcome


def test_the_worst_failure_gives_the_code(measuring):
    # A kernel that the library lacks is no excuse for one that computes something else.
    wrong = failed("WrongResult", "scale", "scale is off")
    measuring.outcome = measured.run(failed("KernelFailed"), wrong, *measured.MEMORY[2:])
    done = run("probe")
    assert (done.exit_code, done.stderr) == (5, "Error: scale is off\n")


def test_what_was_skipped_is_no_failure(measuring):
    skipped = measured.link("link", (1.0,))
    skipped = dataclasses.replace(skipped, samples=None, status="skipped", error="DeviceNotFound")
    measuring.outcome = measured.run(*measured.MEMORY, skipped)
    assert run("probe", "--strict").exit_code == 0


@pytest.mark.parametrize(("flags", "code"), [([], 0), (["--strict"], 6)])
def test_what_is_unstable_is_a_failure_if_asked(measuring, tmp_path, flags, code):
    add = measured.arrays("add", (0.05, 0.1), status="unstable", reason="it spread")
    measuring.outcome = measured.run(add, *measured.MATMULS)
    path = tmp_path / "result.json"
    done = run("probe", *flags, "--json", str(path))
    assert done.exit_code == code
    assert done.stderr == ("Error: add fp32 67108864 is unstable: it spread\n" if flags else "")
    assert path.read_text("utf-8") == measuring.outcome.to_json()
    assert "matmul" in done.stdout


def test_a_failure_is_worse_than_an_unstable_number(measuring):
    add = measured.arrays("add", (0.05, 0.1), status="unstable", reason="it spread")
    measuring.outcome = measured.run(add, failed("WrongResult"))
    assert run("probe", "--strict").exit_code == 5


def test_a_real_wrong_result_is_kept_beside_right_ones(monkeypatch, tmp_path):
    from wallsite.probes import numpy_backend

    monkeypatch.setattr(numpy_backend, "_triad", lambda part: part[0].fill(0))
    path = tmp_path / "result.json"
    done = run("probe", "memory", *TINY, "--json", str(path))
    assert done.exit_code == 5
    assert is_one_line(done, "triad fp32 with numpy")
    assert any(line.startswith("add ") for line in done.stdout.splitlines())
    kept = probes.Result.from_json(path.read_text("utf-8"))
    assert {x.kernel: x.error for x in kept.measurements}["triad"] == "WrongResult"


def test_a_product_that_its_library_refuses_is_one_line(monkeypatch):
    from wallsite.probes import backend, numpy_backend

    def refuse():
        raise RuntimeError("not implemented for 'Half'\nsecond line")

    task = backend.Task(refuse, lambda: 0.0)
    monkeypatch.setattr(numpy_backend.NumpyBackend, "operation", lambda *_: task)
    done = run("probe", "matmul", *TINY)
    assert done.exit_code == 1
    assert is_one_line(done, "not implemented for 'Half'")


def test_interrupted_before_anything_was_measured(measuring, tmp_path):
    measuring.outcome = KeyboardInterrupt()
    done = run("probe", "--json", str(tmp_path / "result.json"))
    assert (done.exit_code, done.stdout) == (130, "")
    assert done.stderr == "Error: interrupted before anything was measured\n"
    assert list(tmp_path.iterdir()) == []


def test_interrupted_later_keeps_what_there_is(measuring, tmp_path):
    measuring.outcome = measured.run(*measured.MEMORY, failed("WrongResult"), interrupted=True)
    path = tmp_path / "result.json"
    done = run("probe", "--strict", "--json", str(path))
    assert (done.exit_code, done.stderr) == (
        130,
        "Error: interrupted: what was measured until then is kept\n",
    )
    assert "triad" in done.stdout
    assert json.loads(path.read_text("utf-8"))["interrupted"] is True


def test_an_interrupt_while_writing_leaves_the_old_file(measuring, monkeypatch, tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(probes.Result, "to_json", interrupt)
    done = run("probe", "--json", str(path))
    assert (done.exit_code, path.read_text()) == (130, "old")
    assert list(tmp_path.iterdir()) == [path]


# ----------------------------------------------------------------------------------- processes

PROGRAM = """
import resource, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
{first}
from wallsite.cli import main
main()
"""


def as_process(*words, first="", encoding="utf-8", **more):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(first=first), *words],
        encoding=encoding,
        check=False,
        timeout=120,
        **streams,
    )


def test_a_process_that_is_interrupted_keeps_its_result(tmp_path):
    path = tmp_path / "result.json"
    words = ["probe", "all", *TINY, "--json", str(path)]
    ours, theirs = pty.openpty()  # it tells what it measures only to a terminal
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(first=""), *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        encoding="utf-8",
    ) as process:
        os.close(theirs)
        shown, end = b"", time.monotonic() + 60
        while b"measuring matmul" not in shown and time.monotonic() < end:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        report, _ = process.communicate(timeout=60)
    while select.select([ours], [], [], 0)[0]:
        try:
            shown += os.read(ours, 4096)
        except OSError:  # all of it has been read, and the other end is closed
            break
    os.close(ours)
    assert process.returncode == 130, shown
    assert b"Error: interrupted: what was measured until then is kept" in shown
    assert "triad" in report
    kept = probes.Result.from_json(path.read_text("utf-8"))
    assert kept.interrupted
    assert [x.kernel for x in kept.select("memory")][-1] == "sum"
    assert not kept.select("cache")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("backend", "size"), [("numpy", GIB), ("numpy", 300e6), ("torch", GIB)])
def test_little_memory_is_a_result_or_one_line(backend, size):
    if backend == "torch":
        pytest.importorskip("torch")
    limit = f"resource.setrlimit(resource.RLIMIT_AS, ({int(size)}, {int(size)}))"
    one_thread = "os.environ['OPENBLAS_NUM_THREADS'] = '1'"  # each would take memory of its own
    words = ["probe", "memory", "--device", "cpu", "--backend", backend, "--quick"]
    done = as_process(*words, "--json", "-", first=f"{limit}; {one_thread}")
    if done.returncode == 0:
        assert done.stderr == ""
        kept = probes.Result.from_json(done.stdout)
        assert 0 < max(x.array_bytes for x in kept.measurements) * 3 < size
    else:
        assert (done.returncode, done.stdout) == (4, "")
        assert is_one_line(done)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux's affinity")
def test_a_process_that_is_held_on_one_cpu_measures_with_one_thread():
    cpu = min(os.sched_getaffinity(0))
    held = f"os.sched_setaffinity(0, {{{cpu}}})"
    done = as_process("probe", "memory", *TINY, "--json", "-", first=held)
    assert done.returncode == 0, done.stderr
    kept = probes.Result.from_json(done.stdout)
    assert (kept.threads, kept.machine.cpus, kept.machine.cores) == (1, 1, 1)
    assert kept.environment.affinity == (cpu,)


# -------------------------------------------------------------------------------------- detect

HOST = probes.Machine(
    cpu="Example CPU",
    architecture="riscv64",
    system="Linux 6",
    cpus=8,
    cores=4,
    last_level_cache=32 * MIB,
    memory_total=64 * GIB,
    memory_available=48 * GIB,
    caches=(probes.Cache(1, "data", 48 * KIB, 4), probes.Cache(3, "unified", 32 * MIB, 1)),
    found={
        name.name: f"source of {name.name}"
        for name in dataclasses.fields(probes.Machine)
        if name.name != "found"
    },
)
GPU = probes.Device(
    "cuda",
    1,
    "Example GPU",
    80 * GIB,
    50 * MIB,
    probes.Limit(3.35e12, "2 × 2619 MHz × 5120 bit ÷ 8, as CUDA reports them"),
)


def detected(monkeypatch, host, devices, reason=""):
    monkeypatch.setattr(probes, "machine", lambda: host)
    monkeypatch.setattr(probes, "devices", lambda: (devices, reason))
    done = run("detect")
    assert (done.exit_code, done.stderr) == (0, "")
    return words(done.stdout)


def test_every_fact_is_shown_with_what_answered(monkeypatch):
    shown = detected(monkeypatch, HOST, [measured.CPU], "torch is not installed")
    assert shown == [
        "cpu Example CPU (source of cpu)",
        "architecture riscv64 (source of architecture)",
        "system Linux 6 (source of system)",
        "cpus 8 that this process may use (source of cpus)",
        "cores 4 (source of cores)",
        "caches L1 data 4 × 48 KiB, L3 unified 1 × 32 MiB (source of caches)",
        "last level cache 32 MiB (source of last_level_cache)",
        "memory total 65,536 MiB (source of memory_total)",
        "memory available 49,152 MiB (source of memory_available)",
        "",
        "device cpu",
        "name a device",
        "memory available 65,536 MiB",
        "last-level cache 32 MiB",
        "",
        "No accelerator: torch is not installed.",
    ]
    assert set(HOST.found.values()) <= {line.partition("(")[2][:-1] for line in shown}


def test_an_accelerator_is_shown_with_its_limit_and_where_it_is_from(monkeypatch):
    shown = detected(monkeypatch, HOST, [measured.CPU, GPU])
    assert shown[-6:] == [
        "",
        "device cuda:1",
        "name Example GPU",
        "memory available 81,920 MiB",
        "last-level cache 50 MiB",
        "memory bandwidth 3,350 GB/s (2 × 2619 MHz × 5120 bit ÷ 8, as CUDA reports them)",
    ]


def test_one_broken_accelerator_is_not_called_none(monkeypatch):
    reason = "the driver of cuda:0 fails: unknown error"
    shown = detected(monkeypatch, HOST, [measured.CPU, GPU], reason)
    assert reason in shown[-1]
    assert "No accelerator" not in shown[-1]


def test_facts_that_nothing_answers(monkeypatch):
    names = dict.fromkeys(HOST.found, "not known")
    unknown = dict.fromkeys(["last_level_cache", "memory_total", "memory_available"])
    host = dataclasses.replace(HOST, caches=(), found=names, **unknown)
    device = probes.Device("xpu", 0, "xpu", None, None)
    shown = detected(monkeypatch, host, [device])
    assert "last level cache not known (not known)" in shown
    assert "memory total not known (not known)" in shown
    assert shown[-2:] == ["memory available not known", "last-level cache not known"]


def test_this_machine():
    cpu = probes.machine()
    facts = words("\n".join(report.facts(cpu, [], "")))
    assert len(facts) == len(cpu.found) == len(dataclasses.fields(cpu)) - 1
    assert f"cores {cpu.cores} ({cpu.found['cores']})" in facts


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_job_that_is_cancelled_keeps_its_result(tmp_path, number):
    """What Slurm, Kubernetes and a closed terminal send."""
    path = tmp_path / "result.json"
    # The signal comes once the first product is about to be measured.
    first = f"""
import wallsite.probes.session as session
first = session.Session.measure
def measure(self, work, task):
    if work.probe == "matmul":
        os.kill(os.getpid(), {int(number)})
    return first(self, work, task)
session.Session.measure = measure
"""
    done = as_process("probe", "memory", "matmul", *TINY, "--json", str(path), first=first)
    assert done.returncode == 130, done.stderr
    kept = probes.Result.from_json(path.read_text("utf-8"))
    assert kept.interrupted
    assert kept.select("memory")
    assert not kept.select("matmul")


# Where Python claims ASCII, click writes UTF-8.
@pytest.mark.parametrize(("claimed", "encoding"), [("ascii", "utf-8"), ("gbk", "gbk")])
def test_what_is_printed_is_the_file_whatever_the_terminal_reads(tmp_path, claimed, encoding):
    path = tmp_path / "result.json"
    with path.open("wb") as file:
        env = os.environ | {"PYTHONIOENCODING": claimed}
        done = as_process("probe", "memory", *TINY, "--json", "-", stdout=file, env=env)
    assert done.returncode == 0, done.stderr
    assert probes.Result.from_json(path.read_text("utf-8")).select("memory", "triad")
    shown = as_process("probe", "memory", *TINY, env=env, encoding=encoding)
    assert shown.returncode == 0, shown.stderr
    assert "triad" in shown.stdout
