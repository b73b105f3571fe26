"""The link between a host and its accelerator, and between two accelerators."""

from __future__ import annotations

from collections.abc import Iterator

from wallsite.probes.errors import DeviceNotFound
from wallsite.probes.plan import plan_arrays
from wallsite.probes.results import Measurement
from wallsite.probes.session import Session, Work

RULE = "payload: each byte that crosses the link counts once, per direction"
PAYLOAD = 256 * 2**20


def measure(session: Session) -> Iterator[Measurement]:
    """Measure copies over the link, from and to pinned and ordinary memory, per direction.

    Raises:
        DeviceNotFound: the device is the CPU, which needs no link.
        NotEnoughMemory: the buffers do not fit.
    """
    if session.device.kind == "cpu":
        raise DeviceNotFound("a link leads to an accelerator, and the device measured is the CPU")
    size = session.options.array_bytes or PAYLOAD
    size = plan_arrays(session.device, 2, array_bytes=size).array_bytes
    for name, task in session.engine.transfers(size).items():
        yield session.measure(transfer_work(name, size), task)


def transfer_work(name: str, size: int) -> Work:
    """Count a copy over the link."""
    return Work(
        probe="link",
        kernel=name,
        formula=name.replace("-", " "),
        dtype="bytes",
        shape=(size,),
        array_bytes=size,
        bytes_counted=size,
        bytes_hardware=None,
        rule=RULE,
        flops=0,
        tolerance=0.0,
    )
