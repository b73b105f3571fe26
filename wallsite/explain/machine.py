"""The machine that a number was measured on: from the catalog, or described by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wallsite import tables
from wallsite._checks import count as whole
from wallsite._checks import positive, rate, shown
from wallsite.explain import text
from wallsite.explain.text import phrase
from wallsite.locale import languages, section
from wallsite.quantity import memory as read_memory
from wallsite.tables import Accelerator, Value
from wallsite.tables.schema import DEVICE_KINDS, Text

_CHANNEL_BYTES = 8.0  # a DDR channel is 64 bits wide


@dataclass(frozen=True)
class Machine:
    """One or several devices of a kind.

    Attributes:
        name: of the device.
        kind: one of `DEVICE_KINDS`: what causes are likely depends on it.
        count: devices that share the work.
        bandwidth: of the memory of one, byte/s; None if unknown.
        peak: dense peak of one for `dtype`, FLOP/s; None if unknown.
        dtype: the type the peak is for.
        capacity: bytes of memory of one, counted in GiB where drivers do; None if unknown.
        device: the entry of the catalog, if it is one.
        lines: where the numbers come from, for people.
        warnings: what does not fit together.
        sources: ids of the documents they rest on.
    """

    name: str
    kind: str = "gpu"
    count: int = 1
    bandwidth: float | None = None
    peak: float | None = None
    dtype: str = ""
    capacity: float | None = None
    device: Accelerator | None = None
    lines: tuple[Text, ...] = ()
    warnings: tuple[Text, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def all_bandwidth(self) -> float | None:
        """Bandwidth of all devices together, byte/s."""
        return self.bandwidth and self.bandwidth * self.count

    @property
    def all_peak(self) -> float | None:
        """Peak of all devices together, FLOP/s."""
        return self.peak and self.peak * self.count


def machine(
    device: str | None = None,
    *,
    count: int = 1,
    kind: str | None = None,
    bandwidth: float | None = None,
    peak: float | None = None,
    dtype: str | None = None,
    memory: str | None = None,
    sockets: int = 1,
    capacity: float | None = None,
    clock: float | None = None,
) -> Machine:
    """Describe a machine; what is given by hand goes before what the catalog says.

    Args:
        device: a name of the catalog.
        count: devices that share the work.
        kind: gpu, cpu, npu or unified, for a device that is not in the catalog; cpu for one whose
            CPU cores alone did the work though they share its memory with a GPU.
        bandwidth: of the memory of one device, byte/s.
        peak: dense peak of one, FLOP/s.
        dtype: data type of the peak; that of 16 bits if not given.
        memory: channels, type and rate of one socket: ``"12xDDR5-4800"``.
        sockets: processors in the machine; with `memory`, their bandwidths add up.
        capacity: bytes of memory of one device.
        clock: measured, Hz; the peak is then taken at this clock, where the catalog knows its own.

    Raises:
        UnknownName: no such device, or none such type.
        ValueError: a number is out of range.
    """
    count, sockets = whole("count", count), whole("sockets", sockets)
    if kind is not None and kind not in DEVICE_KINDS:
        raise ValueError(f"kind must be one of {', '.join(DEVICE_KINDS)}, got {shown(kind)}")
    found = _from_catalog(device, dtype) if device else Machine("your machine")
    found = replace(
        found, count=count, kind=kind or ("cpu" if memory and not device else found.kind)
    )
    if found.device and found.device.kind == "unified" and kind == "cpu":
        found = _cpu_alone(found)
    if memory:
        found = _with_channels(found, memory, sockets)
    elif sockets > 1 and found.bandwidth and found.kind == "cpu":
        line = phrase(
            "{sockets} sockets × {one} = {all}",
            sockets=sockets,
            one=text.rate(found.bandwidth),
            all=text.rate(found.bandwidth * sockets),
        )
        found = replace(found, bandwidth=found.bandwidth * sockets, lines=(*found.lines, line))
    if bandwidth is not None:
        line = phrase(
            "memory bandwidth {rate}, as given", rate=text.rate(rate("bandwidth", bandwidth))
        )
        found = replace(found, bandwidth=bandwidth, lines=(*found.lines, line))
    if peak is not None:
        line = phrase("peak {rate}, as given", rate=text.prefixed(rate("peak", peak), "FLOP/s"))
        found = replace(found, peak=peak, dtype=dtype or "", lines=(*found.lines, line))
    if capacity is not None:
        found = replace(found, capacity=positive("capacity", capacity))
    return _at_clock(found, clock) if clock is not None else found


def _from_catalog(name: str, dtype: str | None) -> Machine:
    device = tables.accelerator(name)
    kind_of_peak = dtype or device.sixteen_bit or next(iter(device.dtypes), "")
    peak = device.peak(kind_of_peak) if kind_of_peak else None
    values = [value for value in (device.bandwidth, peak) if value]
    lines = []
    if device.bandwidth:
        lines.append(_stated("{name}: memory bandwidth {value}, {kind}", device, device.bandwidth))
    if peak:
        template = "{name}: dense {dtype} peak {value}, {kind}"
        lines.append(_stated(template, device, peak, dtype=kind_of_peak))
    capacity = device.capacity
    return Machine(
        device.name,
        device.kind,
        bandwidth=device.bandwidth.si if device.bandwidth else None,
        peak=peak.si if peak else None,
        dtype=kind_of_peak,
        capacity=_reported(capacity) if capacity else None,
        device=device,
        lines=tuple(lines),
        sources=tuple(dict.fromkeys(source for value in values for source in value.sources)),
    )


def _reported(capacity: Value) -> float:
    """Bytes behind a label: memory chips come in powers of two, which a label calls GB."""
    return capacity.value * 2**30 if capacity.unit == "GB" else capacity.si


def _stated(template: str, device: Accelerator, value: Value, **more: object) -> Text:
    rivals = "".join(f" / {rival.value:g} {rival.unit}" for rival in value.alternatives)
    kind = {language: section(language, "kinds")[value.kind] for language in languages()}
    shown = f"{value.value:g} {value.unit}{rivals}"
    return phrase(template, name=device.name, value=shown, kind=kind, **more)


def _cpu_alone(found: Machine) -> Machine:
    """The ceiling of the CPU cores where they share the memory with a GPU, if it is known."""
    alone = found.device.fields.get("cpu_bandwidth") if found.device else None
    if alone is None:
        return found
    line = phrase(
        "on the CPU cores alone: {rate}; the GPU reaches {whole}",
        rate=text.rate(alone.si),
        whole=text.rate(found.bandwidth or 0.0),
    )
    sources = (*found.sources, *alone.sources)
    return replace(found, bandwidth=alone.si, lines=(*found.lines, line), sources=sources)


def _with_channels(found: Machine, written: str, sockets: int) -> Machine:
    """Take the bandwidth from memory channels, at most as many and as fast as the device has."""
    channels, kind, transfers = read_memory(written)
    warnings = found.warnings
    if found.device and "channels" in found.device.fields:
        most, fastest = (found.device.fields[name] for name in ("channels", "transfer_rate"))
        if channels > most.si or transfers > fastest.si:
            channels, transfers = min(channels, int(most.si)), min(transfers, fastest.si)
            warning = phrase(
                "{name} has {most} memory channels at up to {fastest} MT/s: modules are not "
                "channels. No more than that was taken",
                name=found.name,
                most=f"{most.value:g}",
                fastest=f"{fastest.si / 1e6:g}",
            )
            warnings = (*warnings, warning)
    bandwidth = channels * transfers * _CHANNEL_BYTES * sockets
    line = phrase(
        "{sockets} × {channels} channels × {rate} GT/s × 8 B = {bandwidth}",
        sockets=sockets,
        channels=channels,
        rate=f"{transfers / 1e9:g}",
        bandwidth=text.rate(bandwidth),
    )
    return replace(
        found,
        name=found.name if found.device else f"{sockets} × {channels} × {kind}",
        bandwidth=bandwidth,
        lines=(*found.lines, line),
        warnings=warnings,
    )


def _at_clock(found: Machine, clock: float) -> Machine:
    """Take the peak at a measured clock, where the catalog says which clock its peak is for."""
    sheet = found.device.fields.get("clock") if found.device else None
    positive("clock", clock)
    if sheet is None or found.peak is None:
        warning = phrase("the clock behind the peak is not known: the peak is left as it is")
        return replace(found, warnings=(*found.warnings, warning))
    peak = found.peak * clock / sheet.si
    line = phrase(
        "at {clock} instead of {sheet}: {peak}",
        clock=f"{clock / 1e6:g} MHz",
        sheet=f"{sheet.si / 1e6:g} MHz",
        peak=text.prefixed(peak, "FLOP/s"),
    )
    return replace(found, peak=peak, lines=(*found.lines, line))
