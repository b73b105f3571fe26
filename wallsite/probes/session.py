"""One run of the probes: what it runs on, how long it may take, and how a kernel is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from wallsite.probes.backend import Backend, Task
from wallsite.probes.errors import LIBRARY_ERRORS, WrongResult, explained
from wallsite.probes.hardware import Device, Limit
from wallsite.probes.results import FAILED, OK, SKIPPED, UNSTABLE, Measurement
from wallsite.probes.timing import Deadline, sample

# A spread of the samples that says: something else was running.
RESTLESS = 0.25
# Above the hardware's own rate, with a little for its clock, a number was not measured.
IMPOSSIBLE = 1.02


@dataclass(frozen=True)
class Options:
    """How to measure.

    Attributes:
        dtype: of matrix products and kernels; ``auto`` takes those that the device is used with.
        array_bytes: of each array; None plans it.
        repeats: samples of each kernel; None takes what the probe finds enough.
        quick: less memory, fewer samples.
    """

    dtype: str = "auto"
    array_bytes: int | None = None
    repeats: int | None = None
    quick: bool = False


@dataclass(frozen=True)
class Work:
    """A kernel at one size, and what it counts.

    Attributes:
        tolerance: error relative to the largest value that rounding explains.
        limit: what the hardware is specified to reach with it, None if not known.

    The others are those of a `Measurement`.
    """

    probe: str
    kernel: str
    formula: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    array_bytes: int = 0
    bytes_counted: int = 0
    bytes_hardware: int | None = None
    rule: str = ""
    flops: int = 0
    tolerance: float = 0.0
    limit: Limit | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Session:
    """What the probes of one run share.

    Attributes:
        device: what is measured.
        engine: what runs the kernels.
        options: how to measure.
        deadline: when to be done.
        tell: is told what is being measured, in a few words.
    """

    device: Device
    engine: Backend
    options: Options
    deadline: Deadline
    tell: Callable[[str], object]

    @property
    def repeats(self) -> int:
        """Samples of a kernel, unless its probe knows better."""
        return self.options.repeats or (5 if self.options.quick else 10)

    def measure(self, work: Work, task: Task | Callable[[], Task]) -> Measurement:
        """Time a task and, after the clock has stopped, check what it left.

        Args:
            work: what it counts.
            task: the task, or what allocates it; that is free again when this returns.

        Returns:
            The measurement; without samples if the deadline has passed or something failed.
        """
        if self.deadline.left <= 0:
            budget = f"the budget of {self.deadline.budget:g} s is used up"
            return unmeasured(work, SKIPPED, budget)
        self.tell(f"{work.kernel} {work.dtype} {'×'.join(map(str, work.shape))}")
        started = Deadline()
        try:
            measured = self._timed(work, task if isinstance(task, Task) else task())
        except LIBRARY_ERRORS as error:
            measured = failed(work, error)
        return replace(measured, wall_seconds=started.elapsed)

    def _timed(self, work: Work, task: Task) -> Measurement:
        engine = self.engine
        samples = sample(
            task.run,
            repeats=self.repeats,
            synchronise=engine.synchronise,
            events=engine.events(),
            deadline=self.deadline,
        )
        error = task.largest_error()
        if not error <= work.tolerance:
            raise WrongResult(
                f"{work.kernel} {work.dtype} with {engine.name} {engine.version} is off by "
                f"{error:.2g} of its largest value, more than {work.tolerance:.2g}: its time is "
                "not reported"
            )
        found = replace(
            unmeasured(work, OK, ""),
            samples=samples,
            largest_error=error,
            bytes_hardware=work.bytes_hardware if task.write_allocates else None,
        )
        share = found.fraction_of_limit
        if work.limit and share is not None and share > IMPOSSIBLE:
            raise WrongResult(
                f"{work.kernel} came out at {found.bandwidth / 1e9:,.0f} GB/s, above the "
                f"{work.limit.rate / 1e9:,.0f} GB/s that {self.device.name} can move "
                f"({work.limit.source}): it is not reported"
            )
        return rested(found)


def rested(measured: Measurement) -> Measurement:
    """Call a number unstable if its samples spread."""
    spread = measured.seconds.spread
    if spread <= RESTLESS:
        return measured
    reason = f"its samples spread by {spread:.0%} of their median: the machine was busy"
    return replace(measured, status=UNSTABLE, reason=reason)


def failed(work: Work, error: Exception) -> Measurement:
    """Make the measurement of a kernel that an error kept from being one."""
    reason = explained(f"{work.kernel} {work.dtype}".strip(), error)
    return unmeasured(work, FAILED, str(reason), type(reason).__name__)


def unmeasured(work: Work, status: str, reason: str, error: str = "") -> Measurement:
    """Make a measurement that holds no number yet, or never will."""
    return Measurement(
        probe=work.probe,
        kernel=work.kernel,
        formula=work.formula,
        dtype=work.dtype,
        shape=work.shape,
        array_bytes=work.array_bytes,
        bytes_counted=work.bytes_counted,
        bytes_hardware=work.bytes_hardware,
        rule=work.rule,
        flops=work.flops,
        samples=None,
        largest_error=None,
        limit=work.limit,
        status=status,
        reason=reason,
        error=error,
        warnings=work.warnings,
        wall_seconds=0.0,
    )
