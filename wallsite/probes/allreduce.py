"""All-reduce among real ranks, by size; algbw and busbw as nccl-tests define them.

Each rank is a process of its own. ``torchrun`` starts them, on one machine or many, and each
calls `measure`; or `run_local` starts them on this machine. Rank 0 holds the result.

The samples are seconds of one all-reduce, of the slowest rank. What is counted is what a ring
sends over each link, ``2(N−1)/N`` of the buffer, so `Measurement.bandwidth` is the busbw.

Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from wallsite import collectives
from wallsite._checks import count, positive
from wallsite.probes import errors, suite
from wallsite.probes.backend import allocating
from wallsite.probes.errors import PeerLost, ProbeError, WrongResult
from wallsite.probes.hardware import Device, find_device, machine, no_torch
from wallsite.probes.plan import binary
from wallsite.probes.results import OK, Measurement, Result
from wallsite.probes.session import Work, rested, unmeasured
from wallsite.probes.timing import Samples, sample

SIZES = tuple(2**power for power in range(10, 27, 2))
"""Bytes of the buffers: 1 KiB to 64 MiB."""
# The barrier on both sides of a sample takes up to a millisecond, which must not show.
SHORTEST = 0.05
RULE = "busbw: an all-reduce counts 2(N−1)/N of its buffer, as nccl-tests do"
# Values are whole numbers below this, so that sums in fp32 are exact in any order.
_VALUES = 251
_LIBRARIES = {"cpu": "gloo", "cuda": "nccl", "npu": "hccl", "xpu": "xccl"}


class Place(NamedTuple):
    """Where a rank is among the others.

    Attributes:
        rank: its number.
        ranks: how many there are.
        per_node: how many of them share a machine.
    """

    rank: int
    ranks: int
    per_node: int


def place() -> Place | None:
    """Read what torchrun tells a rank; None if it did not start this process.

    Raises:
        ValueError: what it tells is no number or out of range, or there are fewer than two ranks.
    """
    names = ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_PORT")
    if not all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
        return None
    for name in names:
        if not (said := os.environ.get(name, "1")).strip().lstrip("-").isdecimal():
            raise ValueError(f"{name} must be a whole number, got {said!r}")
    rank, ranks, per_node, port = (int(os.environ.get(name, "1")) for name in names)
    if not 0 < port < 2**16:
        raise ValueError(f"MASTER_PORT must be from 1 to 65535, got {port}")
    ranks = _ranks("WORLD_SIZE", ranks)
    if not 0 <= rank < ranks or not 0 < per_node <= ranks:
        raise ValueError(
            f"RANK must be from 0 to {ranks - 1} and LOCAL_WORLD_SIZE from 1 to {ranks}, got "
            f"{rank} and {per_node}"
        )
    return Place(rank, ranks, per_node)


def _ranks(name: str, ranks: int) -> int:
    if ranks == 1:
        raise ValueError(f"{name} must be 2 or above, got 1: one rank has nobody to send to")
    return count(name, ranks, 2)


def measure(
    sizes: Sequence[int] = SIZES,
    device: str = "auto",
    repeats: int = 10,
    timeout: float = 60.0,
    tell: Callable[[str], object] = lambda what: None,
    keep: Callable[[Result], object] = lambda result: None,
) -> Result | None:
    """Measure all-reduces of fp32 sums as one of the ranks that torchrun started.

    Where the ranks lie on several machines with several on each, the hierarchical way is measured
    as well: reduce inside each machine, all-reduce across, broadcast inside.

    Args:
        sizes: bytes of the buffers, each a multiple of four.
        device: of this rank; ``auto`` takes the accelerator of its local rank, else the CPU.
        repeats: samples for each size.
        timeout: seconds to wait for another rank.
        tell: is told what is being measured.
        keep: on rank 0, is given what there is after each size, in case the rest never comes.

    Returns:
        The result on rank 0, None on the others. An interrupt (Ctrl-C) ends the run and keeps
        what it has.

    Raises:
        ValueError: an argument is out of range, there is one rank only, this process is none, or
            the ranks were not given the same arguments.
        PeerLost: another rank died, does not answer, or cannot be reached.
        WrongResult: the sum is wrong, or ranks hold different ones.
    """
    here = place()
    if here is None:
        raise ValueError("an all-reduce needs ranks: start them with torchrun, or here with nproc")
    sizes = tuple(_size(size) for size in sizes)
    repeats, timeout = count("repeats", repeats), positive("timeout", timeout)
    start = suite.Start()
    taken: list[Measurement] = []
    try:
        with _joined(here, device, timeout) as ranks:
            ranks.agree(f"sizes {sizes}, {repeats} repeats")
            for size in sizes:
                for way in ranks.ways:
                    taken.append(_measured(ranks, way, size, repeats, tell))
                    if here.rank == 0:
                        keep(_result(start, ranks, taken, interrupted=True))
    except KeyboardInterrupt:
        if here.rank or not taken:
            raise
        return _result(start, ranks, taken, interrupted=True)
    except RuntimeError as error:
        raise _explained(error, timeout) from error
    return None if here.rank else _result(start, ranks, taken)


def _result(
    start: suite.Start, ranks: _Ranks, taken: list[Measurement], *, interrupted: bool = False
) -> Result:
    library = f"torch {ranks.library}"
    return start.result(ranks.device, library, ranks.version, None, taken, interrupted)


def _size(size: int) -> int:
    size = count("size", size, 4)
    if size % 4:
        raise ValueError(f"size must be a multiple of 4, the bytes of an fp32, got {size}")
    return size


class Way(NamedTuple):
    """A way to do an all-reduce.

    Attributes:
        name: of the measurement's kernel.
        run: sums a buffer over all ranks, in place.
    """

    name: str
    run: Callable[[Any], object]


class _Ranks:
    """The ranks that have found each other, seen from one of them."""

    def __init__(self, here: Place, device: Device, library: str) -> None:
        import torch  # noqa: PLC0415 - as everywhere
        import torch.distributed as dist  # noqa: PLC0415

        self.here, self.device, self.library = here, device, library
        self.version = str(torch.__version__)
        self._torch, self._dist = torch, dist
        self.ways = [Way("all-reduce", dist.all_reduce)]
        # All have to know of an uneven share before any of them makes a group.
        shares = self._gathered(here.per_node)
        nodes = here.ranks // here.per_node
        even = len(set(shares)) == 1 and here.ranks % here.per_node == 0
        if nodes > 1 and here.per_node > 1 and even:
            self.ways.append(Way("hierarchical all-reduce", self._hierarchy(nodes)))
        self.machines = round(sum(1 / share for share in shares))

    def buffer(self, elements: int) -> Any:
        """Zeros on this rank's device: their sum stays zero, however often it is taken."""
        with allocating(str(self.device)):
            return self._torch.zeros(elements, device=str(self.device))

    def wait(self) -> None:
        """Wait until every rank is here, and its device idle."""
        if self.device.kind != "cpu":
            self._torch.accelerator.synchronize(str(self.device))
        self._dist.barrier()

    def largest(self, numbers: Sequence[float]) -> list[float]:
        """Return the largest of each number over all ranks."""
        # As objects, for not every library sums numbers of 64 bits.
        return [max(each) for each in zip(*self._gathered(list(numbers)), strict=True)]

    def agree(self, what: str) -> None:
        """Refuse ranks that were started with different arguments.

        Raises:
            ValueError: they were; the message shows two of them.
        """
        said = self._gathered(what)
        if others := [other for other in said if other != said[0]]:
            raise ValueError(f"ranks were given different arguments: {said[0]}, and {others[0]}")

    def _gathered(self, mine: Any) -> list[Any]:
        """What each rank has, in the order of the ranks."""
        every: list[Any] = [None] * self.here.ranks
        self._dist.all_gather_object(every, mine)
        return every

    def error(self, way: Way, buffer: Any) -> float:
        """Sum known whole numbers once, and return how far the result is off, here or elsewhere.

        Rank r holds (r + 1) · (i mod 251); what all must hold then follows by hand, so ranks with
        different results are found as well.
        """
        counts = self._torch.arange(len(buffer), device=buffer.device) % _VALUES
        buffer.copy_(counts * (self.here.rank + 1))
        way.run(buffer)
        ranks = self.here.ranks
        exact = counts * (ranks * (ranks + 1) // 2)
        off = float((buffer - exact).abs().max() / max(1, int(exact.max())))
        return self.largest([off])[0]

    def _hierarchy(self, nodes: int) -> Callable[[Any], object]:
        """Reduce-scatter inside each node, all-reduce across, all-gather inside.

        By single reduces and broadcasts of the pieces, which every library has.
        """
        dist, per_node = self._dist, self.here.per_node
        # Every rank has to take part in the making of every group.
        inside = [
            dist.new_group(list(range(node * per_node, (node + 1) * per_node)))
            for node in range(nodes)
        ]
        across = [
            dist.new_group(list(range(local, self.here.ranks, per_node)))
            for local in range(per_node)
        ]
        node, local = divmod(self.here.rank, per_node)

        def run(buffer: Any) -> None:
            pieces = buffer.tensor_split(per_node)
            for owner, piece in enumerate(pieces):
                dist.reduce(piece, node * per_node + owner, group=inside[node])
            dist.all_reduce(pieces[local], group=across[local])
            for owner, piece in enumerate(pieces):
                dist.broadcast(piece, node * per_node + owner, group=inside[node])

        return run


@contextmanager
def _joined(here: Place, device: str, timeout: float) -> Iterator[_Ranks]:
    """Find the other ranks, and let go of them at the end.

    Raises:
        ValueError: torch is not installed, or lacks what the device needs.
    """
    try:
        import torch  # noqa: PLC0415 - only here
        import torch.distributed as dist  # noqa: PLC0415
    except (ImportError, OSError, RuntimeError) as error:
        raise ValueError(f"an all-reduce needs torch: {no_torch(error)}") from None
    local = int(os.environ.get("LOCAL_RANK", "0"))
    found = find_device(device)
    if device == "auto" and found.kind != "cpu":
        found = find_device(f"{found.kind}:{local}")
    library = _LIBRARIES.get(found.kind)
    if not library:
        known = ", ".join(_LIBRARIES)
        raise ValueError(f"all-reduces run on {known}, got {found}")
    if found.kind != "cpu":
        # What the library does on its own account, such as a barrier, happens on this one.
        torch.accelerator.set_device_index(found.index)
    store = _met(here, timeout)
    dist.init_process_group(
        library,
        store=store,
        rank=here.rank,
        world_size=here.ranks,
        timeout=timedelta(seconds=timeout),
    )
    try:
        yield _Ranks(here, found, library)
    finally:
        dist.destroy_process_group()


def _wait_for_listener(here: Place, timeout: float) -> None:
    """Wait until something listens where the ranks meet, unless this rank is what will.

    torch waits for it twice as long as it was told to, and cannot be ended without a crash.

    Raises:
        PeerLost: nothing listened in time.
    """
    if here.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    end = time.monotonic() + timeout
    while (left := end - time.monotonic()) > 0:
        try:
            socket.create_connection(address, timeout=left).close()
        except OSError:
            time.sleep(min(left, 0.1))
        else:
            return
    raise _unanswered(timeout)


def _unanswered(timeout: float) -> PeerLost:
    return PeerLost(f"another rank did not answer within {timeout:g} s (they meet at {_where()})")


def _where() -> str:
    return f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"


def _met(here: Place, timeout: float) -> Any:
    """Return the store at which the ranks meet.

    What listens at its address may be no store and never answer, and torch then waits without end
    and without heeding Ctrl-C. So it waits in a thread of its own, which is left behind.

    Raises:
        PeerLost: nothing answered in time.
    """
    from torch.distributed.rendezvous import rendezvous  # noqa: PLC0415

    _wait_for_listener(here, timeout)
    found: list[Any] = []

    def meet() -> None:
        try:
            store, _, _ = next(rendezvous("env://", timeout=timedelta(seconds=timeout)))
        except Exception as error:
            found.append(error)
        else:
            found.append(store)

    waiting = threading.Thread(target=meet, daemon=True)
    waiting.start()
    waiting.join(timeout + _GRACE)
    if not found:
        raise PeerLost(
            f"nothing that knows ranks answered at {_where()} (MASTER_ADDR:MASTER_PORT) within "
            f"{timeout:g} s"
        )
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _measured(
    ranks: _Ranks, way: Way, size: int, repeats: int, tell: Callable[[str], object]
) -> Measurement:
    here = ranks.here
    tell(f"{way.name} of {binary(size)} among {here.ranks} ranks")
    buffer = ranks.buffer(size // 4)
    mine = sample(
        lambda: way.run(buffer),
        repeats=repeats,
        warmups=5,
        shortest=SHORTEST,
        synchronise=ranks.wait,
        agree=lambda calls: int(ranks.largest([calls])[0]),
    )
    seconds, warmups = ranks.largest(mine.seconds), ranks.largest(mine.warmups)
    error = ranks.error(way, buffer)
    work = all_reduce_work(way.name, here.ranks, ranks.machines, size)
    if error:
        raise WrongResult(
            f"{way.name} of {binary(size)} among {here.ranks} ranks is off by {error:.2g} of its "
            "largest value: its time is not reported"
        )
    measured = replace(
        unmeasured(work, OK, ""),
        samples=Samples(tuple(seconds), tuple(warmups), mine.calls),
        largest_error=error,
    )
    return rested(measured)


def all_reduce_work(name: str, ranks: int, machines: int, size: int) -> Work:
    """Count an all-reduce of fp32 by the bytes that a ring sends over each link."""
    return Work(
        probe="allreduce",
        kernel=name,
        formula=f"sum over {ranks} ranks on {machines} machine{'s' if machines > 1 else ''}",
        dtype="fp32",
        shape=(ranks, size // 4),
        array_bytes=size,
        bytes_counted=round(collectives.ring_volume(size, ranks)),
        rule=RULE,
        flops=0,
    )


def _explained(error: RuntimeError, timeout: float) -> Exception:
    """Say what a failure of the library means, in one line."""
    if isinstance(error, ProbeError):
        return error
    said = " ".join(str(error).split())
    where = _where()
    if "EADDRINUSE" in said or "address already in use" in said:
        return PeerLost(f"the port of {where} is in use")
    if "Ping failed" in said:
        return PeerLost(f"what answers at {where} is not another rank")
    if "imed out" in said or "imeout" in said:
        return _unanswered(timeout)
    return PeerLost(f"the connection to another rank broke: {said[:200]}")


# ------------------------------------------------------------------------- ranks on this machine


def run_local(
    nproc: int,
    sizes: Sequence[int] = SIZES,
    device: str = "auto",
    repeats: int = 10,
    timeout: float = 60.0,
) -> Result:
    """Start ranks on this machine, measure all-reduces among them, and end them again.

    Args:
        nproc: ranks, two or more.
        sizes: bytes of the buffers, each a multiple of four.
        device: of the ranks; ``auto`` gives each an accelerator of its own, or the CPU.
        repeats: samples for each size.
        timeout: seconds that a rank waits for another.

    Raises:
        ValueError, PeerLost, WrongResult: as for `measure`.
    """
    nproc, timeout = _ranks("nproc", nproc), positive("timeout", timeout)
    most = max(16, 4 * machine().cpus)
    if nproc > most:
        raise ValueError(f"nproc must be {most} at most on this machine, got {nproc}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = json.dumps(
            {"sizes": list(sizes), "device": device, "repeats": repeats, "timeout": timeout}
        )
        port = _free_port()
        started = [_start(rank, nproc, port, folder, options) for rank in range(nproc)]
        try:
            failed = _wait(started)
        except KeyboardInterrupt:
            if kept := _kept(folder):
                return kept
            raise
        finally:
            for process in started:
                process.kill()
                process.wait()
        if failed:
            raise _best_reason(failed, started, folder)
        return Result.from_json((folder / _RESULT).read_text(encoding="utf-8"))


_RESULT, _SO_FAR = "result.json", "so-far.json"


def _kept(folder: Path) -> Result | None:
    """What ranks that were interrupted had measured until then."""
    try:
        return Result.from_json((folder / _SO_FAR).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


_GRACE = 2.0  # seconds that torch may take longer than it was told to


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _start(rank: int, ranks: int, port: int, folder: Path, options: str) -> subprocess.Popen[bytes]:
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks}
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    place |= {name: str(number) for name, number in numbers.items()}
    with (folder / f"{rank}.txt").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "wallsite.probes.allreduce", str(folder), options],
            env=os.environ | place,
            stdout=said,
            stderr=said,
        )


def _wait(started: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    """Wait for all ranks, or for one to fail; return those that failed."""
    while None in (codes := [process.poll() for process in started]):
        if any(codes):
            time.sleep(_GRACE)  # the others notice as well, and one may know better why
            break
        time.sleep(0.02)
    return [rank for rank, process in enumerate(started) if process.poll()]


def _best_reason(
    failed: Sequence[int], started: Sequence[subprocess.Popen[bytes]], folder: Path
) -> Exception:
    """Choose the error that explains best why ranks failed: that others were lost says least."""
    reasons: list[Exception] = []
    for rank in failed:
        said = (folder / f"{rank}.txt").read_text(encoding="utf-8", errors="replace").strip()
        last = said.splitlines()[-1] if said else ""
        kind, _, message = last.partition(": ")
        code = started[rank].returncode
        if code == _REFUSED:
            reasons.append(getattr(errors, kind, ValueError)(message))
        elif code < 0:
            return PeerLost(f"rank {rank} was ended by {signal.Signals(-code).name}")
        else:
            return PeerLost(f"rank {rank} ended with code {code}: {_gist(said)}")
    return min(reasons, key=lambda reason: isinstance(reason, PeerLost))


def _gist(said: str) -> str:
    """The line of a rank's last words that tells most: not a frame of torch's C++."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if not _FRAME.match(line)]
    return (telling or lines or ["it said nothing; is there room in the temporary folder?"])[-1]


_FRAME = re.compile(r"frame #\d+|#\d+ |Exception raised from|\*\*\*|<unknown function>")
_REFUSED = 3


def _main(folder: Path, options: str) -> int:
    """Be one of the ranks that `run_local` started."""

    def keep(result: Result) -> None:
        part = folder / f"{_SO_FAR}.part"
        part.write_text(result.to_json(), encoding="utf-8")
        part.replace(folder / _SO_FAR)

    try:
        result = measure(**json.loads(options), keep=keep)
    except (ValueError, ProbeError) as error:
        print(f"{type(error).__name__}: {error}")
        return _REFUSED
    if result:
        (folder / _RESULT).write_text(result.to_json(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), sys.argv[2]))
