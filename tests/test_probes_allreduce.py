"""All-reduces among ranks of this machine: what is counted, and what happens when one fails."""

import subprocess
from importlib.util import find_spec

import pytest

from wallsite import collectives, probes
from wallsite.probes import allreduce

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
# What a test waits for ranks that must end by themselves.
BOUNDED = 60
# What torchrun tells a rank.
TOLD = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}

# A rank that does something else from its n-th sum on; what it does is put in.
SABOTAGED = """
import os, signal, sys
from pathlib import Path
import torch, torch.distributed
from wallsite.probes import allreduce

summed, right = 0, torch.distributed.all_reduce

def wrong(buffer, *more):
    global summed
    right(buffer, *more)
    if buffer.dtype == torch.float32:
        summed += 1
        {act}

torch.distributed.all_reduce = wrong
sys.exit(allreduce._main(Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.fixture
def ranks(monkeypatch):
    """The ranks that `run_local` starts. Those in ``sabotage``, by number, do what it says."""

    class Ranks(list):
        sabotage = {}

    started, popen = Ranks(), subprocess.Popen

    def start(command, env, **more):
        if act := started.sabotage.get(int(env["RANK"])):
            command = [command[0], "-c", SABOTAGED.format(act=act), *command[3:]]
        started.append(popen(command, env=env, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    yield started
    assert all(process.returncode is not None for process in started)


# ------------------------------------------------------------------------------- what is measured


@pytest.fixture(scope="module")
def of_two():
    return allreduce.run_local(2, sizes=[1024, 65536], device="cpu", repeats=2)


@pytest.fixture(scope="module")
def of_three():
    # 257 values among three ranks: 86, 86 and 85.
    return allreduce.run_local(3, sizes=[4, 1028], device="cpu", repeats=2)


@needs_torch
def test_two_ranks(of_two):
    assert (str(of_two.device), of_two.backend) == ("cpu:0", "torch gloo")
    small, large = of_two.measurements
    assert [x.array_bytes for x in (small, large)] == [1024, 65536]
    assert [x.shape for x in (small, large)] == [(2, 256), (2, 16384)]
    for x in (small, large):
        assert (x.probe, x.kernel, x.dtype) == ("allreduce", "all-reduce", "fp32")
        assert x.formula == "sum over 2 ranks on 1 machine"
        assert x.bytes_counted == x.array_bytes  # 2 · (2−1)/2 of it
        assert x.largest_error == 0
        assert (len(x.seconds.seconds), len(x.seconds.warmups)) == (2, 5)
        assert x.status in {"ok", "unstable"}


@needs_torch
def test_three_ranks_whose_number_divides_nothing(of_three):
    tiny, small = of_three.measurements
    assert [x.shape for x in (tiny, small)] == [(3, 1), (3, 257)]
    # 2 · 2/3 of the buffer: 5.33 and 1370.67 bytes
    assert [x.bytes_counted for x in (tiny, small)] == [5, 1371]
    assert (tiny.largest_error, small.largest_error) == (0, 0)


@needs_torch
def test_busbw_is_the_closed_form_of_its_own_times(of_two, of_three):
    for result in (of_two, of_three):
        *_, x = result.measurements
        busbw = collectives.busbw(x.array_bytes, x.seconds.median, x.shape[0])
        assert x.median_bandwidth == pytest.approx(busbw, rel=0.01)


@needs_torch
def test_every_sample_survives_json(of_two):
    assert probes.Result.from_json(of_two.to_json()) == of_two
    assert of_two.to_csv().count("\n") == 1 + 2 * 2


def test_what_is_counted_by_hand():
    # nccl-tests: 2(N−1)/N; for 8 ranks 1.75.
    work = allreduce.all_reduce_work("all-reduce", allreduce.Place(0, 8, 4), 1_000_000)
    assert work.bytes_counted == 1_750_000
    assert work.formula == "sum over 8 ranks on 2 machines"
    assert work.shape == (8, 250_000)
