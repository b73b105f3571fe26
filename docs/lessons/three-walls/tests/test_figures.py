"""The numbers that the figures of this lesson draw, against hand arithmetic."""

import pytest

pytest.importorskip("matplotlib")

from lesson import figure
from matplotlib.patches import Rectangle

from wallsite import tables
from wallsite.figures import style

MIB = 2**20


def test_data_path_divides_the_peak_by_each_bandwidth():
    assert figure("data-path").data().waiting == pytest.approx((295.34, 2198.67, 19788), rel=1e-4)


def test_staircase_factors():
    a100, h100, b300 = figure("bandwidth-staircase").data()
    assert a100.bandwidths == pytest.approx((2.039e12, 300e9, 25e9))
    assert h100.bandwidths == pytest.approx((3.35e12, 450e9, 50e9))
    assert b300.bandwidths == pytest.approx((7.7e12, 900e9, 100e9))
    assert a100.steps == pytest.approx((6.797, 12), rel=1e-3)
    assert h100.steps == pytest.approx((7.444, 9), rel=1e-3)
    assert b300.steps == pytest.approx((8.556, 9), rel=1e-3)


def test_models_and_chips_cover_one_window_and_no_ratio_uses_the_rumour():
    numbers = figure("models-vs-chips").data()
    assert (numbers.models[0].year, numbers.models[-1].year) == (2018, 2024)
    assert (numbers.chips[0].year, numbers.chips[-1].year) == (2018, 2024)
    assert numbers.years == 6
    assert numbers.models[-1].growth == pytest.approx(405 / 0.34)
    assert numbers.chips[-1].growth == pytest.approx(2250 / 125)
    assert figure("models-vs-chips").yearly(18, 6) == pytest.approx(1.619, rel=1e-3)
    assert figure("models-vs-chips").yearly(405 / 0.34, 6) == pytest.approx(3.256, rel=1e-3)
    assert numbers.rumour not in numbers.models
    assert [chip.value for chip in numbers.chips] == pytest.approx(
        [125e12, 312e12, 989.4e12, 2250e12]
    )


def test_roofline_ridges():
    ridges = {name: roof.ridge for name, roof in figure("roofline").data().items()}
    assert ridges == pytest.approx(
        {"A100": 153.02, "H100": 295.34, "H200": 206.13, "B200": 292.21}, rel=1e-4
    )


def test_decode_and_prefill_intensities():
    numbers = figure("decode-prefill").data()
    cache = 4096 * 2 * 32 * 32 * 128 * 2  # bytes of one sequence: tokens · 2 · L · h · d · b
    weights = 14e9
    assert numbers.context == 4096
    for lane, batch in zip(numbers.lanes, (1, 32, 256), strict=False):
        assert lane.batch == batch
        assert lane.weights_only == pytest.approx(batch)
        assert lane.intensity == pytest.approx(14e9 * batch / (weights + batch * cache))
        assert lane.share == pytest.approx(lane.intensity / 295.343, rel=1e-4)
        assert lane.intensity < numbers.cap
    assert numbers.cap == pytest.approx(6.519, rel=1e-3)
    assert numbers.grouped_cap == pytest.approx(29.80, rel=1e-3)
    prefill = numbers.lanes[-1]
    assert prefill.weights_only == pytest.approx(2048)
    assert prefill.intensity == pytest.approx(14e9 * 2048 / (weights + cache / 2))
    assert prefill.share == 1


def test_energy_ratios():
    numbers = figure("energy-per-op").data()
    assert numbers.ratios == pytest.approx((1300 / 3.7, 2600 / 3.7))
    assert numbers.energies["int8-add"] == pytest.approx(0.03e-12)
    assert numbers.energies["sram-1m"] == pytest.approx(100e-12)


def test_q1_states_the_premise_of_the_question():
    assert figure("q1-decision-tree").data().dram == pytest.approx(0.95)


def test_q2_keeps_what_sources_disagree_on():
    chips = figure("q2-three-walls").data()
    assert chips["910C"].peak == pytest.approx((752e12, 800e12))
    assert chips["910B"].peak == pytest.approx((376e12, 280e12, 414e12))
    assert chips["B200"].bandwidth == pytest.approx((7.7e12, 8.0e12))
    assert chips["B200"].ridge == pytest.approx((292.21, 281.25), rel=1e-4)
    assert chips["910B"].ridge == pytest.approx((235, 175, 258.75))
    assert chips["910B"].scale_up == pytest.approx((196e9, 392e9))
    assert chips["910C"].scale_up == pytest.approx((392e9,))
    assert chips["910B"].scale_out == ()
    assert [chips[name].scale_out for name in ("H100", "B200", "910C")] == [(50e9,)] * 3


def test_q3_terms_turning_point_and_efficiency():
    numbers = figure("q3-scaling").data()
    compute = 6 * 7e9 * 1e6 / (989.4e12 * 0.4)
    assert numbers.compute == pytest.approx(compute)
    assert numbers.turning == pytest.approx(((compute - 0.56) / 1e-5) ** 0.5)
    few, many = numbers.step(128), numbers.step(256)
    assert few.volume == pytest.approx(2 * 127 / 128 * 14e9 / 50e9)
    assert few.latency == pytest.approx(2 * 127 * 5e-6)
    assert few.total == pytest.approx(few.compute + few.volume + few.latency)
    assert (few.efficiency, many.efficiency) == pytest.approx((0.598, 0.425), abs=5e-4)
    assert many.total < few.total, "below 70 % is diminishing, not negative"
    turning = round(numbers.turning)
    least = numbers.step(turning).total
    assert all(numbers.step(n).total > least for n in (turning // 2, 2 * turning))
    assert (
        numbers.step(numbers.fades).efficiency < 0.7 <= numbers.step(numbers.fades - 1).efficiency
    )


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_ring_sums_every_chunk_once_on_every_rank(ranks):
    start, *steps = figure("all-reduce-flow").ring(ranks)
    assert start.summed == ((1,) * ranks,) * ranks
    assert start.received == frozenset()
    assert len(steps) == 2 * (ranks - 1)
    for state in steps:
        assert sorted(rank for rank, _ in state.received) == list(range(ranks))
    scattered = steps[ranks - 2].summed
    assert [row.count(ranks) for row in scattered] == [1] * ranks, "one finished chunk each"
    assert steps[-1].summed == ((ranks,) * ranks,) * ranks


def test_all_reduce_volumes():
    numbers = figure("all-reduce-flow").data()
    volumes = (numbers.sent, numbers.inside, numbers.across, numbers.flat)
    assert volumes == pytest.approx((1.5, 1.5, 0.25, 1.75))


def test_the_recorded_machine_and_ranks():
    # Recorded with numpy and torch on one machine; the ranks between two of its processes.
    results, devices = figure("measured-roofline").data()
    assert [result.backend for result in results] == ["numpy", "torch"]
    assert devices == ["xeon-8480"]
    fitted, compute, size = figure("measured-scaling").data()
    assert (compute, size, fitted.ranks) == (1.0, 100e6, 2)


@pytest.mark.parametrize("name", ["roofline", "bandwidth-staircase"])
@pytest.mark.parametrize(("lang", "other"), [("zh", "另有资料"), ("en", "other documents")])
def test_a_bandwidth_that_nobody_contests_is_not_said_to_be(monkeypatch, name, lang, other):
    def uncontested(device, real=tables.accelerator):
        chip = real(device)
        bandwidth = chip.fields["bandwidth"]._replace(alternatives=())
        return chip._replace(fields={**chip.fields, "bandwidth": bandwidth})

    with style.context():
        assert other in figure(name).draw(lang).caption
        monkeypatch.setattr(tables, "accelerator", uncontested)
        caption = figure(name).draw(lang).caption
    assert other not in caption
    assert caption.endswith(("。", "."))


def test_a_tile_is_used_as_often_as_it_is_wide():
    # BF16: 2 · 128³ operations on 2 · 128² numbers of two bytes are 64 FLOP/byte. Two tiles of two
    # bytes an element and one of four take 8 · 128² bytes, 128 KiB.
    tiles = {tile.side: tile for tile in figure("tiling").data()}
    assert tiles[128] == (128, 64.0, 128 * 1024)
    assert tiles[256] == (256, 128.0, 512 * 1024)
    with style.context():
        drawn = figure("tiling").draw("en")
    assert "128 × 128" in drawn.caption
    assert "take 128 KiB of the 256 KiB" in drawn.caption
    steps = [[text.get_text() for text in ax.texts] for ax in drawn.figure.axes]
    assert [step[0].partition(".")[0] for step in steps] == ["1", "2", "3", "4"]
    assert [step[1:] for step in steps] == [["A", "B", "C", "×", "="]] * 4
    # Tiles that are filled: those of A and B that were read so far, and the one of C.
    tiles = [sum(isinstance(x, Rectangle) for x in ax.patches) for ax in drawn.figure.axes]
    assert tiles == [3, 5, 7, 7]


def test_the_slopes_of_the_recorded_machine():
    # The record of numpy: 96 KiB of first-level data cache, 4 MiB of L2, 300 MiB of L3.
    peak, intensity, levels = figure("hierarchical-roofline").data()
    assert intensity == pytest.approx(1 / 12)  # FP32: one addition, twelve bytes
    assert peak == pytest.approx(316.8e9, rel=1e-3)
    assert [round(level.bandwidth / 1e9, 1) for level in levels] == [162.5, 48.7, 26.0]
    assert [level.array_bytes / MIB for level in levels] == [0.5, 4, 256]


def test_the_floor_plan_holds_what_the_white_paper_says():
    plan = figure("floor-plan").data()
    # 132 SMs with 256 KiB of registers and as much SRAM each: 33 MiB of either.
    assert (plan.sms, plan.registers, plan.sram, plan.l2) == (132, 33 * MIB, 33 * MIB, 50 * MIB)
    assert (plan.hbm, plan.bandwidth, plan.link, plan.network) == (80e9, 3.35e12, 450e9, 50e9)
    assert plan.peak == pytest.approx(989.4e12, rel=1e-4)
    # The pages of the walls show the same plan, lit otherwise.
    assert plan == figure("floor-plan-compute").data()
    assert plan == figure("floor-plan-memory").data()
    assert plan == figure("floor-plan-communication").data()
