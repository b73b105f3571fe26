"""No text of a figure overlaps another or leaves the frame: by Matplotlib and in a browser."""

import browser as browsers
import lesson
import pylopdf_fonts_zh_cn
import pytest

pytest.importorskip("matplotlib")

from layout import clashes, text_boxes

from wallsite import figures
from wallsite.figures import style
from wallsite.figures.svg import themed

pytestmark = pytest.mark.slow

CASES = [(name, lang) for name in lesson.figures() for lang in lesson.LANGUAGES]
# Fonts a reader may have: the one the layout is made with, the narrow and the wide extremes of
# common sans-serif fonts (Arial's metrics, Verdana's metrics), and the stack of the site.
FAMILIES = {
    "layout": "Layout",
    "arial": "'Liberation Sans', Arial, Layout",
    "verdana": "'DejaVu Sans', Verdana, Layout",
    "site": "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Noto Sans', "
    "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif",
}


@pytest.mark.parametrize(("name", "lang"), CASES)
def test_text_is_clear_in_the_layout(name, lang):
    with style.context():
        figure = figures.draw(name, lang).figure
        boxes = text_boxes(figure)
    width, height = figure.get_size_inches() * 72
    assert boxes
    assert list(clashes(boxes, width, height)) == []


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """For each language a page with all figures, and the layout's font available to it."""
    pytest.importorskip("playwright", reason="needs playwright")
    if browsers.executable() is None:
        pytest.skip("needs Chromium or Chrome")
    font = pylopdf_fonts_zh_cn.sans_path().as_uri()
    head = (
        "<!doctype html><meta charset=utf-8>"
        f"<style>@font-face {{ font-family: Layout; src: url('{font}') }}</style>"
    )
    with browsers.launch() as browser:
        opened = {}
        for lang in lesson.LANGUAGES:
            drawn = [themed(figures.draw(name, lang).figure) for name in lesson.figures()]
            file = tmp_path_factory.mktemp(lang) / "figures.html"
            file.write_text(head + "".join(drawn), encoding="utf-8")
            opened[lang] = browser.new_page()
            opened[lang].goto(file.as_uri())
        yield opened


# The height is taken from the size: a font's own box reserves room that no glyph uses.
MEASURE = """async family => {
  document.body.style.fontFamily = family;
  await document.fonts.load("12px Layout", "字a");
  await document.fonts.ready;
  return [...document.querySelectorAll("svg")].map(svg => {
    const view = svg.viewBox.baseVal;
    const boxes = [...svg.querySelectorAll("text")].map(text => {
      const box = text.getBBox();
      const base = text.y.baseVal[0].value;
      const size = parseFloat(getComputedStyle(text).fontSize);
      return [text.textContent, [box.x, base - 0.78 * size, box.x + box.width, base + 0.2 * size]];
    });
    return [boxes, view.width, view.height];
  });
}"""


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
@pytest.mark.parametrize("lang", lesson.LANGUAGES)
def test_text_is_clear_in_a_browser(pages, lang, family):
    measured = pages[lang].evaluate(MEASURE, family)
    assert len(measured) == len(lesson.figures())
    assert all(boxes for boxes, _, _ in measured)
    found = {
        name: list(clashes(boxes, width, height))
        for name, (boxes, width, height) in zip(lesson.figures(), measured, strict=True)
    }
    assert {name: lines for name, lines in found.items() if lines} == {}
