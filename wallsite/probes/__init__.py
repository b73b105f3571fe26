"""Measurements of the machine a program runs on, made so that their numbers can be defended.

`measure` runs the probes it is asked for. Programs that bring kernels of their own use
`find_device`, `plan_arrays` and `sample`::

    from wallsite import probes

    result = probes.measure(["memory", "matmul"], quick=True)
    result.headline.bandwidth        # byte/s
    result.ridge_point("fp32")       # FLOP/byte
"""

from wallsite.probes.errors import (
    ClockStopped,
    DeviceNotFound,
    NotEnoughMemory,
    NotMeasured,
    ProbeError,
    WrongResult,
)
from wallsite.probes.hardware import (
    Cache,
    Device,
    Limit,
    Machine,
    devices,
    find_device,
    machine,
)
from wallsite.probes.plan import ArrayPlan, plan_arrays
from wallsite.probes.results import Environment, Measurement, Result
from wallsite.probes.suite import PROBES, measure
from wallsite.probes.timing import Samples, sample

__all__ = [
    "PROBES",
    "ArrayPlan",
    "Cache",
    "ClockStopped",
    "Device",
    "DeviceNotFound",
    "Environment",
    "Limit",
    "Machine",
    "Measurement",
    "NotEnoughMemory",
    "NotMeasured",
    "ProbeError",
    "Result",
    "Samples",
    "WrongResult",
    "devices",
    "find_device",
    "machine",
    "measure",
    "plan_arrays",
    "sample",
]
