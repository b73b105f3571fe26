"""Tools that look at GPUs: nvidia-smi topo, dcgmi, Prometheus, Nsight Compute."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable

from wallsite.readers.lines import european, localised, number
from wallsite.readers.records import CounterRow, KernelRow, PairRow, ReadError, Report, Row, report

_MOST = 1.02  # of a share; what a counter may round up to
_PATHS = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|N/A|C2C|XGMI|PCIE", re.I)
_ENTITY = re.compile(r"(?:GPU|NIC|mlx\w*|bond\w*|ib\w*|rocep\w*)\d+(?:_\d+)?", re.I)
# Field ids, short names of dcgmi, and what is left of the long names without their prefix.
_FIELDS = {
    "gr_engine_active": ("1001", "GRACT", "GR_ENGINE_ACTIVE"),
    "sm_active": ("1002", "SMACT", "SM_ACTIVE"),
    "sm_occupancy": ("1003", "SMOCC", "SM_OCCUPANCY"),
    "tensor_active": ("1004", "TENSO", "PIPE_TENSOR_ACTIVE"),
    "dram_active": ("1005", "DRAMA", "DRAM_ACTIVE", "DRAM_UTIL_RATIO"),
    "fp64_active": ("1006", "FP64A", "PIPE_FP64_ACTIVE"),
    "fp32_active": ("1007", "FP32A", "PIPE_FP32_ACTIVE"),
    "fp16_active": ("1008", "FP16A", "PIPE_FP16_ACTIVE"),
}
_BY_NAME = {name: field for field, names in _FIELDS.items() for name in names}
_BY_NAME |= {"GPU_UTIL": "gpu_utilization", "MEM_COPY_UTIL": "memory_utilization"}
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_SECONDS = {
    "s": 1.0,
    "second": 1.0,
    "ms": 1e-3,
    "msecond": 1e-3,
    "us": 1e-6,
    "usecond": 1e-6,
    "ns": 1e-9,
    "nsecond": 1e-9,
    "nsecs": 1e-9,
    "usecs": 1e-6,
    "msecs": 1e-3,
}


def is_topology(text: str) -> bool:
    """Tell whether this is the matrix of nvidia-smi topo -m."""
    return bool(re.search(r"^\W*GPU0\s+.*\bX\b", text, re.M)) and "GPU" in text


def read_topology(text: str) -> Report:
    """Read the matrix of ``nvidia-smi topo -m``: tabs or spaces, NICs under any name.

    Raises:
        ReadError: there is no matrix, or it is not symmetric.
    """
    titles: list[str] = []
    cells: dict[tuple[str, str], str] = {}
    refused: list[str] = []
    for at, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        named = [word for word in words if _ENTITY.fullmatch(word)]
        if not titles:
            if named[:1] == ["GPU0"] and words[0] == "GPU0" and "X" not in words:
                titles = list(dict.fromkeys(named))
            continue
        if words[0] not in titles:
            if words[0].startswith(("NIC", "Legend")) and ":" in line:
                break
            continue
        paths = words[1 : len(titles) + 1]
        if len(paths) != len(titles) or not all(_PATHS.fullmatch(path) for path in paths):
            refused.append(f"line {at}: the row of {words[0]} is cut off")
            continue
        cells |= {(words[0], title): path for title, path in zip(titles, paths, strict=True)}
    for (first, second), path in cells.items():
        if cells.get((second, first), path) != path:
            raise ReadError(
                f"nvidia-smi topo: {first} to {second} is {path}, back it is {cells[second, first]}"
            )
        if (first == second) != (path == "X"):
            raise ReadError(
                f"nvidia-smi topo: {first} to {second} is {path}: the columns are shifted"
            )
    rows: list[Row] = [
        PairRow(first, second, path)
        for (first, second), path in cells.items()
        if first.upper().startswith("GPU") and titles.index(first) < titles.index(second)
    ]
    return report("nvidia-smi topo", rows, refused, "a header GPU0 GPU1 …, and a row for each")


def is_dcgmi(text: str) -> bool:
    """Tell whether this is dcgmi dmon."""
    return bool(re.search(r"^\W*#\s*Entity\b", text, re.M))


def read_dcgmi(text: str) -> Report:
    """Read ``dcgmi dmon``, averaged by device; the header repeats.

    Raises:
        ReadError: no sample is complete.
    """
    titles: list[str | None] = []
    samples: dict[str, list[dict[str, float]]] = defaultdict(list)
    refused: list[str] = []
    for at, line in enumerate(text.splitlines(), 1):
        header = re.match(r"^\W*#\s*Entity\s+(.*)$", line)
        if header:
            titles = [_field(name) for name in header[1].split()]
            continue
        row = re.match(r"^\s*((?:GPU|GPU-I|GPU-CI|MIG)\s*\S*\d)\s+(.*)$", line)
        if not row or not titles:
            continue
        values = row[2].split()
        if len(values) != len(titles):
            refused.append(f"line {at}: {len(values)} values under {len(titles)} titles")
            continue
        try:
            sample = {
                title: number(value)
                for title, value in zip(titles, values, strict=True)
                if title and value != "N/A"
            }
        except ValueError as error:
            refused.append(f"line {at}: {error}")
            continue
        if above := [name for name, value in sample.items() if value > _MOST]:
            refused.append(
                f"line {at}: {above[0]} {sample[above[0]]:g} is no share: an instance of MIG?"
            )
        elif sample:
            samples[row[1]].append(sample)
    return report(
        "dcgmi dmon",
        _averaged(samples),
        refused,
        "#Entity with SMACT, TENSO or DRAMA, and rows of GPUs",
    )


def is_prometheus(text: str) -> bool:
    """Tell whether this is DCGM's metrics as Prometheus reads them."""
    return "DCGM_FI_" in text and not is_dcgmi(text)


def read_prometheus(text: str) -> Report:
    """Read metrics of the DCGM exporter.

    Raises:
        ReadError: it is no such text, or holds none of the known metrics.
    """
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    samples: dict[str, list[dict[str, float]]] = defaultdict(list)
    refused: list[str] = []
    for at, line in enumerate(text.splitlines(), 1):
        if "DCGM_FI_" not in line or line.lstrip().startswith("#"):
            continue
        metric = line[line.index("DCGM_FI_") :].strip()
        try:
            found = [
                sample
                for family in text_string_to_metric_families(metric + "\n")
                for sample in family.samples
            ]
        except (ValueError, KeyError, IndexError):
            refused.append(f"line {at}: it is cut off")
            continue
        for sample in found:
            title = _field(sample.name)
            if title is None:
                continue
            value = sample.value / 100 if title.endswith("utilization") else sample.value
            if not 0 <= value <= _MOST:
                refused.append(f"line {at}: {title} {value:g} is no share: an instance of MIG?")
                continue
            entity = sample.labels.get("gpu", "?")
            instance = sample.labels.get("GPU_I_ID", "")
            samples[f"GPU {entity}{'/' + instance if instance else ''}"].append({title: value})
    return report(
        "DCGM exporter",
        _averaged(samples),
        refused,
        'DCGM_FI_PROF_DRAM_ACTIVE{gpu="0"} and the like',
    )


def _field(name: str) -> str | None:
    short = re.sub(r"^DCGM_FI_(?:PROF|DEV)_", "", name.strip())
    return _BY_NAME.get(short) or _BY_NAME.get(short[:5])


def _averaged(samples: dict[str, list[dict[str, float]]]) -> list[Row]:
    rows: list[Row] = []
    for entity, listed in samples.items():
        names = dict.fromkeys(name for sample in listed for name in sample)
        values = {name: [sample[name] for sample in listed if name in sample] for name in names}
        means = {name: sum(each) / len(each) for name, each in values.items()}
        rows.append(CounterRow(entity, means, max(map(len, values.values()))))
    return rows


def is_ncu(text: str) -> bool:
    """Tell whether this is CSV of Nsight Compute."""
    return '"Kernel Name"' in text or "Kernel Name," in text or ",Kernel Name" in text


def read_ncu(text: str) -> Report:
    """Read CSV of Nsight Compute, one metric a row or one kernel a row, of any locale.

    Bytes are those of DRAM. FLOPs are those that its counters name: additions, multiplications and
    fused ones of the SASS counters, and operations of the tensor counters.

    Raises:
        ReadError: there is no header, or no kernel has a time or counts.
    """
    start = next((at for at, line in enumerate(text.splitlines()) if "Kernel Name" in line), None)
    assert start is not None
    body = [line for line in text.splitlines()[start:] if not line.startswith("==")]
    listed = list(csv.reader(body))
    titles, lines = listed[0], listed[1:]
    if "Kernel Name" not in titles:
        raise ReadError(f"Nsight Compute: expected a header with Kernel Name, got {body[0][:60]!r}")
    comma = european(cell for line in lines for cell in line[6:])
    refused: list[str] = []
    found = (
        _long(titles, lines, comma, refused)
        if "Metric Name" in titles
        else _wide(titles, lines, comma, refused)
    )
    rows: list[Row] = []
    for (_, name), metrics in found.items():
        flops, traffic = _flops(metrics), _traffic(metrics)
        seconds = metrics.get("gpu__time_duration.sum", metrics.get("Duration"))
        if (flops is None and traffic is None) or seconds == 0:
            continue
        rows.append(KernelRow(name[:100], flops, traffic, seconds))
    return report(
        "Nsight Compute",
        rows,
        refused,
        "kernels with dram__bytes.sum, gpu__time_duration.sum or FLOP counters",
    )


_Metrics = dict[tuple[str, str], dict[str, float]]


def _long(
    titles: list[str], lines: Iterable[list[str]], comma: bool, refused: list[str]
) -> _Metrics:
    places = {title: place for place, title in enumerate(titles)}
    if not {"Metric Name", "Metric Unit", "Metric Value"} <= places.keys():
        raise ReadError(
            "Nsight Compute: expected columns Metric Name, Metric Unit and Metric Value"
        )
    found: _Metrics = defaultdict(dict)
    for at, line in enumerate(lines, 2):
        if len(line) != len(titles):
            refused.append(f"row {at}: {len(line)} cells under {len(titles)} titles")
            continue
        key = line[places.get("ID", 0)], line[places["Kernel Name"]]
        _put(
            found[key],
            line[places["Metric Name"]],
            line[places["Metric Unit"]],
            line[places["Metric Value"]],
            comma,
            refused,
            at,
        )
    return found


def _wide(titles: list[str], lines: list[list[str]], comma: bool, refused: list[str]) -> _Metrics:
    if not lines:
        raise ReadError("Nsight Compute: expected a row of units and rows of kernels")
    units, found = lines[0], _Metrics()
    if len(units) != len(titles):
        raise ReadError(f"Nsight Compute: {len(units)} units under {len(titles)} titles")
    place = titles.index("Kernel Name")
    for at, line in enumerate(lines[1:], 3):
        if len(line) != len(titles):
            refused.append(f"row {at}: {len(line)} cells under {len(titles)} titles")
            continue
        metrics = found.setdefault((line[0], line[place]), {})
        for title, unit, cell in zip(titles, units, line, strict=True):
            if "__" in title:
                _put(metrics, title, unit, cell, comma, refused, at)
    return found


def _put(
    metrics: dict[str, float],
    name: str,
    unit: str,
    cell: str,
    comma: bool,
    refused: list[str],
    at: int,
) -> None:
    if "__" not in name and name != "Duration":
        return
    try:
        metrics[name] = localised(cell, comma) * _unit(unit)
    except ValueError as error:
        refused.append(f"row {at}: {name[:60]}: {error}")


def _unit(unit: str) -> float:
    """Size of a unit of Nsight Compute, such as Mbyte or usecond; any other counts 1."""
    name = unit.strip().casefold().replace("/s", "").replace("/second", "")
    if name in _SECONDS:
        return _SECONDS[name]
    if name.endswith("byte"):
        prefix = name.removesuffix("byte")
        if prefix not in _PREFIXES:
            raise ValueError(f"unknown unit {unit[:20]!r}")
        return _PREFIXES[prefix]
    return 1.0


def _traffic(metrics: dict[str, float]) -> float | None:
    if "dram__bytes.sum" in metrics:
        return metrics["dram__bytes.sum"]
    halves = [metrics.get(f"dram__bytes_{way}.sum") for way in ("read", "write")]
    return sum(half or 0.0 for half in halves) if any(half is not None for half in halves) else None


def _flops(metrics: dict[str, float]) -> float | None:
    total, known = 0.0, False
    for name, value in metrics.items():
        simple = re.search(r"sass_thread_inst_executed_op_[dfh](add|mul|fma)_pred_on\.sum$", name)
        if simple:
            total, known = total + value * (2 if simple[1] == "fma" else 1), True
        elif re.search(r"sm__ops_path_tensor\w*\.sum$", name):
            total, known = total + value, True
    return total if known else None
