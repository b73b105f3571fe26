"""What was measured, kept so that it can be judged again a year from now.

Every sample is kept, not only the best; every rate is computed from samples and counts when it
is asked for. Units are SI: byte, s, byte/s, FLOP, FLOP/s, FLOP/byte.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wallsite.probes.errors import NotMeasured
from wallsite.probes.hardware import Device, Limit, Machine
from wallsite.probes.parse import read
from wallsite.probes.timing import Samples
from wallsite.roofline import ridge_point

SCHEMA = 3
"""Version of the JSON. It changes whenever a field does."""

_BEFORE = 2  # which is still read

OK, UNSTABLE, SKIPPED, FAILED = "ok", "unstable", "skipped", "failed"
HEADLINES = ("add", "triad")
STATUSES = (OK, UNSTABLE, SKIPPED, FAILED)


_MOST = 10**30  # of what a kernel can count


@dataclass(frozen=True)
class Measurement:
    """One kernel at one size on one device.

    Attributes:
        probe: which probe took it: memory, cache, matmul, kernels or link.
        kernel: what ran, for example ``triad``, ``matmul``, ``host-to-device``.
        formula: what it computes for each element, or what it moves.
        dtype: type of the elements.
        shape: sides of the operands: ``(n,)`` for arrays, ``(m, n, k)`` for a matrix product.
        array_bytes: bytes of the largest operand.
        bytes_counted: bytes of one run by ``rule``.
        bytes_hardware: estimate of what the memory itself moved in one run, where it is known to
            differ from what is counted or to equal it; None where it is not known.
        rule: how bytes are counted.
        flops: FLOPs of one run, a multiply-add counted as two.
        samples: all durations; None if nothing was measured.
        largest_error: of the result, checked after the clock stopped, relative to its largest
            value; None if nothing was measured.
        limit: what the hardware is specified to reach, None if not known.
        status: ``ok``; ``unstable``, a number not to build on; ``skipped`` or ``failed``, no
            number at all.
        reason: why the status is not ``ok``; else empty.
        error: class of the error that made it fail; else empty.
        warnings: what a reader of the number has to know, one sentence each.
        wall_seconds: allocation, filling, warm-up, samples and check together.
    """

    probe: str
    kernel: str
    formula: str
    dtype: str
    shape: tuple[int, ...]
    array_bytes: int
    bytes_counted: int
    bytes_hardware: int | None
    rule: str
    flops: int
    samples: Samples | None
    largest_error: float | None
    limit: Limit | None
    status: str
    reason: str
    error: str
    warnings: tuple[str, ...]
    wall_seconds: float

    def __post_init__(self) -> None:
        """Refuse counts that no rate can be computed from."""
        counts = (self.array_bytes, self.bytes_counted, self.bytes_hardware or 0, self.flops)
        if not 0 <= min(counts) <= max(counts) < _MOST:
            raise ValueError("counts of bytes and FLOPs must be 0 or above, and real")
        if self.samples is not None and (self.array_bytes < 1 or min(self.shape, default=0) < 1):
            raise ValueError(
                f"what was measured has array_bytes and sides above 0, got {self.array_bytes} and "
                f"{list(self.shape)}"
            )
        if self.samples is not None and not (
            self.bytes_counted and (self.flops or not self.computes)
        ):
            raise ValueError("what was measured must count bytes, and a product FLOPs")

    def __str__(self) -> str:
        """Kernel, type and shape: ``matmul bf16 4096×4096×4096``."""
        return " ".join(filter(None, (self.kernel, self.dtype, "×".join(map(str, self.shape)))))

    @property
    def seconds(self) -> Samples:
        """The durations.

        Raises:
            NotMeasured: there are none; the message says why.
        """
        if self.samples is None:
            raise NotMeasured(f"{self.kernel} {self.dtype} was not measured: {self.reason}")
        return self.samples

    @property
    def bandwidth(self) -> float:
        """Bandwidth in the best sample, byte/s, by the counting rule."""
        return self.bytes_counted / self.seconds.best

    @property
    def median_bandwidth(self) -> float:
        """Bandwidth in the median sample, byte/s, by the counting rule."""
        return self.bytes_counted / self.seconds.median

    @property
    def hardware_bandwidth(self) -> float | None:
        """Estimate of what the memory itself moved in the best sample, byte/s."""
        moved = self.bytes_hardware
        return None if moved is None else moved / self.seconds.best

    @property
    def performance(self) -> float:
        """FLOP/s in the best sample."""
        return self.flops / self.seconds.best

    @property
    def median_performance(self) -> float:
        """FLOP/s in the median sample."""
        return self.flops / self.seconds.median

    @property
    def computes(self) -> bool:
        """Whether its rate is told in FLOP/s, as that of matrix products; else in byte/s."""
        return self.kernel in {"matmul", "gemm"}

    def rate(self, seconds: float) -> float:
        """FLOP/s or byte/s of a run that takes so many seconds."""
        return (self.flops if self.computes else self.bytes_counted) / seconds

    @property
    def intensity(self) -> float:
        """Arithmetic intensity, FLOP/byte."""
        return self.flops / self.bytes_counted

    @property
    def fraction_of_limit(self) -> float | None:
        """Best bandwidth ÷ what the hardware is specified to reach."""
        return None if self.limit is None else self.bandwidth / self.limit.rate


@dataclass(frozen=True)
class Environment:
    """What else bears on a measurement.

    Attributes:
        affinity: logical CPUs that the process may run on.
        numa_nodes: how many there are, None if not known.
        huge_pages: the system's policy for transparent huge pages, None if not known.
        load_average: over the minute before the start; None where the system has none.
        python: version.
        variables: environment variables that set the threads of libraries.
        cpu_quota: CPUs' worth of time that a control group grants, None if it sets no limit.
        switches: times that another process took a CPU from this one, for each second of CPU time
            that the run used; None where the system does not count them.
    """

    affinity: tuple[int, ...]
    numa_nodes: int | None
    huge_pages: str | None
    load_average: float | None
    python: str
    variables: dict[str, str]
    cpu_quota: float | None = None
    switches: float | None = None


@dataclass(frozen=True)
class Result:
    """All that one run measured, on one device.

    Attributes:
        wallsite: version of the package.
        started: UTC, ISO 8601.
        finished: UTC, ISO 8601.
        wall_seconds: from start to finish.
        interrupted: whether the run was stopped before its end.
        machine: the host.
        device: what was measured.
        environment: what else bears on it.
        backend: library that ran the kernels.
        backend_version: its version.
        threads: threads of the bandwidth kernels; None on an accelerator.
        peak_memory: most bytes of main memory the process held; None if not known.
        measurements: in the order they were taken.
    """

    wallsite: str
    started: str
    finished: str
    wall_seconds: float
    interrupted: bool
    machine: Machine
    device: Device
    environment: Environment
    backend: str
    backend_version: str
    threads: int | None
    peak_memory: int | None
    measurements: tuple[Measurement, ...]

    def select(self, probe: str, kernel: str | None = None) -> tuple[Measurement, ...]:
        """Measurements of a probe, or of one kernel of it, that hold numbers."""
        return tuple(
            x
            for x in self.measurements
            if x.probe == probe and kernel in {None, x.kernel} and x.samples is not None
        )

    @property
    def triad(self) -> Measurement:
        """STREAM's triad over the largest arrays.

        Raises:
            NotMeasured: this run has none.
        """
        triads = [x for x in self.measurements if (x.probe, x.kernel) == ("memory", "triad")]
        return self._best("triad", triads, "memory", lambda x: x.array_bytes)

    @property
    def headline(self) -> Measurement:
        """Memory bandwidth as it is quoted: add or triad over the largest arrays, the faster one.

        Both read two arrays and write one, so a copy that stores past the cache cannot flatter
        them. numpy, which has no triad in one pass, reaches more in an addition.

        Raises:
            NotMeasured: this run has none.
        """
        both = [x for x in self.measurements if x.probe == "memory" and x.kernel in HEADLINES]
        largest = max((x.array_bytes for x in both), default=0)
        whole = [x for x in both if x.array_bytes == largest]
        return self._best("bandwidth", whole, "memory", lambda x: x.bandwidth)

    @property
    def matmul_dtypes(self) -> tuple[str, ...]:
        """Types that a matrix product was measured in."""
        return tuple(dict.fromkeys(x.dtype for x in self.measurements if x.computes and x.samples))

    def matmul(self, dtype: str) -> Measurement:
        """Return the fastest matrix product of a type, of any size: the measured compute peak.

        Raises:
            NotMeasured: this run has none.
        """
        products = [x for x in self.measurements if x.computes and x.dtype == dtype]
        return self._best(f"matmul {dtype}", products, "matmul", lambda x: x.performance)

    def ridge_point(self, dtype: str) -> float:
        """Measured ridge point, FLOP/byte: matmul peak of a type ÷ headline bandwidth.

        Raises:
            NotMeasured: this run lacks one of the two.
        """
        return ridge_point(self.matmul(dtype).performance, self.headline.bandwidth)

    def _best(
        self,
        what: str,
        candidates: list[Measurement],
        probe: str,
        key: Callable[[Measurement], float],
    ) -> Measurement:
        if found := [x for x in candidates if x.samples is not None]:
            return max(found, key=key)
        why = next(filter(None, (x.reason for x in candidates)), "")
        if not why:
            others = dict.fromkeys(
                x.dtype for x in self.measurements if x.probe == probe and x.samples
            )
            why = f"only {', '.join(others)} was" if others and candidates == [] else ""
        if not why:
            reasons = (x.reason for x in self.measurements if x.probe == probe and not x.samples)
            why = next(filter(None, reasons), f"run the probe {probe}")
        raise NotMeasured(f"{what} was not measured on {self.device}: {why}")

    # ---------------------------------------------------------------------------- files

    def to_json(self) -> str:
        """Versioned JSON; `from_json` reads it back to an equal result."""
        fields = {"schema": SCHEMA, **dataclasses.asdict(self)}
        text = json.dumps(fields, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        # A byte of the environment that is no UTF-8 comes as half a character.
        return text.encode("utf-8", "replace").decode("utf-8")

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is not JSON, another version, or not what such a file holds; the
                message names the field.
        """
        try:
            fields = json.loads(text, parse_constant=_refuse_constant)
        except RecursionError:
            raise ValueError("not a wallsite probe result: nested too deep") from None
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise ValueError(
                f"not a wallsite probe result: no JSON ({where}: {error.msg})"
            ) from None
        if not isinstance(fields, dict) or "schema" not in fields:
            raise ValueError("not a wallsite probe result: it has no field schema")
        schema = fields.pop("schema")
        if schema == _BEFORE and isinstance(fields.get("environment"), dict):
            for field in ("cpu_quota", "switches"):  # which it did not look for
                fields["environment"].setdefault(field, None)
        elif schema != SCHEMA:
            raise ValueError(f"schema {schema!r} is not {SCHEMA}, the one this version reads")
        result = read(cls, fields, "result")
        assert isinstance(result, cls)
        for number, measurement in enumerate(result.measurements):
            if measurement.status not in STATUSES:
                raise ValueError(
                    f"result.measurements[{number}].status must be one of {', '.join(STATUSES)}, "
                    f"got {measurement.status!r}"
                )
        return result

    def to_csv(self) -> str:
        """Comma-separated values with a header: one row for each sample."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(self._rows())
        return text.getvalue()

    def _rows(self) -> Iterator[Sequence[object]]:
        for x in self.measurements:
            fixed = [
                *(str(self.device), self.device.name, self.backend, self.threads),
                *(x.probe, x.kernel, x.dtype, "x".join(map(str, x.shape)), x.array_bytes),
                *(x.bytes_counted, x.bytes_hardware, x.flops, x.status),
            ]
            if x.samples is None:
                yield [*fixed, None, None]
            else:
                yield from ([*fixed, i, second] for i, second in enumerate(x.samples.seconds))


_COLUMNS = (
    *("device", "name", "backend", "threads", "probe", "kernel", "dtype", "shape"),
    *("array_bytes", "bytes_counted", "bytes_hardware", "flops", "status", "sample", "seconds"),
)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
