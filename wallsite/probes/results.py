"""What was measured, kept so that it can be judged again a year from now.

Every sample is kept, not only the best; every rate is computed from samples and bytes when it
is asked for. Units are SI: byte, s, byte/s, FLOP/s, FLOP/byte.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from dataclasses import dataclass
from typing import Any

from wallsite.probes.hardware import Device, Machine
from wallsite.probes.timing import Samples
from wallsite.roofline import ridge_point

SCHEMA = 1
"""Version of the JSON. It changes whenever a field does."""


@dataclass(frozen=True)
class KernelResult:
    """One kernel over arrays of one size.

    Attributes:
        formula: what it computed.
        bytes_counted: bytes of one run by the counting rule.
        bytes_with_write_allocate: bytes if every line is read before it is overwritten, as a
            CPU's ordinary stores do; None where other stores may be used: by memcpy, which
            numpy copies with, and on an accelerator.
        samples: all durations.
        largest_error: relative error of the worst element, checked after the clock stopped.
    """

    name: str
    formula: str
    bytes_counted: int
    bytes_with_write_allocate: int | None
    samples: Samples
    largest_error: float

    @property
    def best(self) -> float:
        """Bandwidth in the best sample, byte/s, by the counting rule."""
        return self.bytes_counted / self.samples.best

    @property
    def median(self) -> float:
        """Bandwidth in the median sample, byte/s, by the counting rule."""
        return self.bytes_counted / self.samples.median

    @property
    def best_with_write_allocate(self) -> float | None:
        """Estimate of what the memory itself moved in the best sample, byte/s."""
        moved = self.bytes_with_write_allocate
        return None if moved is None else moved / self.samples.best


@dataclass(frozen=True)
class BandwidthResult:
    """Memory bandwidth of one device.

    Attributes:
        threads: threads that ran the kernels; None on an accelerator.
        rule: how bytes were counted.
        kernels: copy, scale, add, triad.
        warnings: what a reader of the numbers has to know, one sentence each.
    """

    device: Device
    backend: str
    backend_version: str
    threads: int | None
    dtype: str
    array_bytes: int
    rule: str
    kernels: tuple[KernelResult, ...]
    warnings: tuple[str, ...]

    @property
    def triad(self) -> KernelResult:
        """The headline: its count does not depend on how a copy happens to be done."""
        (triad,) = (kernel for kernel in self.kernels if kernel.name == "triad")
        return triad

    @property
    def best(self) -> float:
        """Triad bandwidth in its best sample, byte/s."""
        return self.triad.best


@dataclass(frozen=True)
class MatmulResult:
    """Rate of square matrix products of one type on one device.

    Attributes:
        n: side of the matrices.
        samples: all durations.
        largest_error: relative to the largest value, checked after the clock stopped.
    """

    device: Device
    backend: str
    backend_version: str
    dtype: str
    n: int
    samples: Samples
    largest_error: float

    @property
    def flops(self) -> int:
        """FLOPs of one product, a multiply-add counted as two: 2n³."""
        return 2 * self.n**3

    @property
    def best(self) -> float:
        """FLOP/s in the best sample."""
        return self.flops / self.samples.best

    @property
    def median(self) -> float:
        """FLOP/s in the median sample."""
        return self.flops / self.samples.median


def measured_ridge(matmul: MatmulResult, bandwidth: BandwidthResult) -> float:
    """Ridge point of a device from what was measured on it: matmul peak ÷ triad bandwidth.

    Raises:
        ValueError: the two were measured on different devices.
    """
    if (matmul.device.kind, matmul.device.index) != (bandwidth.device.kind, bandwidth.device.index):
        raise ValueError(
            f"matmul was measured on {matmul.device}, bandwidth on {bandwidth.device}: "
            "a ridge point belongs to one device"
        )
    return ridge_point(matmul.best, bandwidth.best)


@dataclass(frozen=True)
class ProbeResult:
    """One machine, measured.

    Attributes:
        version: of wallsite.
        started: UTC, ISO 8601.
        finished: UTC, ISO 8601.
        load_average: over the minute before the start; None where the system has none.
        peak_memory: most bytes of main memory the process held; None if not known.
    """

    version: str
    started: str
    finished: str
    machine: Machine
    load_average: float | None
    peak_memory: int | None
    bandwidth: BandwidthResult
    matmuls: tuple[MatmulResult, ...]

    def to_json(self) -> str:
        """Versioned JSON; `from_json` reads it back to an equal result."""
        fields = {"schema": SCHEMA, **dataclasses.asdict(self)}
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> ProbeResult:
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is not JSON, another version, or not what such a file holds; the
                message names the field.
        """
        fields = json.loads(text, parse_constant=_refuse_constant)
        if not isinstance(fields, dict) or "schema" not in fields:
            raise ValueError("not a wallsite probe result: it has no field schema")
        if (schema := fields.pop("schema")) != SCHEMA:
            raise ValueError(f"schema {schema!r} is not {SCHEMA}, the one this version reads")
        result = _read(cls, fields, "result")
        assert isinstance(result, cls)
        return result


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _read(kind: Any, value: Any, name: str) -> Any:
    """Turn parsed JSON into the type that an annotation asks for."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {types.UnionType, typing.Union}:
        if value is None and type(None) in arguments:
            return None
        return _read(next(a for a in arguments if a is not type(None)), value, name)
    if origin is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{name} must be a list, got {value!r}")
        return tuple(_read(arguments[0], item, f"{name}[{i}]") for i, item in enumerate(value))
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        if not isinstance(value, dict) or value.keys() != hints.keys():
            raise ValueError(f"{name} must have the fields {', '.join(hints)}")
        return kind(**{key: _read(hints[key], value[key], f"{name}.{key}") for key in hints})
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"{name} must be {kind.__name__}, got {value!r}")
    return value
