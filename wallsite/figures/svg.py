"""A Matplotlib figure as an SVG fragment for a page: themed, deterministic, small, accessible.

Text stays text, in the font of the page around it. Colours become CSS variables, so that one
figure serves the light and the dark theme; a colour outside the palette is an error.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.figure import Figure

from wallsite.figures import style

_SVG = "http://www.w3.org/2000/svg"
_VARIABLES = {light: f"var(--ws-{name})" for name, (light, _) in style.PALETTE.items()}
_BLACK = "#000000"
_VARIABLES[_BLACK] = _VARIABLES[style.INK]
_GREY = re.compile(r"#(..)\1\1")
_PAINTED = {"path", "text", "use"}
_NUMBER = re.compile(r"-?\d+\.\d+")
_STEP = re.compile(r"step-(\d+)")  # id of what a reader may look at by itself
_REFERENCE = re.compile(r"^#(\S+)$|^url\(#(\S+)\)$")


def themed(figure: Figure, *, title: str = "", alt: str = "") -> str:
    """Turn a figure into an SVG fragment to be placed inside an HTML page.

    Args:
        figure: drawn under `style.context`, in colours of `style.PALETTE`.
        title: the figure's message, read out as its name.
        alt: its description, read out after the title.

    Raises:
        ValueError: a colour is not in the palette, so it would not follow the theme.
    """
    root = ET.fromstring(_draw(figure))
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        element.text = element.text if element.tag in {"text", "tspan"} else None
        element.tail = None
        _rename_link(element)
    defined = {id(element) for defs in root.iter("defs") for element in defs.iter()}
    for element in root.iter():
        # What is defined for later use takes its fill from the element that uses it.
        _theme(element, painted=element.tag in _PAINTED and id(element) not in defined)
        _shorten(element)
        if step := _STEP.fullmatch(element.get("id", "")):
            element.set("data-step", step[1])
    _prune(root)
    # Named after the content: equal on each build, different from other figures of the page.
    content = ET.tostring(root, encoding="unicode") + title + alt
    prefix = f"ws-{hashlib.blake2s(content.encode(), digest_size=4).hexdigest()}"
    _rename_ids(root, prefix)
    _label(root, prefix, title, alt)
    return ET.tostring(root, encoding="unicode")


def document(fragment: str) -> str:
    """Turn a fragment into a file that stands alone, with both themes in it."""
    light, dark = (
        "".join(f"--ws-{name}:{pair[theme]};" for name, pair in style.PALETTE.items())
        for theme in (0, 1)
    )
    rules = (
        f":root{{{light}font-family:sans-serif;background:var(--ws-paper)}}"
        f"@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )
    head, body = fragment.split(">", 1)
    return f"{head}><style>{rules}</style>{body}\n"


def _draw(figure: Figure) -> str:
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "wallsite"}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", dpi=72, metadata=nothing)
    return buffer.getvalue()


def _rename_link(element: ET.Element) -> None:
    target = element.attrib.pop("{http://www.w3.org/1999/xlink}href", None)
    if target is not None:
        element.set("href", target)


def _theme(element: ET.Element, *, painted: bool) -> None:
    """Rewrite the style: variables for colours, the font left to the page."""
    declared = element.attrib.pop("style", "")
    rules = dict(
        re.split(r":\s*", rule, maxsplit=1) for rule in re.split(r";\s*", declared) if rule
    )
    rules.pop("font-family", None)
    if painted:
        rules.setdefault("fill", _BLACK)  # Matplotlib leaves out what is SVG's own default
    for key in ("fill", "stroke"):
        colour = rules.get(key, "none")
        if colour != "none" and not colour.startswith("url("):
            rules[key] = _variable(colour)
    if rules:
        element.set("style", ";".join(f"{key}:{value}" for key, value in rules.items()))


def _variable(colour: str) -> str:
    """Return the variable for a colour: black is ink, and any other grey is muted."""
    if colour in _VARIABLES:
        return _VARIABLES[colour]
    if _GREY.fullmatch(colour):
        return _VARIABLES[style.MUTED]
    known = ", ".join(f"{name} {light}" for name, (light, _) in style.PALETTE.items())
    raise ValueError(f"colour {colour} is neither grey nor in the palette: {known}")


def _shorten(element: ET.Element) -> None:
    for key, value in element.attrib.items():
        short = _NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)
        if key == "d":
            short = re.sub(r"\s*([A-Za-z])\s*", r"\1", short).strip()
        element.set(key, short)
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]


def _prune(root: ET.Element) -> None:
    """Drop what does nothing: clips as large as the figure, unused ids, groups of nothing."""
    everything = root.get("viewBox")
    idle = {
        f"url(#{clip.get('id')})"
        for clip in root.iter("clipPath")
        for rect in clip.iter("rect")
        if " ".join(rect.get(key, "") for key in ("x", "y", "width", "height")) == everything
    }
    for element in root.iter():
        if element.get("clip-path") in idle:
            del element.attrib["clip-path"]
    used = {name for element in root.iter() for name in _references(element)}
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
    _flatten(root)


def _flatten(parent: ET.Element) -> None:
    children: list[ET.Element] = []
    for child in parent:
        _flatten(child)
        if child.tag == "g" and not child.attrib:
            children.extend(child)
        elif not _is_invisible(child):
            children.append(child)
    parent[:] = children


def _is_invisible(element: ET.Element) -> bool:
    empty = element.tag in {"g", "defs"} and not len(element)
    empty |= element.tag == "clipPath" and "id" not in element.attrib
    unpainted = element.tag == "path" and element.get("style") == "fill:none"
    return empty or unpainted or element.tag in {"metadata", "style"}


def _references(element: ET.Element) -> Iterator[str]:
    for value in (element.get("href", ""), element.get("clip-path", "")):
        match = _REFERENCE.match(value)
        if match:
            yield match[1] or match[2]


def _rename_ids(root: ET.Element, prefix: str) -> None:
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    names = {old: f"{prefix}-{index}" for index, old in enumerate(ids)}
    for element in root.iter():
        if element.get("id"):
            element.set("id", names[element.get("id")])
        for key in ("href", "clip-path"):
            match = _REFERENCE.match(element.get(key, ""))
            if match:
                name = names[match[1] or match[2]]
                element.set(key, f"#{name}" if key == "href" else f"url(#{name})")


def _label(root: ET.Element, prefix: str, title: str, alt: str) -> None:
    view = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update(
        {
            "xmlns": _SVG,
            "class": "ws-figure__svg",
            "viewBox": view,
            "role": "img",
            "stroke-linejoin": "round",
            "style": f"width:100%;max-width:{style.MAX_WIDTH}px;height:auto",
        }
    )
    texts = {"title": title, "desc": alt}
    ids = []
    for position, (tag, text) in enumerate((tag, text) for tag, text in texts.items() if text):
        label = ET.Element(tag, id=f"{prefix}-{tag}")
        label.text = text
        root.insert(position, label)
        ids.append(label.attrib["id"])
    if ids:
        root.set("aria-labelledby", " ".join(ids))
