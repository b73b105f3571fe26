# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: np.zeros as a source reads one page of zeros over and over, out of the cache.

Until something is written to them, all pages of np.zeros are the same one. Wrong: measure
with it. Right: fill the source first.
"""

import numpy as np

from wallsite import probes

N = 128 * 2**20 // 4
target = np.ones(N, np.float32)


def copy_rate(source):
    samples = probes.sample(lambda: np.copyto(target, source), repeats=5)
    return (source.nbytes + target.nbytes) / samples.best


print(f"wrong, np.zeros  {copy_rate(np.zeros(N, np.float32)) / 1e9:6.1f} GB/s")
print(f"right, filled    {copy_rate(np.full(N, 2.0, np.float32)) / 1e9:6.1f} GB/s")
