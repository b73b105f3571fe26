"""English pages use American spelling, as the papers of the field do."""

import re

import pytest
from pages import ROOT, names
from test_docs_chinese import written

from wallsite import tables
from wallsite.site import numbers

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


def test_glossary_and_quantities_are_spelled_the_american_way():
    texts = [text for term in tables.glossary() for text in (term.en, term.note["en"])]
    for value in tables.quantities().values():
        texts += [text["en"] for text in (value.label, value.note) if text]
    assert not [text for text in texts if british(text)]


def test_british_words_are_found():
    text = "Quantisation of `synchronise()` and its behaviour, analysed; raise a colour otherwise."
    assert british(text) == ["Quantisation", "behaviour", "analysed", "colour"]
