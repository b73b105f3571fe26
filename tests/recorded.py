"""The recorded machines of the lessons, for the tests that need a real result."""

from functools import cache

from wallsite import lessons
from wallsite.probes.results import Result


@cache
def recorded() -> dict[str, Result]:
    """Results by name."""
    files = lessons.recorded().items()
    return {name: Result.from_json(path.read_text("utf-8")) for name, path in files}
