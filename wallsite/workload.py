"""What a piece of work asks of a machine: FLOPs, bytes, and their quotient.

Each function counts by hand-checkable rules: a multiply-add is two FLOPs; every operand is read
once and every result written once (perfect reuse on the chip), so the traffic is the least that
any implementation can have and the arithmetic intensity the most.

Units: FLOP, byte, s. ``element_bytes`` is the size of one stored element (bf16: 2).
"""

from __future__ import annotations

from typing import NamedTuple

from wallsite._checks import count, fraction, not_negative, parameters, positive, rate
from wallsite.units import (
    Byte,
    BytePerSecond,
    Count,
    Flop,
    FlopPerByte,
    FlopPerSecond,
    Number,
    Second,
)

# Bytes that one stored element takes. Scales of block formats (MXFP4, NVFP4) are not counted.
ELEMENT_BYTES = {
    "fp64": 8.0,
    "fp32": 4.0,
    "tf32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5,
    "int4": 0.5,
    "fp6": 0.75,
}


class Work(NamedTuple):
    """FLOPs to perform and bytes to move."""

    flops: Flop
    traffic: Byte

    @property
    def intensity(self) -> FlopPerByte:
        """Arithmetic intensity, FLOP/byte."""
        return self.flops / self.traffic


def gemm(
    m: Count,
    n: Count,
    k: Count,
    a_bytes: Byte = 2.0,
    b_bytes: Byte | None = None,
    c_bytes: Byte | None = None,
) -> Work:
    """Matrix times matrix, ``C[m,n] = A[m,k] · B[k,n]``: ``2mnk`` FLOPs, three matrices moved.

    C is written and not read: the product replaces what was there (β = 0 in BLAS). For square
    matrices of fp32 the intensity is n/6 FLOP/byte.

    Args:
        m: rows of A and C.
        n: columns of B and C.
        k: columns of A, rows of B.
        a_bytes: bytes of an element of A.
        b_bytes: bytes of an element of B; those of A unless given.
        c_bytes: bytes of an element of C; those of A unless given. FP8 operands usually give a
            BF16 result: 1, 1 and 2.

    Raises:
        ValueError: a dimension is not a whole number above zero.
    """
    m, n, k = count("m", m), count("n", n), count("k", k)
    a_bytes = positive("a_bytes", a_bytes)
    b_bytes = a_bytes if b_bytes is None else positive("b_bytes", b_bytes)
    c_bytes = a_bytes if c_bytes is None else positive("c_bytes", c_bytes)
    return Work(2.0 * m * n * k, a_bytes * m * k + b_bytes * k * n + c_bytes * m * n)


def gemv(m: Count, k: Count, element_bytes: Byte = 2.0) -> Work:
    """Matrix times vector, ``y[m] = A[m,k] · x[k]``: every weight read for one multiply-add.

    The intensity tends to 2 / element_bytes: 1 FLOP/byte in bf16, 0.5 in fp32.

    Raises:
        ValueError: a dimension is not a whole number above zero.
    """
    return gemm(m, 1, k, positive("element_bytes", element_bytes))


def axpy(n: Count, element_bytes: Byte = 2.0) -> Work:
    """Scaled sum of two vectors, ``y = a·x + y``: two read, one written, a multiply-add each.

    Raises:
        ValueError: ``n`` is not a whole number above zero.
    """
    n, element_bytes = count("n", n), positive("element_bytes", element_bytes)
    return Work(2.0 * n, 3 * element_bytes * n)


def softmax(rows: Count, columns: Count, element_bytes: Byte = 2.0) -> Work:
    """Softmax over each row, each element read once and written once.

    Five FLOPs an element: a comparison for the largest, a subtraction, an exponential (counted
    as one), an addition to the sum, a division.

    Raises:
        ValueError: a dimension is not a whole number above zero.
    """
    rows, columns = count("rows", rows), count("columns", columns)
    elements = rows * columns
    return Work(5.0 * elements, 2 * positive("element_bytes", element_bytes) * elements)


def kv_bytes_per_token(
    layers: Count, kv_heads: Count, head_dim: Count, element_bytes: Byte = 2.0
) -> Byte:
    """Bytes of key and value that one token leaves in the cache: ``2 · L · h_kv · d · b``.

    With grouped-query attention ``kv_heads`` is the number of groups, not of query heads.

    Raises:
        ValueError: a count is not a whole number above zero.
    """
    layers, kv_heads = count("layers", layers), count("kv_heads", kv_heads)
    head_dim = count("head_dim", head_dim)
    element_bytes = positive("element_bytes", element_bytes)
    return 2.0 * layers * kv_heads * head_dim * element_bytes


def mla_bytes_per_token(
    layers: Count, latent: Count, rope: Count, element_bytes: Byte = 2.0
) -> Byte:
    """Bytes of cache for a token under multi-head latent attention: ``L · (c + r) · b``.

    All heads share one compressed vector, and one key for positions.

    Args:
        layers: layers of the model, L.
        latent: width of the compressed vector, c (``kv_lora_rank`` in a config).
        rope: width of the key for positions, r (``qk_rope_head_dim``).
        element_bytes: bytes of a cached element.

    Raises:
        ValueError: a count is not a whole number above zero.

    Source: DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1.
    """
    layers, latent = count("layers", layers), count("latent", latent)
    rope = count("rope", rope)
    return 1.0 * layers * (latent + rope) * positive("element_bytes", element_bytes)


def kv_cache_bytes(
    kv_per_token: Byte, context: Count, window: Count = 0, windowed: Number = 1.0
) -> Byte:
    """Bytes of one sequence's cache: ``kv · (w · min(s, W) + (1 − w) · s)``.

    Layers with a sliding window keep only its last W tokens.

    Args:
        kv_per_token: bytes of cache for a token in all layers, see `kv_bytes_per_token`.
        context: tokens in the cache, s.
        window: tokens that a windowed layer keeps, W; 0: no layer has a window.
        windowed: share of the layers that have the window, w.

    Raises:
        ValueError: an argument is out of range.
    """
    kv_per_token = not_negative("kv_per_token", kv_per_token)
    context, window = count("context", context, 0), count("window", window, 0)
    windowed = fraction("windowed", windowed)
    if not window:
        return kv_per_token * context
    return kv_per_token * (windowed * min(context, window) + (1 - windowed) * context)


def decode_attention_flops(
    layers: Count, heads: Count, head_dim: Count, context: Count, batch: Count = 1
) -> Flop:
    """FLOPs of attention in one decode step: ``4 · L · h · d · s`` for each sequence.

    For every cached token a multiply-add with its key, and one with its value, in each channel of
    each query head.

    Raises:
        ValueError: an argument is out of range.
    """
    layers, heads = count("layers", layers), count("heads", heads)
    head_dim, context = count("head_dim", head_dim), count("context", context, 0)
    return 4.0 * layers * heads * head_dim * context * count("batch", batch)


def prefill_attention_flops(
    layers: Count, heads: Count, head_dim: Count, tokens: Count, batch: Count = 1
) -> Flop:
    """FLOPs of causal attention over a prompt: ``2 · L · h · d · s · (s + 1)`` for each sequence.

    A token attends to itself and to those before it, on average to half of the prompt. A kernel
    that computes the masked half as well does twice this; it is not what the model needs.

    Raises:
        ValueError: an argument is out of range.
    """
    layers, heads = count("layers", layers), count("heads", heads)
    head_dim, tokens = count("head_dim", head_dim), count("tokens", tokens)
    pairs = tokens * (tokens + 1) / 2
    return 4.0 * layers * heads * head_dim * pairs * count("batch", batch)


def decode(
    params: Number,
    batch: Count = 1,
    context: Count = 0,
    kv_per_token: Byte = 0.0,
    weight_bytes: Byte = 2.0,
    *,
    read_params: Number | None = None,
    attention: Flop = 0.0,
) -> Work:
    """One decode step: ``batch`` sequences gain one token each.

    The weights are read once for the whole batch. Each sequence also reads its own cache, which
    no batch shares, so intensity does not grow with the batch without end: its limit is
    ``(2 · params + attention) / (context · kv_per_token)`` a sequence.

    Args:
        params: parameters that one token uses (for a mixture of experts, the active ones).
        batch: sequences decoded together.
        context: tokens already in each sequence's cache.
        kv_per_token: bytes of cache for each token, see `kv_bytes_per_token`.
        weight_bytes: bytes for each stored weight.
        read_params: parameters that the whole batch reads, ``params`` unless given. In a mixture of
            experts several sequences use different ones: see `moe_params_touched`.
        attention: FLOPs of attention over the cache for the whole batch, see
            `decode_attention_flops`. A few per cent of the rest at short context; at 128k tokens it
            is 1.3 times the rest for Llama 3.1 405B.

    Raises:
        ValueError: an argument is out of range, or fewer parameters are read than a token uses.
    """
    params, weight_bytes = parameters("params", params), positive("weight_bytes", weight_bytes)
    batch, context = count("batch", batch), count("context", context, 0)
    kv_per_token = not_negative("kv_per_token", kv_per_token)
    read = params if read_params is None else parameters("read_params", read_params)
    if read < params:
        raise ValueError(
            f"read_params must be at least params ({params:g}), got {read_params!r}: a step reads "
            "all that a token uses"
        )
    attention = not_negative("attention", attention)
    return Work(
        2.0 * params * batch + attention, read * weight_bytes + batch * context * kv_per_token
    )


def prefill(
    params: Number,
    tokens: Number,
    batch: Count = 1,
    kv_per_token: Byte = 0.0,
    weight_bytes: Byte = 2.0,
    *,
    attention: Flop = 0.0,
) -> Work:
    """Read a prompt of ``tokens`` tokens: one pass over the weights serves all of them.

    The cache is written once. Activations are not counted, nor attention scores, which a fused
    kernel keeps on the chip.

    Args:
        params: parameters that one token uses.
        tokens: tokens of each prompt.
        batch: prompts read together.
        kv_per_token: bytes of cache for each token, see `kv_bytes_per_token`.
        weight_bytes: bytes for each stored weight.
        attention: FLOPs of attention, see `prefill_attention_flops`; for an 8B model they are 2.1
            times the rest at 128k tokens.

    Raises:
        ValueError: an argument is out of range.
    """
    params, weight_bytes = parameters("params", params), positive("weight_bytes", weight_bytes)
    tokens, batch = count("tokens", tokens), count("batch", batch)
    kv_per_token = not_negative("kv_per_token", kv_per_token)
    return Work(
        2.0 * params * tokens * batch + not_negative("attention", attention),
        params * weight_bytes + batch * tokens * kv_per_token,
    )


def decode_floor(
    params: Number,
    bandwidth: BytePerSecond,
    weight_bytes: Byte = 2.0,
    kv_bytes: Byte = 0.0,
) -> Second:
    """Least time, in seconds, for one token at batch 1: all bytes read ÷ bandwidth.

    Args:
        params: parameters read for a token.
        bandwidth: memory bandwidth, byte/s; of k chips under tensor parallelism, k times one's.
        weight_bytes: bytes for each stored weight.
        kv_bytes: bytes of cache read for the token.

    Raises:
        ValueError: an argument is out of range.
    """
    params, weight_bytes = parameters("params", params), positive("weight_bytes", weight_bytes)
    kv_bytes = not_negative("kv_bytes", kv_bytes)
    bandwidth = rate("bandwidth", bandwidth)
    return (params * weight_bytes + kv_bytes) / bandwidth


def critical_batch(
    peak: FlopPerSecond, bandwidth: BytePerSecond, weight_bytes: Byte = 2.0
) -> Number:
    """Tokens a weight matrix must serve in one pass to leave the memory-bound side.

    The ridge point times half the bytes of a weight, since each weight does two FLOPs a token.
    It concerns the weights alone: the KV cache is not shared.

    Raises:
        ValueError: an argument is out of range.
    """
    peak, bandwidth = rate("peak", peak), rate("bandwidth", bandwidth)
    weight_bytes = positive("weight_bytes", weight_bytes)
    return peak / bandwidth * weight_bytes / 2.0


def decode_attention_intensity(
    group: Count, kv_element_bytes: Byte = 2.0, tokens: Count = 1
) -> FlopPerByte:
    """FLOP/byte of decode attention: ``2 · group · tokens / kv_element_bytes``, at any batch.

    Each cached element feeds one multiply-add for each query head that shares it, and for each
    query token of the pass. What decides is that product, not the batch.

    Args:
        group: query heads that share a KV head: 1 for multi-head attention.
        kv_element_bytes: bytes of a cached element.
        tokens: query tokens of a sequence in one pass; speculative decoding checks several.

    Raises:
        ValueError: an argument is out of range.
    """
    group, tokens = count("group", group), count("tokens", tokens)
    kv_element_bytes = positive("kv_element_bytes", kv_element_bytes)
    return 2.0 * group * tokens / kv_element_bytes


def mla_decode_attention_intensity(
    heads: Count, latent: Count, rope: Count, kv_element_bytes: Byte = 2.0, tokens: Count = 1
) -> FlopPerByte:
    """FLOP/byte of decode attention under MLA: ``2 · h · t · (2c + r) / ((c + r) · b)``.

    Every head reads one shared vector, as its key with the position's key beside it, and again as
    its value. With 128 heads that is 242 FLOP/byte in BF16, and twice that with two tokens a pass:
    the one decode attention that can be compute-bound.

    Args:
        heads: query heads, h.
        latent: width of the compressed vector, c.
        rope: width of the key for positions, r.
        kv_element_bytes: bytes of a cached element, b.
        tokens: query tokens of a sequence in one pass, t.

    Raises:
        ValueError: an argument is out of range.

    Source: DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1.3, with the up-projections absorbed.
    """
    heads, latent, rope = count("heads", heads), count("latent", latent), count("rope", rope)
    tokens = count("tokens", tokens)
    kv_element_bytes = positive("kv_element_bytes", kv_element_bytes)
    return 2.0 * heads * tokens * (2 * latent + rope) / ((latent + rope) * kv_element_bytes)


def training_flops(active_params: Number, tokens: Number) -> Flop:
    """FLOPs to train on ``tokens`` tokens: 6 · N · D, two forward and four backward.

    Attention's quadratic term and recomputation are left out. For a mixture of experts N is the
    active parameters.

    Raises:
        ValueError: an argument is not a finite number above zero.

    Source: Kaplan et al., "Scaling Laws for Neural Language Models", 2020, section 2.1.
    """
    active_params = parameters("active_params", active_params)
    tokens = positive("tokens", tokens)
    return 6.0 * active_params * tokens


def training_memory(params: Number, ranks: Count = 1, stage: int = 0) -> Byte:
    """Bytes of a rank for weights, gradients and optimizer under Adam in mixed precision.

    16 bytes a parameter: 2 of BF16 weights, 2 of BF16 gradients, 12 of FP32 weights and two
    moments. ZeRO divides the optimizer's part among the ranks at stage 1, the gradients too at
    stage 2, the weights too at stage 3. Activations and buffers come on top.

    Args:
        params: parameters of the model.
        ranks: data-parallel ranks, N.
        stage: of ZeRO, 0 to 3; 0 keeps everything on every rank.

    Raises:
        ValueError: an argument is out of range.

    Source: Rajbhandari et al., "ZeRO", 2020, section 3.1 and figure 1.
    """
    params, ranks = parameters("params", params), count("ranks", ranks)
    stage = count("stage", stage, 0)
    if stage > 3:
        raise ValueError(f"stage must be 0, 1, 2 or 3, got {stage!r}")
    parts = ((12.0, 1), (2.0, 2), (2.0, 3))  # optimizer, gradients, weights; stage that divides it
    return params * sum(size / (ranks if stage >= least else 1) for size, least in parts)


def pipeline_bubble(stages: Count, micro_batches: Count, interleaved: Count = 1) -> Number:
    """Share of the ideal step time that a pipeline idles: ``(p − 1) / (v · m)``.

    Args:
        stages: stages of the pipeline, p.
        micro_batches: micro-batches in a step, m.
        interleaved: chunks of the model that each stage holds, v.

    Raises:
        ValueError: an argument is out of range.

    Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
    Using Megatron-LM", 2021, section 2.2.
    """
    stages, micro_batches = count("stages", stages), count("micro_batches", micro_batches)
    return (stages - 1) / (count("interleaved", interleaved) * micro_batches)


def training_time(flops: Flop, peak: FlopPerSecond, mfu: Number, chips: Count = 1) -> Second:
    """Seconds to perform ``flops`` on ``chips`` chips at a model FLOPs utilisation.

    Raises:
        ValueError: an argument is out of range; ``mfu`` is a fraction.
    """
    flops, peak = positive("flops", flops), rate("peak", peak)
    mfu = fraction("mfu", positive("mfu", mfu))
    chips = count("chips", chips)
    return flops / (peak * mfu * chips)


def speculative_tokens(acceptance: Number, drafted: Count) -> Number:
    """Expected tokens from one pass that checks ``drafted`` tokens: (1 − a^(k+1)) / (1 − a).

    The pass always yields one token of its own; the drafted ones count until the first that is
    rejected. The cost of drafting is not included.

    Args:
        acceptance: chance that a drafted token is accepted, 0 to 1.
        drafted: tokens drafted for each pass, k.

    Raises:
        ValueError: an argument is out of range.

    Source: Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative
    Decoding", 2023, equation 1.
    """
    acceptance = fraction("acceptance", acceptance)
    drafted = count("drafted", drafted, 0)
    if acceptance == 1:
        return drafted + 1.0
    return (1 - acceptance ** (drafted + 1)) / (1 - acceptance)


def moe_params_touched(
    shared: Number, routed: Number, experts: Count, chosen: Count, batch: Count
) -> Number:
    """Parameters of a mixture of experts that one decode step reads, routing taken as uniform.

    ``shared + routed · (1 − (1 − k/E)^B)``: more sequences touch more experts, so a batch does
    not share the weights as it does in a dense model.

    Args:
        shared: parameters that every token uses.
        routed: parameters of all routed experts.
        experts: routed experts in a layer, E.
        chosen: experts that a token is sent to, k.
        batch: tokens in the step, B.

    Raises:
        ValueError: an argument is out of range.
    """
    shared = not_negative("shared", shared)
    routed = parameters("routed", routed)
    experts, chosen = count("experts", experts), count("chosen", chosen)
    batch = count("batch", batch)
    if chosen > experts:
        raise ValueError(f"chosen must be at most experts ({experts}), got {chosen!r}")
    return shared + routed * (1 - (1 - chosen / experts) ** batch)


def tensor_parallel_bytes(
    batch: Count, sequence: Count, hidden: Count, ranks: Count, element_bytes: Byte = 2.0
) -> Byte:
    """Bytes each rank sends for one transformer layer in a training step under tensor parallelism.

    Two all-reduces forward and two backward of a ``batch · sequence · hidden`` activation:
    ``8 · b · s · h · (t − 1) / t`` elements.

    Raises:
        ValueError: an argument is out of range.

    Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
    Using Megatron-LM", 2021, section 3.2.
    """
    batch, sequence = count("batch", batch), count("sequence", sequence)
    hidden, ranks = count("hidden", hidden), count("ranks", ranks)
    element_bytes = positive("element_bytes", element_bytes)
    return 8.0 * batch * sequence * hidden * (ranks - 1) / ranks * element_bytes
