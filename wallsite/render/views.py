"""What each table shows: one function a table, its texts in both languages side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from wallsite import lessons, tables
from wallsite.render import facts
from wallsite.render.facts import PEAKS
from wallsite.render.words import KINDS, citation, quantity
from wallsite.render.writer import Cell, RenderedTable, Writer
from wallsite.tables.names import find, spelling
from wallsite.tables.schema import DTYPES, Accelerator, Link
from wallsite.units import format_number

Thing = TypeVar("Thing", Accelerator, Link)
Names = str | Sequence[str]
"""An option that takes one name, or a list of them."""

_TIERS = {
    "zh": {"host": "到主机", "scale-up": "机内", "scale-out": "机间"},
    "en": {"host": "to the host", "scale-up": "scale-up", "scale-out": "scale-out"},
}
_COUNTED_PER = {
    "chip": "芯片",
    "card": "卡",
    "slot": "插槽",
    "port": "端口",
    "adapter": "网卡",
    "node": "整机",
}
_SOURCE_KINDS = {
    "zh": {
        "datasheet": "数据手册",
        "whitepaper": "白皮书",
        "page": "网页",
        "press": "新闻稿",
        "docs": "文档",
        "paper": "论文",
        "code": "代码",
        "site": "第三方网站",
    },
    "en": {
        "datasheet": "datasheet",
        "whitepaper": "white paper",
        "page": "web page",
        "press": "press release",
        "docs": "documentation",
        "paper": "paper",
        "code": "code",
        "site": "third-party site",
    },
}
_SEEN = {
    "zh": {"read": "读过", "quoted": "转述", "listed": "仅见标题"},
    "en": {"read": "read", "quoted": "quoted by others", "listed": "title only"},
}

# One column for the 16-bit types, which run at one rate.
_COLUMNS = {dtype: name for dtype, name in PEAKS.items() if dtype != "bf16"}

TREND = (
    "v100-sxm2-32gb",
    "a100-sxm-80gb",
    "h100-sxm",
    "h200-sxm",
    "b200",
    "gb200",
    "b300",
    "rubin",
)
"""One flagship a generation, for the trend of the ridge point."""

RATIOS = (
    *TREND,
    "mi300x",
    "mi355x",
    "ascend-910b",
    "ascend-910c",
    "ascend-950dt",
    "tpu-v5p",
    "tpu7x",
)
"""Devices whose links are set against their own memory."""

PAIRS = (
    ("bert-large", "v100-sxm2-32gb"),
    ("gpt-3", "a100-sxm-80gb"),
    ("gpt-4-rumour", "h100-sxm"),
    ("llama-3.1-405b", "b200"),
)
"""A model of each wave and the flagship of its time."""


def _accelerators(
    write: Writer,
    *,
    devices: Names | None = None,
    vendor: Names | None = None,
) -> RenderedTable:
    pick = write.pick
    capacity = pick("容量", "capacity")
    bandwidth = pick("带宽", "bandwidth")
    power = pick("功耗", "power")
    write.note(
        pick(
            "容量照厂商的标注写；NVIDIA 数据中心卡的驱动报出的 GiB 数与它接近。",
            "Capacity is the vendor’s label; drivers of NVIDIA data-center cards report close to "
            "that many GiB.",
        )
    )
    rows = []
    for device in _selected(devices, vendor):
        if device.note:
            write.note(device.note[write.language], device.name)
        rows.append(
            [
                Cell(device.name),
                write.year(device.year, device.status),
                Cell(device.memory),
                write.value(device.capacity, capacity),
                write.value(device.bandwidth, bandwidth, "TB/s"),
                *(_peak(write, device, dtype) for dtype in _COLUMNS),
                *write.link(device.link),
                write.value(device.power, power, "W"),
            ]
        )
    headers = [
        pick("芯片", "Device"),
        pick("年份", "Year"),
        pick("显存", "Memory"),
        pick("容量", "Capacity"),
        pick("带宽（TB/s）", "Bandwidth (TB/s)"),
        *(
            pick(f"{name}（{_rate(dtype)}）", f"{name} ({_rate(dtype)})")
            for dtype, name in _COLUMNS.items()
        ),
        pick("互联", "Link"),
        pick("单向（GB/s）", "One way (GB/s)"),
        pick("功耗（W）", "Power (W)"),
    ]
    caption = pick(
        "芯片的显存、稠密峰值、互联与功耗。空白：未公布；—：硬件不支持。",
        "Devices: memory, dense peaks, link, power. Blank: never published. —: not supported.",
    )
    return write.table(headers, rows, caption)


def _peak(write: Writer, device: Accelerator, dtype: str) -> Cell:
    """Show a dense peak; a dash where the hardware lacks the type."""
    if dtype in device.lacks:
        return Cell("—")
    value = device.fields.get(dtype)
    alone = ""
    if dtype == "fp16":
        value = value or device.fields.get("bf16")
        alone = {"bf16": "FP16", "fp16": "BF16"}.get(
            next((lacking for lacking in ("bf16", "fp16") if lacking in device.lacks), ""), ""
        )
    cell = write.value(value, alone or PEAKS[dtype], _rate(dtype))
    if alone and cell.basis:
        return cell._replace(
            text=write.pick(f"{cell.text}（仅 {alone}）", f"{cell.text} ({alone} only)")
        )
    return cell


def _rate(dtype: str) -> str:
    """Unit of a peak: whole numbers take part in operations that are not floating-point."""
    return "TOP/s" if dtype.startswith("int") else "TFLOP/s"


def _intensity(dtype: str | None) -> str:
    """Unit of a ridge point."""
    return "OP/byte" if dtype and dtype.startswith("int") else "FLOP/byte"


def _ridge(
    write: Writer,
    *,
    devices: Names | None = None,
    vendor: Names | None = None,
    dtype: str | None = None,
) -> RenderedTable:
    pick = write.pick
    wanted = None if dtype is None else _one_of("dtype", dtype, DTYPES)
    name = "FP16 / BF16" if wanted is None else wanted.upper()
    unit = _rate(wanted or "fp16")
    rows = []
    for device in _selected(devices, vendor):
        dtype = wanted or device.sixteen_bit or "fp16"
        if devices is None and (dtype not in device.dtypes or not device.bandwidth):
            continue  # asked for by name, a device without the figure is an error instead
        rows.append(
            [
                Cell(device.name),
                write.year(device.year, device.status),
                write.value(device.peak(dtype), dtype.upper(), unit),
                write.value(device.bandwidth, pick("带宽", "bandwidth"), "TB/s"),
                _ridge_cell(write, device, dtype),
            ]
        )
    headers = [
        pick("芯片", "Device"),
        pick("年份", "Year"),
        pick(f"{name} 稠密峰值（{unit}）", f"Dense {name} peak ({unit})"),
        pick("带宽（TB/s）", "Bandwidth (TB/s)"),
        pick(f"拐点（{_intensity(wanted)}）", f"Ridge point ({_intensity(wanted)})"),
    ]
    caption = pick("拐点 = 稠密峰值 ÷ 显存带宽。", "Ridge point = dense peak ÷ memory bandwidth.")
    return write.table(headers, rows, caption)


def _ridge_cell(write: Writer, device: Accelerator, dtype: str) -> Cell:
    """Show a ridge point, then those that a rival bandwidth or a rival peak would give."""
    if dtype not in device.dtypes or device.bandwidth is None:
        return Cell("—" if dtype in device.lacks else "")
    return write.quotients(device.peak(dtype), device.bandwidth, _one_decimal)


def _ridge_trend(write: Writer, *, devices: Names = TREND) -> RenderedTable:
    pick = write.pick
    rows = []
    for device in _selected(devices, None):
        points = [
            _ridge_cell(write, device, dtype)
            for dtype in (device.sixteen_bit or "fp16", "fp8", "fp4")
        ]
        rows.append([Cell(device.name), write.year(device.year, device.status), *points])
    headers = [
        pick("芯片", "Device"),
        pick("年份", "Year"),
        pick("FP16 / BF16 拐点", "FP16 / BF16 ridge"),
        pick("FP8 拐点", "FP8 ridge"),
        pick("FP4 拐点", "FP4 ridge"),
    ]
    caption = pick(
        "各代旗舰的拐点（FLOP/byte，稠密）。来源不一时并列。",
        "Ridge points by generation (FLOP/byte, dense). Where sources disagree, both stand.",
    )
    return write.table(headers, rows, caption)


def _links(write: Writer, *, vendor: Names | None = None, tier: str | None = None) -> RenderedTable:
    pick = write.pick
    if tier is not None:
        tier = _one_of("tier", tier, _TIERS["en"])
    rows = []
    for link in _of_vendor(tables.links().values(), vendor):
        if tier not in {None, link.tier}:
            continue
        if link.note:
            write.note(link.note[write.language], link.name)
        quoted = write.value(link.quoted, "")
        times = f"{link.parts} × " if link.parts > 1 else ""
        rows.append(
            [
                Cell(link.name),
                Cell(_TIERS[write.language][link.tier]),
                Cell(pick(_COUNTED_PER.get(link.counted_per, link.counted_per), link.counted_per)),
                write.value(link.bandwidth, "", "GB/s"),
                write.both(link),
                quoted._replace(text=f"{times}{quoted.text}"),
                write.year(link.year, link.status),
            ]
        )
    headers = [
        pick("链路", "Link"),
        pick("位置", "Tier"),
        pick("按什么计", "Counted per"),
        pick("单向（GB/s）", "One way (GB/s)"),
        pick("双向合计（GB/s）", "Both ways (GB/s)"),
        pick("厂商的写法", "As the vendor prints it"),
        pick("年份", "Year"),
    ]
    caption = pick(
        "链路带宽。双向合计总是单向的 2 倍；比较时用单向。",
        "Link bandwidth. Both ways is always twice one way; compare one way with one way.",
    )
    return write.table(headers, rows, caption)


def _link_ratio(write: Writer, *, devices: Names = RATIOS) -> RenderedTable:
    pick = write.pick
    rows = []
    for device in _selected(devices, None):
        link, network, memory = device.link, device.network, device.bandwidth
        if link is None or memory is None:
            raise ValueError(f"{device.name} has no link or no memory bandwidth to compare")
        rows.append(
            [
                Cell(device.name),
                write.value(memory, pick("带宽", "bandwidth"), "TB/s"),
                *write.link(link),
                write.quotients(memory, link.bandwidth, _times),
                *write.link(network),
                write.quotients(memory, network.bandwidth, _times) if network else Cell(""),
            ]
        )
    headers = [
        pick("芯片", "Device"),
        pick("显存（TB/s）", "Memory (TB/s)"),
        pick("机内链路", "Scale-up link"),
        pick("单向（GB/s）", "One way (GB/s)"),
        pick("显存 ÷ 机内", "Memory ÷ scale-up"),
        pick("机间链路", "Scale-out link"),
        pick("单向（GB/s）", "One way (GB/s)"),
        pick("显存 ÷ 机间", "Memory ÷ scale-out"),
    ]
    caption = pick(
        "每张卡的显存带宽与同一代链路的单向带宽之比。",
        "Memory bandwidth of each device over one way of the links of its own generation.",
    )
    return write.table(headers, rows, caption)


def _clusters(write: Writer) -> RenderedTable:
    pick = write.pick
    parts = {
        "domain": pick("每域芯片", "Chips in a domain"),
        "nics": pick("每域网卡", "NICs of a domain"),
        "pod": pick("每 pod 芯片", "Chips in a pod"),
        "oversubscription": pick("收敛比", "Oversubscription"),
    }
    rows = []
    for cluster in tables.clusters().values():
        if cluster.note:
            write.note(cluster.note[write.language], cluster.name)
        domain, nics, *beyond = (
            write.value(cluster.fields.get(part), title) for part, title in parts.items()
        )
        rows.append(
            [
                Cell(cluster.name),
                domain,
                *write.link(cluster.link),
                nics,
                *write.link(cluster.network),
                *beyond,
            ]
        )
    one_way = pick("单向（GB/s）", "One way (GB/s)")
    domain_title, nics_title, *beyond_titles = parts.values()
    headers = [
        pick("集群", "Cluster"),
        domain_title,
        pick("机内链路", "Scale-up link"),
        one_way,
        nics_title,
        pick("机间链路", "Scale-out link"),
        one_way,
        *beyond_titles,
    ]
    caption = pick(
        "集群的拓扑：域内走机内链路，域间走网络。带宽按单向计：机内是每芯片，机间是每张网卡。",
        "How devices are joined: a scale-up link within a domain, a network between domains. "
        "Bandwidth is one way, of a device inside and of a NIC outside.",
    )
    return write.table(headers, rows, caption)


def _one_decimal(number: float) -> str:
    return format_number(number, 1)


def _times(ratio: float) -> str:
    """Write a ratio to two or three digits."""
    return f"{format_number(ratio, 0 if ratio >= 10 else 1 if ratio >= 1 else 3)}×"


def _models(write: Writer) -> RenderedTable:
    pick = write.pick
    parts = {
        "params": pick("参数", "Parameters"),
        "active_params": pick("激活参数", "Active"),
        "tokens": pick("训练 token", "Training tokens"),
        "layers": pick("层数", "Layers"),
        "hidden": pick("宽度", "Width"),
        "heads": pick("头数", "Heads"),
        "kv_heads": pick("KV 头数", "KV heads"),
        "head_dim": pick("头维度", "Head size"),
    }
    rows = []
    for model in tables.models().values():
        if model.note:
            write.note(model.note[write.language], model.name)
        values = [write.value(model.fields.get(part), title) for part, title in parts.items()]
        rows.append([Cell(model.name), Cell(model.vendor), Cell(str(model.year)), *values])
    headers = [pick("模型", "Model"), pick("出处", "From"), pick("年份", "Year"), *parts.values()]
    return write.table(headers, rows, pick("模型的规模与结构。", "Models: size and shape."))


def _models_vs_chips(write: Writer) -> RenderedTable:
    pick = write.pick
    first_model, first_chip = (tables.model(PAIRS[0][0]), tables.accelerator(PAIRS[0][1]))
    least, slowest = first_model.params, first_chip.peak("fp16")
    rows = []
    for model_name, device_name in PAIRS:
        model, device = tables.model(model_name), tables.accelerator(device_name)
        if model.note:
            write.note(model.note[write.language], model.name)
        peak = device.peak("fp16")
        rows.append(
            [
                Cell(model.name),
                Cell(str(model.year)),
                write.value(model.params, pick("参数", "parameters")),
                write.quotients(model.params, least, _times),
                Cell(device.name),
                Cell(str(device.year)),
                write.value(peak, "FP16", "TFLOP/s"),
                write.quotients(peak, slowest, _times),
            ]
        )
    headers = [
        pick("模型", "Model"),
        pick("年份", "Year"),
        pick("参数", "Parameters"),
        pick("倍数", "Growth"),
        pick("芯片", "Chip"),
        pick("年份", "Year"),
        pick("FP16 稠密峰值（TFLOP/s）", "Dense FP16 peak (TFLOP/s)"),
        pick("倍数", "Growth"),
    ]
    caption = pick(
        "模型参数与单片算力，都以第一行为 1 倍。",
        "Model parameters and one chip’s peak, each against the first row.",
    )
    return write.table(headers, rows, caption)


def _energy(write: Writer) -> RenderedTable:
    return _energies(write, ratio=False)


def _energy_ratio(write: Writer) -> RenderedTable:
    return _energies(write, ratio=True)


def _energies(write: Writer, ratio: bool) -> RenderedTable:
    pick = write.pick
    unit_of_work = tables.energy("fp32-mul")
    rows = []
    for energy in tables.energies().values():
        row = [Cell(energy.label[write.language]), write.value(energy, "", "pJ")]
        rows.append([*row, write.quotients(energy, unit_of_work, _times)] if ratio else row)
    headers = [pick("操作", "Operation"), pick("能耗（pJ）", "Energy (pJ)")]
    if ratio:
        headers.append(pick("相对 FP32 乘法", "Against an FP32 multiply"))
    caption = pick(
        "每次操作的能耗，45 nm、0.9 V；访存按一次 64 位计。",
        "Energy of one operation at 45 nm and 0.9 V; a memory access is 64 bits.",
    )
    return write.table(headers, rows, caption)


def _quantities(write: Writer) -> RenderedTable:
    pick = write.pick
    rows = []
    for value in lessons.quantities().values():
        sources = [citation(tables.source(name)) for name in value.sources]
        rows.append(
            [
                Cell(value.label[write.language]),
                write.value(value, ""),
                Cell(KINDS[write.language][value.kind]),
                Cell(pick("；", "; ").join(sources), cited=value.sources),
            ]
        )
    headers = [
        pick("数值", "Quantity"),
        pick("取值", "Value"),
        pick("类别", "Kind"),
        pick("来源", "Source"),
    ]
    caption = pick(
        "各页用到的假设与已发表的数值。", "Assumptions and published figures the pages use."
    )
    return write.table(headers, rows, caption)


def _sources(write: Writer) -> RenderedTable:
    pick = write.pick
    rows = [
        [
            Cell(source.title, href=source.url),
            Cell(source.publisher),
            Cell(source.date),
            Cell(_SOURCE_KINDS[write.language][source.kind]),
            Cell(_SEEN[write.language][source.seen]),
            Cell(source.supports[write.language]),
            _resting(write, source.id),
        ]
        for source in tables.sources().values()
    ]
    headers = [
        pick("标题", "Title"),
        pick("出处", "Publisher"),
        pick("日期或版本", "Date or version"),
        pick("类型", "Type"),
        pick("看到的程度", "What was seen"),
        pick("用于", "Used for"),
        pick("由它而来", "Rests on it"),
    ]
    return write.table(headers, rows, pick("数值的来源。", "Where the values come from."))


def _resting(write: Writer, source: str) -> Cell:
    """List what a source states: one line a device, link, cluster, model, operation or quantity."""
    values: dict[str, list[str]] = {}
    for fact, value in ((each.fact, each.value) for each in facts.resting_on(source)):
        words = f"{fact.what.get(write.language, '')} {quantity(value, write.language)}".lstrip()
        values.setdefault(fact.name[write.language], []).append(words)
    count = sum(map(len, values.values()))
    if not count:
        return Cell("")
    between, colon = write.pick("；", "; "), write.pick("：", ": ")
    return Cell(
        write.pick(f"由它而来的值：{count} 个", f"Values that rest on it: {count}"),
        items=tuple(f"{name}{colon}{between.join(words)}" for name, words in values.items()),
    )


def _glossary(write: Writer) -> RenderedTable:
    pick = write.pick
    rows = [
        [
            Cell(pick(term.zh, term.en)),
            Cell(pick(term.en, term.zh)),
            Cell(term.note[write.language]),
        ]
        for term in tables.glossary()
    ]
    headers = [pick("术语", "Term"), pick("英文", "Chinese"), pick("含义", "Meaning")]
    return write.table(headers, rows, pick("术语表。", "Glossary."))


TABLES: dict[str, Callable[..., RenderedTable]] = {
    "accelerators": _accelerators,
    "ridge": _ridge,
    "ridge-trend": _ridge_trend,
    "links": _links,
    "link-ratio": _link_ratio,
    "clusters": _clusters,
    "models": _models,
    "models-vs-chips": _models_vs_chips,
    "energy": _energy,
    "energy-ratio": _energy_ratio,
    "sources": _sources,
    "quantities": _quantities,
    "glossary": _glossary,
}


def _selected(devices: Names | None, vendor: Names | None = None) -> list[Accelerator]:
    names = tables.accelerators() if devices is None else _several(devices)
    return _of_vendor([tables.accelerator(name) for name in names], vendor)


def _of_vendor(things: Iterable[Thing], vendor: Names | None) -> list[Thing]:
    """Keep what one of the vendors makes; None keeps everything."""
    listed = list(things)
    if vendor is None:
        return listed
    makers = {spelling(thing.vendor): thing.vendor for thing in listed}
    known = {maker: maker for maker in makers.values()}
    wanted = {find("vendor", name, known, makers) for name in _several(vendor)}
    return [thing for thing in listed if thing.vendor in wanted]


def _several(names: Any) -> list[str]:
    """Read an option that may give one name without a list around it."""
    return list(names) if isinstance(names, list | tuple) else [names]


def _one_of(what: str, name: str, choices: Iterable[str]) -> str:
    """Read an option that must be one of a few names; upper and lower case are the same."""
    known = {choice: choice for choice in choices}
    return find(what, name, known, known)
