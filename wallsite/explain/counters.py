"""Counters of a GPU: what they mean, and which wall they point at."""

from __future__ import annotations

from collections.abc import Mapping

from wallsite._checks import shown
from wallsite.explain.answer import Cause, Explanation
from wallsite.explain.text import percent, phrase

MEANINGS = {
    "gr_engine_active": phrase(
        "share of time in which any kernel ran (DCGM 1001, close to utilization.gpu): one busy SM "
        "counts as 100%, and so does a kernel that waits"
    ),
    "sm_active": phrase(
        "share of cycles in which an SM had at least one warp (DCGM 1002): warps that wait for "
        "memory count, so a memory-bound kernel shows it high"
    ),
    "sm_occupancy": phrase("warps on an SM against the most it takes (DCGM 1003)"),
    "tensor_active": phrase(
        "share of cycles in which the tensor pipe worked (DCGM 1004): high only where matrix "
        "products are the work"
    ),
    "dram_active": phrase(
        "share of cycles in which memory moved data (DCGM 1005): 80% and more is the memory wall"
    ),
    "fp16_active": phrase("share of cycles of the FP16 pipe (DCGM 1008)"),
    "fp32_active": phrase("share of cycles of the FP32 pipe (DCGM 1007)"),
    "fp64_active": phrase("share of cycles of the FP64 pipe (DCGM 1006)"),
    "gpu_utilization": phrase(
        "nvidia-smi utilization.gpu: share of time in which any kernel ran; it says nothing about "
        "how much of the chip worked"
    ),
    "memory_utilization": phrase(
        "nvidia-smi utilization.memory: share of time in which memory was accessed; not its "
        "bandwidth, and not how full it is"
    ),
}
"""What each counter means, by the name `counters` takes; the dictionary of the page."""

_MOST = 1.02


def counters(shares: Mapping[str, float]) -> Explanation:
    """Explain counters, each a share from 0 to 1.

    Raises:
        ValueError: none is known, or one is no share. MIG instances may report more than 1.
    """
    for name, value in shares.items():
        if name not in MEANINGS:
            raise ValueError(f"unknown counter {shown(name)}; known: {', '.join(MEANINGS)}")
        if not 0 <= value <= _MOST:
            raise ValueError(
                f"{name} must be a share from 0 to 1, got {value:g}: percentages are divided "
                f"by 100; "
                "a MIG instance may report more, and is then not to be trusted"
            )
    if not shares:
        raise ValueError("no counter is given")
    wall, verdict, following = _judge(shares)
    return Explanation(
        recognized=tuple(
            phrase(
                "{name} = {value}: {meaning}",
                name=name,
                value=percent(value),
                meaning=MEANINGS[name],
            )
            for name, value in shares.items()
        ),
        bounds=(),
        share=None,
        wall=wall,
        causes=(verdict,),
        following=following,
        page="three-walls/memory.md#counters",
        missing=tuple(
            phrase("{name}: {meaning}", name=name, meaning=MEANINGS[name])
            for name in ("sm_active", "tensor_active", "dram_active")
            if name not in shares
        ),
    )


def _judge(shares: Mapping[str, float]) -> tuple[str, Cause, Mapping[str, str]]:
    dram, tensor = shares.get("dram_active"), shares.get("tensor_active")
    running = shares.get("sm_active", shares.get("gr_engine_active"))
    if dram is not None and dram >= 0.7:
        return (
            "memory",
            Cause(
                phrase("Memory moves data most of the time: the memory wall."),
                phrase(
                    "Tensor activity is low beside it, and a lower memory clock slows it in "
                    "proportion."
                ),
            ),
            phrase("Read fewer bytes: fewer bits, fusion, a larger batch."),
        )
    if tensor is not None and tensor >= 0.5:
        return (
            "compute",
            Cause(
                phrase("The tensor units work most of the time: the compute wall."),
                phrase("A lower core clock slows it in proportion."),
            ),
            phrase("Use a lower type, or do fewer FLOPs."),
        )
    if running is not None and running < 0.6:
        return (
            "none",
            Cause(
                phrase(
                    "Nothing works most of the time: gaps between kernels, the host, or the input."
                ),
                phrase("A timeline (nsys) shows the gaps; one host core is at 100%."),
            ),
            phrase(
                "Close the gaps: CUDA graphs, larger batches, a faster host core, prefetched input."
            ),
        )
    if running is not None and dram is not None:
        return (
            "none",
            Cause(
                phrase(
                    "Warps are there, yet neither memory nor tensor units work much: latency, "
                    "small kernels, waiting collectives, or few warps."
                ),
                phrase(
                    "Nsight Compute names the stall; a collective that waits shows as activity too."
                ),
            ),
            phrase("Profile the longest kernel."),
        )
    return (
        "unknown",
        Cause(
            phrase(
                "These counters do not tell the wall: utilization says that something ran, not "
                "what it waited for."
            ),
            phrase("Read DRAM and tensor activity as well."),
        ),
        phrase("dcgmi dmon -e 1002,1004,1005 while it runs."),
    )
