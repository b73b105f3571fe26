"""Collectives: bounds by algorithm, and which of them a measured busbw can have come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wallsite import collectives
from wallsite._checks import count, message
from wallsite._checks import rate as checked
from wallsite.explain import text
from wallsite.explain.answer import ABOVE, HEALTHY, NEAR, Bound, Explanation, band, judged
from wallsite.explain.causes import causes
from wallsite.explain.text import phrase
from wallsite.tables.schema import Text
from wallsite.topology import Topology

OPERATIONS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv")
_LARGE = 256e6  # byte: below, latency is likely to count
_SMALL = 1e6


@dataclass(frozen=True)
class Collective:
    """A collective that was timed.

    Attributes:
        operation: one of `OPERATIONS`.
        ranks: devices that took part.
        size: bytes, as nccl-tests counts them; None if it was not said.
        seconds: it took.
        algbw: size ÷ time, byte/s, instead.
        busbw: as nccl-tests computes it, byte/s, instead.
        nodes: that the ranks are spread over.
        algorithm: ring, tree, in-switch or hierarchical, if known.
    """

    operation: str
    ranks: int
    size: float | None = None
    seconds: float | None = None
    algbw: float | None = None
    busbw: float | None = None
    nodes: int = 1
    algorithm: str | None = None


def factor(operation: str, ranks: int) -> float:
    """Busbw ÷ algbw, as nccl-tests defines it.

    Raises:
        ValueError: no such operation.
    """
    if operation not in OPERATIONS:
        raise ValueError(f"operation must be one of {', '.join(OPERATIONS)}, got {operation!r}")
    n = count("ranks", ranks, 2)
    return {"all-reduce": 2 * (n - 1) / n, "broadcast": 1.0, "send-recv": 1.0}.get(
        operation, (n - 1) / n
    )


def collective(run: Collective, joined: Topology) -> Explanation:
    """Explain a collective: its busbw against what each algorithm can reach on these links.

    Raises:
        ValueError: the operation is not known, nothing was measured, or a number is out of range.
    """
    ratio = factor(run.operation, run.ranks)
    measured = _busbw(run, ratio)
    bounds = _bounds(run, joined, ratio)
    chosen = _chosen(run, bounds, measured)
    ordered = (chosen, *(bound for bound in bounds.values() if bound is not chosen))
    share = measured / chosen.value if measured else None
    name = band(share)
    small = bool(run.size and run.size < _LARGE and share is not None and share < 0.5)
    listed = causes("collective", "any", name) if share else ()
    if small:
        listed = (*causes("collective", "any", "latency"), *listed)
    wall = judged((chosen,), share)
    return Explanation(
        recognized=_recognized(run, joined),
        bounds=ordered,
        measured=_measured(measured, ratio),
        share=share,
        wall=wall,
        causes=listed,
        following=_following(name, small),
        page="three-walls/collectives.md#busbw",
        notes=_notes(run, joined, measured, ratio, bounds),
        missing=_missing(run),
    )


def _busbw(run: Collective, ratio: float) -> float | None:
    if run.busbw is not None:
        return checked("busbw", run.busbw)
    if run.algbw is not None:
        return checked("algbw", run.algbw) * ratio
    if run.seconds is not None and run.size is not None:
        return collectives.algbw(message("size", run.size), run.seconds) * ratio
    return None


def _bounds(run: Collective, joined: Topology, ratio: float) -> Mapping[str, Bound]:
    """Bounds of busbw by algorithm, the lowest first; sizes so large that latency is nothing."""
    parts: int | Sequence[int] = run.ranks
    if run.nodes > 1:
        if run.ranks % run.nodes:
            raise ValueError(f"ranks must be a multiple of nodes, got {run.ranks} on {run.nodes}")
        parts = [run.ranks // run.nodes] * run.nodes
    size = 1e12
    seconds: dict[str, float] = {}
    if run.operation == "all-reduce":
        seconds["ring"] = joined.ring_all_reduce(size, parts)
        if run.nodes > 1:
            seconds["hierarchical"] = joined.hierarchical_all_reduce(size, parts)
            seconds["tree"] = joined.tree_all_reduce(size, parts)
        if not joined.meshed:
            seconds["in-switch"] = joined.in_switch_all_reduce(size, parts)
    elif run.operation == "all-to-all":
        seconds["ring"] = joined.all_to_all(size, parts)
    elif run.operation in {"all-gather", "reduce-scatter"}:
        seconds["ring"] = joined.ring_all_reduce(size, parts) / 2
        if run.nodes > 1:
            seconds["hierarchical"] = joined.all_gather(size, parts)
    else:
        pair = joined.pair(apart=run.nodes > 1)
        seconds["ring"] = size / pair
    bounds = {
        name: Bound(
            "communication", size / taken * ratio, "byte/s", _arithmetic(name, size / taken * ratio)
        )
        for name, taken in seconds.items()
    }
    return dict(sorted(bounds.items(), key=lambda item: item[1].value))


_NAMES = {
    "ring": phrase("rings"),
    "tree": phrase("a tree between nodes, a chain inside"),
    "in-switch": phrase("switches that add (NVLS, SHARP)"),
    "hierarchical": phrase("a pipelined hierarchy"),
}


def _arithmetic(name: str, value: float) -> Text:
    return phrase("{name}: busbw at most {rate}", name=_NAMES[name], rate=text.rate(value))


def _chosen(run: Collective, bounds: Mapping[str, Bound], measured: float | None) -> Bound:
    """The bound to compare with: that of the named algorithm, or the lowest that is not passed."""
    if run.algorithm is not None:
        if run.algorithm not in bounds:
            raise ValueError(
                f"algorithm must be one of {', '.join(bounds)} here, got {run.algorithm!r}"
            )
        return bounds[run.algorithm]
    listed = list(bounds.values())
    return next(
        (bound for bound in listed if not measured or measured <= 1.02 * bound.value), listed[-1]
    )


def _recognized(run: Collective, joined: Topology) -> tuple[Text, ...]:
    lines = [
        phrase(
            "{operation} of {ranks} ranks on {nodes} node(s){size}",
            operation=run.operation,
            ranks=run.ranks,
            nodes=run.nodes,
            size=f", {text.size(run.size)}" if run.size else "",
        ),
        phrase("link of a device: {link}, one direction", link=text.rate(joined.link)),
    ]
    if run.nodes > 1:
        lines.append(
            phrase(
                "network of a node: {nics} × {nic} = {all}, one direction",
                nics=joined.nics,
                nic=text.rate(joined.nic),
                all=text.rate(joined.nics * joined.nic),
            )
        )
    return tuple(lines)


def _measured(measured: float | None, ratio: float) -> Text | None:
    if measured is None:
        return None
    return phrase(
        "busbw {busbw} = algbw {algbw} × {ratio}",
        busbw=text.rate(measured),
        algbw=text.rate(measured / ratio),
        ratio=text.significant(ratio, 4),
    )


def _notes(
    run: Collective,
    joined: Topology,
    measured: float | None,
    ratio: float,
    bounds: Mapping[str, Bound],
) -> tuple[Text, ...]:
    notes: list[Text] = []
    if measured and run.algorithm is None and run.operation == "all-reduce":
        passed = [_NAMES[name] for name, bound in bounds.items() if measured > 1.02 * bound.value]
        notes += [
            phrase("above what {name} can reach, so it was not that algorithm", name=name)
            for name in passed
        ]
    if measured and run.nodes > 1 and run.operation == "all-reduce":
        per_node = run.ranks // run.nodes
        low = measured / ratio * 2 * (run.nodes - 1) / run.nodes
        notes.append(
            phrase(
                "on the wire of each node: {low} (hierarchy) to {high} (ring), of {all}; each "
                "device’s share {each}",
                low=text.rate(low),
                high=text.rate(measured),
                all=text.rate(joined.nics * joined.nic),
                each=text.rate(low / per_node),
            )
        )
    if run.operation == "all-reduce" and run.nodes == 2:
        notes.append(
            phrase(
                "two nodes may pass the NICs’ rate by a tree: from three nodes on busbw falls by "
                "arithmetic alone, without any congestion"
            )
        )
    if run.size and run.size < _SMALL:
        notes.append(
            phrase(
                "small messages are judged by their time: 2·(ranks − 1) steps of a ring, or a few "
                "of a tree, each with its latency"
            )
        )
    elif run.size and run.size < _LARGE:
        notes.append(
            phrase("below 256 MB latency still counts: judge bandwidth by the largest size")
        )
    return tuple(notes)


def _missing(run: Collective) -> tuple[Text, ...]:
    missing = []
    if run.size is None:
        missing.append(phrase("--size: whether latency counts cannot be told without it"))
    if run.algorithm is None and run.operation == "all-reduce":
        missing.append(
            phrase(
                "--algorithm (NCCL_DEBUG=INFO names it): the lowest bound that is not passed was "
                "taken"
            )
        )
    return tuple(missing)


def _following(name: str, small: bool) -> Text:
    if name == ABOVE:
        return phrase("Find out which line of the list is true before you use the number.")
    if small:
        return phrase(
            "Sweep sizes from 8 B to 8 GB: fit latency at the small end, bandwidth at the large."
        )
    if name in {HEALTHY, NEAR}:
        return phrase("Send less, or hide it behind work: the links do what they can.")
    if name == "not-judged":
        return phrase("Run all_reduce_perf -b 8 -e 8G -f 2 and give its output.")
    return phrase(
        "Test pairs: two devices in a node, then two nodes with one NIC each, and see which step "
        "is slow."
    )
