"""Measuring this machine, and looking at what was measured."""

# ruff: noqa: PLC0415

from __future__ import annotations

import math
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
from click.core import ParameterSource

from wallsite.cli import common, report

if TYPE_CHECKING:
    from types import ModuleType

    from wallsite.figures import Drawing
    from wallsite.probes import Result

_PROBES = ("memory", "cache", "matmul", "operations", "link")
_ALL_REDUCE = "allreduce"
# Options that only this probe takes, and those that it does not.
_BETWEEN = ("nproc", "timeout")
_NOT_BETWEEN = ("backend", "dtype", "array_bytes", "threads", "budget")
_FILE = click.Path(dir_okay=False, allow_dash=True)
_ERASE = "\r\x1b[K"  # to the line's start, and nothing on the line


def _bytes(context: click.Context, parameter: click.Parameter, text: str | None) -> int | None:
    """Read a number of bytes, with a unit if one is written: 268435456, 256MiB, 1GB."""
    from wallsite.units import scale

    if text is None:
        return None
    parts = re.fullmatch(r"(\d{1,15}(?:\.\d+)?(?:e\d{1,2})?)([KMGT]iB|[kKMGT]B)?", text)
    size = float(parts[1]) * scale((parts[2] or "byte").replace("KB", "kB")) if parts else math.nan
    if not size.is_integer():
        raise click.BadParameter(
            f"{text!r} is not a number of bytes such as 268435456, 1e9 or 256MiB"
        )
    return int(size)


@click.command(epilog="Example: wallsite detect")
def detect() -> None:
    """List what this machine is, and how each fact was found."""
    from wallsite import probes

    click.echo("\n".join(report.facts(probes.machine(), *probes.devices())))


@click.command(epilog="Example: wallsite probe memory matmul --quick --json result.json")
@click.argument(
    "what", nargs=-1, type=click.Choice([*_PROBES, "all", _ALL_REDUCE]), metavar="[PROBE]..."
)
@click.option(
    "--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps, xpu, npu …"
)
@click.option(
    "--backend", type=click.Choice(["auto", "numpy", "torch"]), default="auto", show_default=True
)
@click.option(
    "--dtype", default="auto", show_default=True, help="Type of products and operations: fp32 …"
)
@click.option("--array-bytes", callback=_bytes, help="Bytes of an array: 268435456 or 256MiB.")
@click.option("--threads", type=int, help="CPU threads; one for each core if not given.")
@click.option("--budget", type=float, metavar="SECONDS", help="Start nothing new after this long.")
@click.option("--nproc", type=int, help="allreduce: start so many ranks on this machine.")
@click.option(
    "--timeout",
    type=float,
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="allreduce: wait so long for another rank.",
)
@click.option("--quick", is_flag=True, help="Smaller arrays and fewer samples.")
@click.option("--strict", is_flag=True, help="Fail with code 6 if a number is unstable.")
@click.option("--json", "json_path", type=_FILE, help="Write the result as JSON; - prints it.")
@click.option("--csv", "csv_path", type=_FILE, help="Write every sample as CSV; - prints them.")
def probe(
    what: tuple[str, ...],
    device: str,
    backend: str,
    dtype: str,
    array_bytes: int | None,
    threads: int | None,
    budget: float | None,
    nproc: int | None,
    timeout: float,
    quick: bool,
    strict: bool,
    json_path: str | None,
    csv_path: str | None,
) -> None:
    """Measure this machine. PROBE is any of memory, cache, matmul, operations, link, or all.

    Without one, memory and matmul are measured: together they give the ridge point.

    The probe allreduce stands alone: it measures between ranks, started by torchrun (torchrun -m
    wallsite probe allreduce) or by --nproc.
    """
    if json_path == csv_path == "-":
        raise click.UsageError("--json - and --csv - cannot both print")
    if _same(json_path, csv_path):
        raise click.UsageError(f"--json and --csv cannot both write {csv_path}")
    between = _ALL_REDUCE in what
    if between and len(what) > 1:
        raise click.UsageError("allreduce is measured alone")
    _refuse_options(between)
    if between and _is_helper(nproc):
        json_path = csv_path = None  # rank 0 writes them
    with ExitStack() as files:
        # Opened first, so that a path that cannot be written costs no measurement.
        json_file, csv_file = (_opened(files, path) for path in (json_path, csv_path))
        lost = "anything was measured"
        try:
            files.enter_context(_ended_like_interrupted())
            result = (
                _all_reduced(nproc, device, timeout, quick)
                if between
                else _measured(what, device, backend, dtype, array_bytes, threads, budget, quick)
            )
            if result is None:  # not rank 0
                return
            lost = "the files were written"
            # First to the screen: what comes of the files may be nothing.
            if "-" not in {json_path, csv_path}:
                click.echo("\n".join(report.lines(result)))
            _write(json_file, json_path, result.to_json)
            _write(csv_file, csv_path, result.to_csv)
        except KeyboardInterrupt:
            common.leave(f"interrupted before {lost}", common.INTERRUPTED)
    _judge(result, strict)


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Take SIGTERM and SIGHUP as Ctrl-C: what was measured is kept, and ranks end with us."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        names = []
    before = {name: signal.signal(getattr(signal, name), interrupt) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _write(file: IO[str] | None, path: str | None, text: Callable[[], str]) -> None:
    if file is None:
        return
    try:
        file.write(text())
        file.flush()
    except OSError as error:
        error.filename = error.filename or path
        raise


def _refuse_options(between: bool) -> None:
    """Refuse what the chosen probes would silently ignore."""
    given = click.get_current_context().get_parameter_source
    for name in _NOT_BETWEEN if between else _BETWEEN:
        if given(name) is not ParameterSource.DEFAULT:
            verb = "does not take" if between else "alone takes"
            raise click.UsageError(f"the probe allreduce {verb} --{name.replace('_', '-')}")


def _same(one: str | None, other: str | None) -> bool:
    """Whether two paths name one file."""
    if one is None or other is None:
        return False
    return os.path.realpath(one) == os.path.realpath(other)


def _opened(files: ExitStack, path: str | None) -> IO[str] | None:
    if path is None:
        return None
    if path == "-":
        # UTF-8 whatever the terminal's encoding is: the file that a shell makes of it is read so.
        return click.open_file("-", "w", encoding="utf-8")
    return files.enter_context(common.whole_file(Path(path)))


def _measured(
    what: tuple[str, ...],
    device: str,
    backend: str,
    dtype: str,
    array_bytes: int | None,
    threads: int | None,
    budget: float | None,
    quick: bool,
) -> Result:
    with common.loading("numpy"):
        from wallsite import probes
    from wallsite.tables.schema import ALIASES

    dtype = ALIASES.get(dtype.casefold(), dtype.casefold())
    with common.exit_codes({**_codes(), ValueError: common.USAGE}), _progress():
        return probes.measure(
            what or ("memory", "matmul"),
            device=device,
            backend=backend,
            dtype=dtype,
            array_bytes=array_bytes,
            threads=threads,
            budget=budget,
            quick=quick,
            tell=_tell,
        )


def _is_helper(nproc: int | None) -> bool:
    """Whether this process is a rank that has nothing to write."""
    from wallsite.probes import allreduce

    with common.exit_codes({ValueError: common.USAGE}):
        place = allreduce.place()
    return nproc is None and place is not None and place.rank > 0


def _all_reduced(nproc: int | None, device: str, timeout: float, quick: bool) -> Result | None:
    from wallsite.probes import allreduce

    repeats = 5 if quick else 10
    with common.exit_codes({**_codes(), ValueError: common.USAGE}), _progress():
        if nproc is None:
            return allreduce.measure(device=device, repeats=repeats, timeout=timeout, tell=_tell)
        _tell(f"all-reduces among {nproc} ranks")
        return allreduce.run_local(nproc, device=device, repeats=repeats, timeout=timeout)


def _codes() -> dict[type[Exception], int]:
    from wallsite import probes

    return {
        probes.DeviceNotFound: common.NO_SUCH_NAME,
        probes.NotEnoughMemory: common.NO_MEMORY,
        probes.WrongResult: common.WRONG_RESULT,
        probes.ClockStopped: common.WRONG_RESULT,
        probes.ProbeError: common.FAILED,
    }


@contextmanager
def _progress() -> Iterator[None]:
    """Wipe the line of the progress away at the end, before anything else is said."""
    try:
        yield
    finally:
        _tell("")


def _tell(what: str) -> None:
    """Show what is being measured to whoever watches a terminal, on one line."""
    if sys.stderr.isatty():
        click.echo(_ERASE + (f"measuring {what} …" if what else ""), err=True, nl=False)


def _judge(result: Result, strict: bool) -> None:
    """Leave with the code of the worst that happened, once everything is written."""
    from wallsite.probes import results

    if result.interrupted:
        common.leave("interrupted: what was measured until then is kept", common.INTERRUPTED)
    by_name = {kind.__name__: code for kind, code in _codes().items()}
    failed = [each for each in result.measurements if each.status == results.FAILED]
    if failed:
        worst = max(failed, key=lambda each: by_name.get(each.error, common.FAILED))
        common.leave(worst.reason, by_name.get(worst.error, common.FAILED))
    unstable = [each for each in result.measurements if each.status == results.UNSTABLE]
    if strict and unstable:
        common.leave(f"{unstable[0]} is unstable: {unstable[0].reason}", common.NOT_STABLE)


@click.command(
    epilog="Example: wallsite roofline --from result.json --device h100-sxm --out roofline.svg"
)
@click.option(
    "--from",
    "paths",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    help="What wallsite probe --json wrote; may be repeated.",
)
@click.option("--device", "devices", multiple=True, help="Of the catalog; may be repeated.")
@click.option("--dtype", help="Data type; that of the measured operations if not given.")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File to write: .svg or .png.",
)
def roofline(
    paths: tuple[Path, ...], devices: tuple[str, ...], dtype: str | None, lang: str, out: Path
) -> None:
    """Draw measured machines, and devices of the catalog, as rooflines in one figure."""
    results = [_read(path) for path in paths]
    drawing = _draw(
        out, lambda figures: figures.measured_roofline.compose(results, devices, lang, dtype)
    )
    click.echo(drawing.caption)


def _draw(out: Path, compose: Callable[[ModuleType], Drawing]) -> Drawing:
    """Compose a figure and write it, whole or not at all.

    Args:
        out: file to write; its suffix says how.
        compose: makes the figure, given the package of figures.
    """
    kind = out.suffix.lower().removeprefix(".")
    if kind not in _NO_DATE:
        raise click.BadParameter(f"{str(out)!r} must end in .svg or .png", param_hint="--out")
    try:
        from matplotlib import rc_context

        from wallsite import figures
        from wallsite.figures import measured_roofline, measured_scaling, style  # noqa: F401
    except ImportError as error:
        raise click.ClickException(
            f'a figure needs {error.name}: pip install "wallsite[figures]"'
        ) from error
    from wallsite.probes import NotMeasured
    from wallsite.tables import UnknownName

    codes: dict[type[Exception], int] = {
        UnknownName: common.NO_SUCH_NAME,
        NotMeasured: common.USAGE,
        ValueError: common.USAGE,
    }
    # Without a salt the ids in an SVG are drawn at random.
    salted = rc_context({"svg.hashsalt": "wallsite"})
    with common.exit_codes(codes), style.context(), salted:
        drawing = compose(figures)
        with common.whole_file(out, "wb") as file:
            drawing.figure.savefig(
                file, format=kind, dpi=216, facecolor=style.PAPER, metadata=_NO_DATE[kind]
            )
    return drawing


# Matplotlib writes the time into an SVG, so that no two are equal.
_NO_DATE = {"svg": {"Date": None}, "png": {}}


@click.command(
    epilog="Example: wallsite scale --from allreduce.json --compute 106 --bytes 14GB --out t.svg"
)
@click.option(
    "--from",
    "path",
    type=click.Path(path_type=Path),
    required=True,
    help="What wallsite probe allreduce --json wrote.",
)
@click.option("--compute", type=float, required=True, help="Seconds of a step on one rank alone.")
@click.option("--bytes", "size", callback=_bytes, required=True, help="Of the gradients: 14GB.")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Draw it: .svg or .png."
)
def scale(path: Path, compute: float, size: int, lang: str, out: Path | None) -> None:
    """Predict a step on more ranks from measured all-reduces: T(N), efficiency, best N."""
    from wallsite.probes import NotMeasured, scaling

    result = _read(path)
    with common.exit_codes({NotMeasured: common.USAGE, ValueError: common.USAGE}):
        fitted = scaling.fit(result)
        lines = list(report.scaling(fitted, compute, size))
    if out:
        _draw(out, lambda figures: figures.measured_scaling.compose(fitted, compute, size, lang))
    click.echo("\n".join(lines))


@click.command(epilog="Example: wallsite compare before.json after.json")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "--more-a", type=click.Path(path_type=Path), multiple=True, help="Another run like A."
)
@click.option(
    "--more-b", type=click.Path(path_type=Path), multiple=True, help="Another run like B."
)
def compare(a: Path, b: Path, more_a: tuple[Path, ...], more_b: tuple[Path, ...]) -> None:
    """Say what changed from A to B beyond noise. All are files that wallsite probe wrote.

    One run of each tells a factor of two. Four of each, taken in turns, tell what differs at all.
    """
    from wallsite.probes.compare import compare as compared

    found = compared(_read(a), _read(b), *([_read(x) for x in more] for more in (more_a, more_b)))
    names = click.format_filename(a), click.format_filename(b)
    click.echo("\n".join(report.changes(*names, found)))


def _read(path: Path) -> Result:
    from wallsite.probes import Result

    try:
        result = Result.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        common.leave(f"{path}: {error.strerror or error}", common.USAGE)
    except UnicodeDecodeError:
        common.leave(f"{path}: not a wallsite probe result: it is not text", common.USAGE)
    except ValueError as error:
        common.leave(f"{path}: {error}", common.USAGE)
    return result
