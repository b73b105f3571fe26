"""The α–β model against arithmetic done by hand."""

import math

import pytest

from wallsite import collectives

GRADIENTS, LINK, ALPHA = 14e9, 50e9, 5e-6  # question 3: 7B in bf16, NDR one way, 5 µs


@pytest.mark.parametrize(("ranks", "gigabytes"), [(1, 0), (2, 14), (8, 24.5), (1024, 27.97)])
def test_ring_volume_tends_to_twice_the_buffer(ranks, gigabytes):
    assert collectives.ring_volume(GRADIENTS, ranks) == pytest.approx(gigabytes * 1e9, rel=1e-3)


def test_ring_all_reduce():
    # 2 · 7/8 · 14 GB / 50 GB/s = 0.49 s, and 14 messages of 5 µs.
    assert collectives.ring_all_reduce(GRADIENTS, 8, LINK) == pytest.approx(0.49)
    assert collectives.ring_all_reduce(GRADIENTS, 8, LINK, ALPHA) == pytest.approx(0.49007)


def test_tree_trades_bandwidth_for_latency():
    # 8 bytes over 1024 ranks: ring 2046 messages, tree 20.
    assert collectives.tree_all_reduce(8, 1024, LINK, ALPHA) == pytest.approx(100e-6, rel=1e-3)
    assert collectives.ring_all_reduce(8, 1024, LINK, ALPHA) == pytest.approx(10.23e-3, rel=1e-3)
    assert collectives.tree_all_reduce(GRADIENTS, 1024, LINK) == pytest.approx(0.56)
    assert collectives.tree_all_reduce(GRADIENTS, 1, LINK, ALPHA) == 0


def test_hierarchical_sends_one_eighth_through_each_nic():
    # Two nodes of eight H100: 450 GB/s inside, 50 GB/s across.
    # Inside 2·7/8·14/450 = 54.4 ms; across 2·1/2·(14/8)/50 = 35 ms.
    time = collectives.hierarchical_all_reduce(GRADIENTS, 2, 8, 450e9, 50e9)
    assert time == pytest.approx(54.44e-3 + 35e-3, rel=1e-3)
    # One node: only the inside part.
    one = collectives.hierarchical_all_reduce(GRADIENTS, 1, 8, 450e9, 50e9)
    assert one == pytest.approx(54.44e-3, rel=1e-3)
    # Leaving the node costs about twofold for many nodes, not the ninefold of one link.
    many = collectives.hierarchical_all_reduce(GRADIENTS, 1000, 8, 450e9, 50e9)
    assert many / one == pytest.approx(2.28, abs=0.01)


def test_busbw_of_a_ring_is_its_link():
    elapsed = collectives.ring_all_reduce(GRADIENTS, 16, LINK)
    assert collectives.busbw(GRADIENTS, elapsed, 16) == pytest.approx(LINK)
    # nccl-tests' own sample: 64 MiB over 8 ranks in 700 µs is 95.87 algbw, 167.77 busbw.
    assert collectives.algbw(67_108_864, 700e-6) == pytest.approx(95.87e9, rel=1e-4)
    assert collectives.busbw(67_108_864, 700e-6, 8) == pytest.approx(167.77e9, rel=1e-4)


def test_busbw_of_one_rank_is_refused():
    with pytest.raises(ValueError, match=r"^ranks must be a whole number, 2 or above, got 1"):
        collectives.busbw(1e6, 1e-3, 1)


def test_scaling_of_question_3():
    # 6 · 7e9 · 1e6 FLOP on one H100 at 40 % of 989.4 TFLOP/s: 106.1 s.
    compute = 6 * 7e9 * 1e6 / (989.4e12 * 0.4)
    assert compute == pytest.approx(106.1, abs=0.05)
    times = {n: collectives.step_time(compute, GRADIENTS, n, LINK, ALPHA) for n in (1, 128, 256)}
    assert collectives.scaling_efficiency(times[1], times[128], 128) == pytest.approx(
        0.598, abs=5e-4
    )
    assert collectives.scaling_efficiency(times[1], times[256], 256) == pytest.approx(
        0.425, abs=5e-4
    )
    assert times[128] / times[256] == pytest.approx(1.42, abs=0.005)


def test_turning_point_is_where_the_step_time_is_least():
    compute = 106.1
    turn = collectives.turning_point(compute, GRADIENTS, LINK, ALPHA)
    assert turn == pytest.approx(math.sqrt((106.1 - 0.56) / 10e-6))  # 3249
    best = min(
        range(1, 10_000),
        key=lambda n: collectives.step_time(compute, GRADIENTS, n, LINK, ALPHA),
    )
    assert best == pytest.approx(turn, abs=1)


def test_bandwidth_alone_never_turns_the_curve_up():
    assert collectives.turning_point(106.1, GRADIENTS, LINK, 0) == math.inf
    times = [collectives.step_time(106.1, GRADIENTS, 2**k, LINK) for k in range(20)]
    assert times == sorted(times, reverse=True)


def test_less_compute_than_two_transfers_makes_one_rank_best():
    assert collectives.turning_point(0.5, GRADIENTS, LINK, ALPHA) == 1
    assert collectives.step_time(0.5, GRADIENTS, 2, LINK) > 0.5


def test_exposed_time():
    assert collectives.exposed_time(0.5, 0.3) == pytest.approx(0.2)
    assert collectives.exposed_time(0.3, 0.5) == 0


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), 50, 400])
def test_bandwidth_must_be_in_bytes_per_second(bad):
    for collective in (collectives.ring_all_reduce, collectives.tree_all_reduce):
        with pytest.raises(ValueError, match=r"^bandwidth must be "):
            collective(GRADIENTS, 8, bad)


def test_other_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"^latency must be in seconds, got 5: write 5 µs"):
        collectives.ring_all_reduce(GRADIENTS, 8, LINK, 5)
    with pytest.raises(ValueError, match=r"^ranks must be a whole number, 1 or above, got 0"):
        collectives.step_time(1, GRADIENTS, 0, LINK)
    with pytest.raises(ValueError, match=r"^compute must be a finite number above 0, got nan"):
        collectives.turning_point(float("nan"), GRADIENTS, LINK, ALPHA)
    with pytest.raises(ValueError, match=r"^size must be "):
        collectives.ring_volume(-1, 8)
    with pytest.raises(ValueError, match=r"^overlappable must be "):
        collectives.exposed_time(1, -1)
