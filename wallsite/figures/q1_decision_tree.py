"""Which wall a GPU is at, from two of its counters."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from wallsite import tables
from wallsite.figures import style
from wallsite.figures.drawing import Drawing
from wallsite.units import format_quantity


class Data(NamedTuple):
    """The reading that question 1 states, a fraction."""

    dram: float


def data() -> Data:
    """Read the premise of question 1."""
    return Data(tables.quantity("q1.dram-util").si)


class Branch(NamedTuple):
    """What the two counters say, the wall they point at, and what helps there."""

    reading: str
    wall: str
    remedy: str


class Words(NamedTuple):
    """What the figure says."""

    title: str
    alt: str
    caption: str
    question: str
    here: str
    branches: tuple[Branch, Branch, Branch]


WORDS = {
    "zh": Words(
        title="先看显存和张量核心谁在忙：三种读数，三种对策",
        alt=(
            "决策树。先在稳定负载下读两个计数器：DRAM_ACTIVE 和 PIPE_TENSOR_ACTIVE。DRAM 忙、"
            "张量核心闲，是显存墙：少搬字节，或换带宽更大的卡。第一题 DRAM {dram}，就在这一支。"
            "张量核心忙，是算力墙：用更低的精度，或换算力更强的卡。两个都闲，是延迟："
            "合并小 kernel，用 CUDA Graph，查 CPU 和通信。"
        ),
        caption=(
            "忙与闲是相对的：DRAM_ACTIVE 实际很少超过 {ceiling}。SM 利用率分不出这三种情况，因为等"
            "显存的 warp 也算 SM 在忙。不用张量核心的运算，另看 PIPE_FP32_ACTIVE。"
        ),
        question="负载稳定时，同时读两个计数器\nDRAM_ACTIVE 与 PIPE_TENSOR_ACTIVE",
        here="第一题：\nDRAM {dram}",
        branches=(
            Branch(
                "DRAM 忙\n张量核心闲",
                "显存墙",
                "少搬字节：\n量化权重和 KV\n加大 batch\n投机解码\n\n换带宽更大的卡",
            ),
            Branch(
                "张量核心忙\n（DRAM 不论）",
                "算力墙",
                "降精度：\nBF16 → FP8\n减少重复计算\n\n换算力更强的卡\n或加卡",
            ),
            Branch(
                "DRAM 闲\n张量核心闲",
                "都没撞墙",
                "在等别的：\n合并小 kernel\nCUDA Graph\n查 CPU 和通信\n\n换卡没有用",
            ),
        ),
    ),
    "en": Words(
        title="See whether memory or the tensor cores are busy: three readings, three remedies",
        alt=(
            "A decision tree. Read two counters under steady load, DRAM_ACTIVE and "
            "PIPE_TENSOR_ACTIVE. DRAM busy and tensor cores idle is the memory wall: move fewer "
            "bytes or buy bandwidth. Question 1, with DRAM at {dram}, is on this branch. Tensor "
            "cores busy is the compute wall: lower the precision or buy FLOP/s. Both idle is "
            "latency: fuse small kernels, use CUDA graphs, look at the CPU and the network."
        ),
        caption=(
            "Busy and idle are relative: DRAM_ACTIVE rarely reads above {ceiling}. SM utilization "
            "cannot tell the three apart, because a warp that waits for memory counts as busy. For "
            "arithmetic outside the tensor cores read PIPE_FP32_ACTIVE."
        ),
        question=(
            "Under steady load, read two counters together:\nDRAM_ACTIVE and PIPE_TENSOR_ACTIVE"
        ),
        here="Question 1:\nDRAM {dram}",
        branches=(
            Branch(
                "DRAM busy,\ntensor idle",
                "Memory wall",
                "Move fewer bytes:\nquantize weights, KV\nlarger batch\n"
                "speculative decoding\n\nor buy bandwidth",
            ),
            Branch(
                "Tensor busy,\nDRAM either way",
                "Compute wall",
                "Lower precision:\nBF16 → FP8\nrecompute less\n\nor buy FLOP/s,\nor more GPUs",
            ),
            Branch(
                "DRAM idle,\ntensor idle",
                "Neither wall",
                "Waiting elsewhere:\nfuse small kernels\nCUDA graphs\n"
                "check CPU, network\n\na new GPU won’t help",
            ),
        ),
    ),
}

_HEIGHT = 372.0
_CENTRES = (72.0, 220.0, 368.0)
_WIDTH = 140.0
_COLORS = (style.MEMORY, style.COMPUTE, style.ACCENT)


def draw(lang: str) -> Drawing:
    """Draw the question, and for each answer the wall and its remedies."""
    numbers, words = data(), WORDS[lang]
    fig, ax = style.canvas(_HEIGHT)
    middle = style.WIDTH / 2
    _box(ax, middle, 34, 324, 52, style.MUTED, filled=False)
    style.write(ax, middle, 34, words.question, align="center", size=style.SIZE)
    fill = {
        "dram": format_quantity(numbers.dram, "%"),
        "ceiling": format_quantity(tables.quantity("q1.dram-ceiling").si, "%"),
    }
    for x, color, branch in zip(_CENTRES, _COLORS, words.branches, strict=True):
        ax.plot((middle, middle, x, x), (60, 78, 78, 94), color=style.MUTED, lw=1.5)
        style.write(ax, x, 114, branch.reading, align="center", bold=True)
        ax.annotate(
            "",
            (x, 154),
            (x, 134),
            arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.5, "shrinkA": 0, "shrinkB": 0},
        )
        _box(ax, x, 174, _WIDTH, 40, color, filled=True)
        style.write(
            ax, x, 174, branch.wall, align="center", size=style.LARGE, color=style.PAPER, bold=True
        )
        _box(ax, x, 262, _WIDTH, 124, color, filled=False)
        style.write(ax, x, 262, branch.remedy, align="center")
    style.write(
        ax,
        _CENTRES[0],
        346,
        words.here.format(**fill),
        align="center",
        color=style.MEMORY,
        bold=True,
    )
    return Drawing(
        fig, words.title, words.alt.format(**fill), words.caption.format(**fill), table=None
    )


def _box(
    ax: Axes, x: float, y: float, width: float, height: float, color: str, *, filled: bool
) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle="round,pad=0,rounding_size=6",
            fc=color if filled else "none",
            ec=color,
            lw=1.5,
        )
    )
