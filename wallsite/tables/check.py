"""What does not fit together in an entry of the catalog: for whoever adds one."""

from __future__ import annotations

from collections.abc import Iterator

from wallsite.tables import source
from wallsite.tables.schema import Accelerator

# FLOP that a core does in one clock with FP32 accumulation, on tensor or matrix units.
_RATES = (256, 512, 1024, 2048, 4096, 8192)
_LOWEST_RIDGE, _HIGHEST_RIDGE = 5.0, 1500.0  # FLOP/byte


def findings(device: Accelerator) -> Iterator[str]:
    """Say, a sentence each, what is missing or looks wrong in an entry."""
    fields = device.fields
    wanted = {"bandwidth"} if device.kind == "cpu" else {"bandwidth", "capacity"}
    yield from (f"{name}: is missing" for name in sorted(wanted - fields.keys()))
    yield from _rates(device)
    for name, value in fields.items():
        if not value.sources:
            yield f"{name}: has no source"
        for cited in value.sources:
            if source(cited).seen == "recalled" and value.kind == "vendor" and not device.note:
                yield f"{name}: {cited} was not opened: say so in a note"


def _rates(device: Accelerator) -> Iterator[str]:
    """What the numbers say of each other."""
    fields = device.fields
    if {"channels", "transfer_rate", "bandwidth"} <= fields.keys():
        product = fields["channels"].si * fields["transfer_rate"].si * 8
        if abs(fields["bandwidth"].si / product - 1) > 0.001:
            yield f"bandwidth: channels × transfer_rate × 8 B is {product / 1e9:g} GB/s"
    if device.vendor == "NVIDIA" and {"fp16", "cores", "clock"} <= fields.keys():
        each = fields["fp16"].si / fields["cores"].si / fields["clock"].si
        if min(abs(each / rate - 1) for rate in _RATES) > 0.01:
            yield f"fp16: {each:.0f} FLOP for each core and clock, no architecture does that"
    bits = device.sixteen_bit
    if bits and device.bandwidth:
        ridge = device.peak(bits).si / device.bandwidth.si
        if not _LOWEST_RIDGE <= ridge <= _HIGHEST_RIDGE:
            yield f"{bits}: a ridge point of {ridge:.3g} FLOP/byte; is a prefix wrong?"
