# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: in an array that starts inside a cache line, wide stores touch two lines each.

numpy promises 16 bytes of alignment and no more. Wrong: start 16 bytes into a line. Right: start
where a line does. Stores of 64 bytes (AVX-512) straddle two lines every time, those of 32 bytes
every other time, those of 16 bytes never: then the two numbers are equal.
"""

import numpy as np

from wallsite import probes

LINE = 64  # bytes of a cache line
KIB, MIB = 2**10, 2**20


def array(size, offset):
    """Make an array that starts so many bytes into a cache line."""
    room = np.empty(size + 2 * LINE, np.uint8)
    start = -room.ctypes.data % LINE + offset
    numbers = room[start : start + size].view(np.float32)
    numbers.fill(1)
    return numbers


def add_rate(size, offset):
    a, b, c = (array(size, offset) for _ in range(3))
    samples = probes.sample(lambda: np.add(b, c, out=a), repeats=7)
    return 3 * size / samples.best  # two arrays read, one written


for name, size in (("256 KiB", 256 * KIB), ("64 MiB", 64 * MIB)):
    print(f"wrong, 16 bytes into a line  {name:7}  {add_rate(size, 16) / 1e9:6.1f} GB/s")
    print(f"right, on a line's start     {name:7}  {add_rate(size, 0) / 1e9:6.1f} GB/s")
