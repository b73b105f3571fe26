"""What the hands-on page promises of its programs."""

import ast
from pathlib import Path

SNIPPETS = Path(__file__).parents[4] / "snippets"


def test_the_first_program_is_one_that_anyone_can_read():
    source = (SNIPPETS / "first_ridge.py").read_text("utf-8")
    start = ast.parse(source).body[1].lineno  # after what it is and what it needs
    assert sum(bool(line.strip()) for line in source.splitlines()[start - 1 :]) <= 30
