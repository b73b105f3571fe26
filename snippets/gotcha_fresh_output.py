# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: `b = 3 * a` makes a new array each time, and new pages cost more than the work.

Wrong: a fresh output. Right: `out=` an array that is already there.
"""

import numpy as np

from wallsite import probes

a = np.ones(64 * 2**20 // 4, np.float32)
b = np.zeros_like(a)
counted = a.nbytes + b.nbytes  # read + written

fresh = probes.sample(lambda: np.multiply(a, 3), repeats=5)
reused = probes.sample(lambda: np.multiply(a, 3, out=b), repeats=5)

print(f"wrong, fresh output  {counted / fresh.median / 1e9:6.1f} GB/s")
print(f"right, out=b         {counted / reused.median / 1e9:6.1f} GB/s")
