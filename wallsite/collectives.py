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
from collections.abc import Callable

from wallsite._checks import count, fraction, not_negative, one_way, positive, seconds


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
    bandwidth = one_way("bandwidth", bandwidth)
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
    bandwidth = one_way("bandwidth", bandwidth)
    latency = seconds("latency", latency)
    if ranks == 1:
        return 0.0
    return 2.0 * size / bandwidth + 2 * math.ceil(math.log2(ranks)) * latency


def halving_doubling_all_reduce(
    size: float, ranks: int, bandwidth: float, latency: float = 0.0
) -> float:
    """Seconds by recursive halving and doubling: ``2(P−1)/P · S/β + 2·log₂P · α``.

    P is the largest power of two up to N. The ranks beyond it first hand their buffer to a
    partner and get the result back at the end, which adds ``2 · (S/β + α)``: with a number of
    ranks that is no power of two, it moves about twice the bytes of a ring.

    Raises:
        ValueError: an argument is out of range.

    Source: Thakur, Rabenseifner, Gropp, 2005, section 4.5; the folding is the plainest one.
    """
    size, ranks = positive("size", size), count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    steps = ranks.bit_length() - 1
    inside = ring_volume(size, 2**steps) / bandwidth + 2 * steps * latency
    folded = 0.0 if ranks == 2**steps else 2 * (size / bandwidth + latency)
    return inside + folded


def reduce_scatter(size: float, ranks: int, bandwidth: float, latency: float = 0.0) -> float:
    """Seconds for a ring reduce-scatter: ``(N−1)/N · S/β + (N−1) · α``, half of an all-reduce.

    Args:
        size: bytes of the buffer that every rank holds before, S; each keeps S/N after.
        ranks: N.
        bandwidth: of the slowest link, one direction, byte/s.
        latency: of one message, s.

    Raises:
        ValueError: an argument is out of range.
    """
    return ring_all_reduce(size, ranks, bandwidth, latency) / 2


def all_gather(size: float, ranks: int, bandwidth: float, latency: float = 0.0) -> float:
    """Seconds for a ring all-gather: ``(N−1)/N · S/β + (N−1) · α``.

    Args:
        size: bytes of the buffer that every rank holds after, S; each brings S/N.
        ranks: N.
        bandwidth: of the slowest link, one direction, byte/s.
        latency: of one message, s.

    Raises:
        ValueError: an argument is out of range.
    """
    return ring_all_reduce(size, ranks, bandwidth, latency) / 2


def all_to_all(size: float, ranks: int, bandwidth: float, latency: float = 0.0) -> float:
    """Seconds for a pairwise all-to-all: ``(N−1)/N · S/β + (N−1) · α``.

    Args:
        size: bytes that every rank holds, S: a piece of S/N for each rank, its own stays.
        ranks: N.
        bandwidth: of one rank into the network, one direction, byte/s.
        latency: of one message, s.

    Raises:
        ValueError: an argument is out of range.
    """
    return ring_all_reduce(size, ranks, bandwidth, latency) / 2


def broadcast(size: float, ranks: int, bandwidth: float, latency: float = 0.0) -> float:
    """Seconds for a broadcast down a chain, in pieces that follow each other: ``S/β + (N−1) · α``.

    The limit of many small pieces, in which every link is busy all the time.

    Raises:
        ValueError: an argument is out of range.
    """
    size, ranks = positive("size", size), count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    return size / bandwidth + (ranks - 1) * latency if ranks > 1 else 0.0


def ring_tree_crossover(ranks: int, bandwidth: float, latency: float) -> float:
    """Bytes at which a ring and a double binary tree take as long: ``N(N−1−⌈log₂N⌉) · αβ``.

    Below it the tree is faster, for it waits for fewer messages; above it the ring, which moves
    ``2S/N`` bytes less.

    Raises:
        ValueError: an argument is out of range.
    """
    ranks = count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    return ranks * (ranks - 1 - math.ceil(math.log2(ranks))) * latency * bandwidth


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
    inner_bandwidth = one_way("inner_bandwidth", inner_bandwidth)
    outer_bandwidth = one_way("outer_bandwidth", outer_bandwidth)
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


# Bytes that each link carries in one direction ÷ bytes of the buffer, times N.
_BUS: dict[str, Callable[[int], int]] = {
    "all-reduce": lambda ranks: 2 * (ranks - 1),
    "reduce-scatter": lambda ranks: ranks - 1,
    "all-gather": lambda ranks: ranks - 1,
    "all-to-all": lambda ranks: ranks - 1,
    "broadcast": lambda ranks: ranks,
}


def busbw(size: float, elapsed: float, ranks: int, collective: str = "all-reduce") -> float:
    """Bus bandwidth, byte/s: `algbw` times what each link carries for a byte of the buffer.

    The factor is ``2(N−1)/N`` for an all-reduce, ``(N−1)/N`` for reduce-scatter, all-gather and
    all-to-all, 1 for a broadcast. For a ring it is then what each link carries in one direction,
    whatever N, so it can be compared with the hardware. For other algorithms, and for reduction
    in the switch, it is a convention.

    Raises:
        ValueError: fewer than two ranks (nothing crosses a link), no such collective, or an
            argument out of range.
    """
    ranks = count("ranks", ranks, 2)
    if collective not in _BUS:
        raise ValueError(f"collective must be one of {', '.join(_BUS)}, got {collective!r}")
    return algbw(size, elapsed) * _BUS[collective](ranks) / ranks


def step_time(
    compute: float,
    size: float,
    ranks: int,
    bandwidth: float,
    latency: float = 0.0,
    *,
    overlap: float = 0.0,
    buckets: int = 1,
    compression: float = 1.0,
) -> float:
    """Seconds for one data-parallel step at a fixed global batch (strong scaling).

    Plainly ``T(N) = C/N + 2(N−1)/N · S/β + 2(N−1) · α``; see `exposed_in_buckets` for what
    overlap and buckets make of the last two terms.

    Args:
        compute: seconds that one rank alone would compute for the whole batch, C.
        size: bytes of gradients to all-reduce, S.
        ranks: N.
        bandwidth: of the slowest link, one direction, byte/s, β.
        latency: of one message, s, α.
        overlap: share of the compute that communication can hide behind; 2/3 if that is the
            backward pass.
        buckets: all-reduces that the gradients are cut into; each pays the latency.
        compression: bytes sent ÷ bytes of gradients.

    Raises:
        ValueError: an argument is out of range.
    """
    ranks = count("ranks", ranks)
    own = positive("compute", compute) / ranks
    return weak_step_time(
        own,
        size,
        ranks,
        bandwidth,
        latency,
        overlap=overlap,
        buckets=buckets,
        compression=compression,
    )


def weak_step_time(
    compute: float,
    size: float,
    ranks: int,
    bandwidth: float,
    latency: float = 0.0,
    *,
    overlap: float = 0.0,
    buckets: int = 1,
    compression: float = 1.0,
) -> float:
    """Seconds for one data-parallel step at a fixed batch for each rank (weak scaling).

    Args:
        compute: seconds that each rank computes, however many there are.
        size: bytes of gradients to all-reduce, S.
        ranks: N.
        bandwidth: of the slowest link, one direction, byte/s, β.
        latency: of one message, s, α.
        overlap: share of the compute that communication can hide behind.
        buckets: all-reduces that the gradients are cut into; each pays the latency.
        compression: bytes sent ÷ bytes of gradients.

    Raises:
        ValueError: an argument is out of range.
    """
    compute, buckets = positive("compute", compute), count("buckets", buckets)
    sent = positive("size", size) * positive("compression", compression) / buckets
    each = ring_all_reduce(sent, ranks, bandwidth, latency)
    return compute + _exposed_in_buckets(each, buckets, fraction("overlap", overlap) * compute)


def exposed_in_buckets(bucket: float, buckets: int, overlappable: float) -> float:
    """Seconds of communication left exposed when it goes in k equal buckets, one after another.

    Bucket i is ready after i/k of the overlappable compute W, and is sent when the one before it
    has been. The last one is ready only at the end, so it always shows:
    ``max(m, k·m − (k−1)/k · W)`` for buckets of m seconds.

    Args:
        bucket: seconds for one bucket, m.
        buckets: k.
        overlappable: seconds of compute during which the buckets become ready, W.

    Raises:
        ValueError: an argument is out of range.
    """
    bucket, buckets = not_negative("bucket", bucket), count("buckets", buckets)
    overlappable = not_negative("overlappable", overlappable)
    return _exposed_in_buckets(bucket, buckets, overlappable)


def _exposed_in_buckets(bucket: float, buckets: int, overlappable: float) -> float:
    return max(bucket, buckets * bucket - (buckets - 1) / buckets * overlappable)


def turning_point(
    compute: float, size: float, bandwidth: float, latency: float, buckets: int = 1
) -> float:
    """Ranks N* at which `step_time` is least: ``√((C − 2S/β) / (2kα))``, as a real number.

    It holds without overlap; with it, `best_ranks` finds the least by trying. Where it says 1,
    even two ranks are slower than one (C < 2S/β). Where it says infinity, each added rank still
    helps: without latency the bandwidth term alone never turns the curve up.

    Raises:
        ValueError: an argument is out of range.
    """
    compute, size = positive("compute", compute), positive("size", size)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    buckets = count("buckets", buckets)
    gain = compute - 2 * size / bandwidth
    if gain <= 0:
        return 1.0
    if latency == 0:
        return math.inf
    return max(1.0, math.sqrt(gain / (2 * buckets * latency)))


def best_ranks(step: Callable[[int], float], most: int) -> int:
    """Ranks, from 1 to ``most``, at which a step is shortest: the fewest, where several tie.

    For curves without a closed form, such as those with overlap or a second level of links; all
    are tried, since such a curve may have several minima.

    Args:
        step: seconds of a step on so many ranks.
        most: ranks that there are.

    Raises:
        ValueError: ``most`` is not a whole number above zero.
    """
    return min(range(1, count("most", most) + 1), key=step)


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
