"""Two tiers of links against arithmetic done by hand, and the clusters of the tables."""

import math

import pytest

from wallsite import collectives, tables, topology

GRADIENTS = 14e9  # 7B in bf16
GIGA = 1e9
# Numbers that are easy to divide: 4 chips of 8 GB/s inside; two NICs of 1 GB/s for the four.
SMALL = topology.Topology(domain=4, link=8 * GIGA, nics=2, nic=GIGA)
PODS = topology.Topology(4, 8 * GIGA, 2, GIGA, pod=8, oversubscription=4)


def test_chips_share_the_nics_of_their_domain():
    assert SMALL.network == 0.5 * GIGA


def test_inside_a_domain_it_is_the_ring():
    # 2 · 3/4 · 8 GB at 8 GB/s; with two ranks 2 · 1/2 · 8.
    assert SMALL.all_reduce(8 * GIGA, 4) == pytest.approx(1.5)
    assert SMALL.all_reduce(8 * GIGA, 2) == pytest.approx(1.0)
    assert SMALL.all_reduce(8 * GIGA, 1) == 0
    assert SMALL.flat_all_reduce(8 * GIGA, 4) == pytest.approx(1.5)


def test_beyond_it_a_quarter_crosses_at_what_each_chip_has():
    # 1.5 s inside, then 2 · 1/2 · 2 GB at 0.5 GB/s.
    assert SMALL.all_reduce(8 * GIGA, 8) == pytest.approx(1.5 + 4)


def test_a_flat_ring_leaves_by_one_nic():
    # 2 · 7/8 · 8 GB at 1 GB/s.
    assert SMALL.flat_all_reduce(8 * GIGA, 8) == pytest.approx(14)


def test_latency_of_each_tier():
    slow = topology.Topology(4, 8e9, 2, 1e9, link_latency=0.001, nic_latency=0.01)
    # Inside 2 · 3 messages, across 2 · 1; the flat ring's 2 · 7 are as slow as the slowest.
    assert slow.all_reduce(8e9, 8) == pytest.approx(1.5 + 4 + 0.006 + 0.02)
    assert slow.flat_all_reduce(8e9, 8) == pytest.approx(14 + 0.14)


def test_an_ordered_ring_does_not_feel_oversubscription_and_a_scattered_one_does():
    inside, across = 1.5, 2 * 3 / 4 * 2 / 0.5  # 16 ranks are 4 domains
    assert PODS.all_reduce(8 * GIGA, 16) == pytest.approx(inside + across)
    assert PODS.all_reduce(8 * GIGA, 16, scattered=True) == pytest.approx(inside + 4 * across)
    # Two domains are one pod: nothing leaves it.
    assert PODS.all_reduce(8 * GIGA, 8, scattered=True) == pytest.approx(1.5 + 4)


def test_all_to_all_takes_as_long_as_its_slowest_tier():
    # 8 GB for 8 ranks: 3 GB stay inside at 8 GB/s, 4 GB cross at 0.5 GB/s.
    assert SMALL.all_to_all(8 * GIGA, 8) == pytest.approx(8)
    assert SMALL.all_to_all(8 * GIGA, 4) == pytest.approx(6 / 8)
    # 16 GB for 16 ranks: 12 cross at 0.5 GB/s, 24 s; 8 leave the pod at 0.125 GB/s, 64 s.
    assert PODS.all_to_all(16 * GIGA, 16) == pytest.approx(64)
    assert SMALL.all_to_all(16 * GIGA, 16) == pytest.approx(24)


def test_one_rank_sends_nothing():
    assert SMALL.all_to_all(8 * GIGA, 1) == 0


@pytest.mark.parametrize("ranks", [5, 7, 9, 18])
def test_domains_are_filled(ranks):
    with pytest.raises(ValueError, match=rf"^ranks must fill whole .*, got {ranks}$"):
        SMALL.all_reduce(1e9, ranks)


BAD = [
    ("domain", 0, "domain must be a whole number, 1 or above, got 0"),
    ("domain", 2.5, "domain must be a whole number"),
    ("nics", 0, "nics must be a whole number, 1 or above, got 0"),
    ("link", 0.0, "link must be a finite number above 0, got 0"),
    ("link", -8e9, "link must be a finite number above 0, got -8"),
    ("link", 450, "link must be in byte/s, got 450"),
    ("nic", math.nan, "nic must be a finite number above 0, got nan"),
    ("nic", 50, "nic must be in byte/s, got 50"),
    ("pod", -1, "pod must be a whole number, 0 or above"),
    ("oversubscription", 0.5, "oversubscription must be 1 or above, got 0.5"),
    ("oversubscription", 0, "oversubscription must be a finite number above 0"),
    ("link_latency", -1e-6, "link_latency must be a finite number, 0 or above"),
    ("nic_latency", 5, "nic_latency must be in seconds, got 5"),
]


@pytest.mark.parametrize(("name", "value", "said"), BAD)
def test_a_bad_number_is_named(name, value, said):
    right = {"domain": 4, "link": 8e9, "nics": 2, "nic": 1e9}
    with pytest.raises(ValueError, match=f"^{said}"):
        topology.Topology(**right | {name: value})


@pytest.mark.parametrize("name", ["link", "nic"])
def test_both_directions_added_are_refused(name):
    both = tables.link("nvlink4").both.si
    right = {"domain": 4, "link": 8e9, "nics": 2, "nic": 1e9}
    with pytest.raises(ValueError, match=f"^{name} must count one direction"):
        topology.Topology(**right | {name: both})


@pytest.mark.parametrize("ranks", [0, -8, 8.5, math.nan])
def test_ranks_are_a_whole_number(ranks):
    for method in (SMALL.all_reduce, SMALL.flat_all_reduce, SMALL.all_to_all):
        with pytest.raises(ValueError, match=r"^ranks must be a whole number"):
            method(1e9, ranks)


# ---------------------------------------------------------------------------------- the tables

# Chips in a domain, GB/s of one chip inside, GB/s that it has to itself outside: datasheets.
KNOWN = {
    "dgx-h100": (8, 450, 50),
    "dgx-b300": (8, 900, 100),
    "gb300-nvl72": (72, 900, 100),
    "llama3-24k": (8, 450, 50),
    "cloudmatrix384": (384, 392, 50),
}


@pytest.mark.parametrize("name", tables.clusters())
def test_clusters(name):
    found = topology.of(tables.cluster(name))
    assert (found.domain, found.link / 1e9, found.network / 1e9) == KNOWN[name]


def test_llama_3_has_pods():
    # "The Llama 3 Herd of Models", section 3.3.1: pods of 3,072 GPUs, 1:7 between them.
    found = topology.of(tables.cluster("Meta 24K H100 (Llama 3)"), nic_latency=5e-6)
    assert (found.pod, found.oversubscription, found.nic_latency) == (3072, 7, 5e-6)


def test_leaving_the_domain_by_hand():
    # Inside 2 · (g−1)/g · S/β; across 2 · 15/16 · S/(g · 50 or 100 GB/s).
    for name, more in (("dgx-h100", 2.21), ("gb300-nvl72", 1.12), ("cloudmatrix384", 1.02)):
        found = topology.of(tables.cluster(name))
        inside = found.all_reduce(GRADIENTS, found.domain)
        beyond = found.all_reduce(GRADIENTS, 16 * found.domain)
        assert beyond / inside == pytest.approx(more, abs=0.005)


def test_it_is_the_hierarchical_model():
    found = topology.of(tables.cluster("dgx-h100"))
    model = collectives.hierarchical_all_reduce(GRADIENTS, 16, 8, 450e9, 50e9)
    assert found.all_reduce(GRADIENTS, 128) == model
