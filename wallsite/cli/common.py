"""What the commands share: exit codes, columns, and files that are written whole or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn

import click

from wallsite.locale import columns

# Exit codes beside click's own 2 (wrong usage) and the shell's 130 (interrupted).
FAILED, NO_SUCH_NAME, NO_MEMORY, WRONG_RESULT, NOT_STABLE, INTERRUPTED = 1, 3, 4, 5, 6, 130
USAGE = click.UsageError.exit_code


@contextmanager
def exit_codes(codes: Mapping[type[Exception], int]) -> Iterator[None]:
    """Turn an expected error into one line and an exit code."""
    from wallsite.tables import DataError  # noqa: PLC0415

    codes = {DataError: FAILED, **codes}
    try:
        yield
    except tuple(codes) as error:
        code = next(code for kind, code in codes.items() if isinstance(error, kind))
        leave(str(error), code, error)


@contextmanager
def loading(library: str) -> Iterator[None]:
    """Say in one line that a library does not load, and whether that is for want of memory."""
    try:
        yield
    except (ImportError, MemoryError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        limited = _address_space_is_limited()
        why = ": the address space is limited (ulimit -v)" if limited else f": {reason[:200]}"
        leave(f"{library} does not load{why}", NO_MEMORY if limited else FAILED, error)


def _address_space_is_limited() -> bool:
    try:
        import resource  # noqa: PLC0415 - Unix only
    except ImportError:
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def leave(message: str, code: int, cause: BaseException | None = None) -> NoReturn:
    """Say in one line what went wrong and end with an exit code."""
    click.echo(f"Error: {message}", err=True)
    raise click.exceptions.Exit(code) from cause


def aligned(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Pad cells so that columns line up; a Chinese character takes two places."""
    grid = [list(row) for row in rows]
    most = max(map(len, grid), default=0)
    widths = [max(columns(row[i]) for row in grid if i < len(row)) for i in range(most)]
    for row in grid:
        padded = (cell + " " * (widths[i] - columns(cell)) for i, cell in enumerate(row))
        yield "  ".join(padded).rstrip()


@contextmanager
def whole_file(path: Path, mode: str = "w") -> Iterator[IO[str]]:
    """Write a file that appears only once it is complete, and fail before a long measurement."""
    # A device or a pipe is written to; replacing it would destroy it. So would replacing a link.
    try:
        special = path.exists() and not path.is_file()
        whole = path.resolve()
        part = path if special else whole.with_name(f".{uuid.uuid4().hex}.part")
        file = part.open(mode, encoding=None if "b" in mode else "utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
    except RuntimeError as error:  # a link that leads to itself
        raise click.ClickException(f"cannot write {path}: {error}") from error
    try:
        with file:
            yield file
        if not special:
            part.replace(whole)
    except BaseException:
        if not special:
            part.unlink(missing_ok=True)
        raise
