"""A measured rate of bytes: of a memory, or of a link."""

from __future__ import annotations

from dataclasses import dataclass

from wallsite import tables
from wallsite._checks import count, positive
from wallsite._checks import rate as checked
from wallsite.explain import text
from wallsite.explain.answer import ABOVE, HEALTHY, NEAR, Bound, Explanation, band, judged
from wallsite.explain.causes import causes
from wallsite.explain.machine import Machine
from wallsite.explain.text import phrase
from wallsite.tables.schema import Text

# One core: 10 to 16 cache lines of 64 bytes under way, 80 to 100 ns each.
_ONE_CORE = (8e9, 12e9)


@dataclass(frozen=True)
class Rate:
    """A rate of bytes that a tool printed.

    Attributes:
        value: byte/s, as the tool counts.
        moved: bytes that crossed the memory for each byte the tool counted: 2 for a copy within a
            device that counts its size once, 1.5 for a STREAM copy with write-allocate.
        name: of the test, for people.
        threads: that took part, if known.
    """

    value: float
    moved: float = 1.0
    name: str = ""
    threads: int | None = None


@dataclass(frozen=True)
class Transfer:
    """A rate over a link.

    Attributes:
        value: byte/s.
        link: one direction of the link, byte/s.
        link_name: for people.
        both: `value` adds both directions.
        name: of the test, for people.
        shared: devices that use the link at once, behind one switch or root port.
        network: the link is one between machines, with causes of its own.
    """

    value: float
    link: float
    link_name: str = ""
    both: bool = False
    name: str = ""
    shared: int = 1
    network: bool = False


def rate(run: Rate, machine: Machine) -> Explanation:
    """Explain a memory bandwidth that was measured.

    Raises:
        ValueError: the bandwidth of the memory is not known, or a number is out of range.
    """
    value, moved = checked("rate", run.value), positive("moved", run.moved)
    limit = machine.all_bandwidth
    if not limit:
        raise ValueError("no memory bandwidth: give --device, --bandwidth or --memory")
    bounds = (Bound("memory", limit, "byte/s", phrase("{rate}", rate=text.rate(limit))),)
    traffic = value * moved
    share = traffic / limit
    notes: list[Text] = [*machine.warnings]
    if moved != 1:
        notes.append(
            phrase(
                "{value} counted × {moved} = {traffic} of memory traffic",
                value=text.rate(value),
                moved=f"{moved:g}",
                traffic=text.rate(traffic),
            )
        )
    if machine.kind == "cpu":
        if run.threads == 1:
            notes.append(
                phrase(
                    "one thread: a core has 10 to 16 cache lines of 64 B under way for 80 to 100 "
                    "ns, some {low} to {high}: this is a limit of the core, not of the memory",
                    low=text.rate(_ONE_CORE[0]),
                    high=text.rate(_ONE_CORE[1]),
                )
            )
        notes.append(
            phrase(
                "with write-allocate a store reads its line first: counted as STREAM does, Copy "
                "and Scale move 3/2, Add and Triad 4/3 of what is printed. Decode only reads: "
                "judge it by a read-only kernel (wallsite probe)"
            )
        )
    name = band(share)
    wall = "none" if run.threads == 1 and machine.kind == "cpu" else judged(bounds, share)
    return Explanation(
        recognized=(*machine.lines, phrase("memory rate {name}", name=run.name)),
        bounds=bounds,
        measured=phrase("{rate}", rate=text.rate(traffic)),
        share=share,
        wall=wall,
        causes=causes("rate", machine.kind, name),
        following={
            ABOVE: phrase("Find out which line of the list is true before you use the number."),
            HEALTHY: phrase("Use this rate, not the sheet’s, as the denominator on this machine."),
            NEAR: phrase("Use this rate, not the sheet’s, as the denominator on this machine."),
        }.get(
            name, phrase("Run wallsite probe on this device: it takes the best of several kernels.")
        ),
        page="three-walls/measuring.md#gotchas",
        notes=tuple(notes),
        sources=machine.sources,
    )


def transfer(run: Transfer) -> Explanation:
    """Explain a rate over a link.

    Raises:
        ValueError: a number is out of range.
    """
    value, link = checked("rate", run.value), checked("link", run.link)
    whole = 2 * link if run.both else link
    limit = whole / count("shared", run.shared)
    arithmetic = (
        phrase("2 directions × {link} = {limit}", link=text.rate(link), limit=text.rate(whole))
        if run.both
        else phrase("{name}, one direction: {link}", name=run.link_name, link=text.rate(link))
    )
    if run.shared > 1:
        arithmetic = phrase(
            "{link} shared by {count} = {each}",
            link=text.rate(whole),
            count=run.shared,
            each=text.rate(limit),
        )
    bounds = (Bound("communication", limit, "byte/s", arithmetic),)
    share = value / limit
    name = band(share)
    return Explanation(
        recognized=(phrase("link {name} {test}", name=run.link_name, test=run.name),),
        bounds=bounds,
        measured=phrase("{rate}", rate=text.rate(value)),
        share=share,
        wall=judged(bounds, share),
        causes=causes("link", "network" if run.network else "any", name),
        following={
            ABOVE: phrase("Find out which line of the list is true before you use the number."),
            HEALTHY: phrase("Nothing: overlap the transfer with work, or send less."),
            NEAR: phrase("Nothing: overlap the transfer with work, or send less."),
        }.get(
            name,
            phrase("Measure one card, one direction, 256 MB, pinned memory; then add the rest."),
        ),
        page="three-walls/communication.md#links",
    )


def link_rate(name: str) -> tuple[float, str]:
    """One direction of a link, byte/s, and its name: of the catalog, or ``pcie4-x8``.

    A PCIe link of another width carries its part of ×16.

    Raises:
        UnknownName: no such link.
    """
    head, _, width = name.casefold().replace(" ", "-").rpartition("-x")
    if head.startswith("pcie") and width in {"1", "2", "4", "8"}:
        whole = tables.link(f"{head}-x16")
        return whole.bandwidth.si * int(
            width
        ) / 16, f"{head.upper().replace('PCIE', 'PCIe ')} ×{width}"
    found = tables.link(name)
    return found.bandwidth.si, found.name
