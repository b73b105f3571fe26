"""Explaining what a tool reported: its rows, with what the caller adds about machine and model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from wallsite.explain import text
from wallsite.explain.answer import Explanation
from wallsite.explain.collective import Collective, collective
from wallsite.explain.compute import Prefill, prefill
from wallsite.explain.counters import counters
from wallsite.explain.decode import Decode, decode
from wallsite.explain.kernel import Kernel, kernel
from wallsite.explain.machine import Machine, machine
from wallsite.explain.model import ModelRun
from wallsite.explain.rate import Rate, Transfer, rate, transfer
from wallsite.explain.text import phrase
from wallsite.readers.records import (
    CollectiveRow,
    CounterRow,
    KernelRow,
    LinkRow,
    PairRow,
    RateRow,
    ReadError,
    Report,
    TokenRow,
)
from wallsite.tables import UnknownName
from wallsite.tables.schema import Text
from wallsite.topology import Topology

R = TypeVar("R")

# One direction of one link, byte/s, by generation as nvidia-smi counts links (NV12, NV18).
_NVLINK = {"nvlink2": 25e9, "nvlink3": 25e9, "nvlink4": 25e9, "nvlink5": 50e9}
_PATHS = {
    "PIX": phrase("one PCIe switch: the NIC, or peer, to use"),
    "PXB": phrase("several PCIe switches, no CPU: good"),
    "PHB": phrase("through the CPU’s PCIe host bridge"),
    "NODE": phrase("between host bridges of one NUMA node: slower"),
    "SYS": phrase("across sockets: avoid it"),
    "SOC": phrase("across sockets: avoid it"),
}


@dataclass(frozen=True)
class Context:
    """What the caller knows besides the report; None where it was not said.

    Attributes:
        machine: that the numbers were measured on.
        model: that was run.
        joined: how devices are joined, for collectives.
        link: one direction of a link, byte/s, and its name, for rates over links.
        ranks: that took part in a collective.
        nodes: that they are spread over.
        operation: of a collective whose file does not say.
        algorithm: of a collective.
        batch: sequences, where a file does not say.
    """

    machine: Machine | None = None
    model: ModelRun | None = None
    joined: Topology | None = None
    link: tuple[float, str] | None = None
    ranks: int | None = None
    nodes: int | None = None
    operation: str | None = None
    algorithm: str | None = None
    batch: int | None = None


def explained(report: Report, context: Context) -> Iterator[Explanation]:
    """Explain a report, one explanation for each thing that it measured.

    Raises:
        ReadError: what is needed to judge it was not given.
    """
    heading = phrase("{format}: {rows} row(s)", format=report.format, rows=len(report.rows))
    notes = [phrase("not taken: {reason}", reason=reason) for reason in report.refused[:3]]
    if len(report.refused) > 3:
        notes.append(phrase("and {count} more rows not taken", count=len(report.refused) - 3))
    for found in _each(report, context):
        yield replace(found, recognized=(heading, *found.recognized), notes=(*notes, *found.notes))


def _each(report: Report, context: Context) -> Iterator[Explanation]:
    def of(kind: type[R]) -> list[R]:
        return [row for row in report.rows if isinstance(row, kind)]

    yield from _collectives(of(CollectiveRow), context)
    yield from _rates(of(RateRow), context)
    yield from _links(of(LinkRow), context)
    yield from (_tokens(row, context) for row in of(TokenRow))
    yield from _kernels(of(KernelRow), context)
    for row in of(CounterRow):
        found = counters(row.shares)
        line = phrase("{entity}: {samples} sample(s)", entity=row.entity, samples=row.samples)
        yield replace(found, recognized=(line, *found.recognized))
    if pairs := of(PairRow):
        yield _pairs(pairs, context)


def _kernels(rows: Iterable[KernelRow], context: Context) -> Iterator[Explanation]:
    """The five longest."""
    for row in sorted(rows, key=lambda each: -(each.seconds or 0.0))[:5]:
        if context.machine is None:
            raise ReadError("to judge a kernel, give --device, or --bandwidth and --peak")
        run = Kernel(row.flops or 0.0, row.traffic or 0.0, row.seconds, row.name)
        yield kernel(run, context.machine)


def _collectives(rows: Iterable[CollectiveRow], context: Context) -> Iterator[Explanation]:
    listed = sorted(rows, key=lambda row: row.size)
    if not listed:
        return
    largest, smallest = listed[-1], listed[0]
    operation = largest.operation or context.operation
    ranks, nodes = largest.ranks or context.ranks, largest.nodes or context.nodes
    if not operation:
        raise ReadError("the file does not name the collective: give --collective")
    if not ranks:
        raise ReadError("the file does not say how many ranks: give --ranks")
    joined = context.joined
    if joined is None:
        known = _known(largest.device)
        if known is None or known.device is None or known.device.link is None or (nodes or 1) > 1:
            raise ReadError(
                "to judge a collective, give --device or --link, and --nodes, --nics and --nic "
                "between nodes"
            )
        link = known.device.link.bandwidth.si
        joined = Topology(max(ranks, 2), link, 1, link)
    run = Collective(
        operation,
        ranks,
        largest.size,
        largest.seconds,
        busbw=largest.busbw,
        nodes=nodes or 1,
        algorithm=context.algorithm,
    )
    found = collective(run, joined)
    if len(listed) > 1 and smallest.size < 1e6:
        note = phrase(
            "smallest message: {size} in {time}, all of it latency",
            size=text.size(smallest.size),
            time=text.duration(smallest.seconds),
        )
        found = replace(found, notes=(*found.notes, note))
    if nodes is None:
        note = phrase("--nodes was not given: all ranks are taken to be in one node")
        found = replace(found, missing=(*found.missing, note))
    yield found


def _rates(rows: Iterable[RateRow], context: Context) -> Iterator[Explanation]:
    listed = list(rows)
    if not listed:
        return
    best = max(listed, key=lambda row: row.value * row.moved)
    judged = context.machine or _known(best.device)
    if judged is None:
        raise ReadError("to judge a memory bandwidth, give --device, --bandwidth or --memory")
    yield rate(Rate(best.value, best.moved, best.name, best.threads), judged)


def _links(rows: Iterable[LinkRow], context: Context) -> Iterator[Explanation]:
    for row in rows:
        if context.link is None:
            raise ReadError(
                f"to judge {row.name}, give --link, such as pcie4-x16, ib-ndr or 400Gb/s"
            )
        value, name = context.link
        yield transfer(
            Transfer(
                row.value,
                value,
                name,
                row.both,
                row.name,
                network=row.between == "network",
            )
        )


def _tokens(row: TokenRow, context: Context) -> Explanation:
    judged = context.machine or _known(row.device)
    if judged is None:
        raise ReadError("to judge tokens/s, give --device, --bandwidth or --memory")
    model = context.model or ModelRun()
    model = replace(
        model,
        name=model.name or row.name,
        params=model.params or row.params,
        stored=model.stored or row.stored,
    )
    if model.resident is None and not model.params:
        raise ReadError(
            "the file does not say the model’s size: give --model or --params, and --bits"
        )
    if row.phase == "prefill":
        return prefill(Prefill(model, row.prompt, row.batch or 1, row.tokens_per_second), judged)
    run = Decode(
        model,
        row.batch or context.batch,
        row.context,
        tokens_per_second=None if row.seconds else row.tokens_per_second,
        seconds=row.seconds,
    )
    found = decode(run, judged)
    if row.seconds and row.batch:
        note = phrase(
            "{batch} sequences are decoded together on average: output tokens/s × time a token",
            batch=row.batch,
        )
        found = replace(found, notes=(note, *found.notes))
    return found


def _pairs(rows: list[PairRow], context: Context) -> Explanation:
    lines: list[Text] = []
    device = context.machine.device if context.machine else None
    link = device.link if device else None
    each = _NVLINK.get(link.id.split("-")[0]) if link else None
    for row in rows:
        if row.path.startswith("NV") and row.path[2:].isdigit():
            count = int(row.path[2:])
            if each:
                lines.append(
                    phrase(
                        "{first}–{second}: {count} NVLinks × {each} = {all}, one direction",
                        first=row.first,
                        second=row.second,
                        count=count,
                        each=text.rate(each),
                        all=text.rate(count * each),
                    )
                )
            else:
                lines.append(
                    phrase(
                        "{first}–{second}: {count} NVLinks; 25 GB/s each, one direction, up to "
                        "NVLink 4, 50 for NVLink 5",
                        first=row.first,
                        second=row.second,
                        count=count,
                    )
                )
        else:
            lines.append(
                phrase(
                    "{first}–{second}: {path}, {meaning}",
                    first=row.first,
                    second=row.second,
                    path=row.path,
                    meaning=_PATHS.get(row.path, phrase("see the legend")),
                )
            )
    shown = lines[:24]
    if len(lines) > 24:
        shown.append(phrase("and {count} more pairs", count=len(lines) - 24))
    return Explanation(
        recognized=(),
        bounds=(),
        wall="unknown",
        following=phrase(
            "Measure each pair: a GPU uses the NICs that stand at PIX or PXB, and no others at "
            "full rate."
        ),
        page="three-walls/communication.md#links",
        notes=tuple(shown),
        missing=() if each else (phrase("--device: tells the generation of NVLink"),),
    )


def _known(name: str | None) -> Machine | None:
    if name is None:
        return None
    try:
        return machine(name)
    except UnknownName:
        return None
