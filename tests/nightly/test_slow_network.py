"""All-reduces over a real network whose rate is known: two nodes on one machine.

Needs root, iproute2 and a kernel with network namespaces, as CI has; says why where it has not.
"""

import json
import signal
import subprocess
import sys
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import netns
import pytest

from wallsite import probes, topology
from wallsite.probes import scaling

MIB = 2**20
WHY_NOT = netns.why_not() or ("" if find_spec("torch") else "torch is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]
RATES = {25e6: (2**12, 2**16, MIB, 2 * MIB), 50e6: (2**12, 2**16, MIB, 4 * MIB)}
RATES[100e6] = (2**12, 2**16, 2 * MIB, 8 * MIB)
PORT = 29555  # of a namespace, where no other program runs
# Ranks wait for each other. Where they spend more than this part of their time waiting for a core,
# the machine sets the pace and not the cable; the kernel counts it for each process.
STARVED = 0.1


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure between two nodes joined at a rate, with so many ranks on each; and how starved."""

    @cache
    def measure(rate, per_node, sizes):
        folder, waits = tmp_path_factory.mktemp("ranks"), {}
        with netns.nodes(rate) as names:
            said = talk(names, folder, per_node, sizes, waits=waits)
        assert all(code == 0 for code, _ in said), said
        result = probes.Result.from_json((folder / "result.json").read_text("utf-8"))
        return result, max(waits.values())

    return measure


def holds(held, found, starved):
    """Fail if something does not hold, unless the machine kept the ranks from running."""
    if not held and starved > STARVED:
        pytest.skip(f"the machine is busy: a rank waited {starved:.0%} of its time; found {found}")
    assert held, (found, starved)


def waited(pid):
    """Share of its time that a process, with its threads, has spent waiting for a core."""
    run = wait = 0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            on_core, in_queue, _ = map(int, (task / "schedstat").read_text().split())
            run, wait = run + on_core, wait + in_queue
    except (OSError, ValueError):  # it has ended, or the kernel does not count
        return None
    return wait / (run + wait) if run else None


def talk(names, folder, per_node, sizes, timeout=60, waits=None):
    """Run ranks on both nodes; return the exit code and the output of each."""
    ranks = len(names) * per_node
    told = {
        "WORLD_SIZE": ranks,
        "LOCAL_WORLD_SIZE": per_node,
        "MASTER_ADDR": netns.ADDRESSES[0],
        "MASTER_PORT": PORT,
        "GLOO_SOCKET_IFNAME": netns.CABLE,
        "OMP_NUM_THREADS": 1,
    }
    options = {"sizes": sizes, "device": "cpu", "repeats": 5, "timeout": timeout}
    command = [sys.executable, "-m", "wallsite.probes.allreduce", str(folder), json.dumps(options)]
    started = [
        netns.start(names[rank // per_node], command, RANK=rank, **told) for rank in range(ranks)
    ]
    end = time.monotonic() + 200
    while any(process.poll() is None for process in started) and time.monotonic() < end:
        for process in started:
            share = waited(process.pid)
            if waits is not None and share is not None:
                waits[process.pid] = share
        time.sleep(0.1)
    return [(process.wait(1), process.communicate()[0]) for process in started]


@pytest.mark.parametrize("rate", RATES)
def test_the_fit_finds_the_rate_of_the_cable(measured, rate):
    result, starved = measured(rate, 1, RATES[rate])
    fitted = scaling.fit(result)
    found = fitted.bandwidth.value, fitted.error
    assert fitted.bandwidth.value < 1.5 * rate, found  # no load makes a cable faster
    # Headers take 4 % of the cable, and the ranks themselves some more of the fastest one.
    holds(0.85 * rate < found[0] < 1.05 * rate and found[1] <= 0.15, found, starved)


def test_busbw_of_a_large_buffer_is_the_rate_of_the_cable(measured):
    result, starved = measured(50e6, 1, RATES[50e6])
    found = result.measurements[-1].median_bandwidth
    holds(0.85 * 50e6 < found < 1.05 * 50e6, found, starved)


def test_two_tiers_beat_one_ring_by_what_the_model_says(measured):
    # Inside it is so much faster than the cable that it hardly counts: 1 GB/s stands for it.
    nodes = topology.Topology(domain=2, link=1e9, nics=1, nic=25e6)
    predicted = nodes.one_ring_all_reduce(4 * MIB, 4) / nodes.stepwise_all_reduce(4 * MIB, 4)
    assert predicted == pytest.approx(1.46, abs=0.01)  # 6 MiB by the cable against 4, and inside
    result, starved = measured(25e6, 2, (4 * MIB,))
    (flat,) = result.select("allreduce", "all-reduce")
    (tiered,) = result.select("allreduce", "hierarchical all-reduce")
    found = flat.seconds.median / tiered.seconds.median
    holds(found == pytest.approx(predicted, rel=0.15), found, starved)


def test_a_cable_that_is_pulled_out_ends_in_bounded_time(tmp_path):
    with netns.nodes(25e6) as names:
        subprocess.run(["ip", "-n", names[1], "link", "set", netns.CABLE, "down"], check=True)
        started = time.monotonic()
        said = talk(names, tmp_path, 1, (1024,), timeout=3)
        assert time.monotonic() - started < 60
    assert [code for code, _ in said] == [3, 3]
    for _, words in said:
        assert words.splitlines()[-1].startswith("PeerLost: ")
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------- it cleans up


def left():
    """Namespaces of ours that exist."""
    listed = subprocess.run(
        ["ip", "netns", "list"], capture_output=True, encoding="utf-8", check=True
    )
    return {line.split()[0] for line in listed.stdout.splitlines() if line.startswith("wallsite-")}


def gone(names):
    """Wait until namespaces are gone; what takes them down runs on its own."""
    deadline = time.monotonic() + 20
    while left() & set(names) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not left() & set(names)


def test_nodes_are_gone_with_what_runs_in_them():
    with netns.nodes(25e6) as names:
        assert set(names) <= left()
        asleep = netns.start(names[0], ["sleep", "1000"])
    assert gone(names)
    assert asleep.wait(20) == -signal.SIGKILL


def test_nodes_are_gone_after_a_failure():
    with pytest.raises(ZeroDivisionError), netns.nodes(25e6) as names:
        raise ZeroDivisionError
    assert gone(names)


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
import netns
with netns.nodes(25e6) as names:
    print(*names, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nodes_are_gone_after_a_kill():
    here = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(here=here)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    names = done.stdout.split()
    assert len(names) == 2
    assert gone(names)
