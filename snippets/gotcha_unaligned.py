# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: an array that starts inside a cache line makes wide stores touch two lines each.

numpy promises 16 bytes of alignment and no more. Wrong: start 16 bytes into a line of 64. Right:
start where a line does. With stores of 64 bytes (AVX-512) the former straddles two lines every
time, with 32 bytes every other time, with 16 bytes never, and then the two numbers are equal.
"""

import numpy as np

from wallsite import probes

LINE = 64  # bytes of a cache line
N = 64 * 2**20 // 4


def array(offset):
    """N float32 that start so many bytes into a cache line."""
    room = np.empty(4 * N + 2 * LINE, np.uint8)
    start = -room.ctypes.data % LINE + offset
    numbers = room[start : start + 4 * N].view(np.float32)
    numbers.fill(1.0)
    return numbers


def add_rate(offset):
    a, b, c = (array(offset) for _ in range(3))
    samples = probes.sample(lambda: np.add(b, c, out=a), repeats=7)
    return 3 * a.nbytes / samples.best  # two read, one written


print(f"wrong, 16 bytes into a line  {add_rate(16) / 1e9:6.1f} GB/s")
print(f"right, on a line's start     {add_rate(0) / 1e9:6.1f} GB/s")
