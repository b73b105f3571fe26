"""What is fitted to all-reduces, and predicted from the fit, against times that are known."""

import dataclasses
import functools
import math

import numpy as np
import pytest
import synthetic
from recorded import recorded

from wallsite import collectives, probes
from wallsite.probes import scaling

ALPHA, BETA = 50e-6, 1e9  # s, byte/s


@functools.cache
def exact(ranks=2, latency=ALPHA, bandwidth=BETA):
    return scaling.fit(synthetic.result(synthetic.ring(ranks, latency, bandwidth), ranks))


@functools.cache
def noisy(seed, ranks=8):
    """Nine sizes of 15 samples each that scatter around the truth by 5 %, either way alike."""
    random = np.random.default_rng(seed)
    times = [
        (size, seconds * np.exp(random.normal(0, 0.05, 15)))
        for size, (seconds,) in synthetic.ring(ranks, ALPHA, BETA)
    ]
    return scaling.fit(synthetic.result(times, ranks))


# ------------------------------------------------------------------------------------- the fit


def test_two_ranks_by_hand():
    # 2α + S/β: 0.1 ms + 1 ms, and 0.1 ms + 4 ms.
    fitted = scaling.fit(synthetic.result([(1_000_000, [1.1e-3]), (4_000_000, [4.1e-3])]))
    assert fitted.latency.value == pytest.approx(ALPHA)
    assert fitted.bandwidth.value == pytest.approx(BETA)
    assert fitted.all_reduce(2_000_000) == pytest.approx(2.1e-3)


@pytest.mark.parametrize("ranks", [2, 8])
def test_exact_times_give_exact_numbers(ranks):
    fitted = exact(ranks)
    assert fitted.ranks == ranks
    assert fitted.error == pytest.approx(0, abs=1e-9)
    for estimate, truth in ((fitted.latency, ALPHA), (fitted.bandwidth, BETA)):
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx((truth,) * 3)


def test_medians_are_fitted():
    times = [(1_000_000, [1.1e-3, 1.9e-3, 1.0e-3]), (4_000_000, [3.8e-3, 4.1e-3, 9.0e-3])]
    fitted = scaling.fit(synthetic.result(times))
    assert fitted.latency.value == pytest.approx(ALPHA)
    assert fitted.bandwidth.value == pytest.approx(BETA)


def test_small_and_large_messages_count_alike():
    # By seconds alone, 1 % of the largest message would be 14 times the latency.
    times = synthetic.ring(2, ALPHA, BETA)
    size, (seconds,) = times[-1]
    times[-1] = (size, [1.01 * seconds])
    assert scaling.fit(synthetic.result(times)).latency.value == pytest.approx(ALPHA, rel=0.01)


def test_error_is_the_median_over_the_sizes():
    times = synthetic.ring(2, 0.0, BETA, sizes=(1_000_000, 2_000_000, 4_000_000))
    fitted = scaling.fit(synthetic.result(times))
    off = [abs(fitted.all_reduce(size) / seconds - 1) for size, (seconds,) in times]
    assert fitted.error == sorted(off)[1]


def test_noise_leaves_bounds_around_the_truth():
    fits = [noisy(seed) for seed in range(8)]
    for name, truth in (("latency", ALPHA), ("bandwidth", BETA)):
        estimates = [getattr(fitted, name) for fitted in fits]
        assert all(x.low < x.value < x.high for x in estimates)
        assert all(x.high - x.low < 0.2 * truth for x in estimates)
        # 95 % of such bounds hold the truth: of eight, fewer than six once in two hundred times.
        assert sum(x.low <= truth <= x.high for x in estimates) >= 6


def test_it_is_deterministic():
    assert noisy.__wrapped__(1) == noisy(1)


def test_a_latency_below_zero_is_none():
    # 1 s for 1 MB and 3 s for 2 MB would start at −1 s. From zero, 1 s/MB is off by 1/3 for the
    # second; 1.5 s/MB is off by 1/2 for the first.
    fitted = scaling.fit(synthetic.result([(1_000_000, [1.0]), (2_000_000, [3.0])]))
    assert fitted.latency.value == fitted.latency.low == fitted.latency.high == 0
    assert fitted.bandwidth.value == pytest.approx(1e6)


@pytest.mark.parametrize("sizes", [[], [1024], [1024, 1024]])
def test_one_size_is_not_enough(sizes):
    times = [(size, [1e-3 * (1 + i)]) for i, size in enumerate(sizes)]
    with pytest.raises(probes.NotMeasured, match=r"^two sizes of all-reduce are needed"):
        scaling.fit(synthetic.result(times))


def test_what_another_probe_measured_is_no_all_reduce():
    other = recorded()["xeon-numpy"]
    with pytest.raises(probes.NotMeasured, match=r"two sizes of all-reduce are needed .* got 0$"):
        scaling.fit(other)


def test_times_that_fall_with_the_size_fit_nothing():
    with pytest.raises(probes.NotMeasured, match=r"^the times do not grow with the size"):
        scaling.fit(synthetic.result([(1_000_000, [2e-3]), (4_000_000, [1e-3])]))


def test_samples_that_scatter_too_much_are_told_as_such():
    # The medians grow, 1.1 ms and 4.1 ms, but those of samples drawn anew need not.
    times = [(1_000_000, [1.1e-3, 1.1e-3, 9.0]), (4_000_000, [4.1e-3, 4.1e-3, 9.0])]
    with pytest.raises(probes.NotMeasured, match=r"scatter"):
        scaling.fit(synthetic.result(times))


def test_unstable_sizes_are_counted():
    found = synthetic.result(synthetic.ring(2, ALPHA, BETA))
    first, *others = found.measurements
    shaky = dataclasses.replace(first, status="unstable", reason="busy")
    fitted = scaling.fit(dataclasses.replace(found, measurements=(shaky, *others)))
    assert (fitted.sizes, fitted.unstable) == (len(synthetic.SIZES), 1)


# -------------------------------------------------------------------------------- the prediction


@pytest.mark.parametrize(
    ("turning", "largest"), [(0.1, 16), (4, 16), (5, 32), (100, 512), (math.inf, 2**20)]
)
def test_ranks_are_shown_to_four_times_the_turning_point(turning, largest):
    shown = scaling.ranks_to_show(turning)
    assert shown[:5] == [1, 2, 4, 8, 16]
    assert shown[-1] == largest


def test_a_prediction_is_the_models():
    fitted = noisy(2)
    steps = scaling.predict(fitted, 100.0, 14e9, (1, 2, 8, 1024))
    assert [step.ranks for step in steps] == [1, 2, 8, 1024]
    for step in steps:
        seconds = collectives.step_time(
            100.0, 14e9, step.ranks, fitted.bandwidth.value, fitted.latency.value
        )
        assert step.seconds.value == seconds
        assert step.seconds.low <= seconds <= step.seconds.high
        assert step.efficiency.value == pytest.approx(100.0 / (step.ranks * seconds))
        assert step.efficiency.low <= step.efficiency.value <= step.efficiency.high


def test_a_prediction_by_hand():
    # 8 s / 8 + 2·7/8 · 4 GB / 1 GB/s + 14 · 50 µs
    (one, step) = scaling.predict(exact(), 8.0, 4e9, (1, 8))
    assert one.seconds == scaling.Estimate(8.0, 8.0, 8.0)
    assert one.efficiency == scaling.Estimate(1.0, 1.0, 1.0)
    assert step.seconds.value == pytest.approx(1 + 7 + 0.0007)
    assert step.efficiency.value == pytest.approx(8 / (8 * 8.0007))


def test_the_turning_point_by_hand():
    # √((108 − 2 · 4 GB / 1 GB/s) / 2 / 50 µs) = √10⁶
    turning = scaling.turning_point(exact(), 108.0, 4e9)
    assert (turning.value, turning.low, turning.high) == pytest.approx((1000, 1000, 1000))


def test_the_turning_point_moves_with_the_fit():
    turning = scaling.turning_point(noisy(3), 108.0, 4e9)
    assert turning.low < 1000 < turning.high
    assert turning.high - turning.low < 200


def test_without_latency_it_never_turns():
    turning = scaling.turning_point(exact(latency=0.0), 108.0, 4e9)
    assert (turning.value, turning.low, turning.high) == (math.inf,) * 3


def test_too_little_compute_for_two_ranks():
    turning = scaling.turning_point(exact(), 7.9, 4e9)
    assert (turning.value, turning.low, turning.high) == (1, 1, 1)


@pytest.mark.parametrize(
    ("compute", "size", "ranks", "named"),
    [
        (0, 4e9, 8, "compute"),
        (-1.0, 4e9, 8, "compute"),
        (math.nan, 4e9, 8, "compute"),
        (1.0, 0, 8, "size"),
        (1.0, -4e9, 8, "size"),
        (1.0, 4e9, 0, "ranks"),
        (1.0, 4e9, -8, "ranks"),
        (1.0, 4e9, 1.5, "ranks"),
    ],
)
def test_bad_arguments_are_named(compute, size, ranks, named):
    with pytest.raises(ValueError, match=rf"^{named} must be "):
        scaling.predict(exact(), compute, size, (ranks,))
