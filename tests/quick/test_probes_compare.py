"""What changed between two runs, at the edges of noise, and files that are no results."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import measured
import pytest
from click.testing import CliRunner
from measured import MIB, arrays, matmul, point

from wallsite import cli, probes
from wallsite.probes.compare import (
    ALONE,
    BUSY,
    CROWDED,
    ENOUGH,
    FASTER,
    NOISE,
    SAME,
    SLOWER,
    UNSURE,
    compare,
)
from wallsite.probes.results import UNSTABLE


def run(*words):
    return CliRunner().invoke(cli.main, words)


def verdict(before, after, *, of=None):
    """Of a kernel that counts 7980 bytes, timed so in each of some runs."""
    (one, *more), (two, *others) = (
        [measured.run(of(seconds) if of else copy_of((seconds,))) for seconds in side]
        for side in (before, after)
    )
    (change,) = compare(one, two, more, others).changes
    return change


def copy_of(seconds):
    return arrays("copy", seconds, bytes_counted=7980)


# ------------------------------------------------------------------------------------ verdicts


def test_the_edges():
    assert (NOISE, ALONE, ENOUGH, CROWDED) == (0.05, 2.0, 4, 160.0)


@pytest.mark.parametrize(
    ("before", "after", "ratio", "expected"),
    [
        # One run of each: what runs of one machine differ by is no change.
        ((1.0,), (1.0,), 1.0, SAME),
        ((1.9,), (1.0,), 1.9, SAME),
        ((1.0,), (1.9,), 1 / 1.9, SAME),
        ((2.0,), (1.0,), 2.0, FASTER),
        ((1.0,), (2.0,), 0.5, SLOWER),
        # Three of each are not enough to go by their order.
        ((2.0, 2.0, 2.0), (1.5, 1.5, 1.5), 4 / 3, SAME),
        ((2.0,) * 4, (1.5,) * 3, 4 / 3, SAME),
        # Four of each are, if none of one kind lies among the other's.
        ((2.0,) * 4, (1.5,) * 4, 4 / 3, FASTER),
        ((1.5,) * 4, (2.0,) * 4, 0.75, SLOWER),
        ((2.0, 2.0, 2.0, 1.4), (1.5,) * 4, 4 / 3, SAME),
        ((2.0, 2.0, 2.0, 1.5), (1.5,) * 4, 4 / 3, SAME),
        ((1.5,) * 4, (2.0, 2.0, 2.0, 1.4), 0.75, SAME),
        ((2.0,) * 4, (1.5, 1.5, 1.5, 2.1), 4 / 3, SAME),
        ((1.0, 0.5, 0.5, 0.5), (2 / 3,) * 4, 0.75, SAME),
        # On either side of 5 %.
        ((1.06,) * 4, (1.0,) * 4, 1.06, FASTER),
        ((1.04,) * 4, (1.0,) * 4, 1.04, SAME),
        ((0.94,) * 4, (1.0,) * 4, 0.94, SLOWER),
        ((0.96,) * 4, (1.0,) * 4, 0.96, SAME),
        # The median of the runs, and not the best of them: rates 1, 2, 4, 8 and 16.
        ((1.0, 0.5, 0.25, 0.125, 1 / 16), (1 / 32,) * 5, 8.0, FASTER),
    ],
)
def test_verdict_by_hand(before, after, ratio, expected):
    change = verdict(before, after)
    assert change.ratio == pytest.approx(ratio)
    assert change.verdict == expected


def test_a_verdict_turns_round_with_the_order():
    pair = ((1.0, 1.1, 1.2, 1.3), (2.0, 2.1, 2.2, 2.3))
    assert verdict(*pair).verdict == SLOWER
    assert verdict(*reversed(pair)).verdict == FASTER


def test_samples_that_scatter_give_no_verdict():
    def scattered(seconds):
        return dataclasses.replace(copy_of((seconds,)), status=UNSTABLE, reason="it jumps")

    assert verdict((1.0,), (9.0,), of=scattered).verdict == UNSURE
    steady = measured.run(copy_of((1.0,)))
    (change,) = compare(steady, measured.run(scattered(9.0))).changes  # one that does is enough
    assert change.verdict == UNSURE


@pytest.mark.parametrize(
    ("switches", "expected"), [(None, FASTER), (30.0, FASTER), (160.0, FASTER), (161.0, BUSY)]
)
def test_on_a_machine_that_does_other_work_there_is_no_verdict(switches, expected):
    quiet, crowded = measured.run(copy_of((2.0,))), measured.run(copy_of((1.0,)))
    crowded = dataclasses.replace(
        crowded, environment=dataclasses.replace(crowded.environment, switches=switches)
    )
    (change,) = compare(quiet, crowded).changes
    assert change.verdict == expected
    (change,) = compare(quiet, measured.run(copy_of((1.0,))), (), (crowded,)).changes
    assert change.verdict == expected


def test_a_run_against_itself_has_not_changed():
    whole = measured.everything()
    found = compare(whole, whole)
    assert [change.before for change in found.changes] == list(whole.measurements)
    assert {(change.ratio, change.verdict) for change in found.changes} == {(1.0, SAME)}
    assert (found.missing, found.added, found.differences) == ((), (), ())


# --------------------------------------------------------------------------- what is compared


def test_shapes_that_both_have_are_compared_one_by_one():
    sizes = [MIB, 2 * MIB, 4 * MIB]
    left = [arrays("add", (1.0,), size, "cache") for size in sizes[:2]]
    right = [arrays("add", (0.5,), size, "cache") for size in sizes[1:]]
    found = compare(measured.run(*left), measured.run(*right))
    assert [(x.before, x.after) for x in found.changes] == [(left[1], right[0])]
    assert (found.missing, found.added) == ((left[0],), (right[1],))


def test_without_a_shape_in_common_the_largest_are_compared_by_rate():
    left = [arrays("add", (1.0,), size) for size in (64 * MIB, 128 * MIB)]
    right = [arrays("add", (1.0,), size) for size in (256 * MIB, 512 * MIB)]
    found = compare(measured.run(*left), measured.run(*right))
    (change,) = found.changes
    assert (change.before, change.after) == (left[1], right[1])
    assert (change.ratio, change.verdict) == (4.0, FASTER)  # four times the bytes in the same time
    assert (found.missing, found.added) == ((left[0],), (right[0],))


def test_of_further_runs_the_largest_shape_stands_in_for_one_they_lack():
    one = measured.run(arrays("add", (1.0,), 512 * MIB))
    more = measured.run(*(arrays("add", (1.0,), size) for size in (64 * MIB, 256 * MIB)))
    # The rate is in proportion to the size here, so the median of two is halfway between them.
    (change,) = compare(one, one, [more], [one]).changes
    assert change.ratio == pytest.approx(1 / 0.75)


def test_products_are_compared_by_flops():
    # Half the side is an eighth of the work, and takes an eighth of the time.
    big, small = measured.run(matmul((0.8,))), measured.run(matmul((0.1,), n=1024))
    (change,) = compare(big, small).changes
    assert change.ratio == pytest.approx(1.0)


def test_types_and_probes_are_kept_apart():
    left = [matmul((1.0,)), arrays("add", (1.0,))]
    right = [matmul((1.0,), "bf16"), arrays("add", (1.0,), probe="cache")]
    found = compare(measured.run(*left), measured.run(*right))
    assert found.changes == ()
    assert set(found.missing) == set(left)
    assert set(found.added) == set(right)


def test_what_holds_no_number_is_left_out():
    failed = arrays("copy", None, reason="it is off")
    done = arrays("copy", (1.0,))
    found = compare(measured.run(failed), measured.run(done))
    assert (found.changes, found.missing, found.added) == ((), (), (done,))
    assert compare(measured.run(failed), measured.run(failed)).changes == ()


def test_circumstances_that_differ():
    environment = probes.Environment((0, 1, 2), 2, "always", 9.0, "3.12", {"B": "2"})
    before = measured.run(*measured.MATMULS)
    after = measured.run(
        *measured.MATMULS,
        machine=dataclasses.replace(measured.MACHINE, cpu="Other", cores=9, system="Plan 9"),
        device=dataclasses.replace(measured.CPU, kind="cuda", name="GPU"),
        environment=environment,
        backend="torch",
        backend_version="2.13",
        threads=None,
        wallsite="1",
    )
    system = measured.MACHINE.system
    assert {name: pair for name, *pair in compare(before, after).differences} == {
        "processor": ["Example(R) CPU", "Other"],
        "device": ["cpu (a device)", "cuda:0 (GPU)"],
        "backend": ["numpy 2", "torch 2.13"],
        "threads": ["2", "None"],
        "cores": ["4", "9"],
        "CPUs": ["2", "3"],
        "A": ["1", "not set"],
        "B": ["not set", "2"],
        "huge pages": ["madvise", "always"],
        "system": [system, "Plan 9"],
        "Python": ["3.13", "3.12"],
        "wallsite": ["0", "1"],
    }


# ---------------------------------------------------------------------------------- in a terminal


@pytest.fixture
def written(tmp_path):
    """Write results to files; return their paths."""

    def write(*results):
        paths = [tmp_path / f"{'ab'[i]}.json" for i in range(len(results))]
        for path, result in zip(paths, results, strict=True):
            path.write_text(result.to_json(), "utf-8")
        return [str(path) for path in paths]

    return write


def words(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_same_file_twice(written):
    (path,) = written(measured.everything())
    done = run("compare", path, path)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = words(done.stdout)
    assert lines[:2] == [f"{letter} {path} 2026-01-01 00:00 cpu numpy" for letter in "AB"]
    assert lines[-1] == "0 of 13 changed beyond noise."
    assert not any(word in done.stdout for word in ("only in", "not alike", "other shape"))


def test_every_line_of_a_comparison(written):
    before = measured.run(
        arrays("copy", (0.05,)),
        arrays("scale", (0.05,)),
        arrays("triad", (0.05,)),
        matmul((0.04,)),
        arrays("add", (1.0,)),
    )
    after = measured.run(
        arrays("copy", (0.025,)),
        arrays("scale", (0.05,)),
        arrays("triad", (0.05,), 128 * MIB),
        matmul((0.08,)),
        point("axpy", (9,), 100, 9, (1.0,)),
        threads=1,
    )
    done = run("compare", *written(before, after))
    assert (done.exit_code, done.stderr) == (0, "")
    # 512 MiB ÷ 0.05 s, and half the time; half a triad in the same time; 2 × 2048³ ÷ 0.04 s.
    assert words(done.stdout)[3:] == [
        "not alike A B",
        "threads 2 1",
        "",
        "median A B B ÷ A",
        "memory copy fp32 67108864 10.7 GB/s 21.5 GB/s 2.00 faster",
        "memory scale fp32 67108864 10.7 GB/s 10.7 GB/s 1.00 within noise",
        "memory triad fp32 67108864 → 33554432 16.1 GB/s 8.1 GB/s 0.50 slower, other shape",
        "matmul fp32 2048×2048×2048 429.5 GFLOP/s 214.7 GFLOP/s 0.50 slower",
        "",
        "only in A: memory add fp32 67108864",
        "",
        "only in B: operations axpy fp32 9",
        "",
        "3 of 4 changed beyond noise.",
    ]


def test_nothing_in_common(written):
    done = run("compare", *written(measured.run(*measured.MATMULS), measured.run()))
    assert done.exit_code == 0
    assert "only in A: matmul fp32 2048×2048×2048, matmul bf16 2048×2048×2048" in done.stdout
    assert done.stdout.endswith("0 of 0 changed beyond noise.\n")


# ----------------------------------------------------------------------------- files and faults


def damaged(change):
    """The text of a result after a change to its fields."""
    fields = json.loads(measured.everything().to_json())
    change(fields)
    return json.dumps(fields).encode()


GOOD = measured.everything().to_json()
BAD = {
    "empty": (b"", "Expecting value"),
    "not UTF-8": (b"\xff\xfe{\x00}\x00", "it is not text"),
    "not JSON": (b"triad 25 GB/s", "Expecting value"),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), "BOM"),
    "cut off": (GOOD[:-300].encode(), ""),
    "two of them": ((GOOD + GOOD).encode(), "Extra data"),
    "a list": (b"[1, 2]", "it has no field schema"),
    "a number": (b"2", "it has no field schema"),
    "null": (b"null", "it has no field schema"),
    "nested too deep": (b"[" * 10**5, "nested too deep"),
    "no schema": (damaged(lambda x: x.pop("schema")), "it has no field schema"),
    "a future schema": (damaged(lambda x: x.update(schema=4)), "schema 4 is not 3"),
    "a schema of text": (damaged(lambda x: x.update(schema="2")), "schema '2' is not 3"),
    "NaN": (damaged(lambda x: x.update(wall_seconds=float("nan"))), "NaN is not JSON"),
    "infinity": (damaged(lambda x: x.update(wall_seconds=float("inf"))), "Infinity is not JSON"),
    "1e999": (GOOD.replace('"wall_seconds": 1.0', '"wall_seconds": 1e999').encode(), "finite"),
    "a field missing": (damaged(lambda x: x.pop("machine")), "result.machine is missing"),
    "a field too many": (damaged(lambda x: x.update(more=1)), "result.'more' is no field; known: "),
    "text for a number": (damaged(lambda x: x.update(wall_seconds="1")), "result.wall_seconds"),
    "a number for text": (damaged(lambda x: x.update(backend=1)), "result.backend must be a text"),
    "truth for a number": (damaged(lambda x: x.update(threads=True)), "result.threads must be"),
    "a fraction of a core": (damaged(lambda x: x["machine"].update(cores=1.5)), "machine.cores"),
    "no duration": (
        damaged(lambda x: x["measurements"][0]["samples"].update(seconds=[])),
        "result.measurements[0].samples: seconds must hold durations",
    ),
    "a duration of 0": (
        damaged(lambda x: x["measurements"][1]["samples"].update(seconds=[1, 0])),
        "result.measurements[1].samples: seconds must hold durations",
    ),
    "a duration too short to be": (
        damaged(lambda x: x["measurements"][1]["samples"].update(seconds=[1e-320])),
        "result.measurements[1].samples: seconds must hold durations",
    ),
    "a negative count": (
        damaged(lambda x: x["measurements"][2].update(bytes_counted=-1)),
        "result.measurements[2]: counts of bytes and FLOPs must be 0 or above",
    ),
    "an unknown status": (
        damaged(lambda x: x["measurements"][3].update(status="fine")),
        "result.measurements[3].status must be one of",
    ),
    "measurements as a text": (
        damaged(lambda x: x.update(measurements="none")),
        "result.measurements must be a list",
    ),
    "more bytes than a float holds": (
        damaged(lambda x: x["measurements"][0].update(bytes_counted=10**400)),
        "",
    ),
    "more FLOPs than a float holds": (
        damaged(lambda x: x["measurements"][7].update(flops=10**400)),
        "",
    ),
    "a product without bytes": (
        damaged(lambda x: x["measurements"][11].update(bytes_counted=0)),
        "result.measurements[11]: ",
    ),
    "half of a character": (damaged(lambda x: x.update(backend="\ud800")), ""),
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(("content", "said"), BAD.values(), ids=BAD)
def test_a_file_that_is_no_result_is_one_line(tmp_path, written, content, said, first):
    (good,) = written(measured.everything())
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    done = run("compare", *([str(bad), good] if first else [good, str(bad)]))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {bad}: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert len(done.stderr) < 1000


@pytest.mark.parametrize(
    ("name", "said"), [("absent.json", "No such file"), (".", "directory"), ("x" * 300, "too long")]
)
def test_what_cannot_be_read_is_one_line(tmp_path, written, name, said):
    (good,) = written(measured.everything())
    done = run("compare", good, str(tmp_path / name))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {tmp_path / name}: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_name_that_is_not_utf_8_is_no_traceback(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.json"
    try:
        Path(os.fsdecode(path)).write_text(GOOD, "utf-8")
    except OSError:
        pytest.skip("no such name on this file system")
    done = subprocess.run(
        [sys.executable, "-c", "from wallsite.cli import main; main()", "compare", path, path],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"0 of 13 changed beyond noise.\n")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_two_files_are_compared(written, count):
    paths = written(measured.everything())
    assert run("compare", *paths * count).exit_code == 2


def test_four_runs_of_each_tell_what_one_cannot(tmp_path):
    paths = []
    for i, seconds in enumerate([0.060, 0.061, 0.062, 0.063, 0.050, 0.051, 0.052, 0.053]):
        path = tmp_path / f"{i}.json"
        path.write_text(measured.run(arrays("copy", (seconds,))).to_json(), "utf-8")
        paths.append(str(path))
    alone = run("compare", paths[0], paths[4])
    assert "within noise" in alone.stdout
    more = [word for path in paths[1:4] for word in ("--more-a", path)]
    more += [word for path in paths[5:] for word in ("--more-b", path)]
    done = run("compare", paths[0], paths[4], *more)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "faster" in done.stdout
    assert done.stdout.endswith("1 of 1 changed beyond noise.\n")
