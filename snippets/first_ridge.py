# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""How fast does this machine move bytes, how fast does it multiply, and where do the two meet?"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from wallsite import probes, roofline

device = probes.find_device()  # a GPU if torch finds one, otherwise the CPU
if device.kind == "cpu":
    side, wait = 2048, lambda: None
    a, b, c = (np.ones(2**25, np.float32) for _ in range(3))  # 128 MiB each
    x = np.random.default_rng(0).random((side, side), np.float32)
    cores = probes.machine().cores  # one alone cannot draw all that the memory gives
    pool, pieces = ThreadPoolExecutor(cores), [np.array_split(v, cores) for v in (b, c, a)]

    def add():
        list(pool.map(np.add, *pieces))
else:
    import torch

    side, wait = 8192, torch.accelerator.synchronize
    a, b, c = (torch.ones(2**27, device=str(device)) for _ in range(3))  # 512 MiB each
    x = torch.randn(side, side, device=str(device), dtype=torch.bfloat16)

    def add():
        torch.add(b, c, out=a)


def seconds(run):
    start = time.perf_counter()
    run()
    wait()  # a GPU answers before it has finished
    return time.perf_counter() - start


bandwidth = 3 * a.nbytes / min(seconds(add) for _ in range(10))  # b and c are read, a is written
peak = 2 * side**3 / min(seconds(lambda: x @ x) for _ in range(10))
print(f"{device}: {bandwidth / 1e9:.1f} GB/s, {peak / 1e12:.2f} TFLOP/s")
print(f"ridge point {roofline.ridge_point(peak, bandwidth):.1f} FLOP/byte")
