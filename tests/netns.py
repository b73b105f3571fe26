"""Two nodes on one machine: network namespaces joined by a cable of a chosen rate.

Each node is a namespace with one end of a veth pair. A token bucket on either end lets out so
many bytes a second, so that a collective between the nodes meets a real, slow network.
"""

import os
import shutil
import subprocess
import sys
import uuid
from contextlib import contextmanager

ADDRESSES = ("10.77.0.1", "10.77.0.2")
# Bytes that a bucket lets out at once. A timer tick's worth is the least that reaches the rate.
BURST = 256 * 1024
CABLE = "cable"


def why_not():
    """Say why this machine cannot have namespaces; empty if it can."""
    if sys.platform != "linux":
        return "network namespaces need Linux"
    for tool in ("ip", "tc"):
        if shutil.which(tool) is None:
            return f"network namespaces need {tool} of iproute2"
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        with nodes(1e6):
            return ""
    except subprocess.CalledProcessError as error:
        return f"this machine makes no such network: {error.stderr.strip()}"


@contextmanager
def nodes(rate):
    """Make two nodes whose cable carries ``rate`` byte/s in each direction; take them down after.

    Yields the names of the namespaces.
    """
    mark = uuid.uuid4().hex[:6]
    names = tuple(f"wallsite-{mark}-{i}" for i in range(2))
    try:
        for name in names:
            _ip("netns", "add", name)
        ends = [f"ws{mark}{i}" for i in range(2)]
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for name, end, address in zip(names, ends, ADDRESSES, strict=True):
            _ip("link", "set", end, "netns", name, "name", CABLE)
            _ip("-n", name, "address", "add", f"{address}/24", "dev", CABLE)
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", CABLE, "up")
            shape = ["rate", f"{8 * rate:.0f}bit", "burst", str(BURST), "latency", "200ms"]
            _run("tc", "-n", name, "qdisc", "add", "dev", CABLE, "root", "tbf", *shape)
        yield names
    finally:
        for name in names:
            # The pair goes with its namespace. What is still running in it would keep it alive.
            listed = subprocess.run(
                ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
            )
            for pid in listed.stdout.split():
                subprocess.run(["kill", "-9", pid], check=False)
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def start(name, command, **variables):
    """Start a command on a node."""
    return subprocess.Popen(
        ["ip", "netns", "exec", name, *command],
        env=os.environ | {key: str(value) for key, value in variables.items()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ip(*words):
    _run("ip", *words)


def _run(*words):
    subprocess.run(words, capture_output=True, text=True, check=True)
