"""Reading what tools print, as people paste it: which tool it is, and its rows in SI units.

Readers are tolerant of versions, log prefixes and colours, and strict about numbers: what a row
claims is computed again, and a row that is cut off or disagrees with itself is refused, with the
reason. Environments that files carry along are never looked at.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from wallsite.readers import bandwidth, gpu, models, nccl
from wallsite.readers.lines import LARGEST, decoded, start
from wallsite.readers.records import (
    CollectiveRow,
    CounterRow,
    KernelRow,
    LinkRow,
    PairRow,
    RateRow,
    ReadError,
    Report,
    Row,
    TokenRow,
)

__all__ = [
    "KNOWN",
    "LARGEST",
    "CollectiveRow",
    "CounterRow",
    "KernelRow",
    "LinkRow",
    "PairRow",
    "RateRow",
    "ReadError",
    "Report",
    "Row",
    "TokenRow",
    "read",
]

_TEXTS = {
    "hccl_test": (nccl.is_hccl, nccl.read_hccl),
    "STREAM": (bandwidth.is_stream, bandwidth.read_stream),
    "BabelStream": (bandwidth.is_babelstream, bandwidth.read_babelstream),
    "perftest": (bandwidth.is_perftest, bandwidth.read_perftest),
    "llama-bench": (models.is_llama_markdown, models.read_llama_markdown),
    "llama-bench CSV": (models.is_llama_csv, models.read_llama_csv),
    "dcgmi dmon": (gpu.is_dcgmi, gpu.read_dcgmi),
    "DCGM exporter": (gpu.is_prometheus, gpu.read_prometheus),
    "Nsight Compute CSV": (gpu.is_ncu, gpu.read_ncu),
    "nvbandwidth": (bandwidth.is_nvbandwidth_text, bandwidth.read_nvbandwidth_text),
    "nvidia-smi topo -m": (gpu.is_topology, gpu.read_topology),
    "nccl-tests": (nccl.is_text, nccl.read_text),
}
_OBJECTS = (
    (bandwidth.is_nvbandwidth_json, bandwidth.read_nvbandwidth_json),
    (models.is_llama_entries, models.read_llama_entries),
    (models.is_serving, models.read_serving),
    (nccl.is_json, nccl.read_json),
)
KNOWN = (*_TEXTS, "vLLM or SGLang serving JSON", "wallsite probe JSON")
"""What `read` knows."""


def read(raw: bytes) -> Report:
    """Read the output of a tool.

    Raises:
        ReadError: it is of no known tool, of two at once, or holds no usable row.
    """
    whole = decoded(raw)
    if whole.lstrip()[:1] in {"{", "["}:
        data = _json(whole)
        if data is not None:
            return _object(data)
    text, shortened = start(whole)
    found = [name for name, (is_this, _) in _TEXTS.items() if is_this(text)]
    if len(found) > 1:
        raise ReadError(f"expected one tool’s output, got {' and '.join(found)} mixed: give one")
    if not found:
        line = " ".join(text[:400].split())[:60]
        raise ReadError(f"expected the output of {', '.join(KNOWN)}; got {line!r}")
    report = _TEXTS[found[0]][1](text)
    return replace(report, refused=(shortened, *report.refused)) if shortened else report


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = models.json_lines(start(text)[0])
        if lines:
            return lines
        if text.lstrip().startswith("{"):
            where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise ReadError(
                f"expected JSON, got something that breaks off or is none{where}"
            ) from None
        return None


def _object(data: Any) -> Report:
    for is_this, read_this in _OBJECTS:
        if is_this(data):
            return read_this(data)
    entry = data[0] if isinstance(data, list) and data else data
    keys = ", ".join(list(entry)[:6]) if isinstance(entry, dict) else type(data).__name__
    raise ReadError(f"expected JSON of {', '.join(KNOWN)}; got one with {keys[:100]}")
