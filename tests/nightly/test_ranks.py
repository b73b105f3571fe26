"""All-reduces between ranks that this machine starts: results, failures and time-outs."""

import os
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest

from wallsite import collectives, probes
from wallsite.probes import allreduce
from wallsite.probes.errors import PeerLost

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
        def __init__(self):
            self.sabotage = {}

    started, popen = Ranks(), subprocess.Popen

    def start(command, env, **more):
        if act := started.sabotage.get(int(env["RANK"])):
            command = [command[0], "-c", SABOTAGED.format(act=act), *command[3:]]
        started.append(popen(command, env=env, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    yield started
    assert all(process.returncode is not None for process in started)


@pytest.fixture(scope="module")
def of_two():
    return allreduce.run_local(2, sizes=[1024, 65536], device="cpu", repeats=2)


@pytest.fixture(scope="module")
def of_three():
    # 257 values among three ranks: 86, 86 and 85.
    return allreduce.run_local(3, sizes=[4, 1028], device="cpu", repeats=2)


def alone(monkeypatch, port, **told):
    """Be one of two ranks whose other never starts."""
    for name, value in (TOLD | {"MASTER_PORT": str(port)} | told).items():
        monkeypatch.setenv(name, value)
    allreduce.measure([1024], device="cpu", timeout=2)


@pytest.fixture
def port():
    """A port of this machine that another program holds."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.mark.slow
@needs_torch
def test_three_ranks_whose_number_divides_nothing(of_three):
    tiny, small = of_three.measurements
    assert [x.shape for x in (tiny, small)] == [(3, 1), (3, 257)]
    # 2 · 2/3 of the buffer: 5.33 and 1370.67 bytes
    assert [x.bytes_counted for x in (tiny, small)] == [5, 1371]
    assert (tiny.largest_error, small.largest_error) == (0, 0)


@pytest.mark.slow
@needs_torch
def test_busbw_is_the_closed_form_of_its_own_times(of_two, of_three):
    for result in (of_two, of_three):
        *_, x = result.measurements
        busbw = collectives.busbw(x.array_bytes, x.seconds.median, x.shape[0])
        assert x.median_bandwidth == pytest.approx(busbw, rel=0.01)


@pytest.mark.slow
@needs_torch
def test_every_sample_survives_json(of_two):
    assert probes.Result.from_json(of_two.to_json()) == of_two
    assert of_two.to_csv().count("\n") == 1 + 2 * 2


@pytest.mark.slow
@needs_torch
def test_what_ranks_refuse_comes_back_from_them(ranks):
    with pytest.raises(ValueError, match=r"^size must be a multiple of 4.*got 1022$"):
        allreduce.run_local(2, sizes=[1022], timeout=BOUNDED)
    assert len(ranks) == 2


@pytest.mark.slow
@needs_torch
def test_a_rank_that_dies_is_named_and_the_others_end(ranks):
    ranks.sabotage[1] = "summed == 8 and os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(PeerLost, match=r"^rank 1 was ended by SIGKILL$"):
        allreduce.run_local(3, sizes=[1024] * 4, device="cpu", timeout=BOUNDED)
    assert len(ranks) == 3


@pytest.mark.slow
@needs_torch
def test_a_rank_that_leaves_is_named_with_what_it_said(ranks):
    ranks.sabotage[0] = "summed == 8 and sys.exit('I have seen enough')"
    with pytest.raises(PeerLost, match=r"^rank 0 ended with code 1: I have seen enough$"):
        allreduce.run_local(2, sizes=[1024] * 4, device="cpu", timeout=BOUNDED)


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_with_different_results_give_no_time(ranks, rank):
    ranks.sabotage[rank] = "buffer.__setitem__(0, buffer[0] + 1)"
    with pytest.raises(probes.WrongResult, match=r"^all-reduce of 1 KiB among 2 ranks is off by"):
        allreduce.run_local(2, sizes=[1024], device="cpu", timeout=BOUNDED)


@pytest.mark.slow
@needs_torch
def test_a_port_in_use(monkeypatch, port):
    with pytest.raises(PeerLost, match=rf"^the port of 127.0.0.1:{port} is in use$"):
        alone(monkeypatch, port)


@pytest.mark.slow
@needs_torch
@pytest.mark.parametrize("rank", ["0", "1"])
def test_a_peer_that_never_comes_is_waited_for_no_longer_than_the_timeout(monkeypatch, rank):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        unused = free.getsockname()[1]
    for name, value in (TOLD | {"MASTER_PORT": str(unused), "RANK": rank}).items():
        monkeypatch.setenv(name, value)
    words = [sys.executable, "-m", "wallsite", "probe", "allreduce", "--timeout", "2"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=BOUNDED, check=False)
    assert done.returncode == 1, done.stderr
    told = f"Error: another rank did not answer within 2 s (they meet at 127.0.0.1:{unused})"
    assert told in done.stderr.splitlines()


DIFFERENT = """
import os, sys
from wallsite.probes import allreduce
try:
    allreduce.measure([1024 * (1 + int(os.environ["RANK"]))], device="cpu", timeout=20)
except ValueError as error:
    sys.exit(str(error))
"""


@pytest.mark.slow
@needs_torch
def test_ranks_with_different_sizes_are_told_so():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        unused = str(free.getsockname()[1])
    started = [
        subprocess.Popen(
            [sys.executable, "-c", DIFFERENT],
            env=os.environ | TOLD | {"MASTER_PORT": unused, "RANK": rank},
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for rank in "01"
    ]
    for process in started:
        _, said = process.communicate(timeout=BOUNDED)
        assert process.returncode == 1
        assert "ranks were given different arguments: sizes (1024,)" in said


@pytest.mark.slow
@needs_torch
def test_ranks_that_torchrun_starts(tmp_path):
    file = tmp_path / "r.json"
    words = ["probe", "allreduce", "--device", "cpu", "--quick", "--json", str(file)]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *torchrun, "-m", "wallsite", *words],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    result = probes.Result.from_json(file.read_text("utf-8"))
    assert [x.array_bytes for x in result.select("allreduce")] == list(allreduce.SIZES)
    assert done.stdout.count("sum over 2 ranks on 1 machine") == 1
    assert "Fitted: latency " in done.stdout
