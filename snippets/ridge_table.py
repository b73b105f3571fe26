# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Ridge points from published numbers: dense peak ÷ memory bandwidth.

Left of its ridge point a kernel waits for memory. Name devices to choose your own rows:
`python ridge_table.py h20 mi300x`.
"""

import sys

from wallsite import roofline, tables
from wallsite.units import format_number

names = sys.argv[1:] or [
    "v100-sxm2-32gb",
    "a100-sxm-80gb",
    "h100-sxm",
    "h200-sxm",
    "b200",
    "gb200",
    "mi300x",
]

try:
    devices = [tables.accelerator(name) for name in names]
    peaks = [device.peak("fp16").si for device in devices]
except tables.UnknownName as error:
    sys.exit(f"Error: {error}")

print(f"{'device':<20} {'FP16 TFLOP/s':>13} {'TB/s':>6} {'ridge, FLOP/byte':>17}")
for device, peak in zip(devices, peaks, strict=True):
    bandwidth = device.bandwidth.si
    ridge = roofline.ridge_point(peak, bandwidth)
    print(
        f"{device.name:<20} {format_number(peak / 1e12):>13} "
        f"{format_number(bandwidth / 1e12, 2):>6} {format_number(ridge, 1):>17}"
    )
