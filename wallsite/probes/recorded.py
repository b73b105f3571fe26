"""Results of real machines, as `wallsite probe all --json` wrote them on the day they name."""

from __future__ import annotations

from importlib import resources

from wallsite.probes.results import Result


def recorded() -> dict[str, Result]:
    """Return the results that come with the package, by name, in the order of their names."""
    folder = resources.files(__package__) / "data"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".json"): Result.from_json(file.read_text(encoding="utf-8"))
        for file in files
    }
