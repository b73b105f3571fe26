# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: a GPU copy is only queued when the call returns.

Wrong: stop the clock at once; it timed the queueing. Right: synchronise before the clock starts
and before it stops. Needs torch and a GPU; without them it says so and ends.
"""

from wallsite import probes

device = probes.find_device("auto")
if device.kind == "cpu":
    print("No GPU that torch can drive, so nothing to show: on a CPU a copy that returned is done.")
    raise SystemExit

import torch  # noqa: E402 - only where there is a GPU

source = torch.rand(256 * 2**20 // 4, device=str(device))
target = torch.empty_like(source)
counted = 2 * source.nbytes


def copy():
    target.copy_(source)


queued = probes.sample(copy, repeats=5)
done = probes.sample(copy, repeats=5, synchronise=torch.accelerator.synchronize)

print(f"wrong, not synchronised  {counted / queued.median / 1e9:10.1f} GB/s")
print(f"right, synchronised      {counted / done.median / 1e9:10.1f} GB/s")
