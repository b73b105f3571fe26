# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: np.random.randn(n).astype(np.float32) needs three times the memory of its result.

randn makes float64, twice the size, and astype puts the float32 copy beside it. Wrong: convert.
Right: draw float32 to begin with. tracemalloc sees every byte that numpy allocates.
"""

import tracemalloc

import numpy as np

MIB = 2**20
N = 32 * MIB // 4
generator = np.random.default_rng(0)


def peak(make):
    tracemalloc.start()
    make()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / MIB


wrong = peak(lambda: np.random.randn(N).astype(np.float32))
right = peak(lambda: generator.standard_normal(N, dtype=np.float32))

print(f"wrong, float64 first  {wrong:3.0f} MiB at the peak for {4 * N // MIB} MiB of numbers")
print(f"right, float32        {right:3.0f} MiB at the peak for {4 * N // MIB} MiB of numbers")
