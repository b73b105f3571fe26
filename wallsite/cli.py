"""The ``wallsite`` command: the tables, the models and the probes, in a terminal.

Each command imports what it needs when it runs, so that looking a number up takes no longer
than starting Python.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from wallsite import __version__

if TYPE_CHECKING:
    from wallsite.probes import BandwidthResult, MatmulResult, ProbeResult

# Exit codes beside click's own 1 (failed) and 2 (wrong usage).
BROKEN_DATA, NO_SUCH_NAME, NO_MEMORY, WRONG_RESULT = 1, 3, 4, 5
USAGE = click.UsageError.exit_code
_FEWEST = 1e6  # parameters; fewer are billions written without their B


@contextmanager
def _exit_codes(codes: Mapping[type[Exception], int]) -> Iterator[None]:
    """Turn an expected error into one line and an exit code."""
    from wallsite.tables import DataError

    codes = {DataError: BROKEN_DATA, **codes}
    try:
        yield
    except tuple(codes) as error:
        click.echo(f"Error: {error}", err=True)
        code = next(code for kind, code in codes.items() if isinstance(error, kind))
        raise click.exceptions.Exit(code) from error


def _number(context: click.Context, parameter: click.Parameter, text: str) -> float:
    """Read a number of parameters, with a prefix if one is written: 7e9, 7B, 1.5T."""
    pattern = r"((?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)([kmbt]?)"
    parts = re.fullmatch(pattern, text.lower().replace("_", ""))
    if not parts:
        raise click.BadParameter(f"{text!r} is not a number such as 7e9 or 7B")
    number = float(parts[1]) * {"": 1, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}[parts[2]]
    if 0 < number < _FEWEST:
        raise click.BadParameter(
            f"{text!r} is {number:g} parameters, too few for a model; "
            f"for {parts[1]} billion write {parts[1]}B"
        )
    return number


class _Commands(click.Group):
    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; output that cannot be written ends in one line, not in a traceback."""
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


@main.command(epilog="Example: wallsite ridge h100-sxm --dtype fp8")
@click.argument("device")
@click.option("--dtype", default="fp16", show_default=True, help="Data type of the peak.")
def ridge(device: str, dtype: str) -> None:
    """Ridge point of a DEVICE: dense peak ÷ memory bandwidth."""
    from wallsite import tables
    from wallsite.roofline import ridge_point
    from wallsite.units import format_number

    with _exit_codes({tables.UnknownName: NO_SUCH_NAME}):
        found = tables.accelerator(device)
        peak = found.peak(dtype)
    if found.bandwidth is None:
        raise click.ClickException(f"no memory bandwidth is known for {found.name}")
    # Where sources disagree there is a ridge point for each.
    bandwidths = (found.bandwidth, *found.bandwidth.alternatives)
    for top, bandwidth in product((peak, *peak.alternatives), bandwidths):
        point = ridge_point(top.si, bandwidth.si)
        click.echo(
            f"{found.name}, {dtype}: {top.value:g} {top.unit} ÷ {bandwidth.value:g} "
            f"{bandwidth.unit} = {format_number(point, 1)} FLOP/byte"
        )


@main.command(epilog="Example: wallsite decode h100-sxm --params 7B --dtype bf16")
@click.argument("device")
@click.option(
    "--params", callback=_number, required=True, help="Parameters read per token: 7e9 or 7B."
)
@click.option("--dtype", default="bf16", show_default=True, help="Data type of the weights.")
def decode(device: str, params: float, dtype: str) -> None:
    """Least time for a token on a DEVICE at batch 1: bytes of the weights ÷ bandwidth."""
    from wallsite import tables, workload
    from wallsite.tables.names import find
    from wallsite.units import format_number

    with _exit_codes({tables.UnknownName: NO_SUCH_NAME, ValueError: USAGE}):
        found = tables.accelerator(device)
        if found.bandwidth is None:
            raise click.ClickException(f"no memory bandwidth is known for {found.name}")
        widths = workload.ELEMENT_BYTES
        width = find("dtype", dtype, widths, {known: known for known in widths})
        seconds = workload.decode_floor(params, found.bandwidth.si, width)
    weights = params * width
    click.echo(
        f"{found.name}: {weights / 1e9:g} GB of {dtype} weights ÷ "
        f"{found.bandwidth.value:g} {found.bandwidth.unit} = at least "
        f"{format_number(seconds * 1e3, 2)} ms a token, at most {format_number(1 / seconds)} "
        "tokens/s for one sequence"
    )
    if found.capacity and weights > found.capacity.si:
        click.echo(
            f"They do not fit: {found.name} has {found.capacity.value:g} {found.capacity.unit}"
        )


@main.command(epilog="Example: wallsite table ridge --device h100-sxm --device b200 --dtype fp8")
@click.argument("name")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.option("--device", "devices", multiple=True, help="Only this device; may be repeated.")
@click.option("--dtype", help="Data type, in the tables that depend on one.")
def table(name: str, lang: str, devices: tuple[str, ...], dtype: str | None) -> None:
    """Print a table: accelerators, ridge, links, models, energy, sources and more."""
    from wallsite.tables import UnknownName
    from wallsite.tables.render import render

    options = {key: value for key, value in {"devices": devices, "dtype": dtype}.items() if value}
    with _exit_codes({UnknownName: NO_SUCH_NAME, TypeError: USAGE, ValueError: USAGE}):
        rendered = render(name, lang, **options)
    click.echo(rendered.caption)
    rows = [rendered.headers, *([cell.text for cell in row] for row in rendered.rows)]
    for line in _aligned(rows):
        click.echo(line)
    for note in rendered.notes:
        click.echo(f"* {note}")


@main.command(epilog="Example: wallsite probe --quick --json result.json")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps …")
@click.option(
    "--backend", type=click.Choice(["auto", "numpy", "torch"]), default="auto", show_default=True
)
@click.option("--array-bytes", type=int, help="Bytes of each of the three arrays.")
@click.option("--threads", type=int, help="CPU threads of the bandwidth kernels.")
@click.option("--quick", is_flag=True, help="Smaller arrays and fewer samples.")
@click.option(
    "--json", "path", type=click.Path(dir_okay=False, allow_dash=True), help="Write JSON; - prints."
)
def probe(
    device: str,
    backend: str,
    array_bytes: int | None,
    threads: int | None,
    quick: bool,
    path: str | None,
) -> None:
    """Measure this machine: memory bandwidth, matmul peak, ridge point."""
    from wallsite import probes

    codes: dict[type[Exception], int] = {
        probes.DeviceNotFound: NO_SUCH_NAME,
        probes.NotEnoughMemory: NO_MEMORY,
        probes.ProbeError: WRONG_RESULT,
        ValueError: USAGE,
    }
    keep = nullcontext() if path is None or path == "-" else _whole_file(Path(path))
    with _exit_codes(codes), keep as file:
        result = probes.measure(device, backend, array_bytes, threads, quick=quick)
        if file:
            file.write(result.to_json())
    if path == "-":
        click.echo(result.to_json(), nl=False)
    else:
        click.echo("\n".join(_report(result)))


def _report(result: ProbeResult) -> Iterator[str]:
    """What a person wants to see of a result."""
    from wallsite.probes.plan import in_mib

    host, bandwidth = result.machine, result.bandwidth
    cache = host.last_level_cache
    yield f"{host.cpu}, {_counted(host.cores, 'core')}, last-level cache " + (
        in_mib(cache) if cache else "not known"
    )
    threads = f", {_counted(bandwidth.threads, 'thread')}" if bandwidth.threads else ""
    yield (
        f"{bandwidth.device} ({bandwidth.device.name}) with {bandwidth.backend} "
        f"{bandwidth.backend_version}{threads}, arrays of {in_mib(bandwidth.array_bytes)}"
    )
    yield ""
    yield from _aligned(_bandwidth_rows(bandwidth))
    yield ""
    yield from _aligned([_matmul_row(matmul, bandwidth) for matmul in result.matmuls])
    yield ""
    yield _decode_line(result)
    yield from (f"Note: {text}." for text in (bandwidth.device.note, *bandwidth.warnings) if text)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _bandwidth_rows(bandwidth: BandwidthResult) -> Iterator[list[str]]:
    yield ["GB/s", "", "best", "median", "with write-allocate"]
    for kernel in bandwidth.kernels:
        moved = kernel.best_with_write_allocate
        yield [
            kernel.name,
            kernel.formula,
            f"{kernel.best / 1e9:6,.1f}",
            f"{kernel.median / 1e9:6,.1f}",
            f"{moved / 1e9:6,.1f}" if moved else "",
        ]


def _matmul_row(matmul: MatmulResult, bandwidth: BandwidthResult) -> list[str]:
    from wallsite.probes import measured_ridge

    return [
        "matmul",
        matmul.dtype,
        f"{matmul.n} × {matmul.n}",
        f"{matmul.best / 1e12:.3f} TFLOP/s",
        f"ridge point {measured_ridge(matmul, bandwidth):.1f} FLOP/byte",
    ]


def _decode_line(result: ProbeResult) -> str:
    from wallsite import roofline, workload

    work, bandwidth = workload.decode(7e9), result.bandwidth.best
    peak = max(matmul.best for matmul in result.matmuls)
    wall = roofline.bound(work.intensity, peak, bandwidth)
    return (
        f"Decoding a 7B model in bf16 for one sequence does {work.intensity:.0f} FLOP/byte: "
        f"{wall}-bound, about {workload.decode_floor(7e9, bandwidth) * 1e3:,.0f} ms a token at the "
        "triad's bandwidth."
    )


def _aligned(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Pad cells so that columns line up; a Chinese character takes two places."""
    grid = [list(row) for row in rows]
    columns = max(map(len, grid))
    widths = [max(_width(row[i]) for row in grid if i < len(row)) for i in range(columns)]
    for row in grid:
        padded = (cell + " " * (widths[i] - _width(cell)) for i, cell in enumerate(row))
        yield "  ".join(padded).rstrip()


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


@contextmanager
def _whole_file(path: Path) -> Iterator[IO[str]]:
    """Write a file that appears only once it is complete, and fail before a long measurement."""
    # A device or a pipe is written to; replacing it would destroy it. So would replacing a link.
    special = path.exists() and not path.is_file()
    whole = path.resolve()
    part = path if special else whole.with_name(f".{whole.name}.part")
    try:
        file = part.open("w", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
    try:
        with file:
            yield file
        if not special:
            part.replace(whole)
    except BaseException:
        if not special:
            part.unlink(missing_ok=True)
        raise
