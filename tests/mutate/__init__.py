"""Change one thing in a page, a data file or a snippet, and see whether a test notices.

Run it from the root of the repository::

    python -m tests.mutate --language zh --sample 300 --seed 1

A change that no test notices survives: something on the site can be wrong without anybody being
told. The tool works on a copy of the files, never on the repository itself.
"""
