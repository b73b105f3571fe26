"""English pages use American spelling, as the papers of the field do."""

import re
import tomllib

import pytest
from pages import ROOT, names, written

from wallsite import locale
from wallsite.render.table import render
from wallsite.render.views import TABLES
from wallsite.site.checked import numbers

DATA = ROOT / "wallsite/tables/data"
PAGES = [f"docs/en/{name}" for name in names(".md") + names(".ipynb")]

_BRITISH = re.compile(
    r"\b(?:"
    # quantise, optimisation, synchronised, analyse
    r"\w*(?:capital|character|emphas|final|general|harmon|initial|local|maxim|minim|normal|optim"
    r"|organ|parallel|priorit|quant|real|recogn|serial|special|standard|summar|synchron|token|util"
    r"|vector)is(?:e[drs]?|ing|ations?|able)"
    r"|\w*(?:anal|paral)ys(?:e[ds]?|ing)"
    # colour, behaviour
    r"|\w*(?:behavi|col|fav|harb|hon|lab|neighb|rum)our\w*"
    r"|(?:centre|fibre|metre)[ds]?|artefacts?|catalogues?|defence|grey|judgement|labell\w+|licence[ds]?"
    r"|maths|modell\w+|programmes?|towards|travell\w+|whilst"
    r")\b",
    re.IGNORECASE,
)


def british(text):
    """Words spelled the British way, outside code, links and the names in expressions."""
    prose = re.sub(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|\{[^{}\n]*\}", " ", text, flags=re.DOTALL)
    return _BRITISH.findall(prose)


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_spelled_the_american_way(name):
    assert not british(numbers.plain(written(ROOT / name)))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_what_a_visitor_of_the_repository_reads_is_spelled_the_american_way(name):
    assert not british((ROOT / name).read_text("utf-8"))


def english(value):
    """All texts ``en`` of a data file."""
    if isinstance(value, dict):
        yield from (x for x in [value.get("en")] if isinstance(x, str))
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from english(each)


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.toml")), ids=lambda path: path.stem)
def test_data_is_spelled_the_american_way(path):
    texts = list(english(tomllib.loads(path.read_text("utf-8"))))
    assert texts
    assert not [text for text in texts if british(text)]


@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables_are_spelled_the_american_way(name):
    table = render(name, "en")
    cells = [cell.text for row in table.rows for cell in row]
    texts = [table.caption, *table.headers, *table.notes, *cells]
    assert not [text for text in texts if british(text)]


def test_kinds_of_provenance_are_spelled_the_american_way():
    assert not british(" ".join(locale.section("en", "kinds").values()))


def test_british_words_are_found():
    text = "Quantisation of `synchronise()` and its behaviour, analysed; raise a colour otherwise."
    assert british(text) == ["Quantisation", "behaviour", "analysed", "colour"]
