"""What was found and measured, as lines for a person to read."""

# ruff: noqa: PLC0415

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from wallsite.cli.common import aligned

if TYPE_CHECKING:
    from wallsite.probes import Device, Machine, Measurement, Result
    from wallsite.probes.compare import Comparison
    from wallsite.probes.scaling import Estimate, Fit

_MODEL = 7e9  # parameters of the model that the last line decodes


# ---------------------------------------------------------------------------------- a machine


def facts(machine: Machine, devices: Sequence[Device], reason: str) -> Iterator[str]:
    """List the facts of a host and of its devices, each with how it was found.

    Args:
        machine: the host.
        devices: the CPU and the accelerators.
        reason: why there are no accelerators, or empty.
    """
    from wallsite.probes.plan import binary

    def size(value: int | None) -> str:
        return "not known" if value is None else binary(value)

    shown = {
        "cpu": machine.cpu,
        "architecture": machine.architecture,
        "system": machine.system,
        "cpus": f"{machine.cpus} that this process may use",
        "cores": str(machine.cores),
        "caches": ", ".join(
            f"L{cache.level} {cache.kind} {cache.instances} × {binary(cache.size)}"
            for cache in machine.caches
        ),
        "last_level_cache": size(machine.last_level_cache),
        "memory_total": size(machine.memory_total),
        "memory_available": size(machine.memory_available),
    }
    yield from aligned(
        [name.replace("_", " "), text, f"({machine.found[name]})"] for name, text in shown.items()
    )
    for device in devices:
        yield ""
        rows = [["device", str(device)], ["name", device.name]]
        rows += [["memory available", size(device.memory_available)]]
        rows += [["last-level cache", size(device.last_level_cache)]]
        if device.bandwidth_limit:
            limit = device.bandwidth_limit
            rows += [["memory bandwidth", f"{limit.rate / 1e9:,.0f} GB/s", f"({limit.source})"]]
        yield from aligned(rows)
    if reason:
        yield ""
        yield f"{'Not listed' if len(devices) > 1 else 'No accelerator'}: {reason}."


# ----------------------------------------------------------------------------------- a result


def lines(result: Result) -> Iterator[str]:
    """Tell what a run measured, and end with what has to be known of it."""
    from wallsite.probes.plan import binary

    host = result.machine
    cache = host.last_level_cache
    yield f"{host.cpu}, {_counted(host.cores, 'core')}, last-level cache " + (
        binary(cache) if cache else "not known"
    )
    threads = f", {_counted(result.threads, 'thread')}" if result.threads else ""
    yield (
        f"{result.device} ({result.device.name}) with {result.backend} "
        f"{result.backend_version}{threads}"
    )
    for table in (_memory, _caches, _matmuls, _operations, _links, _all_reduces):
        if rows := list(table(result)):
            yield ""
            yield from aligned(rows)
    for said in (_decode(result), _fit(result)):
        if said:
            yield ""
            yield said
    if notes := list(_notes(result)):
        yield ""
        yield from notes


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _giga(rate: float | None) -> str:
    return "" if rate is None else f"{rate / 1e9:8,.1f}"


def _memory(result: Result) -> Iterator[list[str]]:
    from wallsite.probes.plan import binary

    measured = result.select("memory")
    limit = next((x.limit for x in measured if x.limit), None)
    if measured:
        yield [
            *("GB/s", "", "arrays", "    best", "  median", "hardware, estimated"),
            *(["of the specified"] if limit else []),
        ]
    for x in sorted(measured, key=lambda x: -x.array_bytes):
        yield [
            *(x.kernel, x.formula, binary(x.array_bytes)),
            *(_giga(x.bandwidth), _giga(x.median_bandwidth), _giga(x.hardware_bandwidth)),
            *([f"{x.fraction_of_limit:.0%}"] if x.fraction_of_limit else []),
        ]


def _caches(result: Result) -> Iterator[list[str]]:
    from wallsite.probes.plan import binary

    if measured := result.select("cache"):
        yield [f"GB/s, {measured[0].formula}, by the size of the three arrays together"]
    for x in measured:
        yield [binary(3 * x.array_bytes).rjust(10), _giga(x.bandwidth)]


def _matmuls(result: Result) -> Iterator[list[str]]:
    from wallsite.probes.results import HEADLINES, UNSTABLE

    has_bandwidth = any(x.kernel in HEADLINES for x in result.select("memory"))
    unstable = ", unstable" if has_bandwidth and result.headline.status == UNSTABLE else ""
    for x in result.select("matmul"):
        yield [
            *("matmul", x.dtype, f"{x.shape[0]} × {x.shape[0]}"),
            f"{x.performance / 1e12:.3f} TFLOP/s",
            f"ridge point {x.performance / result.headline.bandwidth:.1f} FLOP/byte{unstable}"
            if has_bandwidth
            else "",
        ]


def _operations(result: Result) -> Iterator[list[str]]:
    if measured := result.select("operations"):
        yield ["operation", "", "shape", "FLOP/byte", "    GB/s", " GFLOP/s"]
    for x in measured:
        yield [
            *(x.kernel, x.dtype, " × ".join(map(str, x.shape)), f"{x.intensity:9.2f}"),
            *(_giga(x.bandwidth), _giga(x.performance)),
        ]


def _links(result: Result) -> Iterator[list[str]]:
    if measured := result.select("link"):
        yield ["GB/s, payload per direction", "    best", "  median"]
    for x in measured:
        yield [x.kernel, _giga(x.bandwidth), _giga(x.median_bandwidth)]


def _all_reduces(result: Result) -> Iterator[list[str]]:
    from wallsite import collectives
    from wallsite.probes.plan import binary

    measured = result.select("allreduce")
    if measured:
        yield [measured[0].formula, "buffer", "        µs", "algbw GB/s", "busbw GB/s"]
    for x in measured:
        micro = f"{x.seconds.median * 1e6:10,.1f}"
        algbw = collectives.algbw(x.array_bytes, x.seconds.median)
        rates = (f"{_three(rate / 1e9):>10}" for rate in (algbw, x.median_bandwidth))
        yield [x.kernel, binary(x.array_bytes), micro, *rates]


def _fit(result: Result) -> str:
    """Say which latency and bandwidth the all-reduces of a result show, if they show any."""
    from wallsite.probes import NotMeasured, scaling

    try:
        return _fitted(scaling.fit(result))
    except NotMeasured:
        return ""


def _fitted(fitted: Fit) -> str:
    said = (
        f"Fitted: latency {_bounded(fitted.latency, 1e-6, 'µs')}, bandwidth "
        f"{_bounded(fitted.bandwidth, 1e9, 'GB/s')} per direction; the model is off by "
        f"{fitted.error:.0%} (median over the sizes)."
    )
    if fitted.unstable:
        said += (
            f" {fitted.unstable} of {fitted.sizes} sizes were unstable: the bounds do not tell all "
            "that another run may give."
        )
    return said


def _bounded(estimate: Estimate, scale: float, unit: str) -> str:
    value, low, high = (_three(x / scale) for x in (estimate.value, estimate.low, estimate.high))
    return f"{value} {unit} ({low}–{high})"


def _three(number: float) -> str:
    """Write a number to three digits, without an exponent."""
    rounded = float(f"{number:.2e}")  # 0.9996 is 1.00
    decimals = 2 - math.floor(math.log10(rounded)) if rounded > 0 else 0
    return f"{number:,.{max(0, decimals)}f}"


def scaling(fitted: Fit, compute: float, size: float) -> Iterator[str]:
    """Tell how a step would scale, and with which uncertainty."""
    from wallsite.probes.scaling import predict, ranks_to_show, turning_point

    turning = turning_point(fitted, compute, size)
    yield _fitted(fitted)
    yield ""
    rows = [["    ranks", "step s", "low", "high", "efficiency"]]
    for step in predict(fitted, compute, size, ranks_to_show(turning.value)):
        times = (step.seconds.value, step.seconds.low, step.seconds.high)
        rows.append(
            [
                f"{step.ranks:9,}",
                *(f"{seconds:.4g}" for seconds in times),
                f"{step.efficiency.value:.1%}",
            ]
        )
    yield from aligned(rows)
    yield ""
    bounds = f"({turning.low:,.0f}–{turning.high:,.0f})"
    if turning.value == math.inf:
        yield "Without latency each added rank still helps: the step has no shortest N*."
    elif turning.value == 1:
        yield f"The step is shortest on one rank {bounds}: a second one costs more than it saves."
    else:
        yield (
            f"The step is shortest on N* = {turning.value:,.0f} ranks {bounds}; from there on each "
            "rank slows it down."
        )


def _decode(result: Result) -> str:
    """Say at which wall a model would decode here, if both walls were measured."""
    from wallsite import roofline, workload
    from wallsite.probes import NotMeasured
    from wallsite.probes.kernels import READ

    try:
        headline = result.headline
        peak = max(result.matmul(dtype).performance for dtype in result.matmul_dtypes or ["fp32"])
    except NotMeasured:
        return ""
    # Decode reads its weights and writes next to nothing, as a sum does.
    reading = [x for x in result.select("memory", READ.name) if x.samples]
    source = reading[0] if reading else headline
    work, bandwidth = workload.decode(_MODEL), source.bandwidth
    wall = roofline.bound(work.intensity, peak, bandwidth)
    floor = roofline.time_floor(work.flops, work.traffic, peak, bandwidth)
    limit = f"bandwidth of {source.kernel}" if wall == "memory" else "peak of a matrix product"
    return (
        f"Decoding a 7B model in bf16 for one sequence does {work.intensity:.0f} FLOP/byte: "
        f"{wall}-bound, about {floor * 1e3:,.0f} ms a token at the {limit}."
    )


_BUSY = 0.25  # of the CPUs, by the load average before the start


def _notes(result: Result) -> Iterator[str]:
    if result.device.note:
        yield f"Note: {result.device.note}."
    from wallsite.probes.compare import CROWDED

    load, quota = result.environment.load_average, result.environment.cpu_quota
    switches = result.environment.switches
    if switches is not None and switches > CROWDED:
        yield (
            f"Note: others took the CPUs {switches:.0f} times for each second of CPU time, where a "
            f"quiet machine has fewer than {CROWDED:.0f}: the rates are too low."
        )
    if load is not None and load > _BUSY * result.machine.cpus:
        yield (
            f"Note: the load average was {load:.1f} on {_counted(result.machine.cpus, 'CPU')} "
            "before the start: other work may have slowed every number here."
        )
    if quota is not None and quota < result.machine.cpus:
        yield (
            f"Note: a control group grants {quota:g} CPUs' worth of time of the "
            f"{result.machine.cpus} that are visible: rates are those of the quota."
        )
    warnings: dict[str, list[Measurement]] = {}
    for x in result.measurements:
        for warning in x.warnings:
            warnings.setdefault(warning, []).append(x)
        if x.reason:
            yield f"{x.status.capitalize()}: {x}: {x.reason}."
    for warning, where in warnings.items():
        names = dict.fromkeys(x.kernel for x in where)
        yield f"Note: {', '.join(names)}: {warning}."


# --------------------------------------------------------------------------------- two results


def changes(name_before: str, name_after: str, found: Comparison) -> Iterator[str]:
    """Tell what changed between two runs, and what else did."""
    from wallsite.probes.compare import BUSY, FASTER, SLOWER

    yield from aligned(
        [letter, name, result.started[:16].replace("T", " "), str(result.device), result.backend]
        for letter, name, result in (
            ("A", name_before, found.before),
            ("B", name_after, found.after),
        )
    )
    if found.differences:
        yield ""
        yield from aligned([["not alike", "A", "B"], *map(list, found.differences)])
    if found.changes:
        yield ""
        yield from aligned([["median", "", "A", "B", "B ÷ A", ""], *map(list, _change_rows(found))])
    yield from _one_sided("A", found.missing)
    yield from _one_sided("B", found.added)
    beyond = sum(change.verdict in {FASTER, SLOWER} for change in found.changes)
    yield ""
    if any(change.verdict == BUSY for change in found.changes):
        yield (
            "The machine was busy in at least one run (others took its CPUs again and again): "
            "nothing can be told."
        )
    else:
        yield f"{beyond} of {len(found.changes)} changed beyond noise."


def _change_rows(found: Comparison) -> Iterator[Sequence[str]]:
    for change in found.changes:
        unit = "GFLOP/s" if change.before.computes else "GB/s"
        same_shape = change.before.shape == change.after.shape
        shapes = dict.fromkeys("×".join(map(str, x.shape)) for x in (change.before, change.after))
        yield (
            " ".join(
                dict.fromkeys([change.before.probe, change.before.kernel, change.before.dtype])
            ),
            " → ".join(shapes),
            *(f"{_giga(x.rate(x.seconds.median))} {unit}" for x in (change.before, change.after)),
            f"{change.ratio:5.2f}",
            change.verdict + ("" if same_shape else ", other shape"),
        )


def _one_sided(letter: str, measured: Iterable[Measurement]) -> Iterator[str]:
    if names := [f"{x.probe} {x}".replace("matmul matmul", "matmul") for x in measured]:
        yield ""
        yield f"only in {letter}: {', '.join(names)}"
