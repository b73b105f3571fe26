"""What each table shows: one function a table, its texts in both languages side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from wallsite import lessons, locale, tables
from wallsite.render import facts
from wallsite.render.facts import PEAKS
from wallsite.render.words import citation, quantity
from wallsite.render.writer import Cell, RenderedTable, Writer
from wallsite.tables.load import TIERS
from wallsite.tables.names import find, spelling
from wallsite.tables.schema import DTYPES, Accelerator, Link, Model
from wallsite.units import format_number

Thing = TypeVar("Thing", Accelerator, Link)
Names = str | Sequence[str]
"""An option that takes one name, or a list of them."""

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
    return _device_table(write, _selected(devices, vendor), "TB/s", {})


def _catalog(write: Writer, *, vendor: Names | None = None) -> RenderedTable:
    """Devices beside those of the lesson, with the cache and the clock that a measurement needs."""
    lesson = tables.accelerators()
    others = [device for device in tables.catalog().values() if device.id not in lesson]
    more = {
        "cache": write.say("Last-level cache"),
        "cpu_bandwidth": write.say("CPU cores alone (GB/s)"),
        "cores": write.say("Cores"),
        "clock": write.say("Clock behind the peaks"),
        "channels": write.say("Memory channels of a socket"),
        "transfer_rate": write.say("Fastest memory"),
    }
    return _device_table(write, _of_vendor(others, vendor), "GB/s", more)


def _device_table(
    write: Writer, devices: Iterable[Accelerator], unit: str, more: Mapping[str, str]
) -> RenderedTable:
    say = write.say
    capacity = say("capacity")
    bandwidth = say("bandwidth")
    power = say("power")
    write.note(
        say(
            "Capacity is the vendor’s label; drivers of NVIDIA data-center cards report close to "
            "that many GiB."
        )
    )
    rows, briefs = [], []
    for device in devices:
        if device.note:
            write.note(device.note[write.language], device.name)
        bits = device.sixteen_bit
        peak = write.brief(device.peak(bits), "TFLOP/s") if bits else ""
        briefs.append([write.brief(device.bandwidth, unit), peak])
        rows.append(
            [
                Cell(device.name),
                write.year(device.year, device.status),
                Cell(device.memory),
                write.value(device.capacity, capacity),
                write.value(device.bandwidth, bandwidth, unit),
                *(_peak(write, device, dtype) for dtype in _COLUMNS),
                *write.link(device.link),
                write.value(device.power, power, "W"),
                *(write.value(device.fields.get(field), title) for field, title in more.items()),
            ]
        )
    headers = [
        say("Device"),
        say("Year"),
        say("Memory"),
        say("Capacity"),
        say("Bandwidth (TB/s)") if unit == "TB/s" else say("Bandwidth (GB/s)"),
        *(
            say("{name} ({rate_dtype})", name=name, rate_dtype=_rate(dtype))
            for dtype, name in _COLUMNS.items()
        ),
        say("Link"),
        say("One way (GB/s)"),
        say("Power (W)"),
        *more.values(),
    ]
    caption = say(
        "Memory, dense peaks, link, power. What is missing was never published; —: not supported."
    )
    return write.table(headers, rows, caption, briefs)


def _peak(write: Writer, device: Accelerator, dtype: str) -> Cell:
    """Show a dense peak; a dash where the hardware lacks the type."""
    if dtype in device.lacks and not (dtype == "fp16" and device.sixteen_bit):
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
            text=write.say("{cell_text} ({alone} only)", cell_text=cell.text, alone=alone)
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
    say = write.say
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
                write.value(device.bandwidth, say("bandwidth"), "TB/s"),
                _ridge_cell(write, device, dtype),
            ]
        )
    headers = [
        say("Device"),
        say("Year"),
        say("Dense {name} peak ({unit})", name=name, unit=unit),
        say("Bandwidth (TB/s)"),
        say("Ridge point ({intensity_wanted})", intensity_wanted=_intensity(wanted)),
    ]
    caption = say("Ridge point = dense peak ÷ memory bandwidth.")
    return write.table(headers, rows, caption)


def _ridge_cell(write: Writer, device: Accelerator, dtype: str) -> Cell:
    """Show a ridge point, then those that a rival bandwidth or a rival peak would give."""
    if dtype not in device.dtypes or device.bandwidth is None:
        return Cell("—" if dtype in device.lacks else "")
    return write.quotients(device.peak(dtype), device.bandwidth, _one_decimal)


def _ridge_trend(write: Writer, *, devices: Names = TREND) -> RenderedTable:
    say = write.say
    rows = []
    for device in _selected(devices, None):
        points = [
            _ridge_cell(write, device, dtype)
            for dtype in (device.sixteen_bit or "fp16", "fp8", "fp4")
        ]
        rows.append([Cell(device.name), write.year(device.year, device.status), *points])
    headers = [
        say("Device"),
        say("Year"),
        say("FP16 / BF16 ridge"),
        say("FP8 ridge"),
        say("FP4 ridge"),
    ]
    caption = say(
        "Ridge points by generation (FLOP/byte, dense). Where sources disagree, both stand."
    )
    return write.table(headers, rows, caption)


def _links(write: Writer, *, vendor: Names | None = None, tier: str | None = None) -> RenderedTable:
    say = write.say
    if tier is not None:
        tier = _one_of("tier", tier, TIERS)
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
                *([] if tier else [Cell(locale.section(write.language, "tiers")[link.tier])]),
                Cell(locale.section(write.language, "counted_per")[link.counted_per]),
                write.value(link.bandwidth, "", "GB/s"),
                write.both(link),
                quoted._replace(text=f"{times}{quoted.text}"),
                write.year(link.year, link.status),
            ]
        )
    headers = [
        say("Link"),
        *([] if tier else [say("Tier")]),
        say("Counted per"),
        say("One way (GB/s)"),
        say("Both ways (GB/s)"),
        say("As the vendor prints it"),
        say("Year"),
    ]
    caption = say(
        "Link bandwidth. Both ways is always twice one way; compare one way with one way."
    )
    return write.table(headers, rows, caption)


def _link_ratio(write: Writer, *, devices: Names = RATIOS) -> RenderedTable:
    say = write.say
    rows = []
    for device in _selected(devices, None):
        link, network, memory = device.link, device.network, device.bandwidth
        if link is None or memory is None:
            raise ValueError(f"{device.name} has no link or no memory bandwidth to compare")
        rows.append(
            [
                Cell(device.name),
                write.value(memory, say("bandwidth"), "TB/s"),
                write.value(link.bandwidth, "", "GB/s"),
                write.quotients(memory, link.bandwidth, _times),
                write.value(network and network.bandwidth, "", "GB/s"),
                write.quotients(memory, network.bandwidth, _times) if network else Cell(""),
            ]
        )
    headers = [
        say("Device"),
        say("Memory (TB/s)"),
        say("Scale-up (GB/s)"),
        say("Memory ÷ scale-up"),
        say("Scale-out (GB/s)"),
        say("Memory ÷ scale-out"),
    ]
    caption = say(
        "Memory bandwidth of each device over one way of the links of its own generation."
    )
    return write.table(headers, rows, caption)


def _clusters(write: Writer) -> RenderedTable:
    say = write.say
    parts = {
        "domain": say("Chips in a domain"),
        "nics": say("NICs of a domain"),
        "pod": say("Chips in a pod"),
        "oversubscription": say("Oversubscription"),
    }
    rows, briefs = [], []
    for cluster in tables.clusters().values():
        if cluster.note:
            write.note(cluster.note[write.language], cluster.name)
        domain, nics, *beyond = (
            write.value(cluster.fields.get(part), title) for part, title in parts.items()
        )
        briefs.append([f"{domain.text} × {cluster.link.name}", cluster.network.name])
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
    one_way = say("One way (GB/s)")
    domain_title, nics_title, *beyond_titles = parts.values()
    headers = [
        say("Cluster"),
        domain_title,
        say("Scale-up link"),
        one_way,
        nics_title,
        say("Scale-out link"),
        one_way,
        *beyond_titles,
    ]
    caption = say(
        "How devices are joined: a scale-up link within a domain, a network between domains. "
        "Bandwidth is one way, of a device inside and of a NIC outside."
    )
    return write.table(headers, rows, caption, briefs)


def _one_decimal(number: float) -> str:
    return format_number(number, 1)


def _times(ratio: float) -> str:
    """Write a ratio to two or three digits."""
    return f"{format_number(ratio, 0 if ratio >= 10 else 1 if ratio >= 1 else 3)}×"


def _models(write: Writer) -> RenderedTable:
    more = {"latent": write.say("Cached vector"), "rope": write.say("Cached positions")}
    return _model_table(write, tables.models().values(), more)


def _more_models(write: Writer) -> RenderedTable:
    """Models beside those of the lesson."""
    lesson = tables.models()
    others = [model for model in tables.all_models().values() if model.id not in lesson]
    return _model_table(write, others, {})


def _model_table(write: Writer, models: Iterable[Model], more: Mapping[str, str]) -> RenderedTable:
    say = write.say
    parts = {
        "params": say("Parameters"),
        "active_params": say("Active"),
        "tokens": say("Training tokens"),
        "layers": say("Layers"),
        "hidden": say("Width"),
        "heads": say("Heads"),
        "kv_heads": say("KV heads"),
        "head_dim": say("Head size"),
        "experts": say("Experts"),
        "chosen": say("Used"),
        **more,
    }
    rows, briefs = [], []
    for model in models:
        if model.note:
            write.note(model.note[write.language], model.name)
        values = [write.value(model.fields.get(part), title) for part, title in parts.items()]
        briefs.append([str(model.year), values[0].text])
        rows.append([Cell(model.name), Cell(model.vendor), Cell(str(model.year)), *values])
    headers = [say("Model"), say("From"), say("Year"), *parts.values()]
    return write.table(headers, rows, say("Models: size and shape."), briefs)


def _models_vs_chips(write: Writer) -> RenderedTable:
    say = write.say
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
                Cell(say("{name}, {year}", name=model.name, year=model.year)),
                write.value(model.params, say("parameters")),
                write.quotients(model.params, least, _times),
                Cell(say("{name}, {year}", name=device.name, year=device.year)),
                write.value(peak, "FP16", "TFLOP/s"),
                write.quotients(peak, slowest, _times),
            ]
        )
    headers = [
        say("Model"),
        say("Parameters"),
        say("Growth"),
        say("Chip"),
        say("Dense FP16 peak (TFLOP/s)"),
        say("Growth"),
    ]
    caption = say("Model parameters and one chip’s peak, each against the first row.")
    return write.table(headers, rows, caption)


def _energy(write: Writer) -> RenderedTable:
    return _energies(write, ratio=False)


def _energy_ratio(write: Writer) -> RenderedTable:
    return _energies(write, ratio=True)


def _energies(write: Writer, ratio: bool) -> RenderedTable:
    say = write.say
    unit_of_work = tables.energy("fp32-mul")
    rows = []
    for energy in tables.energies().values():
        row = [Cell(energy.label[write.language]), write.value(energy, "", "pJ")]
        rows.append([*row, write.quotients(energy, unit_of_work, _times)] if ratio else row)
    headers = [say("Operation"), say("Energy (pJ)")]
    if ratio:
        headers.append(say("Against an FP32 multiply"))
    caption = say("Energy of one operation at 45 nm and 0.9 V; a memory access is 64 bits.")
    return write.table(headers, rows, caption)


def _quantities(write: Writer) -> RenderedTable:
    say = write.say
    rows = []
    for value in lessons.quantities().values():
        sources = [citation(tables.source(name)) for name in value.sources]
        rows.append(
            [
                Cell(value.label[write.language]),
                write.value(value, ""),
                Cell(locale.section(write.language, "kinds")[value.kind]),
                Cell(say("; ").join(sources), cited=value.sources),
            ]
        )
    headers = [
        say("Quantity"),
        say("Value"),
        say("Kind"),
        say("Source"),
    ]
    caption = say("Assumptions and published figures the pages use.")
    return write.table(headers, rows, caption)


def _sources(write: Writer) -> RenderedTable:
    say = write.say
    rows = [
        [
            Cell(source.title, href=source.url),
            Cell(source.publisher),
            Cell(source.date),
            Cell(locale.section(write.language, "source_kinds")[source.kind]),
            Cell(locale.section(write.language, "seen")[source.seen]),
            Cell(source.supports[write.language]),
            _resting(write, source.id),
        ]
        for source in tables.sources().values()
    ]
    headers = [
        say("Title"),
        say("Publisher"),
        say("Date or version"),
        say("Type"),
        say("What was seen"),
        say("Used for"),
        say("Rests on it"),
    ]
    return write.table(headers, rows, say("Where the values come from."))


def _resting(write: Writer, source: str) -> Cell:
    """List what a source states: one line a device, link, cluster, model, operation or quantity."""
    values: dict[str, list[str]] = {}
    for fact, value in ((each.fact, each.value) for each in facts.resting_on(source)):
        what = fact.what[write.language] if fact.what else ""
        words = f"{what} {quantity(value, write.language)}".lstrip()
        values.setdefault(fact.name[write.language], []).append(words)
    count = sum(map(len, values.values()))
    if not count:
        return Cell("")
    between, colon = write.say("; "), write.say(": ")
    return Cell(
        write.say("Values that rest on it: {count}", count=count),
        items=tuple(f"{name}{colon}{between.join(words)}" for name, words in values.items()),
    )


def _glossary(write: Writer) -> RenderedTable:
    say = write.say
    rows = [
        [
            Cell(term.zh if write.language == "zh" else term.en),
            Cell(term.en if write.language == "zh" else term.zh),
            Cell(term.note[write.language]),
        ]
        for term in tables.glossary()
    ]
    headers = [say("Term"), say("Chinese"), say("Meaning")]
    return write.table(headers, rows, say("Glossary."))


TABLES: dict[str, Callable[..., RenderedTable]] = {
    "accelerators": _accelerators,
    "catalog": _catalog,
    "ridge": _ridge,
    "ridge-trend": _ridge_trend,
    "links": _links,
    "link-ratio": _link_ratio,
    "clusters": _clusters,
    "models": _models,
    "more-models": _more_models,
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
