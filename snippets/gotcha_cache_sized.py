# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: an array that fits in the cache measures the cache.

Wrong: 128 KiB, copied inside the core's own cache. Right: at least four times the last-level
cache. The arrays here stay small to be quick; the last line says whether that is enough.
"""

import numpy as np

from wallsite import probes

KIB, MIB = 2**10, 2**20


def copy_rate(size):
    source = np.ones(size // 4, np.float32)
    target = np.zeros_like(source)
    samples = probes.sample(lambda: np.copyto(target, source), repeats=5)
    return 2 * size / samples.best


print(f"wrong, 128 KiB  {copy_rate(128 * KIB) / 1e9:6.1f} GB/s")
print(f"right, 128 MiB  {copy_rate(128 * MIB) / 1e9:6.1f} GB/s")

cache = probes.machine().last_level_cache
if cache is None:
    print("This system does not say how large its last-level cache is.")
else:
    print(f"Four last-level caches here: {4 * cache / MIB:.0f} MiB.")
