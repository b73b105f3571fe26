"""The Markdown extension: what a page writes, what its reader gets, and what stops a build."""

import shutil
import subprocess
import sys

import pytest
from pages import ROOT

from wallsite import lessons, tables
from wallsite.site import blocks
from wallsite.site.build import depends, painter
from wallsite.site.checked import numbers
from wallsite.site.errors import PageError

RIDGE = "[[295 FLOP/byte := ridge('h100-sxm')]]"
WRONG = "[[296 FLOP/byte := ridge('h100-sxm')]]"


@pytest.fixture
def fails(convert, tmp_path):
    """Convert a page that is wrong on a line, and return what the error says after the line."""

    def fails(text, line, front_matter=""):
        (tmp_path / "page.md").write_text(front_matter + text, encoding="utf-8")
        with pytest.raises(PageError) as caught:
            convert(text, docs=str(tmp_path), page="page.md")
        where = f"{tmp_path.as_posix()}/page.md:{line}: "
        message = str(caught.value)
        assert message.startswith(where)
        return message.removeprefix(where)

    return fails


# --- Importing -----------------------------------------------------------------------------------


def test_importing_reads_no_data():
    # MkDocs imports the extension before the hook can have what changed imported afresh: what is
    # read by then would stay as it was, right or wrong, for as long as `mkdocs serve` runs.
    program = (
        "import importlib, pkgutil, wallsite.tables.load as load\n"
        "def refused(*_): raise AssertionError('read while importing')\n"
        "load.parsed = load.decoded = refused\n"
        "import wallsite.site, wallsite.figures\n"
        "for package in (wallsite.site, wallsite.figures):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        importlib.import_module(module.name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, encoding="utf-8"
    )
    assert done.stderr == ""


# --- Checked numbers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        (f"about {RIDGE}", "p > data"),
        (f"**{RIDGE}**", "strong > data"),
        (f"- {RIDGE}", "li > data"),
        (f"> {RIDGE}", "blockquote > p > data"),
        (f"## Ridge {RIDGE} {{ #r }}", "h2#r > data"),
        (f"| a | b |\n|---|---|\n| H100 | {RIDGE} |", "td > data"),
        (f'!!! takeaway "At {RIDGE}"\n    text', "p.admonition-title > data"),
        (f'??? question "Why {RIDGE}?"\n    text', "details > summary > data"),
        (f"??? note\n    {RIDGE}", "details > p > data"),
        (f"x[^1]\n\n[^1]: {RIDGE}", ".footnote data"),
        (f"word\n:   {RIDGE}", "dd > data"),
        (f"[at {RIDGE} here](x.md)", "a > data"),
        (f"[see {RIDGE}](x.md)", "a > data"),
        (f"[{RIDGE}](x.md)", "a > data"),
    ],
)
def test_checked_number_works_in_every_context(convert, text, selector):
    page = convert(text)
    (number,) = page.select(selector)
    assert number.get_text() == "295 FLOP/byte"
    assert float(number["value"]) == pytest.approx(295.34, abs=0.01)
    assert number["class"] == ["ws-number", "ws-derived"]
    assert ":=" not in page.get_text()


def test_number_says_what_it_rests_on(convert):
    number = convert("[[3.35 TB/s := bandwidth('h100-sxm')]]").data
    assert "ws-vendor" in number["class"]
    assert number["title"].splitlines() == [
        "vendor",
        "bandwidth('h100-sxm')",
        "H100 SXM5 memory bandwidth: 3.35 TB/s",
    ]


def test_code_is_left_alone(convert):
    page = convert(f"`{RIDGE}`\n\n```text\n{RIDGE}\n```\n")
    assert not page.data
    assert [code.get_text().strip() for code in page.select("code")] == [RIDGE, RIDGE]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"# T\n\n{WRONG}\n", 3),
        (f"# T\n\n| a |\n|---|\n| {WRONG} |\n", 5),
        (f'# T\n\n??? note "x"\n\n    > {WRONG}\n', 5),
        (f"# T\n\n$I = {WRONG}$\n", 3),
        (f"# T\n\n$$\nI =\n{WRONG}\n$$\n", 5),
    ],
)
def test_wrong_digits_stop_the_build(fails, text, line):
    message = fails(text, line)
    assert "shows 296" in message
    assert "rounds to 295" in message


def test_line_counts_the_front_matter(fails):
    assert "shows 296" in fails(f"# T\n\n{WRONG}\n", 6, front_matter="---\ntitle: T\n---\n")


def test_unknown_device_lists_near_matches(fails):
    assert "h100-sxm" in fails("[[295 := ridge('h100-sx')]]", 1)


MALFORMED = [
    "[[295:= ridge('h100-sxm')]]",
    "[[295 :=ridge('h100-sxm')]]",
    "[[295 FLOP/byte:=ridge('h100-sxm')]]",
    "[[295 := ]]",
    "[[ := ridge('h100-sxm')]]",
    "[[295 = ridge('h100-sxm')]]",
    "[[295 := ridge('h100-sxm')]",
    "[295 := ridge('h100-sxm')]]",
    "[[295 := [[295 := ridge('h100-sxm')]]]]",
    "[[295 := ridge('h100-sxm')[0]]]",
    "[[]]",
]
CONTEXTS = {
    "prose": "# T\n\nso {} it is\n",
    "formula": "# T\n\nso $x = {}$\n",
    "formula block": "$$\nx =\n{}\n$$\n",
    "table": "| a |\n|---|\n| {} |\n",
    "heading": "# T\n\n## At {} {{ #x }}\n",
    "fold title": '# T\n\n??? question "At {}?"\n    text\n',
    "fold": '??? question "x"\n\n    {}\n',
    "footnote": "x[^1]\n\n[^1]: {}\n",
    "after the same in code": "`{0}`\n\n{0}\n",
}


@pytest.mark.parametrize("number", MALFORMED)
@pytest.mark.parametrize("context", CONTEXTS)
def test_malformed_number_is_refused(fails, context, number):
    # The site and the tests of the pages refuse the same.
    text = CONTEXTS[context].format(number)
    assert list(numbers.malformed(blocks.scan(text, ROOT / "snippets")))
    line = text.count("\n", 0, text.rindex(number)) + 1
    message = fails(text, line)
    assert message.startswith("malformed checked number: ")


def test_number_in_the_title_of_a_code_block_is_refused(fails):
    message = fails(f'# T\n\n```{{ .python title="{RIDGE}" }}\nx = 1\n```\n', 3)
    assert message.startswith("the title of a code block cannot hold a checked number: [[295")


@pytest.mark.parametrize(
    "text",
    [
        f"before <!-- {WRONG} --> after",
        f"before <!-- $x = {WRONG}$ and [[295:= x]] --> after",
        f"before <!-- {WRONG}\nand `more` --> after",
        f"before after\n\n<!--\n{WRONG}\n\n[[295:= x]]\n-->\n",
        f"- before after\n\n    <!-- {WRONG} -->\n",
    ],
)
def test_comment_is_left_alone(convert, text):
    page = convert(text)
    assert not page.data
    assert " ".join(page.get_text().split()) == "before after"


def test_comment_marks_in_code_are_code(convert):
    page = convert(f"`<!--` {RIDGE} `-->`")
    assert page.data
    assert [code.get_text() for code in page.select("code")] == ["<!--", "-->"]


def test_without_a_file_the_error_names_the_line_of_the_text(convert):
    with pytest.raises(PageError, match=r"^<text>:3: .*shows 296"):
        convert(f"# T\n\n{WRONG}")


# --- Formulas ------------------------------------------------------------------------------------


def test_formulas_become_mathml(convert):
    page = convert("Inline $T = \\max(\\frac{F}{P}, \\text{时间})$.\n\n$$\nI = \\frac{F}{B}\n$$\n")
    inline, block = page.select("math")
    assert inline.find_parent("p")
    assert "时间" in inline.get_text()
    assert block["display"] == "block"
    assert not page.select("script")
    assert "$" not in page.get_text()


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("[[295 FLOP/byte := ridge('h100-sxm')]]", "295 FLOP/byte"),
        ("[[2,250 TFLOP/s := peak('b200')]]", "2,250 TFLOP/s"),
        ("[[42.9% := bandwidth('h200-sxm') / bandwidth('h100-sxm') - 1 + 1e-3]]", None),
        ("[[43% := bandwidth('h200-sxm') / bandwidth('h100-sxm') - 1]]", "43%"),
    ],
)
def test_number_in_a_formula_reads_as_in_the_text(convert, number, shown):
    if shown is None:
        with pytest.raises(PageError, match="rounds to"):
            convert(f"${number}$")
    else:
        text = convert(f"$x = {number}$").math.get_text().replace("\u00a0", " ")
        assert text == f"x={shown}"


def test_broken_formula_is_refused(fails):
    assert "\\frac{1}" in fails("# T\n\n$\\frac{1}$\n", 3)


# --- Tables --------------------------------------------------------------------------------------


def test_table_comes_from_data(convert):
    page = convert("/// table | ridge\n    devices: [a100-sxm-80gb, h100-sxm]\n///", page="a/b.md",
                   docs=str(ROOT / "docs/en"))  # fmt: skip
    table = page.table
    assert [row.th.get_text() for row in table.tbody.select("tr")] == [
        tables.accelerator(name).name for name in ("a100-sxm-80gb", "h100-sxm")
    ]
    assert table.caption.get_text()
    assert {cell["scope"] for cell in table.thead.select("th")} == {"col"}
    (bandwidth,) = [x for x in table.select("data") if x["value"] == "3.35e+12"]
    assert "vendor" in bandwidth["title"]
    links = [link["href"] for link in page.select(".ws-table__more a")]
    assert links
    assert all(link.startswith("../reference/sources.md#") for link in links)


def test_a_card_shows_at_rest_what_tells_it_from_others(convert):
    page = convert("/// cards | accelerators\n    devices: [h100-sxm, b200]\n///")
    assert [" ".join(card.summary.stripped_strings) for card in page.select("details.ws-card")] == [
        "H100 SXM5 3.35 TB/s · 989.4 TFLOP/s",
        "B200 (HGX) 7.7 / 8.0 TB/s · 2,250 TFLOP/s",
    ]
    parts = {part.dt.get_text(): part.dd.get_text() for part in page.details.select("dl > div")}
    assert parts["Power (W)"] == "700"
    assert page.details.dl.find("data", string="700")["title"]
    models = convert("/// cards | models\n///")
    assert models.find("b", string="GPT-4").parent.span.get_text() == (
        "2023 · 1.8 trillion / 1.76 trillion (rumor)"
    )


def test_rows_that_are_linked_to_have_ids(convert):
    assert convert("/// list | sources\n///").find(id=next(iter(tables.sources()))).dt
    assert convert("/// table | glossary\n///").find(id=tables.glossary()[0].id).name == "tr"


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("/// table | rigde\n///", "did you mean ridge"),
        ("/// table | ridge\n    devices: [h10]\n///", "h100-sxm"),
        ("/// table | ridge\n    tier: host\n///", "has no option 'tier'"),
        ("/// table | ridge\n    colour: red\n///", "malformed block"),
        ("/// table | ridge\n    devices: [\n///", "malformed block"),
        ("/// table | ridge\n\ntext\n\n///", "holds text"),
        ("/// table | ridge\n\n# Next", "without its closing ///"),
        ("/// cards | ridge\n///", "no short form; show it with /// table"),
        ("/// tabel | ridge\n///", "malformed block"),
        ("/// table\n///", "malformed block"),
        ("/// figure | rooflin\n///", "did you mean roofline"),
        ("/// snippet | ridge.py\n///", "no snippet named 'ridge.py'"),
        ('```python\n--8<-- "ridge.py"\n```', "no snippet named 'ridge.py'"),
    ],
)
def test_block_that_cannot_be_shown_stops_the_build(fails, block, message):
    line = 4 if "--8<--" in block else 3
    assert message in fails(f"# T\n\n{block}\n", line)


# --- Figures and snippets ------------------------------------------------------------------------

DRAWING = '```{{ .python .figure #curve title="One line" alt="It rises." }}\n{code}\n```'
CODE = "import matplotlib.pyplot as plt\n\nfig, ax = plt.subplots()\nax.plot([1, 2], [3, 4])"


def test_figure_has_its_words_and_its_numbers(convert):
    figure = convert("/// figure | roofline\n///").figure
    assert figure["id"] == "figure-roofline"
    assert figure.svg["role"] == "img"
    title = figure.figcaption.get_text()
    assert figure.find(True) is figure.figcaption  # the title stands above what it is about
    assert figure.select_one("p.ws-figure__caption").find_previous("svg") is figure.svg
    assert figure.svg.title.get_text() == title
    assert figure.svg.desc.get_text()
    assert figure.select_one("details table td")


def test_code_shows_the_figure_it_draws(convert):
    page = convert(DRAWING.format(code=CODE))
    code, figure = page.select("div.language-python, figure")
    assert code["id"] == "curve"
    assert code.get_text().strip() == CODE
    assert figure.figcaption.get_text() == "One line"
    assert figure.svg.desc.get_text() == "It rises."


def test_code_that_raises_stops_the_build(fails):
    code = "fig = 1 / 0"
    message = fails(f"# T\n\n{DRAWING.format(code=code)}\n", 3)
    assert "ZeroDivisionError" in message
    assert "line 1" in message


def test_figure_of_code_needs_its_words(fails):
    assert "alt" in fails('# T\n\n```{ .python .figure title="T" }\nfig = 1\n```\n', 4)


def test_drawing_is_kept_until_the_package_changes(tmp_path, monkeypatch):
    request = {"code": CODE, "lang": "en", "title": "T", "alt": "A"}
    first = painter.Painter(tmp_path)
    drawn = first.draw(request)
    first.close()
    with monkeypatch.context() as patch:
        patch.setattr(painter, "WORKER", "no_such_module")
        assert painter.Painter(tmp_path).draw(request) == drawn
        for changed in ({"lang": "zh"}, {"code": CODE + "\n"}):
            with pytest.raises(painter.DrawingError, match="no_such_module"):
                painter.Painter(tmp_path).draw(request | changed)
        patch.setattr(painter.depends, "package", lambda: "another version")
        with pytest.raises(painter.DrawingError, match="no_such_module"):
            painter.Painter(tmp_path).draw(request)


@pytest.mark.parametrize(
    ("path", "depends_on_it"),
    [
        ("tables/load.py", True),
        ("tables/data/accelerators.toml", True),
        ("roofline.py", True),
        ("figures/style.py", True),
        ("site/html.py", False),
        ("cli/lookup.py", False),
    ],
)
def test_a_drawing_depends_on_the_package_and_not_on_the_site(
    tmp_path, monkeypatch, path, depends_on_it
):
    root = tmp_path / "wallsite"
    shutil.copytree(ROOT / "wallsite", root, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(depends, "_ROOT", root)
    before = depends.package.__wrapped__()
    with (root / path).open("a") as file:
        file.write("\n# changed\n")
    assert (depends.package.__wrapped__() != before) is depends_on_it


@pytest.mark.parametrize(
    ("path", "depends_on_it"),
    [
        ("figures/roofline.py", True),
        ("figures/roofline.en.toml", True),
        ("figures/roofline.zh.toml", False),
        ("figures/data_path.en.toml", False),
        ("figures/data_path.py", True),  # which the figure might import
        ("quantities/memory.toml", True),
        ("formulas.toml", False),
    ],
)
def test_a_figure_of_a_lesson_depends_on_its_words_and_its_lesson(
    tmp_path, monkeypatch, path, depends_on_it
):
    shutil.copytree(ROOT / "docs" / "lessons", tmp_path / "docs" / "lessons")
    monkeypatch.setenv(lessons.VARIABLE, str(tmp_path / "docs" / "lessons"))
    lessons.figures.cache_clear()
    try:
        before = depends.figure("roofline", "en")
        with (tmp_path / "docs" / "lessons" / "three-walls" / path).open("a") as file:
            file.write("\n# changed\n")
        assert (depends.figure("roofline", "en") != before) is depends_on_it
    finally:
        monkeypatch.undo()
        lessons.figures.cache_clear()


def test_drawings_that_no_page_shows_are_deleted(tmp_path):
    stale = tmp_path / "stale.json"
    stale.write_text("{}")
    first = painter.Painter(tmp_path)
    first.draw({"code": CODE, "lang": "en"})
    first.close()
    first.prune()
    assert not stale.exists()
    assert len(list(tmp_path.iterdir())) == 1


def test_snippet_can_be_downloaded_and_run(convert):
    name, site = "ridge_table.py", "https://example.org/en/"
    page = convert(f"/// snippet | {name}\n///", page="three-walls/x.md", site=site)
    link = page.select_one("a[download]")
    assert link["href"] == f"../snippets/{name}"
    commands = page.select_one(".language-bash").get_text()
    assert f"uv run {site}snippets/{name}" in commands
    assert f"python {name}" in commands


# --- Glossary ------------------------------------------------------------------------------------

GLOSSARY = (
    tables.Term("ridge-point", "拐点", "ridge point", {"zh": "说明一", "en": "note one"}),
    tables.Term("tp", "张量并行", "tensor parallelism", {"zh": "说明二", "en": "note two"}),
    tables.Term("parallel", "并行", "parallel", {"zh": "说明三", "en": "note three"}),
)


@pytest.fixture
def glossary(monkeypatch):
    monkeypatch.setattr(tables, "glossary", lambda: GLOSSARY)


@pytest.mark.usefixtures("glossary")
@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("zh", "它的拐点，再说拐点。", ["拐点"]),
        ("zh", "## 拐点\n\n见**拐点**。", ["拐点"]),
        ("zh", "用张量并行，不是并行。", ["张量并行", "并行"]),
        ("zh", "用张量并行，还是张量并行。", ["张量并行"]),
        ("zh", "`拐点` [拐点](x.md) 先不算，这个拐点算。", ["拐点"]),
        ("zh", '!!! takeaway "拐点"\n    拐点在此。', ["拐点"]),
        ("en", "Two Ridge points and a ridge point.", ["Ridge point"]),
        ("en", "unparallel paralleled parallelism parallels", ["parallel"]),
        ("en", "Nothing here.", []),
    ],
)
def test_first_use_of_a_term_is_explained(convert, language, text, terms):
    page = convert(text, language=language, page="a/b.md", docs=str(ROOT / "tests"))
    assert [term.get_text() for term in page.select("abbr")] == terms
    for term in page.select("abbr"):
        assert term.find_parent(["p", "li"])
        assert not term.find_parent(["h2", "code"])
        assert term["title"]
        assert term.parent["href"].startswith("../reference/glossary.md#")


@pytest.mark.usefixtures("glossary")
def test_text_around_terms_is_kept(convert):
    text = "甲拐点乙**丙并行丁**戊张量并行己"
    assert convert(text, language="zh").get_text().strip() == text.replace("**", "")


# --- Without MkDocs ------------------------------------------------------------------------------


def test_extension_needs_no_mkdocs():
    code = """
import sys
sys.modules["mkdocs"] = None
from markdown import Markdown
extensions = ["attr_list", "tables", "pymdownx.arithmatex", "pymdownx.superfences"]
extensions.append("wallsite.site.extension")
configs = {"pymdownx.arithmatex": {"generic": True}, "wallsite.site.extension": {"language": "en"}}
md = Markdown(extensions=extensions, extension_configs=configs)
print(md.convert("[[295 := ridge('h100-sxm')]] and $x$"))
try:
    md.convert("[[296 := ridge('h100-sxm')]]")
except Exception as error:
    error.show()
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert "<data" in run.stdout
    assert "<math>" in run.stdout
    assert run.stderr.startswith("Error: <text>:1: [[296 := ")
