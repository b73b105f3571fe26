"""FLOPs and bytes of the lesson's workloads against arithmetic done by hand."""

import pytest

from wallsite import workload


def test_square_fp32_gemm_has_intensity_n_over_6():
    work = workload.gemm(4096, 4096, 4096, 4)
    assert work.flops == 2 * 4096**3 == 137_438_953_472
    assert work.traffic == 3 * 4096 * 4096 * 4 == 201_326_592
    assert work.intensity == pytest.approx(4096 / 6)  # 682.7


def test_gemv_has_intensity_of_half_in_fp32_and_one_in_bf16():
    assert workload.gemv(8192, 8192, 4).intensity == pytest.approx(0.5, rel=1e-3)
    assert workload.gemv(8192, 8192, 2).intensity == pytest.approx(1.0, rel=1e-3)


def test_kv_cache_of_llama_2_70b_at_2048_tokens_is_640_mib():
    # What llama.cpp prints: 80 layers, 8 KV heads of 128, 2048 tokens, 2 bytes, K and V.
    per_token = workload.kv_bytes_per_token(80, 8, 128)
    assert per_token * 2048 == 640 * 2**20 == 671_088_640


def test_kv_cache_of_llama_3_8b_is_128_kib_a_token():
    assert workload.kv_bytes_per_token(32, 8, 128) == 128 * 2**10


@pytest.mark.parametrize(("weight_bytes", "intensity"), [(2, 1), (1, 2), (0.5, 4)])
def test_decode_at_batch_1(weight_bytes, intensity):
    assert workload.decode(7e9, weight_bytes=weight_bytes).intensity == intensity


def test_batch_multiplies_intensity_until_the_cache_caps_it():
    assert workload.decode(7e9, batch=32).intensity == 32
    # Llama 3 8B, 4096 tokens: 16.06e9 FLOP against 0.537 GB of cache a sequence: cap near 30.
    huge = workload.decode(8.03e9, batch=100_000, context=4096, kv_per_token=128 * 2**10)
    assert huge.intensity == pytest.approx(16.06e9 / (4096 * 131072), rel=0.01)
    assert huge.intensity == pytest.approx(29.9, abs=0.1)


def test_prefill_intensity_is_about_its_tokens():
    assert workload.prefill(7e9, 2048).intensity == 2048
    with_cache = workload.prefill(8.03e9, 2048, kv_per_token=128 * 2**10)
    assert with_cache.traffic == 16.06e9 + 2048 * 131072


def test_decode_floor_of_7b_in_bf16():
    for bandwidth, milliseconds in [(3.35e12, 4.18), (4.8e12, 2.92), (7.7e12, 1.82), (8e12, 1.75)]:
        floor = workload.decode_floor(7e9, bandwidth)
        assert floor * 1e3 == pytest.approx(milliseconds, abs=0.005)
    # FP8 weights: half the bytes, at most twice the speed.
    assert workload.decode_floor(7e9, 3.35e12, weight_bytes=1) == pytest.approx(2.09e-3, abs=5e-6)


def test_critical_batch_is_the_ridge_point_for_bf16_and_half_of_it_for_bytes():
    assert workload.critical_batch(989.4e12, 3.35e12) == pytest.approx(295.3, abs=0.05)
    assert workload.critical_batch(989.4e12, 3.35e12, 1) == pytest.approx(147.7, abs=0.05)


def test_decode_attention_intensity_is_twice_the_group_over_the_bytes():
    assert workload.decode_attention_intensity(1) == 1
    assert workload.decode_attention_intensity(4) == 4
    assert workload.decode_attention_intensity(8, 1) == 16


def test_training_flops_of_gpt_3():
    # 6 · 175e9 · 300e9 = 3.15e23, the paper's 3.14e23.
    assert workload.training_flops(175e9, 300e9) == pytest.approx(3.15e23)


def test_training_time():
    # 3.15e23 FLOP on one A100 (312 TFLOP/s) at 40 %: 80 years.
    one = workload.training_time(3.15e23, 312e12, 0.4)
    assert one / (365.25 * 86400) == pytest.approx(80.0, abs=0.05)
    assert workload.training_time(3.15e23, 312e12, 0.4, chips=1024) == pytest.approx(one / 1024)


@pytest.mark.parametrize(("acceptance", "tokens"), [(0.8, 3.36), (0.6, 2.31), (0, 1), (1, 5)])
def test_speculative_tokens_for_four_drafted(acceptance, tokens):
    assert workload.speculative_tokens(acceptance, 4) == pytest.approx(tokens, abs=0.005)


def test_moe_touches_more_experts_as_the_batch_grows():
    # DeepSeek-V3 at one byte a weight: 17 GB shared, 654 GB routed, 8 of 256.
    touched = [workload.moe_params_touched(17e9, 654e9, 256, 8, batch) for batch in (1, 10, 32)]
    assert touched == pytest.approx([37.4e9, 195e9, 434e9], rel=0.005)


def test_tensor_parallel_bytes():
    # 8 · 1 · 2048 · 4096 · 7/8 elements of two bytes: 117.4 MB a layer.
    assert workload.tensor_parallel_bytes(1, 2048, 4096, 8) == pytest.approx(117.44e6, rel=1e-4)
    assert workload.tensor_parallel_bytes(1, 2048, 4096, 1) == 0


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), 1.5, None])
def test_counts_must_be_whole_and_positive(bad):
    with pytest.raises(ValueError, match=r"^m must be a whole number, 1 or above"):
        workload.gemm(bad, 1, 1)
    with pytest.raises(ValueError, match=r"^batch must be a whole number"):
        workload.decode(7e9, batch=bad)
    with pytest.raises(ValueError, match=r"^kv_heads must be a whole number"):
        workload.kv_bytes_per_token(1, bad, 1)


def test_wrong_units_are_refused():
    with pytest.raises(ValueError, match=r"^bandwidth must be in byte/s, got 3\.35"):
        workload.decode_floor(7e9, 3.35)
    with pytest.raises(ValueError, match=r"^mfu must be a fraction from 0 to 1, got 40"):
        workload.training_time(1e20, 312e12, 40)
    with pytest.raises(ValueError, match=r"^acceptance must be a fraction"):
        workload.speculative_tokens(80, 4)
    with pytest.raises(ValueError, match=r"^chosen must be at most experts \(8\), got 9"):
        workload.moe_params_touched(0, 1e9, 8, 9, 1)


def test_a_width_for_each_operand():
    # vllm 49363: FP8 operands, BF16 result; 2MNK/(MK + KN + 2MN) at 3.35 TB/s is 810.6 TFLOP/s.
    work = workload.gemm(128, 12288, 5376, 1, 1, 2)
    assert work.intensity * 3.35e12 == pytest.approx(810.6e12, rel=1e-4)
    assert workload.gemm(128, 12288, 5376, 1).intensity * 3.35e12 == pytest.approx(829.2e12, 1e-4)


def test_what_a_batch_reads_is_not_what_a_token_uses():
    # DeepSeek-V3, FP8, 64 sequences: 37 billion parameters a token, about 585 billion in all.
    routed = (671e9 - 37e9) / (1 - 8 / 256)
    touched = workload.moe_params_touched(671e9 - routed, routed, 256, 8, 64)
    step = workload.decode(37e9, 64, weight_bytes=1, read_params=touched)
    assert step.traffic == pytest.approx(585e9, rel=2e-3)
    assert step.flops == 2 * 37e9 * 64
    with pytest.raises(ValueError, match="read_params must be at least params"):
        workload.decode(37e9, 64, read_params=3.7e9)


def test_attention_over_nothing_costs_nothing():
    assert workload.decode_attention_flops(32, 32, 128, 0) == 0


def test_each_token_attends_to_itself_and_to_those_before_it():
    # Three tokens: 1 + 2 + 3 pairs, each with 4 FLOPs per dimension of each head.
    assert workload.prefill_attention_flops(1, 1, 1, 3) == 4 * 6


def test_softmax_counts_five_flops_an_element():
    assert workload.softmax(3, 4) == workload.Work(60.0, 48.0)


def test_attention_at_long_context():
    # 8B: 32 layers of 32 heads of 128; 128k tokens of prompt: 2.15 times 2 · 8.03e9 a token.
    flops = workload.prefill_attention_flops(32, 32, 128, 131072)
    assert workload.prefill_attention_flops(32, 32, 128, 131072, batch=4) == 4 * flops
    plain = workload.prefill(8.03e9, 131072).flops
    assert workload.prefill(8.03e9, 131072, attention=flops).flops == plain + flops
    assert flops / (2 * 8.03e9 * 131072) == pytest.approx(2.14, abs=0.01)
    # 405B: 126 layers, 128 heads of 128: 1.34 times the weights' FLOPs at 128k.
    flops = workload.decode_attention_flops(126, 128, 128, 131072)
    assert flops / (2 * 405e9) == pytest.approx(1.34, abs=0.01)
    plain = workload.decode(405e9, 1, 131072, 1e5)
    assert workload.decode(405e9, 1, 131072, 1e5, attention=flops).flops == plain.flops + flops


def test_latent_attention_is_compute_heavy():
    # FlashMLA: 128 heads; 242 FLOP/byte with one token a pass, 484 with two, against 206 of H200.
    one = workload.mla_decode_attention_intensity(128, 512, 64)
    assert one == pytest.approx(2 * 128 * (2 * 512 + 64) / (576 * 2))
    assert one == pytest.approx(241.8, abs=0.1)
    assert workload.mla_decode_attention_intensity(128, 512, 64, tokens=2) == 2 * one
    assert workload.decode_attention_intensity(4, 2, tokens=3) == 12
    # 61 layers: 70.3 kB a token.
    assert workload.mla_bytes_per_token(61, 512, 64) == 70272


def test_memory_of_training_by_hand():
    # ZeRO, figure 1: 7.5 billion parameters on 64 GPUs: 120, 31.4, 16.6 and 1.9 GB.
    for stage, gigabytes in enumerate((120, 31.4, 16.6, 1.9)):
        found = workload.training_memory(7.5e9, 64, stage)
        assert found / 1e9 == pytest.approx(gigabytes, abs=0.05)
    with pytest.raises(ValueError, match="stage must be 0, 1, 2 or 3, got 4"):
        workload.training_memory(7.5e9, 64, 4)


def test_a_pipeline_idles_by_hand():
    assert workload.pipeline_bubble(8, 32) == pytest.approx(7 / 32)
    assert workload.pipeline_bubble(8, 32, 2) == pytest.approx(7 / 64)
    assert workload.pipeline_bubble(1, 4) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: workload.decode_floor(7, 3.35e12),
        lambda: workload.decode(7),
        lambda: workload.training_flops(405, 15e12),
        lambda: workload.training_memory(70),
    ],
)
def test_billions_written_as_units_are_named(call):
    with pytest.raises(ValueError, match=r"params must be a number of parameters, got \d+: write"):
        call()


def test_axpy_by_hand():
    # A thousand elements in bf16: a multiplication and an addition each; x and y read, y written.
    work = workload.axpy(1000, 2)
    assert (work.flops, work.traffic) == (2000, 6000)


def test_without_a_draft_a_pass_yields_its_own_token():
    assert workload.speculative_tokens(0.8, 0) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"^drafted must be "):
        workload.speculative_tokens(0.8, -1)
