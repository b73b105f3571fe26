"""STREAM's four kernels and one that only reads, and what each of them counts as moved.

The bytes are derived from the arrays that a kernel declares to read and to write; nothing else
in the package writes a byte count down.

Source: McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers",
1995, and the STREAM benchmark's counting rule.
"""

from __future__ import annotations

from dataclasses import dataclass

Q = 3.0
"""The constant q of scale and triad."""

COUNTING_RULE = "STREAM: each array read counts once, each array written counts once"


@dataclass(frozen=True)
class Kernel:
    """One pass over arrays of the same size.

    Attributes:
        formula: what it computes for each element.
        reads: arrays it reads.
        writes: arrays it writes.
        operations: FLOPs for each element.
    """

    name: str
    formula: str
    reads: int
    writes: int
    operations: int

    def flops(self, elements: int) -> int:
        """FLOPs over arrays of so many elements."""
        return self.operations * elements

    def bytes_counted(self, array_bytes: int) -> int:
        """Bytes by STREAM's rule: 2 arrays for copy and scale, 3 for add and triad."""
        return (self.reads + self.writes) * array_bytes

    def bytes_with_write_allocate(self, array_bytes: int) -> int:
        """Bytes if each line is also read before it is overwritten: one array more.

        It is what a CPU's ordinary stores cause. Stores that bypass the cache, as memcpy uses
        for large copies, cause only the bytes counted.
        """
        return self.bytes_counted(array_bytes) + self.writes * array_bytes


KERNELS = (
    Kernel("copy", "a = b", reads=1, writes=1, operations=0),
    Kernel("scale", "a = q·b", reads=1, writes=1, operations=1),
    Kernel("add", "a = b + c", reads=2, writes=1, operations=1),
    Kernel("triad", "a = b + q·c", reads=2, writes=1, operations=2),
)
READ = Kernel("sum", "s = Σ b", reads=1, writes=0, operations=1)
"""What decode does with weights: read them, and write next to nothing."""
