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
CABLE = "cable"
# Bytes that a bucket lets out at once after a pause, faster than its rate: much less than a
# message that tells the bandwidth, but more than what a busy CPU keeps it from sending meanwhile.
BURST = 32 * 1024
# The bucket counts headers as well: 66 bytes in a frame, 4 % of the usual ones, 0.7 % of these.
FRAME = 9000

# Waits until its input ends, which it does however the test ends, and takes the nodes down. What
# still runs in a namespace would keep it alive.
_TAKE_DOWN = """
read -r _
for again in 1 2 3; do  # what is on its way into a node is there a moment later
    for node in "$@"; do
        ip netns pids "$node" | xargs -r kill -9
    done
    sleep 0.1
done
for node in "$@"; do
    ip netns delete "$node"
done
"""


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
    """Make two nodes whose cable carries ``rate`` byte/s in each direction.

    Yields the names of the namespaces. They are taken down at the end with all that runs in them,
    by a process of its own, so also if this one is killed.
    """
    mark = uuid.uuid4().hex[:6]
    names = tuple(f"wallsite-{mark}-{i}" for i in range(2))
    with subprocess.Popen(
        ["sh", "-c", _TAKE_DOWN, "sh", *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not for it
    ):
        for name in names:
            _run("ip", "netns", "add", name)
        pair = ["mtu", str(FRAME), "type", "veth", "peer", "name", CABLE, "mtu", str(FRAME)]
        _run("ip", "-n", names[0], "link", "add", CABLE, *pair, "netns", names[1])
        for name, address in zip(names, ADDRESSES, strict=True):
            _run("ip", "-n", name, "address", "add", f"{address}/24", "dev", CABLE)
            for link in ("lo", CABLE):
                _run("ip", "-n", name, "link", "set", link, "up")
            shape = ["rate", f"{8 * rate:.0f}bit", "burst", str(BURST), "latency", "200ms"]
            _run("tc", "-n", name, "qdisc", "add", "dev", CABLE, "root", "tbf", *shape)
        yield names


def start(name, command, **variables):
    """Start a command on a node."""
    return subprocess.Popen(
        ["ip", "netns", "exec", name, *command],
        env=os.environ | {key: str(value) for key, value in variables.items()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def _run(*words):
    subprocess.run(words, capture_output=True, encoding="utf-8", check=True)
