"""A run of every probe, made by hand: 16 GB/s and 0.5 TFLOP/s, and what became of the rest."""

import dataclasses

from probe_fakes import KIB, MIB, device, measurement, product, result

from wallsite import probes

MACHINE = dataclasses.replace(
    probes.machine(), cpu="Example(R) CPU", cpus=8, cores=4, last_level_cache=32 * MIB
)
CPU = device(cache=32 * MIB, kind="cpu")


def arrays(kernel, seconds, size=256 * MIB, probe="memory", **more):
    """A kernel of the memory probe over arrays of a size; two of them or three."""
    count = 3 if kernel in {"add", "triad"} else 2
    formula = {"copy": "a = b", "scale": "a = q·b", "add": "a = b + c", "triad": "a = b + q·c"}
    fields = {
        "formula": formula[kernel],
        "shape": (size // 4,),
        "array_bytes": size,
        "bytes_counted": count * size,
        "bytes_hardware": (count + 1) * size,
        "flops": size // 4,
    }
    return measurement(probe, kernel, seconds, **(fields | more))


def point(kernel, shape, counted, flops, seconds, dtype="fp32", **more):
    """An operation of a model, with the bytes and the FLOPs that it counts."""
    fields = {"shape": shape, "array_bytes": counted, "bytes_counted": counted, "flops": flops}
    fields |= {"dtype": dtype, "bytes_hardware": None, "formula": "y"}
    return measurement("operations", kernel, seconds, **(fields | more))


def link(kernel, seconds, payload=256 * MIB):
    """A copy over a link."""
    fields = {"dtype": "bytes", "shape": (payload,), "array_bytes": payload, "flops": 0}
    fields |= {"bytes_counted": payload, "bytes_hardware": None}
    return measurement("link", kernel, seconds, **fields)


def matmul(seconds, dtype="fp32", n=2048, **more):
    """A product of 2 × 2048³ = 17.18 GFLOP."""
    return product(seconds, n, dtype, **more)


MEMORY = (
    arrays("copy", (0.04, 0.05, 0.05), bytes_hardware=2 * 256 * MIB),
    arrays("scale", (0.05, 0.05, 0.05), bytes_hardware=None),
    arrays("add", (0.025, 0.025, 0.025), 128 * MIB),
    arrays("add", (0.05, 0.1, 0.1)),
    arrays("triad", (0.0625, 0.0625, 0.0625)),
)
CACHES = (
    arrays("add", (0.001,), 64 * KIB, "cache", bytes_counted=64 * MIB),
    arrays("add", (0.004,), 4 * MIB, "cache", bytes_counted=60 * MIB),
)
MATMULS = (matmul((0.04, 0.05)), matmul((0.02, 0.02), "bf16"))
# An axpy of 2²⁴ elements outgrows the cache, a gemv of 1024² fits in it.
OPERATIONS = (
    point("axpy", (2**24,), 3 * 4 * 2**24, 2 * 2**24, (0.02,)),
    point("gemv", (1024, 1024), 4 * 2**20, 2 * 2**20, (0.0001,)),
    point("gemm", (512, 512, 512), 3 * 4 * 512**2, 2 * 512**3, (0.001,)),
)
LINKS = (link("host-to-device", (0.02, 0.025)),)


def run(*measurements, **more):
    """A run on a machine of four cores."""
    return result(*measurements, **({"machine": MACHINE, "device": CPU} | more))


def everything(**more):
    """A run of every probe."""
    return run(*MEMORY, *CACHES, *MATMULS, *OPERATIONS, *LINKS, **more)
