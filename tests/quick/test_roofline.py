"""The roofline model against arithmetic a reader can do by hand."""

import pytest

from wallsite import roofline

# H100 SXM as its sources print it: dense bf16 989.4 TFLOP/s, 3.35 TB/s.
PEAK, BANDWIDTH = 989.4e12, 3.35e12


def test_ridge_point_of_h100_is_295():
    assert roofline.ridge_point(PEAK, BANDWIDTH) == pytest.approx(295.34, abs=0.005)


@pytest.mark.parametrize(
    ("intensity", "expected"),
    [(1, 3.35e12), (100, 335e12), (295, 988.25e12), (296, 989.4e12), (10_000, 989.4e12)],
)
def test_attainable_is_the_lower_ceiling(intensity, expected):
    assert roofline.attainable(intensity, PEAK, BANDWIDTH) == pytest.approx(expected)


def test_bound_changes_at_the_ridge_point():
    assert roofline.bound(1, PEAK, BANDWIDTH) == "memory"
    assert roofline.bound(295, PEAK, BANDWIDTH) == "memory"
    assert roofline.bound(296, PEAK, BANDWIDTH) == "compute"
    # 2500 / 8 = 312.5 exactly: at the ridge point the peak is reached.
    assert roofline.bound(312.5, 2500e12, 8e12) == "compute"


def test_time_floor_is_the_slower_of_arithmetic_and_traffic():
    # 14 GB at 3.35 TB/s: 4.179 ms. 14 GFLOP at 989.4 TFLOP/s: 14 µs.
    assert roofline.time_floor(14e9, 14e9, PEAK, BANDWIDTH) == pytest.approx(4.179e-3, abs=1e-6)
    assert roofline.time_floor(989.4e12, 1, PEAK, BANDWIDTH) == pytest.approx(1.0)
    assert roofline.time_floor(0, 3.35e12, PEAK, BANDWIDTH) == pytest.approx(1.0)


def test_utilisations():
    assert roofline.mfu(400e12, 1, 1000e12) == pytest.approx(0.4)
    assert roofline.mbu(14e9, 5e-3, 3.5e12) == pytest.approx(0.8)


BAD_RATES = [0, -1, float("nan"), float("inf"), 3.35, 989.4, True, "3.35e12", None]


@pytest.mark.parametrize("bad", BAD_RATES)
def test_ridge_point_names_the_bad_argument(bad):
    with pytest.raises(ValueError, match=r"^bandwidth must be "):
        roofline.ridge_point(PEAK, bad)
    with pytest.raises(ValueError, match=r"^peak must be "):
        roofline.ridge_point(bad, BANDWIDTH)


def test_a_missing_prefix_is_explained():
    with pytest.raises(ValueError, match=r"byte/s, got 3\.35: write 3\.35 TB/s as 3\.35e12"):
        roofline.ridge_point(PEAK, 3.35)
    with pytest.raises(ValueError, match=r"FLOP/s, got 989\.4"):
        roofline.ridge_point(989.4, BANDWIDTH)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf")])
def test_other_functions_name_the_bad_argument(bad):
    with pytest.raises(ValueError, match=r"^intensity must"):
        roofline.attainable(bad, PEAK, BANDWIDTH)
    with pytest.raises(ValueError, match=r"^intensity must"):
        roofline.bound(bad, PEAK, BANDWIDTH)
    with pytest.raises(ValueError, match=r"^seconds must"):
        roofline.mfu(1e12, bad, PEAK)
    with pytest.raises(ValueError, match=r"^traffic must"):
        roofline.mbu(bad, 1, BANDWIDTH)


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf")])
def test_time_floor_accepts_zero_work_but_no_nonsense(bad):
    with pytest.raises(ValueError, match=r"^flops must"):
        roofline.time_floor(bad, 1, PEAK, BANDWIDTH)


@pytest.mark.parametrize(
    ("share", "arguments"),
    [
        # Megatron-LM 831: an unknown card counted as an A100; causal attention counted in full.
        (1.057, (329.8e12, 1, 312e12)),
        (1.212, (378e12, 1, 312e12)),
        (4.0, (4e15, 1, 1e15)),
    ],
)
def test_no_chip_is_faster_than_its_peak(share, arguments):
    with pytest.raises(
        ValueError, match=rf"mfu is {share:.3g} of the bound, above 1\.02: .*causal"
    ):
        roofline.mfu(*arguments)


def test_no_memory_is_faster_than_its_peak():
    # 500 tokens/s of a 7B model on an H100 would be 209 % of its bandwidth.
    with pytest.raises(ValueError, match=r"mbu is 2\.09 of the bound, above 1\.02: .*sequences"):
        roofline.mbu(14e9, 1 / 500, 3.35e12)


def test_utilisation_divides_by_the_time():
    assert roofline.mfu(378e12 / 2, 1, 312e12) == pytest.approx(0.606, abs=5e-4)
    assert roofline.mfu(400e12, 4, 1000e12) == pytest.approx(0.1)
    assert roofline.mbu(14e9, 10e-3, 3.35e12) == pytest.approx(0.418, abs=5e-4)
    assert roofline.mfu(1015e12, 1, 1000e12) == pytest.approx(1.015)  # a clock above the sheet’s
