"""Speed of models: llama-bench, and the serving benchmarks of vLLM and SGLang."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

from quantiphy import InvalidNumber, Quantity

from wallsite.readers.lines import near, number
from wallsite.readers.records import Report, Row, TokenRow, report

_TEST = re.compile(r"(pp|tg)\s*(\d+)(?:\+tg\s*(\d+))?(?:\s*@\s*d\s*(\d+))?")
_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*(?:±|\+/-)\s*\d+(?:\.\d+)?")
_LLAMA_COLUMNS = {"model", "size", "params", "test", "t/s"}


def is_llama_markdown(text: str) -> bool:
    """Tell whether this is the table of llama-bench."""
    return bool(re.search(r"\|\s*model\s*\|.*\|\s*test\s*\|\s*t/s\s*\|", text))


def read_llama_markdown(text: str) -> Report:
    """Read the table of llama-bench; its sizes are GiB.

    Raises:
        ReadError: no row is complete.
    """
    rows: list[Row] = []
    refused: list[str] = []
    titles: list[str] = []
    for at, line in enumerate(text.splitlines(), 1):
        start = line.find("|")
        if start < 0:
            continue
        cells = [cell.strip() for cell in line[start:].strip().strip("|").split("|")]
        if set(cells) >= _LLAMA_COLUMNS:
            titles = cells
            continue
        if not titles or set("".join(cells)) <= set("-: "):
            continue
        if len(cells) != len(titles) or not line.rstrip().endswith("|"):
            refused.append(f"line {at}: a row that is cut off")
            continue
        entry = dict(zip(titles, cells, strict=True))
        try:
            rows += _llama_row(entry)
        except ValueError as error:
            refused.append(f"line {at}: {error}")
    return report("llama-bench", rows, refused, "| model | size | params | backend | test | t/s |")


def _llama_row(entry: Mapping[str, str]) -> list[TokenRow]:
    speed, test = _SPEED.fullmatch(entry["t/s"]), _TEST.fullmatch(entry["test"])
    if not speed or not test:
        raise ValueError("test or t/s is not as llama-bench writes it")
    if test[3]:
        raise ValueError("prompt and output together have no bound of their own: pp and tg do")
    try:
        stored, params = (float(Quantity(entry[name], binary=True)) for name in ("size", "params"))
    except InvalidNumber:
        raise ValueError("size or params is not as llama-bench writes it") from None
    if not re.fullmatch(r"[\d.]+ [KMGT]iB", entry["size"]):
        raise ValueError("size has no unit such as GiB")
    if entry["params"].endswith("B") and params < 1e6:
        params *= 1e9  # QuantiPhy reads 8.03 B as bytes
    depth = int(test[4] or 0)
    return [
        _token_row(entry["model"], test[1], int(test[2]), depth, number(speed[1]), params, stored)
    ]


def _token_row(
    model: str,
    phase: str,
    tokens: int,
    depth: int,
    speed: float,
    params: float,
    stored: float,
    device: str | None = None,
) -> TokenRow:
    if not speed:
        raise ValueError("its speed is 0")
    if phase == "pp":
        return TokenRow(
            f"{model} pp{tokens}", "prefill", speed, 1, depth, tokens, params, stored, device
        )
    # On average, half of the generated tokens are in the cache.
    return TokenRow(
        f"{model} tg{tokens}", "decode", speed, 1, depth + tokens // 2, None, params, stored, device
    )


def is_llama_entries(data: Any) -> bool:
    """Tell whether these are entries of llama-bench, from JSON, JSON lines or CSV."""
    return (
        isinstance(data, list)
        and bool(data)
        and isinstance(data[0], dict)
        and {"model_size", "avg_ts"} <= data[0].keys()
    )


def is_llama_csv(text: str) -> bool:
    """Tell whether this is the CSV of llama-bench."""
    return "model_size" in text and "avg_ts" in text and not text.lstrip().startswith(("{", "["))


def read_llama_csv(text: str) -> Report:
    """Read the CSV of llama-bench.

    Raises:
        ReadError: no row is complete.
    """
    start = text.rfind("\n", 0, text.index("model_size")) + 1
    return read_llama_entries(list(csv.DictReader(io.StringIO(text[start:]))))


def read_llama_entries(entries: list[Mapping[str, Any]]) -> Report:
    """Read entries of llama-bench.

    Raises:
        ReadError: no entry is complete.
    """
    rows: list[Row] = []
    refused: list[str] = []
    for at, entry in enumerate(entries, 1):
        try:
            prompt, output = (int(number(str(entry[name]))) for name in ("n_prompt", "n_gen"))
            if bool(prompt) == bool(output):
                raise ValueError("prompt and output together have no bound of their own")
            speed = number(str(entry["avg_ts"]))
            if entry.get("avg_ns"):
                again = (prompt + output) / (number(str(entry["avg_ns"])) * 1e-9)
                if not near(again, speed, 0.1):
                    raise ValueError(f"tokens ÷ time is {again:.1f}, not {speed:.1f} tokens/s")
            rows.append(
                _token_row(
                    str(entry.get("model_type", "model"))[:80],
                    "pp" if prompt else "tg",
                    prompt or output,
                    int(number(str(entry.get("n_depth") or 0))),
                    speed,
                    number(str(entry["model_n_params"])),
                    number(str(entry["model_size"])),
                    str(entry["gpu_info"])[:80] if entry.get("gpu_info") else None,
                )
            )
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            missing = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            refused.append(f"row {at}: {' '.join(missing.split())[:80]}")
    return report(
        "llama-bench", rows, refused, "model_size, model_n_params, n_prompt, n_gen, avg_ts"
    )


def is_serving(data: Any) -> bool:
    """Tell whether this is a result of a serving benchmark."""
    entry = data[0] if isinstance(data, list) and data else data
    return isinstance(entry, dict) and "output_throughput" in entry


def read_serving(data: Any) -> Report:
    """Read results of vLLM’s or SGLang’s serving benchmark; texts in them are not looked at.

    The sequences that are decoded together come from Little’s law, output tokens/s × time per
    token, not from ``max_concurrency``.

    Raises:
        ReadError: no result is complete and consistent.
    """
    rows: list[Row] = []
    refused: list[str] = []
    for at, entry in enumerate(data if isinstance(data, list) else [data], 1):
        try:
            rows.append(_serving_row(entry))
        except (KeyError, ValueError, TypeError) as error:
            missing = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            refused.append(f"result {at}: {' '.join(missing.split())[:100]}")
    return report("serving benchmark", rows, refused, "output_throughput and mean or median TPOT")


def _serving_row(entry: Mapping[str, Any]) -> TokenRow:
    speed = number(str(entry["output_throughput"]))
    step = next(
        (
            entry[name]
            for name in ("mean_tpot_ms", "median_tpot_ms", "mean_itl_ms")
            if entry.get(name)
        ),
        None,
    )
    if step is None:
        raise ValueError("no time per token: mean_tpot_ms or median_tpot_ms")
    seconds = number(str(step)) * 1e-3
    if not speed or not seconds:
        raise ValueError("its throughput or time per token is 0")
    completed = entry.get("completed")
    output, duration = entry.get("total_output_tokens"), entry.get("duration")
    if output and duration:
        again = number(str(output)) / number(str(duration))
        if not near(again, speed, 0.02):
            raise ValueError(f"tokens ÷ duration is {again:.1f}, not {speed:.1f} tokens/s")
    batch = max(1, round(speed * seconds))
    context = None
    total = entry.get("total_input_tokens", entry.get("total_input"))
    if completed and total and output:
        # On average, half of a request’s output is in its cache.
        context = round((number(str(total)) + number(str(output)) / 2) / number(str(completed)))
    name = str(entry.get("model_id") or entry.get("model") or "serving")[:80]
    return TokenRow(name, "decode", batch / seconds, batch, context, seconds=seconds)


def json_lines(text: str) -> list[Any] | None:
    """Objects of JSON lines; None if a line is none."""
    found = []
    for line in text.splitlines():
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                return None
    return found
