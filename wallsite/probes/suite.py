"""The whole measurement of one device: bandwidth, matmul peak, and so its ridge point."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from wallsite import __version__
from wallsite.probes.hardware import find_device, machine, peak_memory
from wallsite.probes.matmul import measure_matmul
from wallsite.probes.memory import measure_bandwidth
from wallsite.probes.results import ProbeResult


def measure(
    device: str = "auto",
    backend: str = "auto",
    array_bytes: int | None = None,
    threads: int | None = None,
    repeats: int | None = None,
    quick: bool = False,
) -> ProbeResult:
    """Measure a device: memory bandwidth, then matmul in each type worth having.

    That is fp32 with numpy, and fp32 and bf16 with torch. The arguments are those of
    `measure_bandwidth`, and so are the errors. With numpy ``threads`` holds for the bandwidth
    only: its matrix product has threads of its own.
    """
    started, load = _now(), os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    where = find_device(device)
    bandwidth = measure_bandwidth(where, backend, array_bytes, threads, repeats, quick)
    dtypes = ("fp32",) if bandwidth.backend == "numpy" else ("fp32", "bf16")
    matmuls = [measure_matmul(where, backend, dtype, threads, repeats, quick) for dtype in dtypes]
    return ProbeResult(
        version=__version__,
        started=started,
        finished=_now(),
        machine=machine(),
        load_average=load,
        peak_memory=peak_memory(),
        bandwidth=bandwidth,
        matmuls=tuple(matmuls),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat()
