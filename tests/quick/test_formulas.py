r"""Every formula of every page is right: it is evaluated and compared with the package's model.

The `formulas.toml` of a lesson says what each formula of a page must equal. One that is not listed
there, letter by letter, is refused, and so is an entry that its page does not use.
"""

import ast
import difflib
import math
import re
from collections.abc import Mapping
from random import Random
from types import SimpleNamespace
from typing import NamedTuple

import latex
import pytest
from latex import LatexError
from mutate.edits import FORMULA
from pages import DOCS, LANGUAGES, SNIPPETS, names
from parity_words import formula_in_english

from wallsite import collectives, lessons, roofline, workload
from wallsite.site import blocks
from wallsite.site.checked import numbers

# A rate so high, or so many ranks, that what is divided by it vanishes.
SCOPE = {
    "endless": 1e24,
    "many": 10**30,
    "min": min,
    "max": max,
    "exp": math.exp,
    "log": math.log,
    "nan": math.nan,
}
SCOPE |= vars(roofline) | vars(workload) | vars(collectives)
for _name, _value in lessons.quantities().items():
    _space, _, _rest = _name.rpartition(".")
    if _space:
        vars(SCOPE.setdefault(_space, SimpleNamespace()))[_rest] = _value.si
    else:
        SCOPE[_rest] = _value.si

FORMULAS, RANGES = lessons.formulas(), lessons.symbols()
_POINTS = 100
_GIVEN = re.compile(r"\\?[A-Za-z]+(?:_\w+)?\s*=\s*" + numbers.PATTERN.pattern)


class Statement(NamedTuple):
    """A formula of a page, or a part of it that stands for itself, with words in English."""

    line: int
    text: str

    @property
    def is_symbol(self) -> bool:
        """Whether it states nothing and only names a symbol, such as $S$ or $I(B, s)$."""
        arguments = r"(?:\([A-Za-z](?:, ?[A-Za-z])*\))?"
        return bool(re.fullmatch(rf"{latex.SYMBOL}{arguments}", self.text))


def statements(page: str) -> list[Statement]:
    """List what the formulas of a page state, and the symbols it names."""
    prose = blocks.scan(page, SNIPPETS).prose
    found = []
    for match in FORMULA.finditer(prose):
        english = formula_in_english(match[0]).strip("$")
        for part in re.split(r"\\qquad\s*\\Longrightarrow\s*\\qquad", english):
            line = prose.count("\n", 0, match.start()) + 1
            found.append(Statement(line, " ".join(part.split())))
    return found


def difference(formula: str, model: str) -> str | None:
    """Say where a formula gives something else than its model, if it does."""
    sides = latex.sides(formula)
    compares = sides[-1].relation in {"<", ">"}
    if len(sides) > 1 and not compares and latex.symbols(sides[0].latex):
        del sides[0]  # what is being defined
    symbols = sorted(set().union(*(latex.symbols(side.latex) for side in sides)))
    code = ast.parse(model, mode="eval")
    taken = _names(code) - SCOPE.keys()
    if taken != set(symbols):
        return f"has the symbols {symbols}, not {sorted(taken)}"
    random = Random(formula)
    outcomes = set()
    for _ in range(_POINTS if symbols else 1):
        values = {symbol: _draw(symbol, random) for symbol in symbols}
        right = eval(compile(code, model, "eval"), SCOPE, values)
        outcomes.add(right)
        try:
            given = [latex.evaluate(side.latex, values) for side in sides]
        except LatexError as error:
            return str(error)
        if compares:
            given = [given[0] < given[1] if sides[1].relation == "<" else given[0] > given[1]]
        for side, value in zip(sides, given, strict=False):
            # A side without the formula's symbols is its value for one machine.
            same = compares or latex.symbols(side.latex) == taken
            should = right if same else given[-1]
            if value != pytest.approx(should, rel=1e-9, abs=0, nan_ok=True):
                where = ", ".join(f"{name} = {x:.4g}" for name, x in values.items())
                return f"gives {value:.10g}, not {should:.10g}" + (where and f", for {where}")
    if compares and len(outcomes) == 1:
        return f"is {outcomes.pop()} wherever it was tried"
    return None


def _draw(symbol: str, random: Random) -> float:
    low, high = RANGES.get(symbol, (2, 64))
    return random.randint(low, high) if isinstance(low, int) else random.uniform(low, high)


def problems(page: str, models: Mapping[str, str]) -> list[str]:
    """Say what is wrong with the formulas of a page, and in which line."""
    stated = statements(page)
    known = set().union(*(latex.symbols(x.text) for x in stated if not x.is_symbol))
    found = []
    for statement in stated:
        formula = statement.text
        if statement.is_symbol:
            strays = sorted(latex.symbols(formula) - known)
            wrong = f"no formula of this page has {' or '.join(strays)}" if strays else None
        elif _GIVEN.fullmatch(formula):
            wrong = None  # a checked number
        elif formula in models:
            wrong = difference(formula, models[formula])
        else:
            wrong = "is not listed in docs/lessons/*/formulas.toml"
            for near in difflib.get_close_matches(formula, models, 1):
                wrong += f"; ${near}$ is"
                if other := difference(formula, models[near]):
                    wrong += f". This one {other}"
        if wrong:
            found.append(f"{statement.line}: ${formula}$ {wrong}")
    return found


def _page(language: str, name: str) -> str:
    return (DOCS / language / name).read_text("utf-8")


@pytest.mark.parametrize("name", names(".md"))
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_formulas_of_a_page_are_right(language, name):
    wrong = problems(_page(language, name), FORMULAS.get(name, {}))
    assert not wrong, "\n".join(f"docs/{language}/{name}:{problem}" for problem in wrong)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_entry_is_used(language, name):
    used = {statement.text for statement in statements(_page(language, name))}
    assert not FORMULAS[name].keys() - used


def test_each_pair_of_words_is_used():
    chinese = "".join(_page("zh", name) for name in FORMULAS)
    assert not {word for word in lessons.formula_words() if rf"\text{{{word}}}" not in chinese}


@pytest.mark.parametrize("name", names(".md"))
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_models_of_a_page_take_one_direction_of_a_link(language, name):
    prose = blocks.scan(_page(language, name), SNIPPETS).prose
    wrong = [
        f"docs/{language}/{name}:{prose.count(chr(10), 0, match.start()) + 1}: {call}"
        for match in numbers.PATTERN.finditer(prose)
        for call in handed_both(match["expression"])
    ]
    assert not wrong, "\n".join(wrong)


def handed_both(expression: str) -> list[str]:
    """List the calls of an expression that are given both directions of a link.

    Their value may well round to the digits shown.
    """
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(expression, mode="eval"))
        if isinstance(node, ast.Call) and "both" in _names(*node.args, *node.keywords)
    ]


def _names(*nodes: ast.AST) -> set[str]:
    return {x.id for node in nodes for x in ast.walk(node) if isinstance(x, ast.Name)}


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        ("1 + ring_all_reduce(1, 8, both('nvlink4') / 2)", 1),
        ("ring_all_reduce(1, ranks=8, bandwidth=both('nvlink4'))", 1),
        ("ring_all_reduce(1, 8, link('nvlink4'))", 0),
        ("bandwidth('h100-sxm') / both('nvlink4')", 0),
    ],
)
def test_a_model_given_both_directions_is_found(expression, number):
    assert len(handed_both(expression)) == number


MODELS = {
    r"T = \frac{S}{\beta} + 2(N-1)\,\alpha": "S / beta + (N - 1) * (alpha + alpha)",
    r"C > 2S/\beta": "C * beta > S + S",
    r"2n^3": "gemm(n, n, n).flops",
}
PAGE = r"""# Page
$$
T = \frac{S}{\beta}
  + 2(N-1)\,\alpha
$$
$N$, $\beta$, $T(N)$, $k = [[4 := q1.draft_tokens]]$, $C > 2S/\beta$, $2n^3$, `$x$`
"""


def test_a_page_whose_formulas_are_right_has_no_problem():
    assert problems(PAGE, MODELS) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("2(N-1)", "3(N-1)", 2, r"$ is. This one gives "),
        (
            "+ 2(",
            "- 2(",
            2,
            r"formulas.toml; $T = \frac{S}{\beta} + 2(N-1)\,\alpha$ is",
        ),
        (r"\frac{S}", r"\frac{2}", 2, "has the symbols ['N', 'alpha', 'beta'], not ['N', 'S'"),
        ("T =", "T -", 2, "not listed"),
        ("$N$", "$q$", 6, "$q$ no formula of this page has q"),
        ("$T(N)$", "$T(q)$", 6, "$T(q)$ no formula of this page has q"),
        ("C >", "C <", 6, "formulas.toml; $C > 2S/\\beta$ is"),
        ("2n^3", "2n^2", 6, "gives 3200, not 128000, for n = 40"),
        ("2n^3", "n", 6, "no formula of this page has n"),
    ],
)
def test_a_mistake_is_found(old, new, line, problem):
    (found,) = problems(PAGE.replace(old, new, 1), MODELS)
    assert found.startswith(f"{line}: $")
    assert problem in found


@pytest.mark.parametrize(
    ("formula", "model", "problem"),
    [
        (r"N - 1", "N + 1", "gives "),
        (r"\min\left(N, g\right)", "max(N, g)", "gives "),
        (r"1 < N", "N > 0", "is True wherever it was tried"),
        (
            r"x = 2N = [[2 := q3.tp]] = [[4 := q1.draft_tokens]]",
            "N + N",
            "gives 2, not 4",
        ),
        (r"N^{\sum", "N", r"no value for '\\sum'"),
    ],
)
def test_a_wrong_entry_is_found(formula, model, problem):
    assert problem in difference(formula, model)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("2n^3", 2 * 5**3),
        ("2(N-1)/N", 1.5),
        (r"8bs(t-1)/t \cdot N", 8 * 2 * 3 * 6 / 7 * 4),
        (r"-n + \frac{N}{2}\,n - \dfrac1n", -5 + 10 - 0.2),
        (r"\left(1 - \tfrac{b}{t}\right)^{s+1}", (5 / 7) ** 4),
        (r"\sqrt{N} + \log_2 N \times \max\left(b,\; s\right)", 2 + 2 * 3),
        (r"\sqrt{b - s}", math.nan),
        (r"\beta_{\text{in}} + \text{two words} N_\text{in} + \Delta t", 11 + 12 * 13 + 14),
        (r"[[4 := q1.draft_tokens]] n", 20),
        (r"[[14\times 10^{9} := params_7b * 2]]\ \text{byte} / N", 3.5e9),
    ],
)
def test_latex_has_a_value(formula, value):
    values = {"n": 5, "N": 4, "b": 2, "s": 3, "t": 7}
    values |= {"beta_in": 11, "two_words": 12, "N_in": 13, "Delta_t": 14}
    assert latex.evaluate(formula, values) == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    "formula",
    [
        *("N/2n", "n^12", "N +", "(N", "N)", "q", r"\sum N", "I(N, n)", r"\max{N}", ""),
        *("1/(n-5)", "n^{n^{n^n}}", "[[1 := q('q')]]"),
    ],
)
def test_latex_without_one_value_is_refused(formula):
    with pytest.raises(LatexError):
        latex.evaluate(formula, {"N": 4, "n": 5, "I": 6})


def test_a_formula_is_split_at_its_relations_only():
    formula = r"t_{\min} \ge N = [[4 := decode(1, weight_bytes=2)]] < \left(n\right)"
    assert latex.sides(formula) == [
        ("", r"t_{\min}"),
        (r"\ge", "N"),
        ("=", "[[4 := decode(1, weight_bytes=2)]]"),
        ("<", r"\left(n\right)"),
    ]
