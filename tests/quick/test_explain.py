"""Is my number normal? The questions that people asked, with the numbers worked out by hand."""

import re

import pytest

from wallsite import explain, roofline
from wallsite.explain import printed
from wallsite.explain.answer import ABOVE, BAND_WORDS, HEALTHY, NEAR, OVERHEAD, WRONG_PATH, band
from wallsite.explain.causes import causes
from wallsite.locale import languages
from wallsite.topology import Topology

MIB, GIB = 2**20, 2**30


def said(found, language="en"):
    return "\n".join(printed.lines(found, language, width=1000))


# --- Decoding -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "model", "batch", "measured", "bound", "share", "wall"),
    [
        # 273.2 ÷ 4.68 and 1008 ÷ 4.68 GB
        ({"device": "GB10"}, {"stored": 4.68e9}, 1, 6.203, 58.4, 0.106, "none"),
        ({"device": "rtx-4090"}, {"stored": 4.68e9}, 1, 171.5, 215.4, 0.796, "memory"),
        # 1600 ÷ 1.2 GB
        ({"device": "ascend-910b"}, {"params": 0.6e9, "bits": 16}, 1, 5.5, 1333, 0.0041, "none"),
        # 352 ÷ (37 × 4.5 ÷ 8)
        (
            {"bandwidth": 352e9, "kind": "cpu"},
            {"params": 671e9, "active": 37e9, "bits": 4.5},
            *(1, 10.11, 16.91, 0.598, "memory"),
        ),
        # 460.8 GB/s and 4.5 bits: 22.1 tokens/s; 13.23 GB/s and a file of 0.531 GB: 24.9
        (
            {"memory": "12xDDR5-4800"},
            {"params": 671e9, "active": 37e9, "bits": 4.5},
            1,
            11,
            22.14,
            0.497,
            "none",
        ),
        ({"bandwidth": 13.23e9}, {"stored": 0.531e9}, 1, 20, 24.92, 0.803, "memory"),
        # 24 channels of DDR5-6400, 37B at 4 bits: 1228.8 ÷ 18.5 = 66.4
        (
            {"memory": "12xDDR5-6400", "sockets": 2},
            {"params": 671e9, "active": 37e9, "bits": 4},
            *(1, 17.3, 66.4, 0.26, "none"),
        ),
        # 17 + 654 · (1 − (1 − 8/256)^B) GB over 8 × 4.8 TB/s
        (
            {"device": "h200", "count": 8},
            {"params": 671e9, "active": 37e9, "bits": 8, "experts": (256, 8)},
            *(10, 200, 1970, 0.10, "none"),
        ),
        (
            {"device": "h200", "count": 8},
            {"params": 671e9, "active": 37e9, "bits": 8, "experts": (256, 8)},
            *(32, 1000, 2830, 0.353, "none"),
        ),
        # 65.6 GB over eight of 1.6 TB/s
        (
            {"device": "ascend-910b", "count": 8},
            {"params": 32.8e9, "bits": 16, "layers": 64},
            *(1, 9, 195, 0.046, "none"),
        ),
    ],
)
def test_a_decode_against_the_bound_that_a_person_would_work_out(
    machine, model, batch, measured, bound, share, wall
):
    run = explain.Decode(explain.model_run(**model), batch=batch, tokens_per_second=measured)
    found = explain.decode(run, explain.machine(**machine))
    assert found.bounds[0].wall == "memory"
    assert batch / found.bounds[0].value == pytest.approx(bound, rel=0.006)
    assert found.share == pytest.approx(share, rel=0.03)
    assert found.wall == wall


def test_modules_are_not_channels():
    machine = explain.machine("Xeon E5-2630 v4", memory="8xDDR4-2666", sockets=2)
    assert machine.bandwidth == pytest.approx(2 * 4 * 2133e6 * 8)
    assert "has 4 memory channels at up to 2133 MT/s" in machine.warnings[0]["en"]
    model = explain.model_run(params=671e9, active=37e9, bits=2.51)
    found = explain.decode(explain.Decode(model, batch=1, tokens_per_second=2.86), machine)
    assert 1 / found.bounds[0].value == pytest.approx(11.76, rel=0.01)
    assert found.share == pytest.approx(0.243, rel=0.01)


def test_a_cpu_is_told_of_numa_and_a_gpu_of_launches():
    assert "NUMA" in causes("decode", "cpu", OVERHEAD)[0].text["en"]
    assert "launches" in causes("decode", "gpu", OVERHEAD)[0].text["en"]
    assert "disk" in causes("decode", "cpu", WRONG_PATH)[0].text["en"]
    assert "CPU cores, not on the GPU" in causes("decode", "unified", OVERHEAD)[0].text["en"]


def test_the_situation_comes_first():
    assert "all-reduces" in causes("decode", "gpu", OVERHEAD, ("many",))[0].text["en"]
    assert "unpacked" in causes("decode", "gpu", OVERHEAD, ("quantized",))[0].text["en"]
    plain = " ".join(cause.text["en"] for cause in causes("decode", "gpu", OVERHEAD))
    assert "unpacked" not in plain
    assert "all-reduces" not in plain


def test_the_cache_limits_what_a_batch_can_do():
    # 2 · 8.03e9 ÷ (4096 · 128 KiB) = 29.9 FLOP/byte, far below 295
    model = explain.model_run(params=8.03e9, bits=16, layers=32, kv_heads=8, head_dim=128)
    run = explain.Decode(model, batch=1, context=4096, seconds=5.6e-3)
    found = explain.decode(run, explain.machine("h100-sxm"))
    assert found.bounds[0].value == pytest.approx((16.06e9 + 4096 * 131072) / 3.35e12)
    assert "intensity stays below 29.9 FLOP/byte" in said(found)
    short = explain.decode(
        explain.Decode(model, 1, 256, seconds=5.6e-3), explain.machine("h100-sxm")
    )
    assert "no batch makes it compute-bound" not in said(short)


def test_a_sliding_window_keeps_the_cache_small():
    # Five of six layers keep 1024 tokens: 8192 · (1/6) + 1024 · (5/6) tokens of 1 KiB
    model = explain.model_run(stored=1e9, kv_per_token=1024, window=1024, windowed=5 / 6)
    assert model.cache(8192) == pytest.approx(1024 * (8192 / 6 + 1024 * 5 / 6))
    assert model.cache(512) == pytest.approx(1024 * 512)


def test_the_books_are_kept_in_gib():
    model = explain.model_run("llama-2-70b", bits=16)
    found = explain.decode(explain.Decode(model, 1, 2048), explain.machine("a100-80gb", count=4))
    # 2 · 80 · 8 · 128 · 2048 · 2 bytes = 640 MiB, as llama.cpp prints it
    assert "weights 130.4 GiB + cache 640 MiB + reserved 0 = 131 GiB of 320 GiB" in said(found)


def test_what_does_not_fit_is_said_not_to():
    model = explain.model_run(params=8e9, bits=16)
    run = explain.Decode(model, 1, seconds=2.379, reserved=10 * GIB)
    found = explain.decode(run, explain.machine("rtx-3090"))
    assert found.wall == "capacity"
    assert "it does not fit" in said(found)
    assert found.page.endswith("#capacity")


def test_nothing_is_assumed_in_silence():
    found = explain.decode(explain.Decode(explain.model_run(params=7e9)), explain.machine("h100"))
    assert found.share is None
    assert [round(1 / bound.value) for bound in found.bounds] == [239, 479, 957]
    assert "--bits or --file-size" in said(found)
    bare = explain.decode(
        explain.Decode(explain.model_run(params=7e9, bits=8), tokens_per_second=100),
        explain.machine(bandwidth=1e12),
    )
    assert [text["en"].split(":")[0] for text in bare.missing] == ["--batch", "--context", "--peak"]


def test_small_messages_are_judged_by_their_time():
    # 16 × H100, 61 layers, 23.1 ms: 122 all-reduces of at most 189 µs
    model = explain.model_run(params=671e9, active=37e9, bits=8, layers=61)
    found = explain.decode(
        explain.Decode(model, 1, 0, seconds=23.1e-3), explain.machine("h100", count=16)
    )
    assert "122 all-reduces" in said(found)
    assert "189 µs" in said(found)
    assert found.wall == "none"


# --- Prefill, training, kernels -------------------------------------------------------------------


def test_prefill_counts_causal_attention_once():
    model = explain.model_run("llama-3-8b", bits=16)
    found = explain.prefill(
        explain.Prefill(model, prompt=2048, seconds=40e-3), explain.machine("h100")
    )
    # 2 · 8e9 + 2 · 32 · 32 · 128 · 2049 FLOP a token
    each = 16e9 + 2 * 32 * 32 * 128 * 2049
    assert found.bounds[0].wall == "compute"
    assert found.bounds[0].value == pytest.approx(each / 989.4e12)
    assert found.share == pytest.approx(2048 * each / 989.4e12 / 40e-3)


def test_training_finds_the_lacking_attention_term():
    # 2170 tokens/s, 13B, 40 layers, width 5120, 2048 tokens: 169 TFLOP/s, and half of 6.45 % more
    model = explain.model_run(params=13e9, layers=40, kv_heads=40, head_dim=128)
    a100 = explain.machine("a100-80gb", dtype="tf32")
    bare = explain.training(explain.Training(model, tokens_per_second=2170), a100)
    assert bare.share == pytest.approx(2170 * 6 * 13e9 / 156e12)
    assert bare.band == ABOVE
    assert "attention was left out" in said(bare)


def test_causal_attention_counted_in_full_is_named_above_the_bound():
    found = explain.training(
        explain.Training(explain.model_run(params=13e9), tokens_per_second=2 * 2900),
        explain.machine("a100-80gb"),
    )
    assert found.share == pytest.approx(2 * 2900 * 6 * 13e9 / 312e12)
    assert found.band == ABOVE
    assert found.wall == "unknown"
    text = said(found)
    assert "causal attention in full" in text
    assert "recomputation" in text


def test_zero3_gathers_in_every_micro_batch():
    # LoRA, 8B, four micro-batches, two nodes with 10 Gb/s: 1/2 · 4 · 2 · 16 GB ÷ 1.25 GB/s = 51.2 s
    run = explain.Training(
        explain.model_run(params=8e9, bits=16),
        seconds=90,
        tokens_per_step=16384,
        nodes=2,
        network=1.25e9,
        stage=3,
        micro_batches=4,
        trained=1e6,
    )
    found = explain.training(run, explain.machine("a100-80gb", count=16))
    assert found.bounds[0].wall == "communication"
    assert found.bounds[0].value * 16384 == pytest.approx(51.2, rel=0.001)
    assert found.wall == "communication"


def test_weak_scaling_is_throughput_on_n_over_n_times_that_of_one():
    # 122 samples/s on one GPU, 80 on each of 16: 65.6 %
    run = explain.Training(explain.model_run(params=25e6), tokens_per_second=16 * 80, alone=122)
    found = explain.training(run, explain.machine("v100", count=16))
    assert "1,280 tokens/s ÷ (16 × 122 tokens/s) = 66%" in said(found)


def test_how_many_tokens_hide_zero3():
    # 10B in BF16 over 50 GB/s a node: 3 · 1/2 · 20 GB ÷ 50 GB/s = 0.6 s; 8 · 2 GPUs at 312 TFLOP/s
    # do 6 · 10e9 FLOP a token: 0.6 s are 49,900 tokens, 3,120 each
    run = explain.Training(explain.model_run(params=10e9, bits=16), nodes=2, network=50e9, stage=3)
    found = explain.training(run, explain.machine("a100-80gb", count=16))
    assert "from 49,900 tokens a step on, 3,120 a device" in said(found)


def test_gradients_cross_twice_not_once_for_each_gpu():
    # 500 MB over 25 Gb/s between two nodes: 2 · 1/2 · 0.5 GB ÷ 3.125 GB/s = 0.16 s
    run = explain.Training(
        explain.model_run(params=125e6, bits=32),
        seconds=0.5,
        tokens_per_step=65536,
        nodes=2,
        network=3.125e9,
    )
    found = explain.training(run, explain.machine("v100", count=16))
    assert found.bounds[0].value * 65536 == pytest.approx(0.16)


def test_a_kernel_stands_under_its_roof():
    found = explain.kernel(
        explain.Kernel(2 * 4096**3, 3 * 2 * 4096**2, 0.2e-3), explain.machine("h100")
    )
    assert found.bounds[0].wall == "compute"
    assert found.share == pytest.approx(2 * 4096**3 / 989.4e12 / 0.2e-3)
    assert "intensity 1,370 FLOP/byte, ridge point 295 FLOP/byte" in said(found)


def test_the_peak_at_the_clock_that_was_measured():
    # A10: 72 SMs × 1024 FLOP × 885 MHz = 65.2 TFLOP/s instead of 125 at 1695 MHz
    machine = explain.machine("a10", clock=885e6)
    assert machine.peak == pytest.approx(65.2e12, rel=0.002)
    unknown = explain.machine("mi300x", clock=1e9)
    assert unknown.peak == explain.machine("mi300x").peak
    assert "not known" in unknown.warnings[0]["en"]


# --- Rates and links ------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "share"), [(3.3e12, 0.825), (2.0e12, 0.5)])
def test_a_copy_kernel_and_the_copy_engine(value, share):
    found = explain.rate(explain.Rate(value), explain.machine("h20"))
    assert found.share == pytest.approx(share)
    assert "copy engine" in said(found)


def test_a_copy_within_a_device_moves_twice_its_size():
    found = explain.rate(explain.Rate(512 * MIB / 0.2e-3, 2.0), explain.machine("b200"))
    assert found.share == pytest.approx(2 * 512 * MIB / 0.2e-3 / 7.7e12)


def test_one_thread_is_a_limit_of_the_core():
    machine = explain.machine(memory="8xDDR5-4800", sockets=2)
    found = explain.rate(explain.Rate(22e9, threads=1), machine)
    assert machine.bandwidth == pytest.approx(614.4e9)
    assert found.wall == "none"
    assert "limit of the core" in said(found)


@pytest.mark.parametrize(
    ("link", "gigabytes"), [("pcie4-x16", 31.5), ("pcie4-x8", 15.75), ("PCIe3 x4", 3.9375)]
)
def test_a_link_by_generation_and_width(link, gigabytes):
    assert explain.link_rate(link)[0] == pytest.approx(gigabytes * 1e9)


def test_cards_behind_one_switch_share_it():
    link = explain.link_rate("pcie4-x16")[0]
    found = explain.transfer(explain.Transfer(13e9, link, "PCIe 4.0 ×16", shared=2))
    assert found.share == pytest.approx(13 / 15.75)


def test_a_network_has_causes_of_its_own():
    port = explain.transfer(explain.Transfer(29.92e9, 50e9, "400Gb/s", network=True))
    assert port.share == pytest.approx(0.598, rel=0.01)
    assert "congestion control" in port.causes[0].text["en"]


def test_cpu_and_gpu_have_ceilings_of_their_own_in_one_memory():
    assert explain.machine("m1-max").bandwidth == 400e9
    assert explain.machine("m1-max", kind="cpu").bandwidth == 250e9


def test_duplex_ends():
    link = explain.link_rate("pcie4-x16")[0]
    found = explain.transfer(explain.Transfer(35e9, link, "PCIe 4.0 ×16", both=True))
    assert found.share == pytest.approx(35 / 63)
    assert "its ends are not" in said(found)


# --- Collectives ----------------------------------------------------------------------------------

ONE_NODE = Topology(8, 450e9, 8, 50e9)


def test_busbw_above_the_link_is_the_switch_that_adds():
    run = explain.Collective("all-reduce", 8, 8e9, busbw=480e9)
    found = explain.collective(run, ONE_NODE)
    assert found.bounds[0].value == pytest.approx(700e9)  # 2 · 7/9 · 450
    assert found.share == pytest.approx(480 / 700)
    assert "above what rings can reach" in said(found)
    ring = explain.collective(explain.Collective("all-reduce", 8, 8e9, busbw=370e9), ONE_NODE)
    assert ring.share == pytest.approx(370 / 450)


def test_an_impossible_busbw_is_not_congratulated():
    run = explain.Collective("all-reduce", 8, 8e9, busbw=800e9)
    found = explain.collective(run, ONE_NODE)
    assert found.band == ABOVE
    ring = explain.Collective("all-reduce", 8, 8e9, busbw=480e9, algorithm="ring")
    assert explain.collective(ring, ONE_NODE).band == ABOVE


def test_two_nodes_may_pass_their_nics():
    two = Topology(8, 300e9, 8, 12.5e9)
    found = explain.collective(explain.Collective("all-reduce", 16, 8e9, busbw=100e9, nodes=2), two)
    bounds = {bound.arithmetic["en"].split(":")[0]: bound.value for bound in found.bounds}
    assert bounds["rings"] == pytest.approx(100e9)
    assert bounds["a tree between nodes, a chain inside"] == pytest.approx(187.5e9)
    # 100 · 2·(1/2) ÷ 1.875 on the wire at least
    assert "53.33 GB/s (hierarchy) to 100 GB/s (ring)" in said(found)


def test_a_gpu_reaches_one_nic_only():
    pair = Topology(1, 63e9, 1, 50e9)
    found = explain.collective(explain.Collective("all-reduce", 2, 8e9, busbw=50e9, nodes=2), pair)
    assert found.bounds[0].value == pytest.approx(50e9)


def test_a_small_message_is_latency():
    run = explain.Collective("all-reduce", 8, 65536, seconds=40e-6)
    found = explain.collective(run, ONE_NODE)
    assert "latency counts, not bandwidth" in found.causes[0].text["en"]
    assert found.wall == "none"


# --- Counters -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "wall"),
    [
        ({"sm_active": 0.94, "tensor_active": 0.11, "dram_active": 0.85}, "memory"),
        ({"sm_active": 0.95, "tensor_active": 0.7, "dram_active": 0.4}, "compute"),
        ({"sm_active": 0.3, "dram_active": 0.2}, "none"),
        ({"sm_active": 0.9, "tensor_active": 0.1, "dram_active": 0.3}, "none"),
        ({"gpu_utilization": 1.0}, "unknown"),
    ],
)
def test_counters_point_at_a_wall(shares, wall):
    assert explain.counters(shares).wall == wall


# --- Bands, words, mistakes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "name"),
    [
        *((0.049, WRONG_PATH), (0.05, OVERHEAD), (0.499, OVERHEAD), (0.5, HEALTHY)),
        *((0.899, HEALTHY), (0.9, NEAR), (1.02, NEAR), (1.0201, ABOVE), (3, ABOVE)),
    ],
)
def test_bands(share, name):
    assert band(share) == name


@pytest.mark.parametrize(
    "subject", ["decode", "prefill", "training", "kernel", "rate", "link", "collective"]
)
@pytest.mark.parametrize("kind", ["gpu", "cpu", "npu", "unified"])
@pytest.mark.parametrize("name", [WRONG_PATH, OVERHEAD, HEALTHY, NEAR, ABOVE])
def test_every_share_has_causes_and_checks_in_both_languages(subject, kind, name):
    found = causes(subject, kind, name, ("many", "batch", "quantized"))
    assert causes(subject, kind, name)
    assert found
    for cause in found:
        for text in (cause.text, cause.check):
            assert (
                text["en"].isascii() or "µ" in text["en"] or "×" in text["en"] or "’" in text["en"]
            )
            assert any(character >= "\u4e00" for character in text["zh"])
            digits = {
                language: [c for c in text[language] if c.isdigit()] for language in ("zh", "en")
            }
            assert sorted(digits["zh"]) == sorted(digits["en"]), text["en"]


def test_mfu_and_mbu_refuse_in_the_same_words():
    subjects = ("training", "kernel", "rate", "decode", "link")
    known = {cause.text["en"] for name in subjects for cause in causes(name, "gpu", ABOVE)}
    assert {*roofline.ABOVE_THE_PEAK, *roofline.ABOVE_THE_BANDWIDTH} <= known
    with pytest.raises(ValueError, match=r"mfu is 1\.21 of the bound, above 1\.02: \(1\) FLOPs"):
        roofline.mfu(378e12, 1, 312e12)
    with pytest.raises(ValueError, match=r"mbu is 2\.09 .* several sequences added up"):
        roofline.mbu(14e9, 1 / 500, 3.35e12)


def test_nothing_is_left_in_english():
    model = explain.model_run("llama-3-8b", bits=16)
    found = explain.decode(
        explain.Decode(model, 4, 4096, tokens_per_second=300), explain.machine("h100", count=2)
    )
    for line in printed.lines(found, "zh", width=1000):
        assert any(character >= "\u4e00" for character in line) or "÷" in line or "," in line, line
    assert {"zh", "en"} <= set(languages())
    assert BAND_WORDS[HEALTHY]["zh"] == "50% 到 90%：正常"


def test_data_is_the_same_in_both_languages():
    model = explain.model_run(stored=4.68e9)
    found = explain.decode(
        explain.Decode(model, 1, tokens_per_second=171.5), explain.machine("4090")
    )
    zh, en = (printed.data(found, language) for language in ("zh", "en"))
    assert zh["share"] == en["share"] == found.share
    assert [bound["value"] for bound in zh["bounds"]] == [bound["value"] for bound in en["bounds"]]
    assert zh["causes"] != en["causes"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: explain.machine(kind="fpga"), "kind must be one of gpu, cpu, npu, unified"),
        (lambda: explain.machine("h100", bandwidth=3.35), "bandwidth must be in byte/s, got 3.35"),
        (lambda: explain.machine(memory="DDR5"), "is no memory such as 12xDDR5-4800"),
        (lambda: explain.model_run(active=37e9), "active needs params"),
        (lambda: explain.model_run(params=1e9, active=37e9), "active must be at most params"),
        (
            lambda: explain.model_run(params=9e9, experts=(8, 256)),
            "experts must be written all/used",
        ),
        (
            lambda: explain.counters({"dram_active": 85}),
            "dram_active must be a share from 0 to 1, got 85",
        ),
        (lambda: explain.counters({"dram": 0.5}), "unknown counter 'dram'"),
        (
            lambda: explain.collective(explain.Collective("allreduce", 8, busbw=1e9), ONE_NODE),
            "operation must be one of all-reduce",
        ),
        (
            lambda: explain.collective(
                explain.Collective("all-reduce", 9, busbw=1e9, nodes=2), ONE_NODE
            ),
            "ranks must be a multiple of nodes, got 9 on 2",
        ),
        (
            lambda: explain.decode(
                explain.Decode(explain.model_run(stored=1e9)), explain.machine()
            ),
            "no memory bandwidth: give --device",
        ),
        (
            lambda: explain.prefill(
                explain.Prefill(explain.model_run(params=1e9)), explain.machine("h100")
            ),
            "no length of the prompt: give --prompt",
        ),
        (
            lambda: explain.kernel(explain.Kernel(0, 0, 1), explain.machine("h100")),
            "nothing is counted",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_it(call, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_lines_are_folded_where_each_language_may_break():
    model = explain.model_run(stored=4.68e9)
    found = explain.decode(explain.Decode(model, 1, tokens_per_second=6.2), explain.machine("GB10"))
    for language in ("zh", "en"):
        folded = list(printed.lines(found, language, width=60))
        whole = list(printed.lines(found, language, width=1000))
        assert "".join("".join(folded).split()) == "".join("".join(whole).split())
        for line in folded:
            wide = sum(2 if "\u2e80" <= character <= "\uffef" else 1 for character in line)
            assert wide <= 62
            assert line.strip()[0] not in "，。；：、）"


def test_brief_is_a_part_of_the_whole():
    model = explain.model_run(stored=4.68e9)
    found = explain.decode(explain.Decode(model, 1, tokens_per_second=6.2), explain.machine("GB10"))
    brief, whole = (set(printed.lines(found, "en", brief=each)) for each in (True, False))
    assert brief < whole
    assert not any(line.startswith(("Recognized", "Source")) for line in brief)
