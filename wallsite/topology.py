"""Collectives on two tiers of links: scale-up domains, and a network between them.

Units: byte, s, byte/s of one direction. ``ranks`` are the chips that take part; beyond one domain
they fill whole domains.
"""

from __future__ import annotations

from dataclasses import dataclass

from wallsite import collectives
from wallsite._checks import count, one_way, positive, seconds
from wallsite.tables import Cluster


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
    def network(self) -> float:
        """Network bandwidth that each chip has to itself, one direction, byte/s."""
        return self.nics * self.nic / self.domain

    def all_reduce(self, size: float, ranks: int, *, scattered: bool = False) -> float:
        """Seconds for the hierarchical all-reduce; inside one domain, for the ring.

        Args:
            size: bytes of the buffer that every rank holds.
            ranks: chips that take part.
            scattered: the rings between domains follow no order of the wiring, so that each hop
                may leave its pod; in order, a ring leaves each pod once, which slows nothing.

        Raises:
            ValueError: an argument is out of range, or domains are not filled.
        """
        domains, inside = self._split(ranks)
        beyond = self.oversubscription if scattered and self._leaves(ranks) else 1.0
        return collectives.hierarchical_all_reduce(
            size,
            domains,
            inside,
            self.link,
            self.network / beyond,
            self.link_latency,
            self.nic_latency,
        )

    def flat_all_reduce(self, size: float, ranks: int) -> float:
        """Seconds for one ring through all ranks, which leaves each domain by a single NIC.

        Raises:
            ValueError: an argument is out of range, or domains are not filled.
        """
        domains, _ = self._split(ranks)
        if domains == 1:
            return collectives.ring_all_reduce(size, ranks, self.link, self.link_latency)
        slowest = min(self.link, self.nic)
        latency = max(self.link_latency, self.nic_latency)
        return collectives.ring_all_reduce(size, ranks, slowest, latency)

    def all_to_all(self, size: float, ranks: int) -> float:
        """Seconds for an all-to-all: those of its slowest tier, for all tiers work at once.

        Of the S bytes of each rank, a share stays in the domain, ``(N − domain)/N`` crosses the
        network, and ``(N − pod)/N`` of it leaves the pod, where oversubscription slows it. A
        floor: latency is that of one message.

        Args:
            size: bytes that every rank holds: a piece of S/N for each rank.
            ranks: chips that take part.

        Raises:
            ValueError: an argument is out of range, or domains are not filled.
        """
        domains, inside = self._split(ranks)
        piece = positive("size", size) / ranks
        tiers = [piece * (inside - 1) / self.link]
        if domains > 1:
            tiers.append(piece * (ranks - self.domain) / self.network)
        if self._leaves(ranks):
            tiers.append(piece * (ranks - self.pod) / (self.network / self.oversubscription))
        return max(tiers) + (self.nic_latency if domains > 1 else self.link_latency)

    def _leaves(self, ranks: int) -> bool:
        return 0 < self.pod < ranks

    def _split(self, ranks: int) -> tuple[int, int]:
        """Domains that the ranks fill, and ranks in each."""
        ranks = count("ranks", ranks)
        if ranks <= self.domain:
            return 1, ranks
        if ranks % self.domain:
            raise ValueError(
                f"ranks must fill whole domains of {self.domain} beyond the first, got {ranks}"
            )
        return ranks // self.domain, self.domain


def of(cluster: Cluster, link_latency: float = 0.0, nic_latency: float = 0.0) -> Topology:
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
