"""The α–β model against arithmetic done by hand."""

import math

import pytest

from wallsite import collectives, tables

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


def test_a_hierarchy_sends_one_eighth_through_each_nic():
    # Two nodes of eight H100: 450 GB/s inside, 50 GB/s across.
    # Inside 2·7/8·14/450 = 54.4 ms; across 2·1/2·(14/8)/50 = 35 ms.
    two = (GRADIENTS, 2, 8, 450e9, 50e9)
    assert collectives.hierarchical_all_reduce(*two) == pytest.approx(54.44e-3, rel=1e-3)
    assert collectives.stepwise_all_reduce(*two) == pytest.approx(89.44e-3, rel=1e-3)
    # Among many nodes the network sets the pace: 2·14/8/50 = 70 ms.
    many = (GRADIENTS, 1000, 8, 450e9, 50e9)
    assert collectives.hierarchical_all_reduce(*many) == pytest.approx(70e-3, rel=2e-3)
    assert collectives.stepwise_all_reduce(*many) == pytest.approx(124.4e-3, rel=2e-3)
    late = collectives.hierarchical_all_reduce(*two, 1e-6, 5e-6)
    assert late - collectives.hierarchical_all_reduce(*two) == pytest.approx(14e-6 + 10e-6)


def test_a_textbook_tree_is_slower_than_a_pipelined_one():
    # 1 GB among 8 ranks at 50 GB/s: three levels up and down, against twice the bytes once.
    assert collectives.tree_all_reduce(1e9, 8, 50e9) == pytest.approx(40e-3)
    assert collectives.plain_tree_all_reduce(1e9, 8, 50e9) == pytest.approx(120e-3)
    assert collectives.plain_tree_all_reduce(1e9, 1, 50e9) == 0
    # Six messages, and 1 ms for each.
    assert collectives.plain_tree_all_reduce(1e9, 8, 50e9, 1e-3) == pytest.approx(126e-3)


def test_weak_scaling_compares_equal_batches_and_strong_scaling_one_batch():
    # pytorch 17159: 122 samples/s on one GPU, 80 on each of 16.
    assert collectives.weak_scaling_efficiency(1 / 122, 1 / 80) == pytest.approx(0.656, abs=5e-4)
    assert collectives.strong_scaling_efficiency(16, 1.25, 16) == pytest.approx(0.8)


@pytest.mark.parametrize("size", [14, 0.5, 3, 999])
def test_a_size_without_its_prefix_is_named(size):
    with pytest.raises(ValueError, match=r"size must be in bytes, got .*: write 14 GB as"):
        collectives.ring_all_reduce(size, 8, 450e9)
    assert collectives.ring_all_reduce(8, 8, 450e9) > 0  # one number is a real message


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
    assert collectives.strong_scaling_efficiency(times[1], times[128], 128) == pytest.approx(
        0.598, abs=5e-4
    )
    assert collectives.strong_scaling_efficiency(times[1], times[256], 256) == pytest.approx(
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
    # A tenth of a second more than two transfers: √(0.1 ÷ 10⁻⁵).
    assert collectives.turning_point(0.66, GRADIENTS, LINK, ALPHA) == pytest.approx(100)
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


def test_halving_and_doubling():
    # 8 ranks: 2·7/8·14/50 = 0.49 s like a ring, but 6 messages in a row instead of 14.
    assert collectives.halving_doubling_all_reduce(GRADIENTS, 8, LINK) == pytest.approx(0.49)
    assert collectives.halving_doubling_all_reduce(8, 8, LINK, ALPHA) == pytest.approx(
        30e-6, rel=1e-3
    )
    # 12 ranks: as 8, and 4 of them hand over 14 GB and get 14 GB back, 0.28 s each way.
    assert collectives.halving_doubling_all_reduce(GRADIENTS, 12, LINK, ALPHA) == pytest.approx(
        0.49 + 0.56 + 8 * ALPHA
    )
    assert collectives.halving_doubling_all_reduce(GRADIENTS, 1, LINK, ALPHA) == 0


def test_halves_of_an_all_reduce():
    for half in (collectives.reduce_scatter, collectives.all_gather, collectives.all_to_all):
        # 7/8 · 14/50 = 0.245 s, and 7 messages of 5 µs.
        assert half(GRADIENTS, 8, LINK, ALPHA) == pytest.approx(0.245035)
        assert half(GRADIENTS, 1, LINK, ALPHA) == 0


def test_broadcast_moves_the_buffer_once():
    assert collectives.broadcast(GRADIENTS, 8, LINK, ALPHA) == pytest.approx(0.28 + 35e-6)
    assert collectives.broadcast(GRADIENTS, 1, LINK, ALPHA) == 0


@pytest.mark.parametrize(
    ("ranks", "messages"),
    [(2, 0), (3, 0), (4, 4), (8, 32), (128, 128 * (127 - 7))],
)
def test_ring_and_tree_cross(ranks, messages):
    size = collectives.ring_tree_crossover(ranks, LINK, ALPHA)
    assert size == pytest.approx(messages * LINK * ALPHA)  # LINK · ALPHA is 250 kB
    if size:
        ring, tree = (
            function(size, ranks, LINK, ALPHA)
            for function in (collectives.ring_all_reduce, collectives.tree_all_reduce)
        )
        assert ring == pytest.approx(tree)


@pytest.mark.parametrize(
    ("collective", "time"),
    [
        ("all-reduce", collectives.ring_all_reduce),
        ("reduce-scatter", collectives.reduce_scatter),
        ("all-gather", collectives.all_gather),
        ("all-to-all", collectives.all_to_all),
        ("broadcast", collectives.broadcast),
    ],
)
def test_busbw_of_each_collective_is_its_link(collective, time):
    elapsed = time(GRADIENTS, 16, LINK)
    assert collectives.busbw(GRADIENTS, elapsed, 16, collective) == pytest.approx(LINK)


def test_busbw_knows_its_collectives():
    with pytest.raises(
        ValueError, match=r"^collective must be one of all-reduce, .*, got 'gather'"
    ):
        collectives.busbw(1e6, 1e-3, 2, "gather")


def simulated(bucket, buckets, overlappable):
    """When the last bucket has been sent, told event by event, less the compute."""
    free = 0.0
    for i in range(1, buckets + 1):
        free = max(free, i * overlappable / buckets) + bucket
    return free - overlappable


@pytest.mark.parametrize("bucket", [0.0, 0.01, 0.1, 0.3])
@pytest.mark.parametrize("buckets", [1, 2, 7])
@pytest.mark.parametrize("overlappable", [0.0, 0.2, 1.0])
def test_what_buckets_leave_exposed(bucket, buckets, overlappable):
    assert collectives.exposed_in_buckets(bucket, buckets, overlappable) == pytest.approx(
        simulated(bucket, buckets, overlappable)
    )


def test_a_step_with_overlap_buckets_and_compression():
    # 8 ranks: 13.2625 s of compute each, two thirds of it overlappable, 8.84 s; the 0.49 s of
    # all-reduce in 10 buckets of 0.049 s hide but for the last.
    plain = collectives.step_time(106.1, GRADIENTS, 8, LINK)
    assert plain == pytest.approx(13.2625 + 0.49)
    hidden = collectives.step_time(106.1, GRADIENTS, 8, LINK, overlap=2 / 3, buckets=10)
    assert hidden == pytest.approx(13.2625 + 0.049)
    half = collectives.step_time(106.1, GRADIENTS, 8, LINK, compression=0.5)
    assert half == pytest.approx(13.2625 + 0.245)
    # Each of 10 buckets pays 14 latencies.
    paid = collectives.step_time(106.1, GRADIENTS, 8, LINK, ALPHA, buckets=10)
    assert paid == pytest.approx(plain + 140 * ALPHA)


def test_weak_scaling_keeps_the_compute():
    for ranks in (1, 8, 1024):
        step = collectives.weak_step_time(10, GRADIENTS, ranks, LINK, ALPHA)
        assert step == pytest.approx(
            10 + collectives.ring_all_reduce(GRADIENTS, ranks, LINK, ALPHA)
        )


def test_buckets_move_the_turning_point():
    turn = collectives.turning_point(106.1, GRADIENTS, LINK, ALPHA, buckets=25)
    assert turn == pytest.approx(math.sqrt((106.1 - 0.56) / 250e-6))  # 650
    best = collectives.best_ranks(
        lambda n: collectives.step_time(106.1, GRADIENTS, n, LINK, ALPHA, buckets=25), 2000
    )
    assert best == pytest.approx(turn, abs=1)


def test_best_ranks_takes_the_fewest_of_equals():
    assert collectives.best_ranks(lambda n: 1.0, 50) == 1
    assert collectives.best_ranks(lambda n: abs(n - 7), 50) == 7
    # All that there are, and not one more.
    assert collectives.best_ranks(lambda n: 1 / n, 50) == 50
    with pytest.raises(ValueError, match=r"^most must be "):
        collectives.best_ranks(float, 0)


BANDWIDTHS = {
    "ring_all_reduce": lambda b: collectives.ring_all_reduce(1e9, 8, b),
    "tree_all_reduce": lambda b: collectives.tree_all_reduce(1e9, 8, b),
    "halving_doubling": lambda b: collectives.halving_doubling_all_reduce(1e9, 8, b),
    "reduce_scatter": lambda b: collectives.reduce_scatter(1e9, 8, b),
    "all_gather": lambda b: collectives.all_gather(1e9, 8, b),
    "all_to_all": lambda b: collectives.all_to_all(1e9, 8, b),
    "broadcast": lambda b: collectives.broadcast(1e9, 8, b),
    "crossover": lambda b: collectives.ring_tree_crossover(8, b, ALPHA),
    "inner": lambda b: collectives.hierarchical_all_reduce(1e9, 2, 8, b, LINK),
    "outer": lambda b: collectives.hierarchical_all_reduce(1e9, 2, 8, LINK, b),
    "step_time": lambda b: collectives.step_time(1, 1e9, 8, b),
    "weak_step_time": lambda b: collectives.weak_step_time(1, 1e9, 8, b),
    "turning_point": lambda b: collectives.turning_point(1, 1e9, b, ALPHA),
}


@pytest.mark.parametrize("name", BANDWIDTHS)
def test_both_directions_added_are_refused(name):
    link = tables.link("nvlink4")
    assert BANDWIDTHS[name](link.bandwidth.si) > 0
    for added in (link.both.si, link.quoted.si):
        with pytest.raises(
            ValueError, match=r"must count one direction, got 900000000000.0 byte/s"
        ):
            BANDWIDTHS[name](added)


def test_the_messages_of_a_hierarchy():
    tiers = (GRADIENTS, 4, 8, 450e9, 50e9)
    for model in (collectives.hierarchical_all_reduce, collectives.stepwise_all_reduce):
        waits = model(*tiers, 1e-6, 5e-6) - model(*tiers)
        assert waits == pytest.approx(2 * 7 * 1e-6 + 2 * 3 * 5e-6)


def test_what_zero3_sends_by_hand():
    # 16 GB of weights, 1 GB of gradients, 4 ranks, 3 micro-batches: 3/4 · 3 · (2 · 16 + 1).
    assert collectives.zero3_volume(16e9, 1e9, 4, 3) == pytest.approx(0.75 * 3 * 33e9)


def test_a_broadcast_to_one_other_takes_its_bytes_and_one_message():
    assert collectives.broadcast(1e9, 2, 1e9, 0.5) == pytest.approx(1.5)
