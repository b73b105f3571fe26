"""A process that draws figures on request: one JSON object a line in, one a line out.

A site build starts one, so that Matplotlib is imported once, and starts a new one when the
package changes, so that no figure is drawn by modules that are out of date.

Request: ``{"name": …, "lang": …}`` for a figure of the package, or ``{"code": …, "lang": …,
"title": …, "alt": …}`` for a page's code, which leaves a Matplotlib figure in ``fig``.
Answer: ``{"svg", "title", "alt", "caption", "table"}``, or ``{"error": …}`` with one line.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot
from matplotlib.figure import Figure

from wallsite.figures import draw, style
from wallsite.figures.drawing import Drawing
from wallsite.figures.svg import themed

_CODE = "<figure>"


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Draw what a request asks for."""
    drawing = _from_code(request) if "code" in request else draw(request["name"], request["lang"])
    table = drawing.table
    return {
        "svg": themed(drawing.figure, title=drawing.title, alt=drawing.alt),
        "title": drawing.title,
        "alt": drawing.alt,
        "caption": drawing.caption,
        "table": table and {"headers": table.headers, "rows": table.rows},
    }


def reply(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request, or say in one line why there is no answer."""
    try:
        return answer(request)
    except Exception as error:
        return {"error": _explain(error)}


def _from_code(request: Mapping[str, Any]) -> Drawing:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = compile(request["code"], _CODE, "exec")
    try:
        # What the code prints must not end up between two answers.
        with style.context(), contextlib.redirect_stdout(sys.stderr):
            exec(code, namespace)
    finally:
        pyplot.close("all")
    figure = namespace.get("fig")
    if not isinstance(figure, Figure):
        raise TypeError("the code leaves no Matplotlib figure in a variable called fig")
    return Drawing(figure, request.get("title", ""), request.get("alt", ""), caption="")


def _explain(error: Exception) -> str:
    """One line: the kind of error, what it says, and which line of the page's code raised it."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == _CODE
    ]
    if isinstance(error, SyntaxError) and error.filename == _CODE:
        lines.append(error.lineno)
    where = f" (line {lines[-1]} of the code)" if lines else ""
    return " ".join(f"{type(error).__name__}: {error}{where}".split())


def main() -> None:
    """Answer each line of standard input until it ends."""
    mpl.use("Agg")
    try:
        for line in sys.stdin:
            print(json.dumps(reply(json.loads(line))), flush=True)
    except BrokenPipeError:
        # The build that asked has ended. Nothing is left for Python to flush at its own end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
