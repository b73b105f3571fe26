# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Where decode and prefill of a 7B model lie on a roofline, and the least time they can take.

Decode reads every weight to make one token for each sequence; prefill reads them once for the
whole prompt. Another device: `python decode_roofline.py b200`.
"""

import sys

from wallsite import roofline, tables, workload
from wallsite.units import format_number

try:
    device = tables.accelerator(sys.argv[1] if len(sys.argv) > 1 else "h100-sxm")
    peak, bandwidth = device.peak("bf16").si, device.bandwidth.si
except tables.UnknownName as error:
    sys.exit(f"Error: {error}")
model = tables.model("llama-2-7b")

CONTEXT = 1024  # tokens already in each sequence's cache
params = model.params.si
kv = workload.kv_bytes_per_token(
    int(model.layers.value), int(model.kv_heads.value), int(model.head_dim.value)
)

rows = [
    (f"decode, batch {batch}", workload.decode(params, batch, CONTEXT, kv))
    for batch in (1, 16, 256)
] + [
    (f"prefill, {tokens:,} tokens", workload.prefill(params, tokens, kv_per_token=kv))
    for tokens in (128, 2048)
]

ridge = format_number(roofline.ridge_point(peak, bandwidth))
print(f"{model.name} in bf16 on {device.name}: ridge point {ridge} FLOP/byte")
print(f"{'':<22} {'FLOP/byte':>10} {'at most':>11} {'at least':>11}  wall")
for label, work in rows:
    reached = roofline.attainable(work.intensity, peak, bandwidth) / 1e12
    floor = roofline.time_floor(work.flops, work.traffic, peak, bandwidth) * 1e3
    print(
        f"{label:<22} {format_number(work.intensity, 1):>10} "
        f"{format_number(reached, 1):>5} TFLOP/s {format_number(floor, 2):>8} ms  "
        f"{roofline.bound(work.intensity, peak, bandwidth)}"
    )
