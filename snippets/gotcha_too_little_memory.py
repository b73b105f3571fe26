# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: a fixed size, or a share of all memory, may be more than is free.

In a container the total is still the host's, so only what is free tells. Wrong: three arrays of
1 GiB, or half of all memory. Right: plan for what is free. Nothing is allocated here; the small
container is made up.
"""

import dataclasses

from wallsite import probes

MIB, GIB = 2**20, 2**30

cpu = probes.find_device("cpu")
container = dataclasses.replace(cpu, memory_available=512 * MIB)
total = probes.machine().memory_total or 0  # some systems do not say

print("three arrays, MiB      wrong, 1 GiB each  wrong, half of all  right, planned")
for where, device in (("this machine", cpu), ("512 MiB container", container)):
    plan = probes.plan_arrays(device, 3)
    sizes = (3 * GIB, total // 2, plan.count * plan.array_bytes)
    fixed, half, planned = (f"{size // MIB:,}" for size in sizes)
    print(f"{where:21}  {fixed:>17}  {half:>18}  {planned:>14}")

try:
    probes.plan_arrays(container, 3, array_bytes=GIB)
except probes.NotEnoughMemory as error:
    print(error)
