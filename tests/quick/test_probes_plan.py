"""What a kernel counts, and how large its arrays are."""

import math

import pytest
from probe_fakes import GIB, MIB, device

from wallsite import probes
from wallsite.probes.kernels import KERNELS
from wallsite.probes.plan import FLOOR, HOST_TOTAL, HOST_TOTAL_QUICK, binary

N = 1000  # bytes of an array, for counting by hand


@pytest.mark.parametrize(
    ("name", "counted", "allocated", "flops"),
    [("copy", 2, 3, 0), ("scale", 2, 3, 1), ("add", 3, 4, 1), ("triad", 3, 4, 2)],
)
def test_kernels_counted_by_hand(name, counted, allocated, flops):
    (kernel,) = (kernel for kernel in KERNELS if kernel.name == name)
    assert kernel.bytes_counted(N) == counted * N
    assert kernel.bytes_with_write_allocate(N) == allocated * N
    assert kernel.flops(N) == flops * N


def test_four_times_the_cache():
    assert probes.plan_arrays(device(cache=70 * MIB), 3).array_bytes == 280 * MIB


def test_at_least_256_mib():
    plan = probes.plan_arrays(device(cache=MIB), 3)
    assert plan == probes.ArrayPlan(256 * MIB, 3)


@pytest.mark.parametrize(("quick", "total"), [(False, HOST_TOTAL), (True, HOST_TOTAL_QUICK)])
def test_a_huge_cache_does_not_take_the_machine(quick, total):
    plan = probes.plan_arrays(device(cache=320 * MIB), 3, quick=quick)
    assert total - 3 * MIB <= plan.count * plan.array_bytes <= total
    assert "smaller than 4 × the last-level cache of 320 MiB" in plan.warnings[0]


def test_quick_takes_less():
    assert probes.plan_arrays(device(cache=MIB), 3, quick=True).array_bytes == 192 * MIB


def test_what_was_wanted_of_a_huge_cache_is_told_in_whole_mib():
    # A third of 1 GiB, since three arrays may take no more.
    warning, _ = probes.plan_arrays(device(cache=320 * MIB, free=600 * MIB), 3).warnings
    assert warning == "only 600 MiB are free on cpu: arrays shrunk from 341 MiB to 100 MiB"


@pytest.mark.parametrize("quick", [False, True])
def test_an_accelerator_is_not_bound_by_the_host(quick):
    plan = probes.plan_arrays(device(kind="cuda", cache=50 * MIB), 3, quick=quick)
    assert plan.array_bytes == GIB
    plan = probes.plan_arrays(device(kind="cuda", cache=320 * MIB), 3, quick=quick)
    assert (plan.array_bytes, plan.warnings) == (1280 * MIB, ())


def test_arrays_shrink_to_half_of_what_is_free():
    plan = probes.plan_arrays(device(free=600 * MIB), 3)
    assert plan.array_bytes == 100 * MIB
    assert plan.warnings[0] == (
        "only 600 MiB are free on cpu: arrays shrunk from 256 MiB to 100 MiB"
    )


def test_below_the_floor_is_an_error():
    free = 2 * 3 * FLOOR
    assert probes.plan_arrays(device(free=free), 3).array_bytes == FLOOR
    with pytest.raises(probes.NotEnoughMemory, match="95 MiB are free on cpu"):
        probes.plan_arrays(device(free=free - 1), 3)


@pytest.mark.parametrize("free", [0, 100, 6 * 64 - 1])
def test_where_nothing_fits_no_size_is_proposed(free):
    with pytest.raises(probes.NotEnoughMemory) as caught:
        probes.plan_arrays(device(free=free), 3)
    assert str(caught.value) == (
        f"{free} bytes are free on cpu; 3 arrays of 16 MiB need twice their 48 MiB"
    )


def test_a_size_that_does_not_fit_says_which_would():
    with pytest.raises(probes.NotEnoughMemory, match=f"array_bytes={170 * MIB} would fit"):
        probes.plan_arrays(device(free=GIB), 3, array_bytes=GIB)
    assert probes.plan_arrays(device(free=GIB), 3, array_bytes=170 * MIB).array_bytes == 170 * MIB


@pytest.mark.parametrize(("asked", "taken"), [(64, 64), (MIB + 65, MIB + 64), (MIB - 1, MIB - 64)])
def test_a_given_size_is_taken_in_whole_cache_lines(asked, taken):
    assert probes.plan_arrays(device(), 3, array_bytes=asked).array_bytes == taken


def test_what_would_fit_in_a_cache_is_named_in_bytes():
    # A third of half of 6,000 bytes, in whole lines of 64.
    with pytest.raises(probes.NotEnoughMemory, match=r"array_bytes=960 would fit, in a cache"):
        probes.plan_arrays(device(free=6000), 3)


def test_what_just_fits_is_taken():
    assert probes.plan_arrays(device(free=6 * 64), 3, array_bytes=64).array_bytes == 64
    with pytest.raises(probes.NotEnoughMemory):
        probes.plan_arrays(device(free=6 * 64 - 1), 3, array_bytes=64)


def test_where_not_even_one_mib_fits():
    with pytest.raises(
        probes.NotEnoughMemory, match=r"MiB that are free.*array_bytes=174720 would"
    ):
        probes.plan_arrays(device(free=MIB), 3, array_bytes=MIB)
    with pytest.raises(
        probes.NotEnoughMemory, match=r"64 bytes exceed half of the 99 bytes.*no siz"
    ):
        probes.plan_arrays(device(free=99), 3, array_bytes=64)


def test_arrays_that_all_fit_in_the_cache_are_said_to():
    (warning,) = probes.plan_arrays(device(cache=3 * MIB), 3, array_bytes=MIB).warnings
    assert warning.endswith("last-level cache of 3 MiB that the system reports: they all fit in it")
    (warning,) = probes.plan_arrays(device(cache=3 * MIB), 3, array_bytes=MIB + 64).warnings
    assert warning.endswith("part of the traffic may stay in it")
    assert probes.plan_arrays(device(), 3, array_bytes=64).warnings[0].startswith("arrays of 64 b")


def test_unknown_cache_and_memory():
    plan = probes.plan_arrays(device(free=None, cache=None), 3)
    assert plan.array_bytes == 256 * MIB
    assert "not known" in plan.warnings[0]


@pytest.mark.parametrize("wrong", [0, -1, 63, 1.5, math.nan, math.inf, True, "1 MiB", 10**400])
def test_plan_names_the_wrong_size(wrong):
    with pytest.raises(ValueError, match="array_bytes"):
        probes.plan_arrays(device(), 3, array_bytes=wrong)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, math.nan])
def test_plan_names_the_wrong_count(wrong):
    with pytest.raises(ValueError, match="count"):
        probes.plan_arrays(device(), wrong)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (2047, "1 KiB"),
        (MIB - 1, "1,023 KiB"),
        (MIB, "1 MiB"),
        (2 * GIB, "2,048 MiB"),
    ],
)
def test_sizes_in_words(size, text):
    assert binary(size) == text
