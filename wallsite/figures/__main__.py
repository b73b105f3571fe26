"""Write the figures as SVG files that stand alone, light and dark in one."""

from __future__ import annotations

from pathlib import Path

import click

from wallsite import lessons
from wallsite.figures import draw
from wallsite.figures.svg import document, themed
from wallsite.tables import DataError, UnknownName


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to fill."
)
@click.option("--lang", required=True, help="Language of the text: zh, en or another.")
@click.option("--name", "names", multiple=True, help="Only this one; repeatable.")
def main(out: Path, lang: str, names: tuple[str, ...]) -> None:
    """Write figures as SVG files into a folder."""
    for name in names or lessons.figures():
        try:
            drawing = draw(name, lang)
        except (UnknownName, DataError) as error:
            raise click.UsageError(str(error)) from None
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{name}.{lang}.svg"
        fragment = themed(drawing.figure, title=drawing.title, alt=drawing.alt)
        file.write_text(document(fragment), encoding="utf-8")
        click.echo(f"{file}: {drawing.title}")


if __name__ == "__main__":
    main()
