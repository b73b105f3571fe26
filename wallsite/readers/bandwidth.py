"""Bandwidth tools: STREAM, BabelStream, nvbandwidth, ib_write_bw."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from typing import Any

from wallsite.readers.lines import near, number
from wallsite.readers.records import LinkRow, RateRow, ReadError, Report, Row, report

_STREAM = re.compile(
    r"\b(Copy|Scale|Add|Triad):\s+(\d+(?:\.\d+)?)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$"
)
_STREAM_START = re.compile(r"\b(Copy|Scale|Add|Triad):")
# Bytes an iteration touches as STREAM counts them, in elements, and with write-allocate.
_COUNTED = {"Copy": 2, "Scale": 2, "Mul": 2, "Add": 3, "Triad": 3, "Dot": 2}
_BABEL = re.compile(
    r"^\s*(Copy|Mul|Add|Triad|Dot|Nstream)\s+(\d+(?:\.\d+)?)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$"
)
_BABEL_START = re.compile(r"^\s*(Copy|Mul|Add|Triad|Dot|Nstream)\s")
_PERFTEST = re.compile(r"^\s*(\d+)\s+(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$")
_PERFTEST_START = re.compile(r"^\s*\d+\s+\d+\s+\d")
_DEVICE_COPY = "device_local_copy"


def is_stream(text: str) -> bool:
    """Tell whether this is STREAM."""
    return "Best Rate MB/s" in text


def read_stream(text: str) -> Report:
    """Read STREAM; its MB are 1e6 bytes.

    Raises:
        ReadError: no row is complete and consistent.
    """
    elements = re.search(r"Array size = (\d+)", text)
    width = re.search(r"uses (\d+) bytes per", text)
    threads = re.search(r"Number of Threads (?:requested|counted) = (\d+)", text)
    size = float(elements[1]) * float(width[1] if width else 8) if elements else None
    rows: list[Row] = []
    refused: list[str] = []
    for at, line in enumerate(text.splitlines(), 1):
        parts = _STREAM.search(line)
        if not parts:
            if _STREAM_START.search(line):
                refused.append(f"line {at}: a row that is cut off")
            continue
        value = float(parts[2]) * 1e6
        average, least, most = (float(parts[i]) for i in (3, 4, 5))
        if not least <= average <= most or not value:
            refused.append(f"line {at}: its times are not in order, or its rate is 0")
            continue
        moved = _COUNTED[parts[1]]
        if size and least > 1e-4 and not near(value, moved * size / least, 0.02):
            refused.append(f"line {at}: the rate is not {moved} arrays ÷ the least time")
            continue
        rows.append(RateRow(f"STREAM {parts[1]}", value, 1.0, int(threads[1]) if threads else None))
    return report("STREAM", rows, refused, "Triad: rate in MB/s, average, least and most time")


def is_babelstream(text: str) -> bool:
    """Tell whether this is BabelStream, as a table or as CSV."""
    return (
        "MBytes/sec" in text
        or "MiBytes/sec" in text
        or "max_mbytes_per_sec" in text
        or "max_mibytes_per_sec" in text
    )


def read_babelstream(text: str) -> Report:
    """Read BabelStream; Dot only reads.

    Raises:
        ReadError: no row is complete.
    """
    scale = 2.0**20 if "MiBytes/sec" in text or "max_mibytes_per_sec" in text else 1e6
    found = re.search(r"Using (?:OpenCL|CUDA|HIP|SYCL)? ?device:? ?(.+)", text)
    device = found[1].strip() if found else None
    rows: list[Row] = []
    refused: list[str] = []
    if "bytes_per_sec" in text:
        start = text.index("function")
        start = text.rfind("\n", 0, start) + 1
        for at, entry in enumerate(csv.DictReader(io.StringIO(text[start:])), 1):
            rate = entry.get("max_mbytes_per_sec") or entry.get("max_mibytes_per_sec") or ""
            try:
                rows.append(
                    RateRow(f"BabelStream {entry['function']}", number(rate) * scale, device=device)
                )
            except (KeyError, ValueError):
                refused.append(f"row {at}: a row that is cut off")
    else:
        for at, line in enumerate(text.splitlines(), 1):
            parts = _BABEL.match(line)
            if (
                parts
                and 0 < float(parts[3]) <= float(parts[5]) <= float(parts[4])
                and float(parts[2])
            ):
                rows.append(
                    RateRow(f"BabelStream {parts[1]}", float(parts[2]) * scale, device=device)
                )
            elif _BABEL_START.match(line):
                refused.append(f"line {at}: a row that is cut off, or whose times are not in order")
    return report(
        "BabelStream", rows, refused, "Triad, rate in MBytes/sec, least, most and average time"
    )


def is_nvbandwidth_json(data: Any) -> bool:
    """Tell whether this is the JSON of nvbandwidth."""
    return isinstance(data, dict) and "nvbandwidth" in data


def read_nvbandwidth_json(data: Mapping[str, Any]) -> Report:
    """Read the JSON of nvbandwidth: matrices whose numbers are strings.

    Raises:
        ReadError: no test ran.
    """
    body = data["nvbandwidth"]
    tests = body.get("testcases") if isinstance(body, dict) else None
    if not isinstance(tests, list):
        raise ReadError("nvbandwidth: expected a list of testcases")
    devices = body.get("GPU Device list")
    device = _card(devices[0]) if isinstance(devices, list) and devices else None
    rows: list[Row] = []
    refused: list[str] = []
    for test in tests:
        name = str(test.get("name", "?"))[:80] if isinstance(test, dict) else "?"
        matrix = test.get("bandwidth_matrix") if isinstance(test, dict) else None
        if not isinstance(matrix, list):
            status = test.get("status", "no matrix") if isinstance(test, dict) else "no test"
            refused.append(f"{name}: {str(status)[:40]}")
            continue
        _matrix(
            name,
            [list(map(str, line)) for line in matrix if isinstance(line, list)],
            device,
            rows,
            refused,
        )
    return report("nvbandwidth", rows, refused, "testcases with a bandwidth_matrix")


def is_nvbandwidth_text(text: str) -> bool:
    """Tell whether this is the text of nvbandwidth."""
    return "nvbandwidth" in text or bool(re.search(r"^Running \w+_(?:ce|sm|latency)\b", text, re.M))


def read_nvbandwidth_text(text: str) -> Report:
    """Read the text of nvbandwidth.

    Raises:
        ReadError: no test ran.
    """
    rows: list[Row] = []
    refused: list[str] = []
    found = re.search(r"^Device 0: (.+?)(?: \(|$)", text, re.M)
    device = found[1] if found else None
    for block in re.split(r"^Running ", text, flags=re.M)[1:]:
        name = block.split(None, 1)[0].rstrip(".") if block.split() else "?"
        lines = [line.split() for line in block.splitlines()[1:]]
        matrix: list[list[str]] = []
        width: int | None = None
        for words in lines:
            if words and width is None and all(word.isdigit() for word in words):
                width = len(words)
            elif width is not None and words and words[0].isdigit():
                if len(words) != width + 1:
                    refused.append(f"{name}: a row that is cut off")
                    matrix = []
                    break
                matrix.append(words[1:])
            elif width is not None and words:
                break
        if matrix:
            _matrix(name, matrix, device, rows, refused)
        elif not refused or not refused[-1].startswith(name):
            refused.append(f"{name}: waived, or cut off")
    return report("nvbandwidth", rows, refused, "a test with its matrix of GB/s")


def _matrix(
    name: str, matrix: list[list[str]], device: str | None, rows: list[Row], refused: list[str]
) -> None:
    """Take the least entry of a matrix: its sum, which nvbandwidth prints, is of nothing."""
    try:
        values = [number(text) for line in matrix for text in line if text.strip() != "N/A"]
    except ValueError as error:
        refused.append(f"{name}: {error}")
        return
    values = [value for value in values if value]
    if "latency" in name or not values:
        refused.append(f"{name}: no bandwidth")
        return
    worst = min(values) * 1e9
    if name.startswith(_DEVICE_COPY):
        rows.append(RateRow(f"nvbandwidth {name}", worst, 2.0, device=device))
    else:
        rows.append(LinkRow(f"nvbandwidth {name}", worst, between=_ends(name)))


def _ends(name: str) -> str:
    return "device-device" if "device_to_device" in name else "host-device"


def _card(text: Any) -> str:
    return re.sub(r"^\d+:\s*|\s*\(.*\)$", "", str(text))[:80]


def is_perftest(text: str) -> bool:
    """Tell whether this is ib_write_bw or another of perftest."""
    return "BW average[" in text or "BW peak[" in text


def read_perftest(text: str) -> Report:
    """Read ib_write_bw, ib_read_bw or ib_send_bw: Gb/s with --report_gbits, else binary MB/s.

    Raises:
        ReadError: no row is complete, or the unit is not known.
    """
    unit = re.search(r"BW average\[([^\]]+)\]", text)
    scale = {"Gb/sec": 1e9 / 8, "MB/sec": 2.0**20, "MiB/sec": 2.0**20}.get(unit[1] if unit else "")
    if scale is None:
        raise ReadError("perftest: expected BW average[Gb/sec] or [MB/sec] in the header")
    both = bool(re.search(r"[Bb]idirectional|Bidir", text))
    rows: list[Row] = []
    refused: list[str] = []
    for at, line in enumerate(text.splitlines(), 1):
        if not _PERFTEST_START.match(line):
            continue
        parts = _PERFTEST.match(line)
        value = float(parts[4]) * scale if parts else 0.0
        if not parts or not value:
            refused.append(f"line {at}: a row that is cut off, or whose average is 0")
            continue
        # The row's own check, to half a unit of the last digit of the message rate.
        again = float(parts[5]) * 1e6 * float(parts[1])
        digits = len(parts[5].partition(".")[2])
        if not near(again, value, 0.03, 10.0**-digits * 1e6 * float(parts[1])):
            refused.append(f"line {at}: message rate × size is not its bandwidth")
            continue
        rows.append(LinkRow(f"perftest {parts[1]} B", value, both, "network"))
    return report("perftest", rows, refused, "#bytes, #iterations, peak, average, message rate")
