"""Two tiers of links: every time against sums done by hand, and against what people measured."""

import pytest

from wallsite import collectives, tables, topology
from wallsite.topology import Topology

GB = 1e9
# A node of H100s: 8 GPUs on NVLink at 450 GB/s, 8 NICs of 50 GB/s.
NODE = Topology(8, 450e9, 8, 50e9)
# NVIDIA/nccl-tests 277: 8 GPUs at 300 GB/s, 4 NICs of 25 GB/s; 16 GPUs reached 86 GB/s of busbw.
FOUR_NICS = Topology(8, 300e9, 4, 25e9)
S = 14e9


def busbw(topology_, algorithm, ranks):
    total = sum(ranks) if isinstance(ranks, list) else ranks
    seconds = getattr(topology_, f"{algorithm}_all_reduce")(S, ranks)
    return collectives.busbw(S, seconds, total) / GB


@pytest.mark.parametrize(
    ("algorithm", "bound"),
    [
        ("ring", 100),  # 4 × 25, and 86 measured
        ("one_ring", 25),
        ("tree", 187.5),  # 100 × 15/16 × 2: either node is the root for half of the buffer
        ("hierarchical", 187.5),
        # Thrice S/300 for the tiers and S/100 between them, one after the other.
        ("stepwise", 2 * 15 / 16 / (2 * 7 / 8 / 300 + 1 / 100)),
    ],
)
def test_what_sixteen_gpus_on_two_nodes_can_reach(algorithm, bound):
    assert busbw(FOUR_NICS, algorithm, 16) == pytest.approx(bound)


def test_a_tree_among_more_than_two_nodes_hands_the_buffer_up_and_down():
    assert busbw(FOUR_NICS, "tree", 32) == pytest.approx(100 * 31 / 32)


def test_eight_nics_among_128_gpus_by_hand():
    # 2 · 127/128 · 14 GB at min(450, 8 · 50) GB/s; inside, 2 · 7/8 · 14 GB at 450 GB/s.
    assert NODE.ring_all_reduce(S, 128) == pytest.approx(69.453e-3, rel=1e-4)
    assert NODE.ring_all_reduce(S, 8) == pytest.approx(54.444e-3, rel=1e-4)
    # Across: 2 · 15/16 of 14/8 GB at 50 GB/s.
    assert NODE.hierarchical_all_reduce(S, 128) == pytest.approx(65.625e-3)
    assert NODE.stepwise_all_reduce(S, 128) == pytest.approx(65.625e-3 + 54.444e-3, rel=1e-4)


def test_it_agrees_with_the_models_of_one_level():
    assert NODE.ring_all_reduce(S, 8) == collectives.ring_all_reduce(S, 8, 450e9)
    for nodes in (1, 2, 16):
        tiers = (S, nodes, 8, 450e9, 50e9)
        assert NODE.hierarchical_all_reduce(S, 8 * nodes) == pytest.approx(
            collectives.hierarchical_all_reduce(*tiers)
        )
        assert NODE.stepwise_all_reduce(S, 8 * nodes) == pytest.approx(
            collectives.stepwise_all_reduce(*tiers)
        )


def test_a_switch_that_adds_halves_the_bytes():
    # NCCL’s NVLS: 480 GB/s of busbw where a link carries 450; the bound is 450 · 2 · 7/8 ÷ 9/8.
    assert busbw(NODE, "in_switch", 8) == pytest.approx(450 * 2 * 7 / 8 / (9 / 8))
    assert busbw(NODE, "in_switch", 8) > 480
    # SHARP: a domain sends its sum once. 14 GB by 8 NICs of 50 GB/s is 35 ms, NVLS takes as long.
    assert NODE.in_switch_all_reduce(S, 64) == pytest.approx(S * 9 / 8 / 450e9)
    with pytest.raises(ValueError, match="no switch"):
        Topology(8, 450e9, 8, 50e9, meshed=True).in_switch_all_reduce(S, 8)


def test_a_pair_in_a_mesh_has_one_of_its_links():
    # Seven links of 28 GB/s each, as on an 8-NPU board: a pair has one of them.
    mesh = Topology(8, 196e9, 8, 25e9, meshed=True)
    assert mesh.pair() == pytest.approx(28e9)
    assert NODE.pair() == 450e9
    assert NODE.pair(apart=True) == 50e9
    assert mesh.ring_all_reduce(S, 2) == pytest.approx(collectives.ring_all_reduce(S, 2, 28e9))
    assert mesh.ring_all_reduce(S, 4) == pytest.approx(collectives.ring_all_reduce(S, 4, 84e9))
    assert mesh.ring_all_reduce(S, 8) == pytest.approx(collectives.ring_all_reduce(S, 8, 196e9))


def test_ranks_need_not_fill_their_domains():
    rack = topology.of(tables.cluster("gb300-nvl72"))
    assert rack.ring_all_reduce(S, 128) == rack.ring_all_reduce(S, [72, 56])
    # 56 of 72 GPUs use 56 NICs of 100 GB/s, far more than one NVLink of 900.
    assert busbw(rack, "ring", 128) == pytest.approx(900)
    # 4 and 2 ranks: the pair has two of the NICs.
    assert busbw(NODE, "ring", [4, 2]) == pytest.approx(100)
    assert busbw(NODE, "hierarchical", [4, 2]) == pytest.approx(2 * 5 / 6 * 100)


@pytest.mark.parametrize("ranks", [0, -8, 8.5, float("nan"), [], [9], [8, 0]])
def test_ranks_are_a_whole_number_for_each_domain(ranks):
    with pytest.raises(ValueError, match="ranks"):
        NODE.ring_all_reduce(S, ranks)


def test_zero3_gathers_all_weights_in_every_micro_batch():
    # LLaMA-Factory 5014: two nodes of 8 on 10 GbE, 8.03 billion BF16 weights, LoRA, 90 s a step.
    nodes = Topology(8, 450e9, 1, 1.25e9)
    weights = 16.06e9
    hierarchical = 2 * nodes.all_gather(weights, 16)
    ring = collectives.zero3_volume(weights, 0, 16) / 1.25e9
    assert hierarchical == pytest.approx(12.85, rel=1e-3)
    assert ring == pytest.approx(24.1, rel=1e-3)
    assert collectives.zero3_volume(weights, 0, 16, 4) == 4 * collectives.zero3_volume(
        weights, 0, 16
    )
    assert 4 * hierarchical < 90 < 4 * ring


def test_an_all_to_all_takes_as_long_as_its_slowest_tier():
    # Of 1 GB, 7/8 stays on NVLink; among two nodes 8/16 crosses at 50 GB/s each.
    assert NODE.all_to_all(1e9, 8) == pytest.approx(7 / 8 / 450)
    assert NODE.all_to_all(1e9, 16) == pytest.approx(8 / 16 / 50)
    pods = Topology(8, 450e9, 8, 50e9, pod=16, oversubscription=4)
    assert pods.all_to_all(1e9, 64) == pytest.approx(48 / 64 / (50 / 4))


def test_an_ordered_ring_does_not_feel_oversubscription_and_a_scattered_one_does():
    llama = topology.of(tables.cluster("llama3-24k"))
    assert (llama.pod, llama.oversubscription) == (3072, 7)
    ordered = llama.hierarchical_all_reduce(S, 24576)
    assert ordered == pytest.approx(2 * 3071 / 3072 * S / 8 / 50e9)
    assert llama.hierarchical_all_reduce(S, 24576, scattered=True) == pytest.approx(7 * ordered)
    inside = llama.hierarchical_all_reduce(S, 3072, scattered=True)
    assert inside == llama.hierarchical_all_reduce(S, 3072)


def test_latency_is_that_of_every_message():
    late = Topology(8, 450e9, 8, 50e9, link_latency=1e-6, nic_latency=5e-6)
    none = NODE.ring_all_reduce(S, 16)
    assert late.ring_all_reduce(S, 16) - none == pytest.approx(2 * 15 * 5e-6, rel=1e-3)
    assert late.ring_all_reduce(S, 8) - NODE.ring_all_reduce(S, 8) == pytest.approx(14e-6, rel=1e-3)
    tree = late.tree_all_reduce(S, 32) - NODE.tree_all_reduce(S, 32)
    assert tree == pytest.approx(2 * (2 * 5e-6 + 7 * 1e-6), rel=1e-3)


def test_a_cluster_becomes_a_topology():
    dgx = topology.of(tables.cluster("dgx-h100"), nic_latency=5e-6)
    assert (dgx.domain, dgx.link, dgx.nics, dgx.nic) == (8, 450e9, 8, 50e9)
    assert (dgx.pod, dgx.oversubscription, dgx.network) == (0, 1, 50e9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"domain": 0}, "domain"),
        ({"link": 450}, "link must be in byte/s"),
        ({"nic": tables.link("nvlink4").both.si}, "nic must count one direction"),
        ({"nics": 1.5}, "nics"),
        ({"oversubscription": 0.5}, "oversubscription must be 1 or above"),
        ({"nic_latency": 5}, "nic_latency must be in seconds"),
    ],
)
def test_what_cannot_be_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        Topology(**({"domain": 8, "link": 450e9, "nics": 8, "nic": 50e9} | changed))


LATE = Topology(8, 450e9, 8, 50e9, link_latency=1e-6, nic_latency=5e-6)


@pytest.mark.parametrize(
    ("algorithm", "ranks", "messages"),
    [
        # Each step waits for the slowest hop, here 5 µs between nodes.
        ("ring", 32, 2 * 31 * 5),
        ("one_ring", 32, 2 * 31 * 5),
        # Seven hops inside and three across, there and back.
        ("hierarchical", 32, 2 * (7 * 1 + 3 * 5)),
        ("stepwise", 32, 2 * (7 * 1 + 3 * 5)),
        ("stepwise", [8, 2], 2 * (7 * 1 + 1 * 5)),
        # Two levels among four nodes, and a chain of eight.
        ("tree", 32, 2 * (2 * 5 + 7 * 1)),
        # Up to the switch and down, inside and across.
        ("in_switch", 32, 2 * (1 + 5)),
        ("in_switch", 16, 2 * (1 + 5)),
        # Two nodes are one level apart, five are three.
        ("tree", 16, 2 * (1 * 5 + 7 * 1)),
        ("tree", 40, 2 * (3 * 5 + 7 * 1)),
        ("in_switch", 8, 2 * 1),
        ("ring", 8, 2 * 7 * 1),
    ],
)
def test_the_messages_that_each_algorithm_waits_for(algorithm, ranks, messages):
    late, early = (getattr(x, f"{algorithm}_all_reduce")(1e12, ranks) for x in (LATE, NODE))
    assert late - early == pytest.approx(messages * 1e-6, rel=1e-3)


def test_an_all_to_all_waits_for_one_message():
    assert LATE.all_to_all(1e9, 16) - NODE.all_to_all(1e9, 16) == pytest.approx(5e-6)
    assert LATE.all_to_all(1e9, 8) - NODE.all_to_all(1e9, 8) == pytest.approx(1e-6)


def test_the_domain_with_the_most_ranks_is_slowest_inside():
    # 8 ranks move 2 · 7/8 of the buffer, 2 ranks half of that.
    fast = Topology(8, 1e9, 8, 1e12)
    assert fast.hierarchical_all_reduce(1e9, [2, 8]) == pytest.approx(2 * 7 / 8)
    assert fast.in_switch_all_reduce(1e9, [2, 8]) == pytest.approx(1 + 1 / 2)
    assert fast.tree_all_reduce(1e9, [1, 8]) == pytest.approx(2)


def test_the_domain_with_the_fewest_ranks_is_slowest_where_its_links_or_nics_are_few():
    # Meshed, eight chips use all of their 7 GB/s, two the 1 GB/s between them.
    mesh = Topology(8, 7e9, 8, 1e12, meshed=True)
    assert mesh.ring_all_reduce(1e9, [8, 2]) == pytest.approx(2 * 9 / 10)
    assert mesh.ring_all_reduce(1e9, [8, 1]) == pytest.approx(2 * 8 / 9 / 7)
    assert mesh.tree_all_reduce(1e9, [8, 2]) == pytest.approx(2)
    # Two of eight ranks have two of eight NICs, 2 GB/s together, for a buffer that leaves once.
    slow = Topology(8, 1e12, 8, 1e9)
    assert slow.tree_all_reduce(1e9, [8, 2]) == pytest.approx(1 / 2)
    assert slow.tree_all_reduce(1e9, [8, 2, 8]) == pytest.approx(2 / 2)


def test_a_pod_of_a_single_chip_is_left_at_once():
    # Every chip its own domain and pod; a quarter of the network's 1 GB/s is left between pods.
    apart = Topology(1, 1e12, 1, 1e9, pod=1, oversubscription=4)
    assert apart.hierarchical_all_reduce(1e9, 2, scattered=True) == pytest.approx(4)
    assert apart.hierarchical_all_reduce(1e9, 2) == pytest.approx(1)


def test_two_domains_already_need_the_network():
    # Each sends the sum of its chips once, 1 GB through one NIC of 1 GB/s.
    assert Topology(8, 1e12, 1, 1e9).in_switch_all_reduce(1e9, 16) == pytest.approx(1)


def test_one_rank_alone_sends_nothing():
    for algorithm in ("ring", "hierarchical", "stepwise", "tree", "in_switch"):
        assert getattr(NODE, f"{algorithm}_all_reduce")(S, 1) == 0
    assert NODE.all_to_all(S, 1) == 0


def test_a_chain_of_two_passes_the_buffer_up_and_down():
    # 2 × 450 MB over 450 GB/s is 2 ms; without a network and without latency, nothing else counts.
    assert NODE.tree_all_reduce(450_000_000, 2) == pytest.approx(2e-3)
