"""What a tool's output says, row by row, in SI base units; no judgement yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class ReadError(ValueError):
    """The text is not what it should be; one line says what was expected and what was seen."""


@dataclass(frozen=True)
class CollectiveRow:
    """One size of a collective: operation, bytes, seconds, and busbw in byte/s if it was printed.

    `ranks`, `nodes` and `device` are what the file says of the run; None where it says nothing.
    """

    operation: str
    size: float
    seconds: float
    busbw: float | None = None
    ranks: int | None = None
    nodes: int | None = None
    device: str | None = None


@dataclass(frozen=True)
class RateRow:
    """A memory bandwidth in byte/s, as counted, and how often each counted byte moves."""

    name: str
    value: float
    moved: float = 1.0
    threads: int | None = None
    device: str | None = None


@dataclass(frozen=True)
class LinkRow:
    """A rate over a link in byte/s, of one direction unless `both`."""

    name: str
    value: float
    both: bool = False
    between: str = ""


@dataclass(frozen=True)
class TokenRow:
    """A speed of a model: prefill or decode, tokens/s of all sequences together."""

    name: str
    phase: str
    tokens_per_second: float
    batch: int | None = None
    context: int | None = None
    prompt: int | None = None
    params: float | None = None
    stored: float | None = None
    device: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class KernelRow:
    """A kernel: FLOP, bytes to and from memory, seconds; None where not counted."""

    name: str
    flops: float | None
    traffic: float | None
    seconds: float | None


@dataclass(frozen=True)
class CounterRow:
    """Averaged counters of one device, each a share, and over how many samples."""

    entity: str
    shares: Mapping[str, float]
    samples: int = 1


@dataclass(frozen=True)
class PairRow:
    """How two devices of a machine are joined: ``NV18``, ``PIX``, ``SYS`` and the like."""

    first: str
    second: str
    path: str


Row = CollectiveRow | RateRow | LinkRow | TokenRow | KernelRow | CounterRow | PairRow


@dataclass(frozen=True)
class Report:
    """What was read.

    Attributes:
        format: name of the tool.
        rows: what it says.
        refused: rows that were not taken, each with its line and reason.
    """

    format: str
    rows: tuple[Row, ...]
    refused: tuple[str, ...] = field(default=())


def report(name: str, rows: list[Row], refused: list[str], expected: str) -> Report:
    """Build a report.

    Raises:
        ReadError: there is no row; `expected` says what one looks like.
    """
    if not rows:
        why = f"; {refused[0]}" if refused else ""
        raise ReadError(f"{name}: no row could be read, expected {expected}{why}")
    return Report(name, tuple(rows), tuple(refused))
