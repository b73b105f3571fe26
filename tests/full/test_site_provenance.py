"""Where each number comes from: on the page, in the browser, on the sources page, in downloads."""

import csv
import io
import json

import pytest
from bs4 import BeautifulSoup
from pages import LANGUAGES

from wallsite import lessons, locale, tables
from wallsite.render import export, facts
from wallsite.render.words import citation

PREFIX = {"zh": "", "en": "en/"}
MEMORY = "three-walls/memory/"
RIDGE = "[[292 FLOP/byte := ridge('b200')]]"
PHONE = {"viewport": {"width": 390, "height": 740}, "has_touch": True}


def inputs(page):
    """The list at the end of a page; what is inside a template is no text to the parser."""
    (template,) = page.select("template#ws-provenance")
    return BeautifulSoup(template.decode_contents(), "html.parser").find_all("li", recursive=False)


def entries(page, number):
    """What the page's list says of each input of a number."""
    listed = inputs(page)
    return [listed[int(place)] for place in number["data-from"].split()]


# --- What a page holds ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "[[3.35 TB/s := bandwidth('h100-sxm')]]",
            "vendor\nbandwidth('h100-sxm')\nH100 SXM5 memory bandwidth: 3.35 TB/s",
        ),
        (
            RIDGE,
            "derived\nridge('b200')\nB200 (HGX) dense FP16 / BF16 peak: 2,250 TFLOP/s\n"
            "B200 (HGX) memory bandwidth: 7.7 TB/s / 8.0 TB/s",
        ),
        (
            "[[1.8 trillion := params('gpt-4-rumour')]]",
            "rumor\nparams('gpt-4-rumour')\nGPT-4 parameters: 1.8 trillion / 1.76 trillion",
        ),
        (
            "[[95% := q1.dram_util]]",
            "assumed\nq1.dram_util\nDRAM utilization stated in question 1: 95%",
        ),
        ("[[4 bytes := bytes_of('fp32')]]", "derived\nbytes_of('fp32')"),
    ],
)
def test_without_script_the_title_tells(convert, text, title):
    assert convert(text).data["title"] == title


def test_every_input_is_listed_with_its_sources_and_its_rivals(convert):
    page = convert(RIDGE, page="three-walls/x.md")
    peak, bandwidth = entries(page, page.data)
    assert peak.b.get_text() == "B200 (HGX) dense FP16 / BF16 peak"
    assert peak.p.get_text() == "2,250 TFLOP/s · vendor"
    value = tables.accelerator("b200").bandwidth
    said = [f"7.7 TB/s · {value.kind}", f"Another source says: 8.0 TB/s · {value.kind}"]
    assert [p.get_text() for p in bandwidth.select("p") if "·" in p.get_text()] == said
    cited = [*value.sources, *value.alternatives[0].sources]
    assert [link["href"] for link in bandwidth.select("a")] == [
        f"../reference/sources.md#{name}" for name in cited
    ]
    assert [link.get_text() for link in bandwidth.select("a")] == [
        citation(tables.source(name)) for name in cited
    ]
    assert value.note["en"] in bandwidth.get_text()


def test_a_rival_that_is_used_stands_first(convert):
    page = convert("[[8.0 TB/s := bandwidth('b200', alt=1)]]")
    (bandwidth,) = entries(page, page.data)
    assert bandwidth.p.get_text() == "8.0 TB/s · vendor"
    assert "Another source says: 7.7 TB/s" in bandwidth.get_text()


def test_an_input_is_listed_once(convert):
    page = convert(f"{RIDGE} {RIDGE}\n\n/// table | ridge\n    devices: [b200]\n///")
    assert len(inputs(page)) == 3  # the peak, the bandwidth, and that there is none
    (ridge,) = page.select("td data[data-from*=' ']")
    assert entries(page, ridge) == entries(page, page.p.data)


def test_a_number_of_definitions_says_that_it_has_no_inputs(convert):
    page = convert("[[4 bytes := bytes_of('fp32')]]")
    (only,) = entries(page, page.data)
    assert "no input has a source" in only.get_text()


def test_a_formula_tells_of_all_its_numbers(convert):
    formula = convert(
        "$$I = \\frac{[[989.4\\times 10^{12} := peak('h100-sxm')]]}"
        "{[[3.35\\times 10^{12} := bandwidth('h100-sxm')]]}"
        " = [[295 := ridge('h100-sxm')]]\\ \\text{FLOP/byte}$$"
    ).select_one(".ws-math")
    assert formula["title"].splitlines() == [
        "derived",
        "989.4 × 10¹² = peak('h100-sxm')",
        "3.35 × 10¹² = bandwidth('h100-sxm')",
        "295 FLOP/byte = ridge('h100-sxm')",
        "H100 SXM5 dense FP16 / BF16 peak: 989.4 TFLOP/s",
        "H100 SXM5 memory bandwidth: 3.35 TB/s",
    ]
    assert len(formula["data-from"].split()) == 2


def test_a_page_without_numbers_carries_nothing(convert):
    assert not convert("# Title\n\nNo number, $x$.").template


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", [MEMORY, "reference/hardware/", "reference/sayings/"])
def test_all_numbers_of_the_site_tell(html, language, path):
    page = html(f"{PREFIX[language]}{path}index.html")
    numbers, listed = page.select("article .ws-number"), inputs(page)
    assert len(numbers) > 100
    for number in numbers:
        kind = number["class"][1].removeprefix("ws-")
        lines = number["title"].splitlines()
        assert lines[0] == locale.section(language, "kinds")[kind]
        places = [int(place) for place in number["data-from"].split()]
        for place, line in zip(reversed(places), reversed(lines), strict=False):
            # Title and list say the same value, with its unit.
            assert place == 0 or listed[place].p.get_text().split(" · ")[0] in line


# --- Sources -------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_sources_page_lists_every_source_and_what_rests_on_it(html, language):
    page = html(f"{PREFIX[language]}reference/sources/index.html")
    listed = page.select(".ws-list > div")
    assert [entry["id"] for entry in listed] == list(tables.sources())
    for entry in listed:
        source = tables.source(entry["id"])
        assert source.title in entry.dt.get_text()
        said = "\n".join(item.get_text() for item in entry.select("details li"))
        for statement in facts.resting_on(source.id):
            fact = statement.fact
            assert fact.name[language] in said
            assert fact.what.get(language, "") in said
        assert bool(said) == bool(facts.resting_on(source.id))


def test_a_table_that_names_its_sources_leads_to_them(convert):
    page = convert("/// table | quantities\n///", page="reference/hardware.md")
    name = lessons.quantity("compute.gpt3_rate").label["en"]
    row = page.find("th", string=name).parent
    assert [link["href"] for link in row.select("a")] == ["sources.md#patterson-2021"]


# --- Downloads -----------------------------------------------------------------------------------


def test_a_table_can_be_downloaded_where_it_stands(convert):
    links = convert("/// downloads | links\n///", page="reference/links.md").select("a[download]")
    assert [link["href"] for link in links] == ["../data/links.csv", "../data/links.json"]
    assert [link.get_text() for link in links] == ["links.csv", "links.json"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_table_is_offered(html, language):
    offered = {
        link["href"].rpartition("data/")[2]
        for path in ("hardware", "catalog", "links", "sources")
        for link in html(f"{PREFIX[language]}reference/{path}/index.html").select(".ws-downloads a")
    }
    assert offered == {f"{table}.{form}" for table in export.TABLES for form in export.FORMATS}


def downloaded(site, language, table):
    """Rows of both files of a table, as a program would read them."""
    folder = site / PREFIX[language] / "data"
    text = (folder / f"{table}.csv").read_text("utf-8-sig")
    content = json.loads((folder / f"{table}.json").read_text("utf-8"))
    assert (content["version"], content["table"]) == (export.VERSION, table)
    assert content["language"] == language
    return list(csv.DictReader(io.StringIO(text))), content["rows"]


def in_csv(value):
    if isinstance(value, list):
        return " ".join(value)
    return "" if value is None else str(value)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("table", export.TABLES)
def test_both_files_of_a_table_hold_the_same(built_site, language, table):
    flat, rows = downloaded(built_site, language, table)
    assert flat == [{name: in_csv(value) for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("language", LANGUAGES)
def test_downloads_hold_every_statement_of_the_tables(built_site, language):
    rows = {}
    for table in set(export.TABLES) - {"sources"}:
        for row in downloaded(built_site, language, table)[1]:
            rows[table, row["id"], row["field"], row["alternative"]] = row
    every = [each for fact in facts.facts().values() for each in facts.statements(fact)]
    assert len(rows) == len(every)
    for each in every:
        row, value = rows[each.fact.table, each.fact.id, each.fact.field, each.alt], each.value
        assert (row["value"], row["unit"], row["si_value"]) == (value.value, value.unit, value.si)
        assert (row["kind"], row["per"]) == (value.kind, value.per)
        assert row["sources"] == list(value.sources)
        assert row["note"] == value.note.get(language)
        assert row["name"] == each.fact.name[language]


def test_a_download_is_complete_enough_to_compute_with(built_site):
    rows = downloaded(built_site, "en", "accelerators")[0]
    h100 = {row["field"]: row for row in rows if row["id"] == "h100-sxm"}
    assert h100["bandwidth"]["si_unit"] == "byte/s"
    ridge = float(h100["fp16"]["si_value"]) / float(h100["bandwidth"]["si_value"])
    assert ridge == pytest.approx(295.34, abs=0.01)
    assert (h100["fp16"]["link"], h100["fp16"]["network"]) == ("nvlink4", "ib-ndr")
    links = {row["id"]: row for row in downloaded(built_site, "en", "links")[0][::2]}
    assert (links["nvlink4"]["per"], links["nvlink4"]["si_value"]) == (
        "direction",
        "450000000000.0",
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_sources_of_downloads_resolve(built_site, language):
    known = {row["id"]: row for row in downloaded(built_site, language, "sources")[1]}
    for table in set(export.TABLES) - {"sources"}:
        for row in downloaded(built_site, language, table)[1]:
            for source in row["sources"]:
                alt = f"/{row['alternative']}" if row["alternative"] else ""
                field = "" if table in {"energy", "quantities"} else f".{row['field']}"
                assert f"{row['id']}{field}{alt}" in known[source]["values"]


# --- In the browser ------------------------------------------------------------------------------


@pytest.fixture
def box(visit):
    """Open a page and return it, its box, and a number of a paragraph that rests on two inputs."""

    def box(path=f"en/{MEMORY}", **options):
        page = visit(path, **options)
        number = page.locator("article > p > .ws-number[data-from*=' ']").first
        number.scroll_into_view_if_needed()
        return page, page.locator(".ws-provenance"), number

    return box


def test_pointing_shows_the_box_and_leaving_hides_it(box):
    page, shown, number = box()
    assert not number.get_attribute("title")  # the browser's own tooltip would cover the box
    number.hover()
    shown.wait_for()
    text = shown.inner_text()
    assert number.inner_text() in text
    assert shown.locator("code").inner_text()
    assert shown.locator("li").count() == 2
    shown.locator("a").first.hover()
    page.wait_for_timeout(500)
    assert shown.is_visible()
    page.mouse.move(5, 300)
    shown.wait_for(state="hidden")


def test_at_rest_only_what_is_not_known_is_marked_until_the_reader_asks(box):
    page, _, number = box()
    faint = "rgba(0, 0, 0, 0)"

    def mark(number):
        return number.evaluate("it => getComputedStyle(it).textDecorationColor")

    page.mouse.move(5, 300)
    assumed = page.locator("article > p > .ws-assumed").first
    assert (mark(number), mark(assumed) != faint) == (faint, True)
    number.focus()
    assert mark(number) != faint
    page.get_by_label("Show where every number on this site comes from").check()
    page.goto(page.url.replace("/memory/", "/compute/"))
    page.wait_for_selector(".ws-marked")
    assert mark(page.locator("article > p > .ws-derived").first) != faint
    page.locator(".ws-marks input").uncheck()
    page.reload()
    assert mark(page.locator("article > p > .ws-derived").first) == faint


def test_a_source_in_the_box_leads_to_its_entry(box, address):
    page, shown, number = box()
    number.hover()
    shown.locator("a").first.click()
    page.wait_for_url(f"{address}en/reference/sources/#*")
    assert page.locator(":target dt").is_visible()


@pytest.mark.parametrize("path", [MEMORY, f"en/{MEMORY}"])
def test_a_tap_shows_the_box_within_a_phone(box, path):
    page, shown, number = box(path, **PHONE)
    formula = page.locator(".ws-math[data-from]").first
    for each in (number, page.locator("td .ws-number").nth(6), formula):
        each.tap()
        shown.wait_for()
        frame = shown.bounding_box()
        assert frame["x"] >= 0
        assert frame["x"] + frame["width"] <= 390
        assert frame["y"] >= 0
        assert frame["y"] + frame["height"] <= 740
        page.touchscreen.tap(195, 20)
        shown.wait_for(state="hidden")


def test_a_number_in_the_title_of_a_fold_shows_its_box_and_leaves_the_fold(visit):
    page = visit("en/three-walls/questions/", **PHONE)
    title = page.locator("summary:has(.ws-number)").first
    title.locator(".ws-number").first.tap()
    page.locator(".ws-provenance").wait_for()
    assert title.locator("..").get_attribute("open") is None


def test_keyboard_reaches_numbers_sources_and_the_way_back(box, address):
    page, shown, number = box()
    number.focus()
    shown.wait_for()
    assert shown.locator(".ws-provenance__keys").is_visible()
    assert number.get_attribute("aria-describedby") == shown.get_attribute("id")
    page.keyboard.press("Escape")
    assert shown.is_hidden()
    assert page.evaluate("document.activeElement.matches('.ws-number')")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.ws-provenance')")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.ws-provenance li > a')")
    page.keyboard.press("Escape")
    assert shown.is_hidden()
    assert number.evaluate("it => it === document.activeElement")


def test_tab_leaves_the_box_for_what_comes_after_the_number(box):
    page, shown, number = box()
    number.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    after = page.evaluate_handle("document.activeElement")
    number.focus()
    page.keyboard.press("Enter")
    for _ in range(shown.locator("a").count() + 1):
        page.keyboard.press("Tab")
    assert page.evaluate("it => it === document.activeElement", after)
    number.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert number.evaluate("it => it === document.activeElement")


def test_arrow_keys_lead_to_every_number_and_tab_to_few(box):
    page, shown, _ = box()
    stops = page.locator(".ws-number[tabindex='0'], .ws-math > [tabindex='0']")
    every = page.locator(".ws-number[role=button], .ws-math > button")
    groups = page.locator("article :is(h1, h2, h3, table, details)").count()
    assert 0 < stops.count() <= groups < every.count() / 3
    # Those in a closed fold are passed over.
    seen = "it => !it.closest('details:not([open]) > :not(summary)')"
    visible = [each for each in every.element_handles() if each.evaluate(seen)]
    visible[0].focus()
    for each in visible[1:]:
        page.keyboard.press("ArrowRight")
        assert each.evaluate("it => it === document.activeElement")
        assert shown.is_visible()
    page.keyboard.press("ArrowRight")
    assert visible[-1].evaluate("it => it === document.activeElement && it.tabIndex === 0")
    page.keyboard.press("ArrowLeft")
    assert visible[-2].evaluate("it => it === document.activeElement")


def test_in_a_table_the_arrows_go_up_and_down_too(box):
    page, _, _ = box()
    rows = page.locator("table.ws-data tbody tr:has(.ws-number)")
    rows.nth(0).locator(".ws-number").last.focus()
    page.keyboard.press("ArrowDown")
    last = rows.nth(1).locator(".ws-number").last
    assert last.evaluate("it => it === document.activeElement")
    page.keyboard.press("ArrowUp")
    last = rows.nth(0).locator(".ws-number").last
    assert last.evaluate("it => it === document.activeElement")


def test_screen_readers_are_told_what_is_what(box):
    page, shown, number = box()
    assert number.get_attribute("role") == "button"
    assert number.get_attribute("aria-haspopup") == "dialog"
    assert page.locator(".ws-math > button").first.get_attribute("aria-label")
    number.focus()
    tree = shown.aria_snapshot()
    assert tree.startswith(f'- dialog "{number.inner_text()} · ')
    assert "- link" in tree


def test_without_script_titles_stay_and_nothing_else_shows(box):
    _, shown, number = box(java_script_enabled=False)
    assert number.get_attribute("title").splitlines()[0] == "derived"
    assert not number.get_attribute("role")
    assert shown.count() == 0


def test_print_shows_no_box(box):
    page, shown, number = box()
    number.focus()
    shown.wait_for()
    page.emulate_media(media="print")
    assert shown.is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_box_can_be_read_in_both_colour_schemes(box, scheme):
    _, shown, number = box(color_scheme=scheme)
    number.hover()
    shown.wait_for()
    ink, paper = shown.evaluate(
        "it => [getComputedStyle(it).color, getComputedStyle(it).backgroundColor]"
    )
    bright = {"light": paper, "dark": ink}[scheme]
    assert min(int(part) for part in bright.strip("rgb()").split(",")) > 200
    assert ink != paper


def test_english_quotes_are_as_narrow_as_letters(visit):
    page = visit("en/")
    family = page.evaluate("getComputedStyle(document.querySelector('article p')).fontFamily")
    assert not any(name in family for name in ("CJK", "PingFang", "Han", "YaHei", "Hiragino"))
    assert "CJK" in visit("").evaluate(
        "getComputedStyle(document.querySelector('article p')).fontFamily"
    )
