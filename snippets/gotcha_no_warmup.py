# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: the first pass over a new array times the operating system, not the memory.

np.empty only promises pages. The first write to each of them makes the kernel find one and
fill it with zeros. Wrong: keep the first pass. Right: warm up, then measure.
"""

import numpy as np

from wallsite import probes

MIB = 2**20
source = np.ones(128 * MIB // 4, np.float32)
target = np.empty_like(source)
counted = source.nbytes + target.nbytes  # read + written

samples = probes.sample(lambda: np.copyto(target, source), repeats=5, warmups=2)

print(f"wrong, first pass     {counted / samples.warmups[0] / 1e9:6.1f} GB/s")
print(f"right, after warm-up  {counted / samples.median / 1e9:6.1f} GB/s")
