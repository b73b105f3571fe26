"""The ``wallsite`` command: the tables, the models and the probes, in a terminal.

Each command imports what it needs when it runs, so that looking a number up takes no longer
than starting Python.
"""

from __future__ import annotations

import io
import sys
from typing import Any

import click

from wallsite import __version__
from wallsite.cli import explain, lookup, measure


class _Commands(click.Group):
    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; output that cannot be written ends in one line, not in a traceback."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that lacks × or 宽 shows a ?
        try:
            return super().main(*args, **extra)
        except OSError as error:  # click takes care of a closed pipe, not of a full disk
            where = f"{error.filename}: " if error.filename else ""
            click.echo(f"Error: {where}{error.strerror or error}", err=True)
            sys.exit(1)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """The three walls of AI infrastructure: look them up, compute them, measure them."""


for _command in (
    *(lookup.ridge, lookup.decode, lookup.table, explain.explain),
    *(measure.detect, measure.probe, measure.roofline, measure.scale, measure.compare),
):
    main.add_command(_command)
