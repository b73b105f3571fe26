"""All-reduces between ranks: what needs no ranks, and two of them from end to end."""

import contextlib
import math
import socket
import sys
import threading
from importlib.util import find_spec

import pytest

from wallsite import probes
from wallsite.probes import allreduce
from wallsite.probes.errors import PeerLost

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
# What torchrun tells a rank.
TOLD = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.fixture(scope="module")
def of_two():
    return allreduce.run_local(2, sizes=[1024, 65536], device="cpu", repeats=2)


@pytest.mark.slow
@needs_torch
def test_two_ranks(of_two):
    assert (str(of_two.device), of_two.backend) == ("cpu", "torch gloo")
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


def test_what_is_counted_by_hand():
    # nccl-tests: 2(N−1)/N; for 8 ranks 1.75.
    work = allreduce.all_reduce_work("all-reduce", 8, 2, 1_000_000)
    assert work.bytes_counted == 1_750_000
    assert work.formula == "sum over 8 ranks on 2 machines"
    assert work.shape == (8, 250_000)


@pytest.mark.parametrize(
    ("nproc", "said"),
    [
        (1, "nproc must be 2 or above, got 1: one rank has nobody to send to"),
        (0, "nproc must be a whole number, 2 or above, got 0"),
        (-2, "nproc must be a whole number, 2 or above, got -2"),
        (2.5, "nproc must be a whole number, 2 or above, got 2.5"),
        ("2", "nproc must be a whole number, 2 or above, got '2'"),
        (100_000, r"nproc must be \d+ at most on this machine, got 100000"),
    ],
)
def test_a_number_of_ranks_that_cannot_be(nproc, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        allreduce.run_local(nproc)


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf])
def test_a_timeout_is_above_zero(timeout):
    with pytest.raises(ValueError, match=r"^timeout must be a finite number above 0"):
        allreduce.run_local(2, timeout=timeout)


@needs_torch
@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([1024, 1022], "size must be a multiple of 4, the bytes of an fp32, got 1022"),
        ([-4], "size must be a whole number, 4 or above, got -4"),
        ([0], "size must be a whole number, 4 or above, got 0"),
    ],
)
def test_a_size_that_cannot_be(monkeypatch, sizes, said):
    for name, value in TOLD.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"^{said}$"):
        allreduce.measure(sizes)


def test_without_ranks_it_says_how_to_start_them(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ValueError, match=r"^an all-reduce needs ranks: start them with torchrun"):
        allreduce.measure()


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"RANK": "x"}, "^RANK must be a whole number, got 'x'$"),
        ({"WORLD_SIZE": ""}, "^WORLD_SIZE must be a whole number, got ''$"),
        ({"WORLD_SIZE": "1"}, "WORLD_SIZE must be 2 or above, got 1: one rank has nobody"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE must be a whole number, 2 or above, got 0"),
        ({"RANK": "2"}, "RANK must be from 0 to 1 and LOCAL_WORLD_SIZE from 1 to 2, got 2 and 1"),
        ({"RANK": "-1"}, "RANK must be from 0 to 1"),
        ({"LOCAL_WORLD_SIZE": "3"}, "LOCAL_WORLD_SIZE from 1 to 2, got 0 and 3"),
    ],
)
def test_what_torchrun_tells_is_checked(monkeypatch, told, said):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    for name, value in (TOLD | told).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=said):
        allreduce.place()


def test_a_place_is_read(monkeypatch):
    for name, value in (TOLD | {"LOCAL_WORLD_SIZE": "2"}).items():
        monkeypatch.setenv(name, value)
    assert allreduce.place() == allreduce.Place(rank=0, ranks=2, per_node=2)
    monkeypatch.delenv("MASTER_PORT")
    assert allreduce.place() is None


def test_without_torch_it_says_what_is_missing(monkeypatch):
    for name, value in TOLD.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    with pytest.raises(ValueError, match=r"^an all-reduce needs torch: "):
        allreduce.measure([1024])


@needs_torch
@pytest.mark.parametrize(
    ("kind", "library"), [("cuda", "nccl"), ("npu", "hccl"), ("xpu", "xccl"), ("cpu", "gloo")]
)
def test_each_rank_takes_the_accelerator_of_its_own(monkeypatch, kind, library):
    import torch
    import torch.distributed

    done = []
    for name, value in (TOLD | {"LOCAL_RANK": "1"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(
        allreduce,
        "find_device",
        lambda name: probes.Device(kind, int(name[-1]) if ":" in name else 0, "a chip", None, None),
    )
    monkeypatch.setattr(torch.accelerator, "set_device_index", done.append)
    monkeypatch.setattr(allreduce, "_met", lambda *told: None)
    monkeypatch.setattr(allreduce._Ranks, "_gathered", lambda self, mine: [mine] * 2)
    monkeypatch.setattr(
        torch.distributed, "init_process_group", lambda name, **_: done.append(name)
    )
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: done.append("let go"))
    with allreduce._joined(allreduce.Place(1, 2, 2), "auto", 5.0) as ranks:
        assert (ranks.device.kind, ranks.library) == (kind, library)
    assert done == [*([] if kind == "cpu" else [1]), library, "let go"]


@needs_torch
def test_a_device_without_a_library_is_refused(monkeypatch):
    monkeypatch.setattr(
        allreduce, "find_device", lambda name: probes.Device("mps", 0, "M4", None, None)
    )
    with (
        pytest.raises(ValueError, match=r"^all-reduces run on cpu, cuda, npu, xpu, got mps"),
        allreduce._joined(allreduce.Place(0, 2, 2), "mps", 5.0),
    ):
        pass


@needs_torch
@pytest.mark.parametrize("answer", [None, b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_listens_at_the_address_need_not_be_a_rank(monkeypatch, answer):
    """A port that is some other program's: it says nothing, or something else. Neither hangs."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    kept.append(server.accept()[0])
                    if answer:
                        kept[-1].sendall(answer)
                        kept[-1].close()

        kept = []
        threading.Thread(target=serve, daemon=True).start()
        told = {"RANK": "1", "MASTER_PORT": str(server.getsockname()[1])}
        for name, value in (TOLD | told).items():
            monkeypatch.setenv(name, value)
        with (
            pytest.raises((PeerLost, RuntimeError)),
            allreduce._joined(allreduce.place(), "cpu", 2.0),
        ):
            pass


@pytest.mark.parametrize("port", ["abc", "", "0x10"])
def test_a_port_is_a_number(monkeypatch, port):
    for name, value in (TOLD | {"MASTER_PORT": port}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=r"^MASTER_PORT must be "):
        allreduce.place()
