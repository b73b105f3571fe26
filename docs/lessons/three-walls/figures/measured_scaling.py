"""How a step would scale by all-reduces that were measured between two ranks."""

from __future__ import annotations

from wallsite import lessons
from wallsite.figures.drawing import Drawing
from wallsite.figures.measured_scaling import compose
from wallsite.probes.results import Result
from wallsite.probes.scaling import Fit, fit


def data() -> tuple[Fit, float, float]:
    """Fit two recorded ranks of one machine; with the compute, s, and bytes of an example."""
    text = lessons.recorded()["xeon-gloo"].read_text("utf-8")
    return fit(Result.from_json(text)), 1.0, 100e6


def draw(lang: str) -> Drawing:
    """Draw the recorded ranks."""
    return compose(*data(), lang)
