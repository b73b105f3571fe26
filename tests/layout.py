"""Whether the texts of a figure stay clear of each other and inside the frame."""

import itertools

from matplotlib.text import Text


def text_boxes(figure):
    """Each visible text of a figure, labels of ticks included, with its box in units."""
    figure.draw_without_rendering()
    boxes = []
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent()
            boxes.append((text.get_text(), (box.x0, box.y0, box.x1, box.y1)))
    return boxes


def clashes(boxes, width, height, slack=0.5):
    """Yield a line for each pair of boxes that overlap, and each box outside the frame."""
    for (a, box), (b, other) in itertools.combinations(boxes, 2):
        left, top = max(box[0], other[0]), max(box[1], other[1])
        right, bottom = min(box[2], other[2]), min(box[3], other[3])
        if right - left > slack and bottom - top > slack:
            yield f"{a!r} overlaps {b!r} by {right - left:.1f} × {bottom - top:.1f}"
    for words, (left, top, right, bottom) in boxes:
        out = max(-left, -top, right - width, bottom - height)
        if out > slack:
            yield f"{words!r} leaves the frame by {out:.1f}"
