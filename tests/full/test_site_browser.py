"""The built site in a real browser: search, languages, phones, and no script at all."""

import re

import pytest

PAGES = ("", "three-walls/", "three-walls/memory/", "three-walls/questions/", "reference/hardware/")
MEMORY = "three-walls/memory/"


@pytest.mark.parametrize(
    ("home", "query", "path"),
    [
        ("", "显存墙", MEMORY),
        ("", "带宽", MEMORY),
        ("", "算力", "three-walls/compute/"),
        ("", "拐点", MEMORY),
        ("en/", "ridge", f"en/{MEMORY}"),
        ("en/", "bandwidth", f"en/{MEMORY}"),
    ],
)
def test_search_finds(visit, address, home, query, path):
    page = visit(home)
    page.keyboard.press("/")
    page.keyboard.type(query)
    page.keyboard.press("End")  # typing Chinese gives no key events, an input method does
    found = page.locator(".md-search-result__link")
    found.first.wait_for()
    links = [link.get_attribute("href").split("?")[0] for link in found.all()]
    assert any(link.startswith(address + path) for link in links)


@pytest.mark.parametrize(("start", "end"), [("", "en/"), ("en/", "")])
def test_language_link_keeps_the_section(visit, address, start, end):
    page = visit(f"{start}{MEMORY}#ridge-point")
    page.locator("a.ws-language").click()
    page.wait_for_url(f"{address}{end}{MEMORY}#*")
    assert page.url.endswith("#ridge-point")


# Heights of a drawing's texts on the screen, CSS pixels.
TEXT_SIZES = """svg => [...svg.querySelectorAll("text")].map(text =>
  parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a)"""


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("language", ["", "en/"])
def test_page_fits_a_phone(visit, language, path):
    page = visit(language + path, viewport={"width": 390, "height": 740})
    page.evaluate("document.querySelectorAll('details').forEach((it) => (it.open = true))")
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # A drawing takes all of the screen, also in a fold, and its smallest text can be read.
        for figure in page.locator("figure svg").all():
            assert (figure.bounding_box()["x"], figure.bounding_box()["width"]) == (0, width)
            sizes = figure.evaluate(TEXT_SIZES)
            assert min(sizes) >= 11, f"text of {min(sizes)} px at {width} px"


def test_without_script_folds_open_and_languages_change(visit, address):
    page = visit("three-walls/questions/", java_script_enabled=False)
    fold = page.locator("article details").first
    assert not fold.locator("> :not(summary)").first.is_visible()
    fold.locator("> summary").click()
    assert fold.locator("> :not(summary)").first.is_visible()
    page.locator("a.ws-language").click()
    assert page.url == f"{address}en/three-walls/questions/"
    page.goto(f"{address}{MEMORY}")
    assert page.locator("#figure-tiling [data-step]").count() == 4
    assert not page.locator(".ws-steps").is_visible()


def test_a_figure_of_steps_is_gone_through_step_by_step(visit):
    page = visit(f"en/{MEMORY}")
    button, steps = page.locator(".ws-steps"), page.locator("#figure-tiling [data-step]")
    lit = page.locator("#figure-tiling [data-step]:not(.ws-dimmed)")
    assert (steps.count(), lit.count(), button.inner_text()) == (4, 4, "Step by step")
    for step in range(4):
        button.press("Enter")
        assert button.inner_text() == f"Step by step {step + 1} / 4"
        assert lit.evaluate_all("all => all.map((it) => it.dataset.step)") == [str(step)]
    button.press("Enter")
    assert (lit.count(), button.inner_text()) == (4, "Step by step")


@pytest.mark.parametrize("language", ["", "en/"])
def test_a_device_is_found_by_its_name_and_by_what_its_card_holds(visit, language):
    page = visit(f"{language}reference/hardware/")
    box, shown = page.locator(".ws-find input"), page.locator(".ws-card:visible > summary b")
    box.fill("rtx 4090")
    assert shown.all_inner_texts() == ["GeForce RTX 4090"]
    assert re.fullmatch(r"1 / \d+", page.locator(".ws-find output").inner_text())
    box.fill("hbm2e gaudi")
    assert shown.all_inner_texts() == ["Gaudi 2", "Gaudi 3"]
    box.fill("h100 sxm5")
    page.locator(".ws-card:visible > summary").click()
    card = page.locator(".ws-card:visible dl")
    assert [
        card.locator(f"data[value='{si}']").first.inner_text()
        for si in ("3.35e+12", "1.9789e+15", "700")
    ] == ["3.35", "1,978.9", "700"]
    assert "NVLink 4 (Hopper)" in card.inner_text()
    box.fill("no such device")
    assert shown.count() == 0


def test_code_toolbars_are_not_landmarks(visit):
    page = visit(MEMORY)
    page.locator(".md-code__nav").first.wait_for(state="attached")
    assert page.locator("nav.md-code__nav:not([role=none])").count() == 0


def test_colour_scheme_follows_the_reader_and_can_be_changed(visit):
    page = visit("", color_scheme="dark")
    assert page.locator("body").get_attribute("data-md-color-scheme") == "slate"
    page.locator("form[data-md-component=palette] label:visible").click()
    assert page.locator("body").get_attribute("data-md-color-scheme") == "default"


@pytest.mark.parametrize("path", ["three-walls/recap/", "en/three-walls/recap/"])
def test_the_recap_prints_on_both_sides_of_a_sheet(visit, path):
    page = visit(path)
    assert len(re.findall(rb"/Type /Page\b", page.pdf(format="A4"))) == 2
    page.emulate_media(media="print")
    cut = "it => it.scrollWidth > it.clientWidth + 1"
    assert [it for it in page.locator("table").all() if it.evaluate(cut)] == []
