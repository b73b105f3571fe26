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


# What numpy and torch raise where they cannot do what they are asked. Most are a RuntimeError.
LIBRARY_ERRORS = (MemoryError, RuntimeError, TypeError)
_NO_ROOM = ("out of memory", "allocate memory", "start new thread")


def explained(what: str, error: Exception) -> ProbeError:
    """Turn an error of numpy or torch into one of ours, with one line that says where it was."""
    if isinstance(error, ProbeError):
        return error
    reason = (str(error).splitlines() or ["out of memory"])[0]
    no_room = isinstance(error, MemoryError) or any(x in reason.lower() for x in _NO_ROOM)
    kind = NotEnoughMemory if no_room else KernelFailed
    return kind(f"{what}: {reason}")
