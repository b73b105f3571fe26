"""What a piece of work asks of a machine: FLOPs, bytes, and their quotient.

Each function counts by hand-checkable rules: a multiply-add is two FLOPs; every operand is read
once and every result written once (perfect reuse on the chip), so the traffic is the least that
any implementation can have and the arithmetic intensity the most.

Units: FLOP, byte, s. ``element_bytes`` is the size of one stored element (bf16: 2).
"""

from __future__ import annotations

from typing import NamedTuple

from wallsite._checks import count, fraction, not_negative, positive, rate

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
}


class Work(NamedTuple):
    """FLOPs to perform and bytes to move."""

    flops: float
    traffic: float

    @property
    def intensity(self) -> float:
        """Arithmetic intensity, FLOP/byte."""
        return self.flops / self.traffic


def gemm(m: int, n: int, k: int, element_bytes: float = 2.0) -> Work:
    """Matrix times matrix, ``C[m,n] = A[m,k] · B[k,n]``: ``2mnk`` FLOPs, three matrices moved.

    For square matrices of fp32 the intensity is n/6 FLOP/byte.

    Raises:
        ValueError: a dimension is not a whole number above zero.
    """
    m, n, k = count("m", m), count("n", n), count("k", k)
    element_bytes = positive("element_bytes", element_bytes)
    return Work(2.0 * m * n * k, element_bytes * (m * k + k * n + m * n))


def gemv(m: int, k: int, element_bytes: float = 2.0) -> Work:
    """Matrix times vector, ``y[m] = A[m,k] · x[k]``: every weight read for one multiply-add.

    The intensity tends to 2 / element_bytes: 1 FLOP/byte in bf16, 0.5 in fp32.

    Raises:
        ValueError: a dimension is not a whole number above zero.
    """
    return gemm(m, 1, k, element_bytes)


def axpy(n: int, element_bytes: float = 2.0) -> Work:
    """Scaled sum of two vectors, ``y = a·x + y``: two read, one written, a multiply-add each.

    Raises:
        ValueError: ``n`` is not a whole number above zero.
    """
    n, element_bytes = count("n", n), positive("element_bytes", element_bytes)
    return Work(2.0 * n, 3 * element_bytes * n)


def softmax(rows: int, columns: int, element_bytes: float = 2.0) -> Work:
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
    layers: int, kv_heads: int, head_dim: int, element_bytes: float = 2.0
) -> float:
    """Bytes of key and value that one token leaves in the cache: ``2 · L · h_kv · d · b``.

    With grouped-query attention ``kv_heads`` is the number of groups, not of query heads.

    Raises:
        ValueError: a count is not a whole number above zero.
    """
    layers, kv_heads = count("layers", layers), count("kv_heads", kv_heads)
    head_dim = count("head_dim", head_dim)
    element_bytes = positive("element_bytes", element_bytes)
    return 2.0 * layers * kv_heads * head_dim * element_bytes


def decode(
    params: float,
    batch: int = 1,
    context: int = 0,
    kv_per_token: float = 0.0,
    weight_bytes: float = 2.0,
) -> Work:
    """One decode step: ``batch`` sequences gain one token each.

    The weights are read once for the whole batch. Each sequence also reads its own cache, which
    no batch shares, so intensity does not grow with the batch without end: its limit is
    ``2 · params / (context · kv_per_token)``. Attention's own FLOPs, a few per cent at short
    context, are left out.

    Args:
        params: parameters that one token uses (for a mixture of experts, the active ones).
        batch: sequences decoded together.
        context: tokens already in each sequence's cache.
        kv_per_token: bytes of cache for each token, see `kv_bytes_per_token`.
        weight_bytes: bytes for each stored weight.

    Raises:
        ValueError: an argument is out of range.
    """
    params, weight_bytes = positive("params", params), positive("weight_bytes", weight_bytes)
    batch, context = count("batch", batch), count("context", context, 0)
    kv_per_token = not_negative("kv_per_token", kv_per_token)
    return Work(2.0 * params * batch, params * weight_bytes + batch * context * kv_per_token)


def prefill(
    params: float,
    tokens: int,
    batch: int = 1,
    kv_per_token: float = 0.0,
    weight_bytes: float = 2.0,
) -> Work:
    """Read a prompt of ``tokens`` tokens: one pass over the weights serves all of them.

    The cache is written once. Activations are not counted, nor attention scores, which a fused
    kernel keeps on the chip, nor attention's own FLOPs.

    Raises:
        ValueError: an argument is out of range.
    """
    params, weight_bytes = positive("params", params), positive("weight_bytes", weight_bytes)
    tokens, batch = count("tokens", tokens), count("batch", batch)
    kv_per_token = not_negative("kv_per_token", kv_per_token)
    return Work(
        2.0 * params * tokens * batch,
        params * weight_bytes + batch * tokens * kv_per_token,
    )


def decode_floor(
    params: float,
    bandwidth: float,
    weight_bytes: float = 2.0,
    kv_bytes: float = 0.0,
) -> float:
    """Least time, in seconds, for one token at batch 1: all bytes read ÷ bandwidth.

    Args:
        params: parameters read for a token.
        bandwidth: memory bandwidth, byte/s; of k chips under tensor parallelism, k times one's.
        weight_bytes: bytes for each stored weight.
        kv_bytes: bytes of cache read for the token.

    Raises:
        ValueError: an argument is out of range.
    """
    params, weight_bytes = positive("params", params), positive("weight_bytes", weight_bytes)
    kv_bytes = not_negative("kv_bytes", kv_bytes)
    bandwidth = rate("bandwidth", bandwidth)
    return (params * weight_bytes + kv_bytes) / bandwidth


def critical_batch(peak: float, bandwidth: float, weight_bytes: float = 2.0) -> float:
    """Tokens a weight matrix must serve in one pass to leave the memory-bound side.

    The ridge point times half the bytes of a weight, since each weight does two FLOPs a token.
    It concerns the weights alone: the KV cache is not shared.

    Raises:
        ValueError: an argument is out of range.
    """
    peak, bandwidth = rate("peak", peak), rate("bandwidth", bandwidth)
    weight_bytes = positive("weight_bytes", weight_bytes)
    return peak / bandwidth * weight_bytes / 2.0


def decode_attention_intensity(group: int, kv_element_bytes: float = 2.0) -> float:
    """FLOP/byte of decode attention: ``2 · group / kv_element_bytes``, at any batch.

    ``group`` query heads share one KV head (1 for multi-head attention). Each cached element
    feeds one multiply-add for each of them.

    Raises:
        ValueError: an argument is out of range.
    """
    group = count("group", group)
    kv_element_bytes = positive("kv_element_bytes", kv_element_bytes)
    return 2.0 * group / kv_element_bytes


def training_flops(active_params: float, tokens: float) -> float:
    """FLOPs to train on ``tokens`` tokens: 6 · N · D, two forward and four backward.

    Attention's quadratic term and recomputation are left out. For a mixture of experts N is the
    active parameters.

    Raises:
        ValueError: an argument is not a finite number above zero.

    Source: Kaplan et al., "Scaling Laws for Neural Language Models", 2020, section 2.1.
    """
    active_params = positive("active_params", active_params)
    tokens = positive("tokens", tokens)
    return 6.0 * active_params * tokens


def training_time(flops: float, peak: float, mfu: float, chips: int = 1) -> float:
    """Seconds to perform ``flops`` on ``chips`` chips at a model FLOPs utilisation.

    Raises:
        ValueError: an argument is out of range; ``mfu`` is a fraction.
    """
    flops, peak = positive("flops", flops), rate("peak", peak)
    mfu = fraction("mfu", positive("mfu", mfu))
    chips = count("chips", chips)
    return flops / (peak * mfu * chips)


def speculative_tokens(acceptance: float, drafted: int) -> float:
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
    shared: float, routed: float, experts: int, chosen: int, batch: int
) -> float:
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
    routed = positive("routed", routed)
    experts, chosen = count("experts", experts), count("chosen", chosen)
    batch = count("batch", batch)
    if chosen > experts:
        raise ValueError(f"chosen must be at most experts ({experts}), got {chosen!r}")
    return shared + routed * (1 - (1 - chosen / experts) ** batch)


def tensor_parallel_bytes(
    batch: int, sequence: int, hidden: int, ranks: int, element_bytes: float = 2.0
) -> float:
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
