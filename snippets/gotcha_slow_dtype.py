# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: a type without a fast product measures neither wall.

numpy hands float32 to BLAS, but has a loop of its own for float16 that converts one number at a
time. Wrong: take that for the peak of the CPU. Right: a type that BLAS has.
"""

import numpy as np

from wallsite import probes

N = 256  # small, since a side of 2048 would take float16 the better part of a minute


def product_rate(dtype):
    x = np.ones((N, N), dtype)
    out = np.empty_like(x)
    samples = probes.sample(lambda: np.matmul(x, x, out=out), repeats=9)
    return 2 * N**3 / samples.best


print(f"wrong, float16  {product_rate(np.float16) / 1e9:6.1f} GFLOP/s")
print(f"right, float32  {product_rate(np.float32) / 1e9:6.1f} GFLOP/s")
