"""Looking things up: ridge points, decode floors and tables, without measuring anything."""

# ruff: noqa: PLC0415

from __future__ import annotations

import click

from wallsite.cli.common import NO_SUCH_NAME, USAGE, aligned, exit_codes

_FEWEST = 1e6  # parameters; fewer are billions written without their B


def _number(context: click.Context, parameter: click.Parameter, text: str) -> float:
    """Read a number of parameters, with a prefix if one is written: 7e9, 7B, 1.5T."""
    from wallsite.quantity import quantity

    try:
        number = quantity(text, "1")
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if number < _FEWEST:
        raise click.BadParameter(
            f"{text!r} is {number:g} parameters, too few for a model; "
            f"for {number:g} billion write {number:g}B"
        )
    return number


@click.command(epilog="Example: wallsite ridge h100-sxm --dtype fp8")
@click.argument("device")
@click.option("--dtype", help="Data type of the peak; fp16, or bf16 without it, if not given.")
def ridge(device: str, dtype: str | None) -> None:
    """Ridge point of a DEVICE: dense peak ÷ memory bandwidth."""
    from wallsite import tables
    from wallsite.roofline import ridge_point
    from wallsite.units import format_number

    with exit_codes({tables.UnknownName: NO_SUCH_NAME}):
        found = tables.accelerator(device)
        dtype = dtype or found.sixteen_bit or "fp16"
        peak = found.peak(dtype)
    if found.bandwidth is None:
        raise click.ClickException(f"no memory bandwidth is known for {found.name}")
    # Where sources disagree there is a ridge point for each.
    # As in the tables: each rival against the default of the other, not rival against rival.
    pairs = [(peak, bandwidth) for bandwidth in (found.bandwidth, *found.bandwidth.alternatives)]
    pairs += [(rival, found.bandwidth) for rival in peak.alternatives]
    unit = "OP/byte" if dtype.startswith("int") else "FLOP/byte"
    for top, bandwidth in pairs:
        point = ridge_point(top.si, bandwidth.si)
        click.echo(
            f"{found.name}, {dtype}: {top.value:g} {top.unit} ÷ {bandwidth.value:g} "
            f"{bandwidth.unit} = {format_number(point, 1)} {unit}"
        )


@click.command(epilog="Example: wallsite decode h100-sxm --params 7B --dtype bf16")
@click.argument("device")
@click.option(
    "--params", callback=_number, required=True, help="Parameters read per token: 7e9 or 7B."
)
@click.option("--dtype", default="bf16", show_default=True, help="Data type of the weights.")
def decode(device: str, params: float, dtype: str) -> None:
    """Least time for a token on a DEVICE at batch 1: bytes of the weights ÷ bandwidth."""
    from wallsite import tables, workload
    from wallsite.tables.names import find
    from wallsite.tables.schema import ALIASES
    from wallsite.units import format_number

    with exit_codes({tables.UnknownName: NO_SUCH_NAME, ValueError: USAGE}):
        found = tables.accelerator(device)
        if found.bandwidth is None:
            raise click.ClickException(f"no memory bandwidth is known for {found.name}")
        widths = workload.ELEMENT_BYTES
        name = ALIASES.get(dtype.casefold(), dtype)
        width = find("dtype", name, widths, {known: known for known in widths})
        weights = params * width
        for bandwidth in (found.bandwidth, *found.bandwidth.alternatives):
            seconds = workload.decode_floor(params, bandwidth.si, width)
            click.echo(
                f"{found.name}: {weights / 1e9:g} GB of {dtype} weights ÷ {bandwidth.value:g} "
                f"{bandwidth.unit} = at least {format_number(seconds * 1e3, 2)} ms a token, "
                f"at most {format_number(1 / seconds)} tokens/s for one sequence"
            )
    if found.capacity and weights > found.capacity.si:
        click.echo(
            f"They do not fit: {found.name} has {found.capacity.value:g} {found.capacity.unit}"
        )


@click.command(epilog="Example: wallsite table ridge --device h100-sxm --device b200 --dtype fp8")
@click.argument("name")
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.option("--device", "devices", multiple=True, help="Only this device; may be repeated.")
@click.option("--dtype", help="Data type, in the tables that depend on one.")
def table(name: str, lang: str, devices: tuple[str, ...], dtype: str | None) -> None:
    """Print a table: accelerators, ridge, links, models, energy, sources and more."""
    from wallsite.render.table import render
    from wallsite.tables import UnknownName

    options = {key: value for key, value in {"devices": devices, "dtype": dtype}.items() if value}
    with exit_codes({UnknownName: NO_SUCH_NAME, TypeError: USAGE, ValueError: USAGE}):
        rendered = render(name, lang, **options)
    click.echo(rendered.caption)
    rows = [rendered.headers, *([cell.text for cell in row] for row in rendered.rows)]
    for line in aligned(rows):
        click.echo(line)
    for note in rendered.notes:
        click.echo(f"* {note}")
