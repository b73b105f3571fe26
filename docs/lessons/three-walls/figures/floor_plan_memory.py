"""The floor plan of a GPU with the memory wall lit."""

from __future__ import annotations

from wallsite.figures.drawing import Drawing

from .floor_plan import MEMORY, Data, data, drawing

__all__ = ["Data", "data", "draw"]


def draw(lang: str) -> Drawing:
    """Draw the plan with this page’s part lit."""
    return drawing(lang, __file__, {MEMORY})
