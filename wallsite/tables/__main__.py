"""Adding a device to the catalog: a frame for its entry, and a check of it once it is filled in."""

from __future__ import annotations

import argparse
import sys

from wallsite import tables
from wallsite.tables.check import findings

_FRAME = """[{name}]
name = "{name}"
vendor = ""
kind = "gpu"            # gpu, cpu, npu or unified
year = 0
status = "shipping"     # shipping, ended, preliminary, announced or roadmap
memory = ""
lacks = []              # types that the hardware does not have
capacity = {{ value = 0, unit = "GB", kind = "vendor", source = "" }}
bandwidth = {{ value = 0, unit = "GB/s", kind = "vendor", source = "" }}
fp16 = {{ value = 0, unit = "TFLOP/s", kind = "vendor", source = "" }}  # dense, FP32 accumulation
power = {{ value = 0, unit = "W", kind = "vendor", source = "" }}
cache = {{ value = 0, unit = "MiB", kind = "vendor", source = "" }}
cores = {{ value = 0, unit = "", kind = "vendor", source = "" }}
clock = {{ value = 0, unit = "MHz", kind = "vendor", source = "" }}
"""


def main() -> int:
    """Print a frame, or what does not fit together in an entry; 1 if anything does not."""
    parser = argparse.ArgumentParser(prog="python -m wallsite.tables", description=__doc__)
    parser.add_argument("device", help="id of the entry, for example rtx-3090")
    parser.add_argument("--new", action="store_true", help="print a frame for catalog.toml")
    given = parser.parse_args()
    if given.new:
        print(_FRAME.format(name=given.device), end="")
        return 0
    try:
        device = tables.accelerator(given.device)
    except (tables.UnknownName, tables.DataError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    found = list(findings(device))
    for line in found:
        print(f"{device.id}: {line}")
    if not found:
        print(f"{device.id}: {len(device.fields)} values, nothing that does not fit together")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
