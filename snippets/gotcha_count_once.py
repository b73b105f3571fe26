# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Gotcha: b = 3 * a over N bytes moves more than N bytes.

N bytes are read and N written: 2N, the number to compare with a data sheet. A CPU core also
reads a line of b before it overwrites it (write-allocate), so its memory moves about 3N.
One measurement, three numbers.
"""

import numpy as np

from wallsite import probes

a = np.ones(128 * 2**20 // 4, np.float32)
b = np.zeros_like(a)
samples = probes.sample(lambda: np.multiply(a, 3, out=b), repeats=5)

for label, times in (
    ("wrong, payload only", 1),
    ("right, read + write", 2),
    ("with write-allocate", 3),
):
    print(f"{label}  {times}N  {times * a.nbytes / samples.best / 1e9:6.1f} GB/s")
