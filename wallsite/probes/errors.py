"""What can go wrong in a measurement. Each is one clear line, and no number is printed with it."""

# ruff: noqa: N818 - named for what happened

from __future__ import annotations


class ProbeError(RuntimeError):
    """A measurement that did not take place, or whose number must not be used."""


class DeviceNotFound(ProbeError):
    """The device asked for is not on this machine; the message lists those that are."""


class NotEnoughMemory(ProbeError):
    """The arrays do not fit; the message says what would."""


class WrongResult(ProbeError):
    """A kernel computed something else than it claims, or beat the hardware's own limit."""


class KernelFailed(ProbeError):
    """The library refused to run a kernel, for example in a type that the device lacks."""


class PeerLost(ProbeError):
    """A rank died, cannot be reached, or does not answer in time."""


class ClockStopped(ProbeError):
    """The clock did not advance while a kernel ran, or contradicts another: no rate follows."""


class NotMeasured(ProbeError):
    """A number was asked for that the run did not measure; the message says why."""
