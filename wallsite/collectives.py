"""Communication cost in the α–β model, and what it does to strong scaling.

A message of S bytes costs α + S/β seconds: a latency, and its bytes over the bandwidth **of one
direction**. A link that a vendor sells as "900 GB/s" added both directions; hand these functions
the 450 that one direction carries (`wallsite.tables` only ever gives that one).

Units: byte, s, byte/s. ``ranks`` are the chips that take part.

Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md, for volumes, algbw and busbw; Thakur, Rabenseifner,
Gropp, "Optimization of Collective Communication Operations in MPICH", 2005, for the α terms.
"""

from __future__ import annotations

import math

from wallsite._checks import count, not_negative, positive, rate, seconds


def ring_volume(size: float, ranks: int) -> float:
    """Bytes that each rank sends, and receives, in a ring all-reduce: ``2 · (N−1)/N · S``.

    It tends to 2S: adding ranks hardly changes what one rank has to move.

    Raises:
        ValueError: ``size`` is not above zero or ``ranks`` is not a whole number above zero.
    """
    size = positive("size", size)
    ranks = count("ranks", ranks)
    return 2.0 * (ranks - 1) / ranks * size


def ring_all_reduce(size: float, ranks: int, bandwidth: float, latency: float = 0.0) -> float:
    """Seconds for a ring all-reduce: ``2(N−1)/N · S/β + 2(N−1) · α``.

    Args:
        size: bytes of the buffer that every rank holds, S.
        ranks: N. With one rank there is nothing to send and the time is zero.
        bandwidth: of the slowest link of the ring, one direction, byte/s.
        latency: of one message, s.

    Raises:
        ValueError: an argument is out of range.
    """
    ranks = count("ranks", ranks)
    bandwidth = rate("bandwidth", bandwidth)
    latency = seconds("latency", latency)
    return ring_volume(size, ranks) / bandwidth + 2 * (ranks - 1) * latency


def tree_all_reduce(size: float, ranks: int, bandwidth: float, latency: float = 0.0) -> float:
    """Seconds for a double-binary-tree all-reduce: ``2 · S/β + 2 · ⌈log₂N⌉ · α``.

    Pipelined, so that both halves of each link are busy: its bandwidth term is the ring's limit,
    its latency term grows with the logarithm of N rather than with N.

    Raises:
        ValueError: an argument is out of range.

    Source: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
    and scan", 2009.
    """
    size = positive("size", size)
    ranks = count("ranks", ranks)
    bandwidth = rate("bandwidth", bandwidth)
    latency = seconds("latency", latency)
    if ranks == 1:
        return 0.0
    return 2.0 * size / bandwidth + 2 * math.ceil(math.log2(ranks)) * latency


def hierarchical_all_reduce(
    size: float,
    nodes: int,
    per_node: int,
    inner_bandwidth: float,
    outer_bandwidth: float,
    inner_latency: float = 0.0,
    outer_latency: float = 0.0,
) -> float:
    """Seconds for an all-reduce in three steps: scatter inside, reduce across, gather inside.

    Reduce-scatter among the ``per_node`` ranks of a node leaves each with S/per_node; rings
    across nodes reduce those pieces, each rank through its own NIC; all-gather spreads them
    again. Only ``S / per_node`` crosses each NIC.

    Args:
        size: bytes of the buffer that every rank holds.
        nodes: nodes, or scale-up domains.
        per_node: ranks in each of them, each with a NIC of its own.
        inner_bandwidth: scale-up link of one rank, one direction, byte/s.
        outer_bandwidth: NIC of one rank, one direction, byte/s.
        inner_latency: of one message inside, s.
        outer_latency: of one message across, s.

    Raises:
        ValueError: an argument is out of range.
    """
    size = positive("size", size)
    nodes, per_node = count("nodes", nodes), count("per_node", per_node)
    inner_bandwidth = rate("inner_bandwidth", inner_bandwidth)
    outer_bandwidth = rate("outer_bandwidth", outer_bandwidth)
    inner_latency = seconds("inner_latency", inner_latency)
    outer_latency = seconds("outer_latency", outer_latency)
    inside = ring_all_reduce(size, per_node, inner_bandwidth, inner_latency)
    across = ring_all_reduce(size / per_node, nodes, outer_bandwidth, outer_latency)
    return inside + across


def algbw(size: float, elapsed: float) -> float:
    """Algorithm bandwidth, byte/s: bytes of the buffer ÷ time. What the caller sees.

    Raises:
        ValueError: an argument is not a finite number above zero.
    """
    size, elapsed = positive("size", size), positive("elapsed", elapsed)
    return size / elapsed


def busbw(size: float, elapsed: float, ranks: int) -> float:
    """Bus bandwidth of an all-reduce, byte/s: ``algbw · 2(N−1)/N``.

    For a ring it is what each link carries in one direction, whatever N, so it can be compared
    with the hardware. For other algorithms, and for reduction in the switch, it is a convention.

    Raises:
        ValueError: fewer than two ranks (nothing crosses a link), or an argument out of range.
    """
    ranks = count("ranks", ranks, 2)
    return algbw(size, elapsed) * 2 * (ranks - 1) / ranks


def step_time(
    compute: float, size: float, ranks: int, bandwidth: float, latency: float = 0.0
) -> float:
    """Seconds for one data-parallel step at a fixed global batch, nothing overlapped.

    ``T(N) = C/N + 2(N−1)/N · S/β + 2(N−1) · α``.

    Args:
        compute: seconds that one rank alone would compute for the whole batch, C.
        size: bytes of gradients to all-reduce, S.
        ranks: N.
        bandwidth: of the slowest link, one direction, byte/s, β.
        latency: of one message, s, α.

    Raises:
        ValueError: an argument is out of range.
    """
    compute = positive("compute", compute)
    ranks = count("ranks", ranks)
    return compute / ranks + ring_all_reduce(size, ranks, bandwidth, latency)


def turning_point(compute: float, size: float, bandwidth: float, latency: float) -> float:
    """Ranks N* at which `step_time` is least: ``√((C − 2S/β) / (2α))``, as a real number.

    Where it says 1, even two ranks are slower than one (C < 2S/β). Where it says infinity, each
    added rank still helps: without latency the bandwidth term alone never turns the curve up.

    Raises:
        ValueError: an argument is out of range.
    """
    compute, size = positive("compute", compute), positive("size", size)
    bandwidth = rate("bandwidth", bandwidth)
    latency = seconds("latency", latency)
    gain = compute - 2 * size / bandwidth
    if gain <= 0:
        return 1.0
    if latency == 0:
        return math.inf
    return max(1.0, math.sqrt(gain / (2 * latency)))


def scaling_efficiency(one: float, many: float, ranks: int) -> float:
    """Scaling efficiency: throughput on N ranks ÷ (N · throughput on one), from step times.

    Args:
        one: seconds for the step on one rank.
        many: seconds for the same step on ``ranks`` ranks.
        ranks: N.

    Raises:
        ValueError: an argument is out of range.
    """
    one, many = positive("one", one), positive("many", many)
    ranks = count("ranks", ranks)
    return one / (many * ranks)


def exposed_time(communication: float, overlappable: float) -> float:
    """Seconds of communication left exposed after ``overlappable`` seconds of compute hide it.

    Raises:
        ValueError: an argument is negative.
    """
    communication = not_negative("communication", communication)
    overlappable = not_negative("overlappable", overlappable)
    return max(0.0, communication - overlappable)
