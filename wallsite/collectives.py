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

from wallsite._checks import count, fraction, message, not_negative, one_way, positive, seconds
from wallsite.units import Byte, BytePerSecond, Count, Number, Second


def ring_volume(size: Byte, ranks: Count) -> Byte:
    """Bytes that each rank sends, and receives, in a ring all-reduce: ``2 · (N−1)/N · S``.

    It tends to 2S: adding ranks hardly changes what one rank has to move.

    Raises:
        ValueError: ``size`` is not above zero or ``ranks`` is not a whole number above zero.
    """
    return _ring_volume(message("size", size), count("ranks", ranks))


def _ring_volume(size: float, ranks: int) -> float:
    return 2.0 * (ranks - 1) / ranks * size


def ring_all_reduce(
    size: Byte, ranks: Count, bandwidth: BytePerSecond, latency: Second = 0.0
) -> Second:
    """Seconds for a ring all-reduce: ``2(N−1)/N · S/β + 2(N−1) · α``.

    Args:
        size: bytes of the buffer that every rank holds, S.
        ranks: N. With one rank there is nothing to send and the time is zero.
        bandwidth: of the slowest link of the ring, one direction, byte/s.
        latency: of one message, s.

    Raises:
        ValueError: an argument is out of range.
    """
    size, ranks = message("size", size), count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    return _ring(size, ranks, bandwidth, latency)


def _ring(size: float, ranks: int, bandwidth: float, latency: float) -> float:
    return _ring_volume(size, ranks) / bandwidth + 2 * (ranks - 1) * latency


def tree_all_reduce(
    size: Byte, ranks: Count, bandwidth: BytePerSecond, latency: Second = 0.0
) -> Second:
    """Seconds for a pipelined double-binary-tree all-reduce: ``2 · S/β + 2 · ⌈log₂N⌉ · α``.

    What NCCL's tree does: the buffer goes in pieces that follow each other, half of them through
    either tree, so that both directions of each link are busy. Its bandwidth term is the ring's
    limit, its latency term grows with the logarithm of N rather than with N. Textbooks often mean
    `plain_tree_all_reduce`, which is far slower for large buffers.

    Raises:
        ValueError: an argument is out of range.

    Source: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction
    and scan", 2009.
    """
    size, ranks = message("size", size), count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    if ranks == 1:
        return 0.0
    return 2.0 * size / bandwidth + 2 * math.ceil(math.log2(ranks)) * latency


def plain_tree_all_reduce(
    size: Byte, ranks: Count, bandwidth: BytePerSecond, latency: Second = 0.0
) -> Second:
    """Seconds for a binary-tree all-reduce without pipelining: ``2 · ⌈log₂N⌉ · (S/β + α)``.

    The textbooks' tree: a reduction to the root, then a broadcast, each level waiting for the whole
    buffer of the one before.

    Raises:
        ValueError: an argument is out of range.

    Source: Thakur, Rabenseifner, Gropp, 2005, section 4.5 (reduce followed by broadcast).
    """
    size, ranks = message("size", size), count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    return 2.0 * math.ceil(math.log2(ranks)) * (size / bandwidth + latency)


def halving_doubling_all_reduce(
    size: Byte, ranks: Count, bandwidth: BytePerSecond, latency: Second = 0.0
) -> Second:
    """Seconds by recursive halving and doubling: ``2(P−1)/P · S/β + 2·log₂P · α``.

    P is the largest power of two up to N. The ranks beyond it first hand their buffer to a
    partner and get the result back at the end, which adds ``2 · (S/β + α)``: with a number of
    ranks that is no power of two, it moves about twice the bytes of a ring.

    Raises:
        ValueError: an argument is out of range.

    Source: Thakur, Rabenseifner, Gropp, 2005, section 4.5; the folding is the plainest one.
    """
    size, ranks = message("size", size), count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    steps = ranks.bit_length() - 1
    inside = _ring_volume(size, 2**steps) / bandwidth + 2 * steps * latency
    folded = 0.0 if ranks == 2**steps else 2 * (size / bandwidth + latency)
    return inside + folded


def reduce_scatter(
    size: Byte, ranks: Count, bandwidth: BytePerSecond, latency: Second = 0.0
) -> Second:
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


def all_gather(size: Byte, ranks: Count, bandwidth: BytePerSecond, latency: Second = 0.0) -> Second:
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


def all_to_all(size: Byte, ranks: Count, bandwidth: BytePerSecond, latency: Second = 0.0) -> Second:
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


def broadcast(size: Byte, ranks: Count, bandwidth: BytePerSecond, latency: Second = 0.0) -> Second:
    """Seconds for a broadcast down a chain, in pieces that follow each other: ``S/β + (N−1) · α``.

    The limit of many small pieces, in which every link is busy all the time.

    Raises:
        ValueError: an argument is out of range.
    """
    size, ranks = message("size", size), count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    return size / bandwidth + (ranks - 1) * latency if ranks > 1 else 0.0


def ring_tree_crossover(ranks: Count, bandwidth: BytePerSecond, latency: Second) -> Byte:
    """Bytes at which a ring and a pipelined double tree take as long: ``N(N−1−⌈log₂N⌉) · αβ``.

    Below it the tree is faster, for it waits for fewer messages; above it the ring, which moves
    ``2S/N`` bytes less.

    Raises:
        ValueError: an argument is out of range.
    """
    ranks = count("ranks", ranks)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    return ranks * (ranks - 1 - math.ceil(math.log2(ranks))) * latency * bandwidth


def hierarchical_all_reduce(
    size: Byte,
    nodes: Count,
    per_node: Count,
    inner_bandwidth: BytePerSecond,
    outer_bandwidth: BytePerSecond,
    inner_latency: Second = 0.0,
    outer_latency: Second = 0.0,
) -> Second:
    """Seconds for a pipelined hierarchical all-reduce: those of its slower tier.

    Reduce-scatter among the ``per_node`` ranks of a node leaves each with S/per_node; rings across
    nodes reduce those pieces, each rank through its own NIC; all-gather spreads them again. Only
    ``S / per_node`` crosses each NIC. Libraries cut the buffer into pieces that are in different
    steps at once, so both tiers work all the time and the slower one sets the pace; a program that
    waits for each step takes `stepwise_all_reduce`. A bound for large buffers: the time in which
    the first piece passes the other tier is left out, latencies are those of all messages.

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
    nodes, per_node = count("nodes", nodes), count("per_node", per_node)
    inside, across = _tiers(size, nodes, per_node, inner_bandwidth, outer_bandwidth)
    return max(inside, across) + _latencies(nodes, per_node, inner_latency, outer_latency)


def stepwise_all_reduce(
    size: Byte,
    nodes: Count,
    per_node: Count,
    inner_bandwidth: BytePerSecond,
    outer_bandwidth: BytePerSecond,
    inner_latency: Second = 0.0,
    outer_latency: Second = 0.0,
) -> Second:
    """Seconds for a hierarchical all-reduce whose steps wait for each other: its tiers added.

    What three collectives in a row take: reduce-scatter inside, all-reduce across, all-gather
    inside. The arguments are those of `hierarchical_all_reduce`, which is pipelined.

    Raises:
        ValueError: an argument is out of range.
    """
    nodes, per_node = count("nodes", nodes), count("per_node", per_node)
    inside, across = _tiers(size, nodes, per_node, inner_bandwidth, outer_bandwidth)
    return inside + across + _latencies(nodes, per_node, inner_latency, outer_latency)


def _tiers(
    size: float, nodes: int, per_node: int, inner_bandwidth: float, outer_bandwidth: float
) -> tuple[float, float]:
    """Seconds that the bytes take inside, and across, without latency."""
    size = message("size", size)
    inner_bandwidth = one_way("inner_bandwidth", inner_bandwidth)
    outer_bandwidth = one_way("outer_bandwidth", outer_bandwidth)
    inside = _ring(size, per_node, inner_bandwidth, 0.0)
    return inside, _ring(size / per_node, nodes, outer_bandwidth, 0.0)


def _latencies(nodes: int, per_node: int, inner: float, outer: float) -> float:
    inner, outer = seconds("inner_latency", inner), seconds("outer_latency", outer)
    return 2 * (per_node - 1) * inner + 2 * (nodes - 1) * outer


def zero3_volume(weights: Byte, gradients: Byte, ranks: Count, micro_batches: Count = 1) -> Byte:
    """Bytes that each rank sends in a ZeRO-3 step: ``(N−1)/N · m · (2W + G)``.

    In every micro-batch the weights are gathered for the forward pass and again for the backward
    pass, and the gradients are scattered. Accumulating over m micro-batches saves nothing. With
    LoRA all weights W are still gathered, while G is that of the adapters.

    Args:
        weights: bytes of all weights, W, frozen ones included.
        gradients: bytes of all gradients, G.
        ranks: N.
        micro_batches: forward and backward passes in a step, m.

    Raises:
        ValueError: an argument is out of range.

    Source: Rajbhandari et al., "ZeRO", 2020, section 7.2.2.
    """
    weights, gradients = message("weights", weights), not_negative("gradients", gradients)
    ranks, micro_batches = count("ranks", ranks), count("micro_batches", micro_batches)
    return (ranks - 1) / ranks * micro_batches * (2 * weights + gradients)


def algbw(size: Byte, elapsed: Second) -> BytePerSecond:
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


def busbw(
    size: Byte, elapsed: Second, ranks: Count, collective: str = "all-reduce"
) -> BytePerSecond:
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
    compute: Second,
    size: Byte,
    ranks: Count,
    bandwidth: BytePerSecond,
    latency: Second = 0.0,
    *,
    overlap: Number = 0.0,
    buckets: Count = 1,
    compression: Number = 1.0,
) -> Second:
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
    compute: Second,
    size: Byte,
    ranks: Count,
    bandwidth: BytePerSecond,
    latency: Second = 0.0,
    *,
    overlap: Number = 0.0,
    buckets: Count = 1,
    compression: Number = 1.0,
) -> Second:
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
    sent = message("size", size) * positive("compression", compression) / buckets
    ranks, latency = count("ranks", ranks), seconds("latency", latency)
    each = _ring(sent, ranks, one_way("bandwidth", bandwidth), latency)
    return compute + _exposed_in_buckets(each, buckets, fraction("overlap", overlap) * compute)


def exposed_in_buckets(bucket: Second, buckets: Count, overlappable: Second) -> Second:
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


def _exposed_in_buckets(bucket: Second, buckets: Count, overlappable: Second) -> Second:
    return max(bucket, buckets * bucket - (buckets - 1) / buckets * overlappable)


def turning_point(
    compute: Second, size: Byte, bandwidth: BytePerSecond, latency: Second, buckets: Count = 1
) -> Number:
    """Ranks N* at which `step_time` is least: ``√((C − 2S/β) / (2kα))``, as a real number.

    It holds without overlap; with it, `best_ranks` finds the least by trying. Where it says 1,
    even two ranks are slower than one (C < 2S/β). Where it says infinity, each added rank still
    helps: without latency the bandwidth term alone never turns the curve up.

    Raises:
        ValueError: an argument is out of range.
    """
    compute, size = positive("compute", compute), message("size", size)
    bandwidth, latency = one_way("bandwidth", bandwidth), seconds("latency", latency)
    buckets = count("buckets", buckets)
    gain = compute - 2 * size / bandwidth
    if gain <= 0:
        return 1.0
    if latency == 0:
        return math.inf
    return max(1.0, math.sqrt(gain / (2 * buckets * latency)))


def best_ranks(step: Callable[[int], float], most: Count) -> Count:
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


def strong_scaling_efficiency(one: Second, many: Second, ranks: Count) -> Number:
    """Strong scaling efficiency: ``T(1) / (N · T(N))``, one batch shared out among N ranks.

    Both times are of a step with the **same global batch**. If each rank keeps its own batch, and
    the global one grows with N, use `weak_scaling_efficiency`: the two differ by a factor of N.

    Args:
        one: seconds for the step on one rank.
        many: seconds for the same step on ``ranks`` ranks.
        ranks: N.

    Raises:
        ValueError: an argument is out of range.
    """
    one, many = positive("one", one), positive("many", many)
    return one / (many * count("ranks", ranks))


def weak_scaling_efficiency(one: Second, many: Second) -> Number:
    """Weak scaling efficiency: ``T(1) / T(N)``, where every rank keeps a batch of its own.

    It equals throughput on N ranks over N times that of one: 122 samples/s on one GPU and 80 on
    each of 16 are 80 / 122 = 65.6 %.

    Args:
        one: seconds for a step on one rank.
        many: seconds for a step on all ranks, each with as large a batch.

    Raises:
        ValueError: an argument is out of range.
    """
    return positive("one", one) / positive("many", many)


def exposed_time(communication: Second, overlappable: Second) -> Second:
    """Seconds of communication left exposed after ``overlappable`` seconds of compute hide it.

    Raises:
        ValueError: an argument is negative.
    """
    communication = not_negative("communication", communication)
    overlappable = not_negative("overlappable", overlappable)
    return max(0.0, communication - overlappable)
