"""One recorded machine through each library; beside it, the bandwidth of a socket."""

from __future__ import annotations

from wallsite import lessons
from wallsite.figures.drawing import Drawing
from wallsite.figures.measured_roofline import compose
from wallsite.probes.results import Result

SOCKET = "xeon-8480"


def data() -> tuple[list[Result], list[str]]:
    """Read the recorded results."""
    texts = (lessons.recorded()[name].read_text("utf-8") for name in ("xeon-numpy", "xeon-torch"))
    return [Result.from_json(text) for text in texts], [SOCKET]


def draw(lang: str) -> Drawing:
    """Draw the recorded machine."""
    return compose(*data(), lang)
