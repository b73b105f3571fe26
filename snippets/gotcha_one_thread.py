# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: numpy works on one core, and one core cannot fill the memory's bandwidth.

Wrong: one thread. Right: one thread for each core, each with a slice of its own. Plain Python
threads do: numpy lets go of the interpreter lock while it works.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from wallsite import probes

a = np.ones(128 * 2**20 // 4, np.float32)
b = np.zeros_like(a)
counted = a.nbytes + b.nbytes  # read + written

cores = probes.machine().cores
step = -(-a.size // cores)
slices = [slice(start, start + step) for start in range(0, a.size, step)]


def scale(part):
    np.multiply(a[part], 3, out=b[part])


with ThreadPoolExecutor(cores) as pool:
    one = probes.sample(lambda: scale(slice(None)), repeats=5)
    all_cores = probes.sample(lambda: list(pool.map(scale, slices)), repeats=5)

print(f"wrong, 1 thread        {counted / one.best / 1e9:6.1f} GB/s")
print(f"right, 1 for each core {counted / all_cores.best / 1e9:6.1f} GB/s  ({cores} cores)")
