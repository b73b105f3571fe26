"""The command: compare with C, or hold the commands to their limits."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

MIB = 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 if every target is met, 1 if not, 2 if nothing can be measured."""
    options = _parser().parse_args(arguments)
    if options.what == "limits":
        from . import limits

        try:
            rows = limits.check()
        except limits.NotInstalled as error:
            print(error, file=sys.stderr)
            return 2
    else:
        # Threads of OpenMP that spin while they wait would take the CPUs from the other side. It
        # is read when libgomp is loaded, so before torch and the C kernels are.
        os.environ["OMP_WAIT_POLICY"] = "passive"
        from . import native, ratios

        try:
            with native.kernels() as c:
                rows = ratios.compare(c, options.mib * MIB, options.repeats, options.threads)
        except (native.CannotCompile, ratios.Wrong) as error:
            print(error, file=sys.stderr)
            return 2
    return int(any(row.met is False for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["kernels", "limits"], default="kernels")
    parser.add_argument("--mib", type=_whole, default=256, help="size of an array (default 256)")
    parser.add_argument("--repeats", type=_whole, default=60, help="of each kernel (default 60)")
    parser.add_argument("--threads", type=_whole, help="of both sides (default: physical cores)")
    return parser


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
