# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""Measure this machine's memory bandwidth and matmul peak. Their quotient is its ridge point.

The GPU is measured where torch finds one, otherwise the CPU, with numpy alone.
"""

import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from wallsite import probes, roofline

Q = 3.0  # the triad: a = b + Q * c, two arrays read and one written
BLOCK = 2**16  # 256 KiB of float32 stay in a core's own cache between two passes


def on_cpu(elements, side, cores):
    """The triad, one slice for each core, and the matmul. Each with its check."""
    a, b, c = (np.empty(elements, np.float32) for _ in range(3))
    step = math.ceil(elements / cores)
    slices = [range(i, min(i + step, elements), BLOCK) for i in range(0, elements, step)]
    pools = [ThreadPoolExecutor(1) for _ in slices]  # a thread each; numpy frees the interpreter

    def each(work):
        jobs = [pool.submit(work, part) for pool, part in zip(pools, slices, strict=True)]
        return [job.result() for job in jobs]

    def blocks(part):
        for i in part:
            block = slice(i, min(i + BLOCK, part.stop))
            yield a[block], b[block], c[block]

    def fill(part):  # by the thread that will use it, since memory belongs to its first writer
        random = np.random.default_rng(part.start)
        for x, y, z in blocks(part):
            x.fill(np.nan)  # shows whatever the kernel leaves out
            random.random(out=y, dtype=np.float32)
            random.random(out=z, dtype=np.float32)

    def triad(part):
        for x, y, z in blocks(part):
            np.multiply(z, Q, out=x)
            np.add(x, y, out=x)

    def correct(part):
        return all(np.allclose(x, y + Q * z) for x, y, z in blocks(part))

    each(fill)
    x, y = np.random.default_rng(0).standard_normal((2, side, side), dtype=np.float32)
    out = np.empty_like(x)
    return (
        (lambda: each(triad), lambda: all(each(correct))),
        (lambda: np.matmul(x, y, out=out), lambda: np.allclose(out[:8], x[:8] @ y, atol=1e-2)),
    )


def on_gpu(elements, side, name):
    """The same on a GPU: the arrays live there, and torch has a kernel for the whole triad."""
    import torch  # two seconds and gigabytes that only a GPU needs

    a = torch.full((elements,), torch.nan, device=name)
    b, c = torch.rand(2, elements, device=name)

    def correct():
        parts = zip(a.split(2**24), b.split(2**24), c.split(2**24), strict=True)
        return all(torch.allclose(x, y + Q * z) for x, y, z in parts)

    x, y = torch.randn(2, side, side, device=name, dtype=torch.bfloat16)
    out = torch.empty_like(x)
    rows = x[:8].float() @ y.float()
    return (
        torch.accelerator.synchronize,
        (lambda: torch.add(b, c, alpha=Q, out=a), correct),
        (
            lambda: torch.matmul(x, y, out=out),
            lambda: torch.allclose(out[:8].float(), rows, rtol=0.02, atol=0.02 * side**0.5),
        ),
    )


def timed(run, correct):
    """Warm up, time with the device idle on both sides, and then look at the result."""
    samples = probes.sample(run, repeats=7, synchronise=synchronise)
    if not correct():
        raise SystemExit("The kernel computed something wrong, so its time means nothing.")
    return samples


device = probes.find_device("auto")
plan = probes.plan_arrays(device, 3, quick=True)  # out of the caches, within half the free memory
elements = plan.array_bytes // 4
for remark in filter(None, [f"{device} is {device.name}", device.note, *plan.warnings]):
    print(remark, file=sys.stderr)

if device.kind == "cpu":
    synchronise, dtype, side = None, "fp32", 2048
    triad, matmul = on_cpu(elements, side, probes.machine().cores)
else:
    dtype, side = "bf16", 8192
    synchronise, triad, matmul = on_gpu(elements, side, str(device))

memory, compute = timed(*triad), timed(*matmul)
counted = 3 * plan.array_bytes  # bytes, two arrays read and one written
bandwidth = counted / memory.best
peak = 2 * side**3 / compute.best

print(f"device     {device}")
print(f"bandwidth  {bandwidth / 1e9:.1f} GB/s at best, {counted / memory.median / 1e9:.1f} median")
print(f"matmul     {peak / 1e12:.2f} TFLOP/s in {dtype}")
print(f"ridge      {roofline.ridge_point(peak, bandwidth):.1f} FLOP/byte on this machine")
