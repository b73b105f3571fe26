"""Measure what the probes reach against C, and what they cost, on this machine.

Run it from the root of the repository, while nothing else runs::

    python -m tests.benchmarks          # each kernel against the same loop in C
    python -m tests.benchmarks limits   # seconds and memory of the commands

Both print a table and exit with 0 if every target is met, 1 if one is not, 2 if they cannot run.
"""
