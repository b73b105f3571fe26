"""Collectives on two tiers of links: scale-up domains, and a network between them.

Each method names its algorithm, and is a bound: with that algorithm nothing is faster, since every
byte that must cross a link does, and the busiest link sets the pace. What a library reaches is
less; which algorithm it takes, its log says (``NCCL_DEBUG=INFO``).

Units: byte, s, byte/s of one direction. ``ranks`` are the chips that take part. As a number they
fill one domain after the other, the last one perhaps in part; as a list they are counted by domain.

Source: NVIDIA/nccl, rings and trees of ``src/graph``, and NVIDIA/nccl-tests issues 175 and 277,
where its maintainers say how many rings there are and what two nodes can reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wallsite._checks import count, message, one_way, positive, seconds, shown
from wallsite.tables import Cluster
from wallsite.units import Byte, BytePerSecond, Count, Second

Ranks = Count | Sequence[int]
"""Chips that take part: how many, or how many in each domain."""


@dataclass(frozen=True)
class Topology:
    """How chips are joined.

    Attributes:
        domain: chips in a scale-up domain.
        link: bandwidth of one chip into its domain, one direction, byte/s.
        nics: ports to the network that a domain has.
        nic: bandwidth of one of them, one direction, byte/s.
        pod: chips that the network joins without oversubscription; 0 if that is all.
        oversubscription: what a pod can send ÷ what the network beyond it carries.
        link_latency: of one message inside a domain, s.
        nic_latency: of one message between domains, s.
        meshed: the links of a chip go to one peer each, instead of into a switch. Two chips then
            share only ``link / (domain − 1)``, whatever the others do.

    Raises:
        ValueError: a number is out of range, or a bandwidth adds both directions.
    """

    domain: int
    link: float
    nics: int
    nic: float
    pod: int = 0
    oversubscription: float = 1.0
    link_latency: float = 0.0
    nic_latency: float = 0.0
    meshed: bool = False

    def __post_init__(self) -> None:
        """Check every number, and keep it as a plain one."""
        checked = {
            "domain": count("domain", self.domain),
            "link": one_way("link", self.link),
            "nics": count("nics", self.nics),
            "nic": one_way("nic", self.nic),
            "pod": count("pod", self.pod, 0),
            "oversubscription": positive("oversubscription", self.oversubscription),
            "link_latency": seconds("link_latency", self.link_latency),
            "nic_latency": seconds("nic_latency", self.nic_latency),
        }
        if self.oversubscription < 1:
            raise ValueError(f"oversubscription must be 1 or above, got {self.oversubscription}")
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def network(self) -> BytePerSecond:
        """Network bandwidth that each chip has to itself, one direction, byte/s."""
        return self.nics * self.nic / self.domain

    def pair(self, *, apart: bool = False) -> BytePerSecond:
        """Bandwidth between two chips, one direction, byte/s.

        Args:
            apart: they are in two domains, and have one NIC each at most.
        """
        return min(self.link, self.nic) if apart else self._link(2)

    def ring_all_reduce(self, size: Byte, ranks: Ranks) -> Second:
        """Seconds by rings over rails: ``2(N−1)/N · S / min(β_link, k · β_nic)``.

        As many rings as the domain with the fewest has NICs in use, k. Each carries 1/k of the
        buffer through all ranks, and leaves every domain once, by a NIC of its own.

        Raises:
            ValueError: an argument is out of range.
        """
        size, parts = message("size", size), self._parts(ranks)
        total = sum(parts)
        exits = map(self._exit, parts) if len(parts) > 1 else ()
        bandwidth: float = min([self._slowest_link(parts), *exits])
        latency = self.nic_latency if len(parts) > 1 else 0.0
        steps = 2 * (total - 1)
        return steps / total * size / bandwidth + steps * max(latency, self.link_latency)

    def one_ring_all_reduce(self, size: Byte, ranks: Ranks) -> Second:
        """Seconds by one ring through all ranks, which leaves each domain by a single NIC.

        What remains where only one NIC is found, or where a domain has no more.

        Raises:
            ValueError: an argument is out of range.
        """
        return replace(self, nics=1).ring_all_reduce(size, ranks)

    def hierarchical_all_reduce(
        self, size: Byte, ranks: Ranks, *, scattered: bool = False
    ) -> Second:
        """Seconds by a pipelined hierarchy: those of its slower tier.

        Reduce-scatter in each domain, rings across that each carry a share of the buffer, and
        all-gather in each domain, all at once on different pieces. A domain sends and receives
        ``2(m−1)/m · S`` through its NICs.

        Args:
            size: bytes of the buffer that every rank holds.
            ranks: chips that take part.
            scattered: the rings between domains follow no order of the wiring, so that each hop
                may leave its pod; in order, a ring leaves each pod once, which slows nothing.

        Raises:
            ValueError: an argument is out of range.
        """
        inside, across, latency = self._tiers(size, ranks, scattered)
        return max(inside, across) + latency

    def stepwise_all_reduce(self, size: Byte, ranks: Ranks, *, scattered: bool = False) -> Second:
        """Seconds by a hierarchy whose steps wait for each other: its tiers added.

        The arguments are those of `hierarchical_all_reduce`.

        Raises:
            ValueError: an argument is out of range.
        """
        inside, across, latency = self._tiers(size, ranks, scattered)
        return inside + across + latency

    def tree_all_reduce(self, size: Byte, ranks: Ranks) -> Second:
        """Seconds by a pipelined double tree across domains, with a chain inside each.

        Every domain hands the buffer up and down once: ``2S`` through its NICs, but ``S`` where
        there are two domains, of which either is the root for half of the buffer. Inside, the chain
        passes ``2S`` over the link of each chip. The slower tier counts.

        Raises:
            ValueError: an argument is out of range.
        """
        size, parts = message("size", size), self._parts(ranks)
        domains, largest = len(parts), max(parts)
        tiers = [2 * size / self._slowest_link(parts)]
        if domains > 1:
            tiers.append((2 if domains > 2 else 1) * size / min(map(self._exit, parts)))
        levels = (domains - 1).bit_length()
        return max(tiers) + 2 * (levels * self.nic_latency + (largest - 1) * self.link_latency)

    def in_switch_all_reduce(self, size: Byte, ranks: Ranks) -> Second:
        """Seconds where the switches add: NVLS inside a domain, SHARP between domains.

        A chip hands its switch all of its buffer, and one share of the sum to spread:
        ``(1 + 1/n) · S`` over its link. Each domain sends the sum of its own chips once, ``S``
        through its NICs. The slower tier counts. busbw, whose factor is the ring's, may then exceed
        what a link carries one way.

        Raises:
            ValueError: an argument is out of range, or the links are meshed: they have no switch.
        """
        size, parts = message("size", size), self._parts(ranks)
        if self.meshed:
            raise ValueError("a meshed domain has no switch that could add")
        tiers = [(1 + 1 / part) * size / self.link for part in parts if part > 1]
        if len(parts) > 1:
            tiers.append(size / min(map(self._exit, parts)))
        latency = self.link_latency + (self.nic_latency if len(parts) > 1 else 0.0)
        return max(tiers, default=0.0) + 2 * latency

    def all_gather(self, size: Byte, ranks: Ranks) -> Second:
        """Seconds by a pipelined hierarchy: what a domain lacks enters it once.

        Args:
            size: bytes of the buffer that every rank holds after.
            ranks: chips that take part.

        Raises:
            ValueError: an argument is out of range.
        """
        return self.hierarchical_all_reduce(size, ranks) / 2

    def all_to_all(self, size: Byte, ranks: Ranks) -> Second:
        """Seconds for an all-to-all: those of its slowest tier, for all tiers work at once.

        Of the S bytes of each rank, a share stays in the domain, ``(N − n)/N`` crosses the network,
        and ``(N − pod)/N`` of it leaves the pod, where oversubscription slows it. Every rank sends
        every other as much; a router that keeps tokens near sends less. Latency is that of one
        message.

        Args:
            size: bytes that every rank holds: a piece of S/N for each rank.
            ranks: chips that take part.

        Raises:
            ValueError: an argument is out of range.
        """
        size, parts = message("size", size), self._parts(ranks)
        total = sum(parts)
        piece = size / total
        tiers = [piece * (part - 1) / self._link(part) for part in parts]
        if len(parts) > 1:
            tiers += [piece * (total - part) * part / self._exit(part) for part in parts]
        if self._leaves(total):
            tiers.append(piece * (total - self.pod) / (self.network / self.oversubscription))
        return max(tiers) + (self.nic_latency if len(parts) > 1 else self.link_latency)

    def _tiers(self, size: float, ranks: Ranks, scattered: bool) -> tuple[float, float, float]:
        """Seconds inside, across, and of latency, for a hierarchical all-reduce."""
        size, parts = message("size", size), self._parts(ranks)
        domains = len(parts)
        inside = max(2 * (part - 1) / part * size / self._link(part) for part in parts)
        beyond = self.oversubscription if scattered and self._leaves(sum(parts)) else 1.0
        across = 2 * (domains - 1) / domains * size / (min(map(self._exit, parts)) / beyond)
        latency = 2 * (max(parts) - 1) * self.link_latency + 2 * (domains - 1) * self.nic_latency
        return inside, across, latency

    def _link(self, ranks: int) -> float:
        """Bandwidth that one of so many ranks of a domain has to the others."""
        if not self.meshed or ranks >= self.domain:
            return self.link
        return self.link * max(1, ranks - 1) / (self.domain - 1)

    def _slowest_link(self, parts: Sequence[int]) -> float:
        """Bandwidth inside the slowest domain: where links are meshed, few ranks share few."""
        return min((self._link(part) for part in parts if part > 1), default=math.inf)

    def _exit(self, ranks: int) -> float:
        """Bandwidth out of a domain by the NICs that so many of its ranks use: their share."""
        return max(1.0, self.nics * ranks / self.domain) * self.nic

    def _leaves(self, ranks: int) -> bool:
        return 0 < self.pod < ranks

    def _parts(self, ranks: Ranks) -> list[int]:
        """Ranks in each domain."""
        if isinstance(ranks, Sequence):
            parts = [count("ranks", part) for part in ranks]
            if not parts or max(parts) > self.domain:
                raise ValueError(
                    f"ranks must list 1 to {self.domain} for each domain, got {shown(ranks)}"
                )
            return parts
        full, rest = divmod(count("ranks", ranks), self.domain)
        return [self.domain] * full + [rest] * bool(rest)


def of(cluster: Cluster, link_latency: Second = 0.0, nic_latency: Second = 0.0) -> Topology:
    """Take the topology of a cluster of `wallsite.tables`, which knows no latencies.

    Raises:
        ValueError: a latency is out of range.
    """
    return Topology(
        domain=int(cluster.domain.si),
        link=cluster.link.bandwidth.si,
        nics=int(cluster.nics.si),
        nic=cluster.network.bandwidth.si,
        pod=int(cluster.pod.si) if cluster.pod else 0,
        oversubscription=cluster.oversubscription.si if cluster.oversubscription else 1.0,
        link_latency=link_latency,
        nic_latency=nic_latency,
    )
