"""The built site: every page in both languages, complete, and on its own."""

import gzip
import json
import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit
from xml.etree import ElementTree as ET

import pytest
from pages import DOCS, LANGUAGES, ROOT, SNIPPETS, names

SITE = "https://wallsite.github.io/"
PREFIX = {"zh": "", "en": "en/"}
LOCALE = {"zh": "zh-Hans", "en": "en"}
PAGES = names(".md") + names(".ipynb")
BUDGET = 225_000  # bytes that a first visit may transfer, compressed; 93,000 are the search index

every_page = pytest.mark.parametrize(
    ("language", "name"), [(language, name) for name in PAGES for language in LANGUAGES]
)


def address(name):
    """Address of a page inside its language."""
    path = PurePosixPath(name).with_suffix("")
    path = path.parent if path.name == "index" else path
    return "" if path == PurePosixPath() else f"{path}/"


@pytest.fixture
def page(html, language, name):
    return html(f"{PREFIX[language]}{address(name)}index.html")


def target(site, base, link):
    """File that a relative link of the page at an address leads to."""
    path = unquote(urlsplit(urljoin(f"https://site/{base}", link)).path).lstrip("/")
    return site / path / "index.html" if path.endswith("/") or not path else site / path


# --- Languages -----------------------------------------------------------------------------------


@every_page
def test_page_says_its_language_and_its_address_in_all(page, language, name):
    assert page.html["lang"] == LOCALE[language]
    here = f"{SITE}{PREFIX[language]}{address(name)}"
    assert page.select_one("link[rel=canonical]")["href"] == here
    alternates = {x["hreflang"]: x["href"] for x in page.select("head link[rel=alternate]")}
    assert alternates == {
        LOCALE[code]: f"{SITE}{PREFIX[code]}{address(name)}" for code in LANGUAGES
    } | {"x-default": f"{SITE}{address(name)}"}


@every_page
def test_language_link_leads_to_the_same_page(built_site, page, language, name):
    (other,) = set(LANGUAGES) - {language}
    (link,) = page.select("a.ws-language")
    assert (link["hreflang"], link["lang"]) == (LOCALE[other], LOCALE[other])
    base = PREFIX[language] + address(name)
    assert target(built_site, base, link["href"]) == (
        built_site / PREFIX[other] / address(name) / "index.html"
    )


@pytest.mark.parametrize("name", PAGES)
def test_sections_have_the_same_ids_in_both_languages(html, name):
    zh, en = (
        [x.get("id") for x in html(f"{PREFIX[code]}{address(name)}index.html").select(
            "article :is(h1, h2, h3, h4)")]
        for code in LANGUAGES
    )  # fmt: skip
    assert zh == en
    assert all(zh)


def test_navigation_speaks_the_language(html):
    titles = {}
    for code in LANGUAGES:
        labels = html(f"{PREFIX[code]}index.html").select(".md-nav--primary .md-nav__title")
        titles[code] = [label.get_text().strip() for label in labels]
    assert all(re.search("[一-鿿]", title) for title in titles["zh"])
    assert not any(re.search("[一-鿿]", title) for title in titles["en"])


def test_sitemap_lists_every_page_with_its_alternates(built_site):
    space = {
        "s": "http://www.sitemaps.org/schemas/sitemap/0.9",
        "x": "http://www.w3.org/1999/xhtml",
    }
    entries = ET.parse(built_site / "sitemap.xml").findall("s:url", space)
    listed = {entry.findtext("s:loc", namespaces=space) for entry in entries}
    assert listed == {f"{SITE}{PREFIX[c]}{address(name)}" for c in LANGUAGES for name in PAGES}
    for entry in entries:
        links = entry.findall("x:link", space)
        assert {link.get("hreflang") for link in links} == set(LOCALE.values())
        assert entry.findtext("s:loc", namespaces=space) in {link.get("href") for link in links}


@pytest.mark.parametrize("language", LANGUAGES)
def test_error_page_speaks_all_languages(html, language):
    page = html(f"{PREFIX[language]}404.html")
    assert page.html["lang"] == LOCALE[language]
    homes = {x["lang"]: x.a["href"] for x in page.select("article p[lang]")}
    # The links of an error page must be absolute: it is shown for addresses at any depth.
    resolved = {code: urlsplit(urljoin(SITE, href)).path for code, href in homes.items()}
    assert resolved == {"zh-Hans": "/", "en": "/en/"}


# --- Links and resources -------------------------------------------------------------------------


@every_page
def test_links_lead_somewhere(built_site, html, page, language, name):
    base = PREFIX[language] + address(name)
    for element in page.select("[href], [src]"):
        link = element.get("href") or element.get("src")
        if urlsplit(link).scheme or element.get("rel") == ["canonical"]:
            continue
        assert not link.startswith("/"), f"{link} would not work from a sub-path"
        file = target(built_site, base, link)
        assert file.is_file(), link
        anchor = unquote(urlsplit(link).fragment)
        if anchor and file.suffix == ".html":
            found = html(file.relative_to(built_site).as_posix()).find(id=anchor)
            assert found or anchor == "__toc", link


@every_page
def test_ids_are_unique(page, language, name):
    ids = [element["id"] for element in page.select("[id]")]
    assert sorted(ids) == sorted(set(ids))


@every_page
def test_page_loads_nothing_from_elsewhere(page, language, name):
    loaded = page.select(
        "script[src], link:not([rel=canonical], [rel=alternate], [rel=prev], [rel=next]), img,"
        "iframe, source, video, audio, embed, object, use, image"
    )
    for element in loaded:
        for key in ("src", "href", "data", "srcset"):
            assert not re.match(r"(https?:)?//", element.get(key) or ""), element
    for style in page.select("style"):
        assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", style.get_text())


def test_stylesheets_load_nothing_from_elsewhere(built_site):
    sheets = list(built_site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        text = sheet.read_text("utf-8")
        assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", text), sheet


@pytest.mark.parametrize("language", LANGUAGES)
def test_snippets_can_be_downloaded(built_site, language):
    for snippet in SNIPPETS.glob("*.py"):
        served = (built_site / PREFIX[language] / "snippets" / snippet.name).read_text("utf-8")
        source = snippet.read_text("utf-8").splitlines()
        changed = set(served.splitlines()) - set(source)
        (dependencies,) = changed
        wheel = re.search(r"wallsite @ (\S+\.whl)", dependencies)[1]
        assert (built_site / wheel.removeprefix(SITE)).is_file()


def test_everybody_may_read_the_site(built_site):
    """Pages refuses to publish what others may not read."""
    for path in built_site.rglob("*"):
        assert path.stat().st_mode & 0o044 == 0o044, path


# --- What a page holds ---------------------------------------------------------------------------


@every_page
def test_folds_need_no_script(page, language, name):
    for fold in page.select("article details"):
        assert fold.find(True).name == "summary"
        assert fold.summary.get_text().strip()


@every_page
def test_figures_have_text_for_those_who_cannot_see_them(page, language, name):
    for svg in page.select("article figure svg"):
        labels = [page.find(id=name).get_text() for name in svg["aria-labelledby"].split()]
        assert len(labels) == 2
        assert all(labels)


@every_page
def test_dialog_of_the_search_has_a_name(page, language, name):
    (dialog,) = page.select("[role=dialog]")
    assert dialog["aria-label"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", names(".ipynb"))
def test_notebook_is_a_page_like_any_other(built_site, html, language, name):
    folder = f"{PREFIX[language]}{address(name)}"
    page = html(f"{folder}index.html")
    article = page.article
    assert not article.select("style, script, [class^=jp-]")
    assert article.select(".language-output")
    file = PurePosixPath(name).name
    assert article.select_one("a[download]")["href"] == file
    source = (DOCS / language / name).read_bytes()
    assert (built_site / folder / file).read_bytes() == source
    toc = {link["href"] for link in page.select(".md-nav--secondary a")}
    assert toc == {f"#{heading['id']}" for heading in article.select("h2, h3")}


# --- Search and weight ---------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_search_index_covers_every_page(built_site, language):
    text = (built_site / PREFIX[language] / "search/search_index.json").read_text("utf-8")
    index = json.loads(text)
    assert index["config"]["lang"] == [language]
    indexed = {entry["location"].split("#")[0] for entry in index["docs"]}
    assert indexed == {address(name) for name in PAGES}
    assert "显存" in text  # as it is, not escaped: half the size
    assert "，\u200b" not in text
    assert "\u200b " not in text
    if language == "zh":
        assert "算术\u200b强度" in text  # but words are told apart


@pytest.mark.parametrize("language", LANGUAGES)
def test_columns_of_numbers_are_marked_with_their_heads(html, language):
    page = html(f"{PREFIX[language]}three-walls/memory/index.html")
    lines = page.select_one(".ws-table table.ws-data").select("tr")
    marked = {
        tuple(cell.get("class") == ["ws-numeric"] for cell in line.select("th, td"))
        for line in lines
    }
    # Device, year, peak, bandwidth and ridge point; a year may stand with a word.
    assert marked == {(False, False, True, True, True)}


@every_page
def test_no_table_has_more_columns_than_a_page_holds(page, language, name):
    assert all(len(row.select("th, td")) <= 6 for row in page.select("tr"))


@every_page
def test_text_of_figures_can_be_read_on_a_phone(page, language, name):
    """At a width of 390 pixels, which a drawing takes whole, text measures 11 or more."""
    for figure in page.select("figure svg"):
        width = float(figure["viewbox"].split()[2])
        sizes = [float(re.search(r"font-size:([\d.]+)px", x["style"])[1]) for x in figure("text")]
        assert min(sizes) * 390 / width >= 11


@pytest.mark.parametrize("language", LANGUAGES)
def test_first_visit_is_light(built_site, html, language):
    """A browser with nothing in its cache loads these for the memory-wall page."""
    folder = built_site / PREFIX[language]
    name = "three-walls/memory/index.html"
    page = html(f"{PREFIX[language]}{name}")
    loaded = page.select("link[rel=stylesheet], link[rel=icon], script[src]")
    links = [element.get("href") or element.get("src") for element in loaded]
    links.append(json.loads(page.find(id="__config").get_text())["search"])
    base = f"{PREFIX[language]}three-walls/memory/"
    files = {target(built_site, base, link) for link in links}
    files |= {folder / name, folder / "search/search_index.json"}
    files |= set(folder.glob("assets/javascripts/lunr/min/lunr.stemmer.support*.js"))
    files |= set(folder.glob("assets/javascripts/lunr/min/lunr.zh*.js"))
    sizes = {file.name: len(gzip.compress(file.read_bytes(), 6)) for file in files}
    assert sum(sizes.values()) <= BUDGET, sizes


def test_colours_are_those_of_the_figures():
    from wallsite.figures import style

    sheet = (ROOT / "docs/assets/wallsite.css").read_text("utf-8")
    for theme, scheme in enumerate(("default", "slate")):
        block = re.search(rf'\[data-md-color-scheme="{scheme}"\] {{(.*?)}}', sheet, re.DOTALL)[1]
        for name, colours in style.PALETTE.items():
            assert f"--ws-{name}: {colours[theme]};" in block
