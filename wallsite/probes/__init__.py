"""Measurements of the machine a program runs on, made so that their numbers can be defended.

`measure` does it all; `measure_bandwidth` and `measure_matmul` one thing each. Programs that
bring kernels of their own use `find_device`, `plan_arrays` and `sample`::

    from wallsite import probes

    result = probes.measure(quick=True)
    result.bandwidth.best                                       # triad, byte/s
    probes.measured_ridge(result.matmuls[0], result.bandwidth)  # FLOP/byte
"""

from wallsite.probes.errors import (
    ClockStopped,
    DeviceNotFound,
    NotEnoughMemory,
    ProbeError,
    WrongResult,
)
from wallsite.probes.hardware import Device, Machine, find_device, machine
from wallsite.probes.matmul import measure_matmul
from wallsite.probes.memory import measure_bandwidth
from wallsite.probes.plan import ArrayPlan, plan_arrays
from wallsite.probes.results import (
    BandwidthResult,
    KernelResult,
    MatmulResult,
    ProbeResult,
    measured_ridge,
)
from wallsite.probes.suite import measure
from wallsite.probes.timing import Samples, sample

__all__ = [
    "ArrayPlan",
    "BandwidthResult",
    "ClockStopped",
    "Device",
    "DeviceNotFound",
    "KernelResult",
    "Machine",
    "MatmulResult",
    "NotEnoughMemory",
    "ProbeError",
    "ProbeResult",
    "Samples",
    "WrongResult",
    "find_device",
    "machine",
    "measure",
    "measure_bandwidth",
    "measure_matmul",
    "measured_ridge",
    "plan_arrays",
    "sample",
]
