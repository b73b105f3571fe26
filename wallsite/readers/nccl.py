"""nccl-tests and rccl-tests: text of every age, and the JSON of ``-J``. hccl_test of Ascend."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wallsite.readers.lines import near, number
from wallsite.readers.records import CollectiveRow, ReadError, Report, Row, report

_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_START = re.compile(
    r"^\W*(?:.*[\]:>]\s+)?(\d+)\s+(\d+)\s+(float|double|half|bfloat16|fp8\w*|f8\w*|u?int\d+)\s+"
)
_ROW = re.compile(
    _START.pattern
    + r"(\w+)\s+(?:(-?\d+)\s+)?"
    + rf"{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+(\S+)(?:\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s+(\S+))?"
    + r"\s*$"
)
_RANK = re.compile(r"#\s+Rank\s+(\d+).*?\bon\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s+(.+?)\s*$", re.M)
_PROGRAM = re.compile(
    r"\b(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|sendrecv|reduce|gather|scatter)"
    r"_(?:perf|test)\b"
)
_OPERATIONS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
    "sendrecv": "send-recv",
}
_EXPECTED = "a row of size, count, type, redop, root, time, algbw, busbw, #wrong"
_HCCL = re.compile(r"^\s*(\d+)\s*\|\s*([\d.]+)\s*\|\s*([\d.]+)\s*\|\s*(\w+)")


def is_text(text: str) -> bool:
    """Tell whether this is the text of nccl-tests."""
    named = "#wrong" in text or "busbw" in text or bool(_PROGRAM.search(text[:20000]))
    return named and not is_hccl(text)


def read_text(text: str) -> Report:
    """Read the text of nccl-tests.

    Raises:
        ReadError: no row is complete and consistent.
    """
    ranks, nodes, device = _run(text)
    operation = _operation(text)
    rows: list[Row] = []
    refused: list[str] = []
    ratios: list[float] = []
    for at, line in enumerate(text.splitlines(), 1):
        if not _START.match(line):
            continue
        parts = _ROW.match(line)
        if not parts:
            refused.append(f"line {at}: a row that is cut off or glued to another line")
            continue
        size, reduction = float(parts[1]), parts[4]
        if size == 0:
            continue
        try:
            seconds, busbw = _checked(size, parts[6], parts[7], parts[8], parts[9])
        except ValueError as error:
            refused.append(f"line {at}: {error}")
            continue
        if busbw and size / seconds > 1e6:
            ratios.append(busbw / (size / seconds))
        rows.append(
            CollectiveRow(
                operation or ("all-reduce" if reduction not in {"none", "None"} else ""),
                size,
                seconds,
                busbw,
                ranks,
                nodes,
                device,
            )
        )
    return report("nccl-tests", _completed(rows, ratios, refused), refused, _EXPECTED)


def read_json(data: Mapping[str, Any]) -> Report:
    """Read the JSON of ``-J``. Its environment, which may hold secrets, is not looked at.

    Raises:
        ReadError: it holds no row that is complete and consistent.
    """
    listed = _rows(data)
    words = " ".join(map(str, data.get("args") or []))
    operation = _operation(words) or _operation(
        str(data.get("test") or data.get("collective") or "")
    )
    rows: list[Row] = []
    refused: list[str] = []
    ratios: list[float] = []
    for at, entry in enumerate(listed, 1):
        half = entry["out_of_place"]
        try:
            size = number(str(entry["size"]))
            time = half.get("time", half.get("cpu_time"))
            if size == 0:
                continue
            seconds, busbw = _checked(
                size,
                str(time),
                str(half["alg_bw"]),
                str(half["bus_bw"]),
                str(half.get("nwrong", 0)),
            )
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            refused.append(f"row {at}: {' '.join(str(error).split())[:80]}")
            continue
        ratios.append(busbw / (size / seconds))
        rows.append(
            CollectiveRow(operation or "all-reduce", size, seconds, busbw, _json_ranks(data))
        )
    return report("nccl-tests", _completed(rows, ratios, refused), refused, _EXPECTED)


def is_json(data: Any) -> bool:
    """Tell whether this is the JSON of nccl-tests."""
    return (isinstance(data, dict) and "nccl_version" in data) or bool(_rows(data))


def _json_ranks(data: Mapping[str, Any]) -> int | None:
    found = data.get("nranks", data.get("ranks"))
    return found if isinstance(found, int) and found > 1 else None


def _rows(data: Any) -> Sequence[Mapping[str, Any]]:
    """The list of rows, wherever in the file it stands."""
    if isinstance(data, list):
        return [
            each
            for each in data
            if isinstance(each, dict) and isinstance(each.get("out_of_place"), dict)
        ]
    if isinstance(data, dict):
        for name, value in data.items():
            if name not in {"env", "args"} and (found := _rows(value)):
                return found
    return []


def is_hccl(text: str) -> bool:
    """Tell whether this is the text of hccl_test."""
    return "aveg_time" in text or "alg_bandwidth" in text


def read_hccl(text: str) -> Report:
    """Read the text of hccl_test, which prints no busbw.

    Raises:
        ReadError: no row is complete and consistent.
    """
    rows: list[Row] = []
    refused: list[str] = []
    operation = _operation(text)
    for at, line in enumerate(text.splitlines(), 1):
        parts = _HCCL.match(line.replace("｜", "|"))
        if not parts:
            if re.match(r"^\s*\d+\s*[|｜]", line):
                refused.append(f"line {at}: a row that is cut off")
            continue
        try:
            size, time, algbw = (number(parts[i]) for i in (1, 2, 3))
            if parts[4].casefold() not in {"success", "null"}:
                raise ValueError(f"its check says {parts[4]!r}")
            seconds = time * 1e-6
            if not seconds or not near(algbw * 1e9, size / seconds, 0.01, 0.006e9):
                raise ValueError("size ÷ time is not its alg_bandwidth")
        except ValueError as error:
            refused.append(f"line {at}: {error}")
            continue
        rows.append(CollectiveRow(operation or "", size, seconds))
    return report(
        "hccl_test", rows, refused, "data_size | aveg_time | alg_bandwidth | check_result"
    )


def _checked(size: float, time: str, algbw: str, busbw: str, wrong: str) -> tuple[float, float]:
    """Seconds and busbw of a row, if it agrees with itself."""
    seconds = number(time) * 1e-6
    rate, bus = number(algbw) * 1e9, number(busbw) * 1e9
    # A count of wrong results; older versions print a tiny error instead.
    if not re.fullmatch(r"0|0e\+00|N/A|n/a|\d(?:\.\d+)?e-\d+", wrong):
        raise ValueError(f"its results were wrong ({wrong[:20]})")
    if seconds <= 0:
        raise ValueError("its time is 0")
    if not near(rate, size / seconds, 0.015, 0.006e9):
        raise ValueError(f"algbw {algbw} GB/s is not size ÷ time, {size / seconds / 1e9:.2f} GB/s")
    if bus > 2.001 * max(rate, 0.01e9):
        raise ValueError(f"busbw {busbw} is more than twice algbw {algbw}")
    return seconds, bus


def _run(text: str) -> tuple[int | None, int | None, str | None]:
    listed = _RANK.findall(text[:200000])
    if listed:
        names = {name for _, _, name in listed}
        return (
            len({rank for rank, _, _ in listed}),
            len({host for _, host, _ in listed}),
            names.pop() if len(names) == 1 else None,
        )
    return None, None, None


def _operation(text: str) -> str | None:
    found = _PROGRAM.search(text[:200000])
    return _OPERATIONS.get(found[1].replace("_", "")) if found else None


def _completed(rows: list[Row], ratios: list[float], refused: list[str]) -> list[Row]:
    """Take ranks from busbw ÷ algbw, which no piece lacks; say where the header differs.

    Raises:
        ReadError: the quotient differs from row to row.
    """
    ratios = sorted(ratios)
    if not ratios:
        return rows
    if not near(ratios[0], ratios[-1], 0.05):
        raise ReadError("nccl-tests: busbw ÷ algbw differs from row to row: not one run")
    ratio = ratios[len(ratios) // 2]
    done: list[Row] = []
    for row in rows:
        assert isinstance(row, CollectiveRow)
        ranks = row.ranks
        if row.operation == "all-reduce" and 1 <= ratio < 1.99:
            found = round(2 / (2 - ratio))
            if near(2 * (found - 1) / found, ratio, 0.004) and found != ranks:
                if ranks and not any("header" in reason for reason in refused):
                    refused.append(f"header: it lists {ranks} ranks, busbw ÷ algbw says {found}")
                ranks = found
        done.append(replace(row, ranks=ranks))
    return done
