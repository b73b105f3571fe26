r"""Every formula of every page is right: it is evaluated and compared with the package's model.

`FORMULAS` says what each formula of a page must equal. A formula that is not listed there, letter
by letter, is refused, and so is an entry that its page does not use.
"""

import ast
import difflib
import math
import re
from collections.abc import Mapping
from random import Random
from typing import NamedTuple

import latex
import pytest
from latex import LatexError
from mutate.edits import FORMULA
from pages import DOCS, LANGUAGES, SNIPPETS, names
from parity_words import IN_FORMULAS, formula_in_english

from wallsite import collectives, roofline, tables, workload
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
SCOPE |= {"q": lambda name: tables.quantity(name).si}

# Page -> formula, with words in English -> Python over the models and the formula's own symbols.
# Where the package has no function, the definition stands here, with its source.
FORMULAS: dict[str, dict[str, str]] = {
    "reference/sayings.md": {
        r"6ND": "training_flops(N, D)",
        r"n = [[4,096 := memory.side]]": "memory.side",
        r"k+1": "speculative_tokens(1, k)",
        r"(1-a^{k+1})/(1-a)": "speculative_tokens(a, k)",
        r"C > 2S/\beta": "step_time(C, S, 2, beta) < C",
        r"2(N-1)\alpha": "ring_all_reduce(1, N, endless, alpha)",
        r"C < 2S/\beta": "step_time(C, S, 2, beta) > C",
        r"2S": "ring_volume(S, many)",
    },
    "three-walls/communication.md": {
        # Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", 1994.
        r"T = \alpha + \frac{S}{\beta}": "alpha + S / beta",
        r"S/\beta": "ring_all_reduce(S, 2, beta)",
        r"N-1": "ring_all_reduce(1, N, endless, 1) / 2",
        r"S/N": "ring_volume(S, N) / (2 * (N - 1))",
        r"V = 2\,\frac{N-1}{N}\,S": "ring_volume(S, N)",
        r"N=[[2 := comm.smallest_ring]]": "comm.smallest_ring",
        r"N=[[8 := comm.node_gpus]]": "comm.node_gpus",
        r"N=[[128 := q3.gpus_few]]": "q3.gpus_few",
        r"2S": "ring_volume(S, many)",
        r"2(N-1)/N \cdot S": "ring_volume(S, N)",
        # What crosses between two nodes when moving it inside takes no time.
        r"S/g": "stepwise_all_reduce(S, 2, g, endless, 1e6) * 1e6",
        r"1/g": "stepwise_all_reduce(1, 2, g, endless, 1e6) * 1e6",
        r"T = 2\,\frac{g-1}{g}\,\frac{S}{\beta_{\text{in}}}"
        r" + 2\,\frac{m-1}{m}\,\frac{S}{g\,\beta_{\text{out}}}": (
            "stepwise_all_reduce(S, m, g, beta_in, beta_out)"
        ),
        # Of the pieces that a rank sends to all N, those to the p of its own pod stay.
        r"(N-p)/N": "1 - p / N",
        r"8bsh(t-1)/t": "tensor_parallel_bytes(b, s, h, t, 1)",
        # Narayanan et al., 2021, section 3.2: the activations between two layers.
        r"bsh": "b * s * h",
        # Rajbhandari et al., "ZeRO", 2020, section 7: each of three collectives moves every weight.
        r"6P": "3 * P * ELEMENT_BYTES['bf16']",
        r"6PT": "training_flops(P, T)",
        r"T = \frac{F}{B}": "ridge_point(F, B)",
        r"1/t": "decode_floor(1, t * 1e12, 1) * 1e12",
        # Shoeybi et al., "Megatron-LM", 2019, section 3: two all-reduces forward in each layer.
        r"T_{\text{token}} \ge \frac{\text{bytes of weights}}{t \cdot \beta_{\text{HBM}}}"
        r" + 2L\,\alpha": ("decode_floor(bytes_of_weights, t * beta_HBM, 1) + L * (alpha + alpha)"),
        r"2L\alpha": "L * (alpha + alpha)",
        # Sanders, Speck, Träff, 2009: each level of a tree has twice the ranks of the one above.
        r"\log_2 N": "log(N) / log(2)",
        r"S/t": "algbw(S, t)",
        r"2(N-1)/N": "busbw(1, 1, N)",
        # Each GPU hands the switch all of its buffer to add, and a share of the sum to spread.
        r"S(1+1/N)": "S + S / N",
        # What each NIC carries across the border of a node, over the volume of one ring.
        r"(m-1)/(N-1)": "ring_volume(m / N, m) / ring_volume(1, N)",
    },
    "three-walls/compute.md": {
        r"\text{dense peak} = \text{clock} \times \text{tensor cores}"
        r" \times \text{multiply-adds per cycle} \times 2": (
            "clock * tensor_cores * multiply_adds_per_cycle * compute.flops_per_fma"
        ),
        r"g = R^{\,1/\Delta t}": "exp(log(R) / Delta_t)",
        r"C \approx 6 \, N_\text{active} \, D": "training_flops(N_active, D)",
        r"T = \frac{C}{n \cdot P \cdot \text{MFU}}": "training_time(C, P, MFU, n)",
    },
    "three-walls/hands-on.md": {
        # JEDEC JESD79: the data bus of a memory channel is 64 bits wide.
        r"B = \text{channels} \times \text{transfer rate}"
        r" \times [[8 := hands_on.channel_width]]\ \text{byte}": (
            "channels * transfer_rate * 64 / 8"
        ),
        # McCalpin, STREAM: a copy reads and writes; write-allocate reads the target as well.
        r"2N": "N + N",
        r"3N": "N + N + N",
        r"n/6": "gemm(n, n, n, 4).intensity",
        r"n = [[4,096 := memory.side]]": "memory.side",
    },
    "three-walls/index.md": {
        # Gholami et al., "AI and Memory Wall", 2024: growth by a factor r every two years.
        r"r^{\,t/2}": "exp(log(r) * t / 2)",
        r"\text{energy ratio} = \frac{E_\text{access}}{E_\text{FP32 multiply}}": (
            "E_access / E_FP32_multiply"
        ),
        r"\text{drop} = \frac{\text{bandwidth one level nearer}}"
        r"{\text{bandwidth one level farther}}, \qquad \text{both per GPU and per direction}": (
            "bandwidth_one_level_nearer / bandwidth_one_level_farther"
        ),
    },
    "three-walls/memory.md": {
        r"I = \frac{\text{work (FLOP)}}{\text{traffic (byte)}}": (
            "Work(work_FLOP, traffic_byte).intensity"
        ),
        r"2n^3": "gemm(n, n, n).flops",
        r"3n^2": "gemm(n, n, n, 1).traffic",
        r"3n^2 \times 2": "gemm(n, n, n).traffic",
        r"n/3": "gemm(n, n, n).intensity",
        r"P(I) = \min\left(P_\text{peak},\; I \times B\right)": "attainable(I, P_peak, B)",
        r"n = [[4,096 := memory.side]]": "memory.side",
        r"I^{*} = \frac{P_\text{peak}}{B} = \frac{[[989.4\times 10^{12} := peak('h100-sxm')]]}"
        r"{[[3.35\times 10^{12} := bandwidth('h100-sxm')]]}"
        r" = [[295 := ridge('h100-sxm')]]\ \text{FLOP/byte}": "ridge_point(P_peak, B)",
        r"2T": "decode(1, T).flops",
        r"I = \frac{2T}{b}": "prefill(1, T, weight_bytes=b).intensity",
        r"t_{\min} = \frac{[[14\times 10^{9} := params_7b * bytes_of('bf16')]]"
        r"\ \text{byte}}{[[3.35\times 10^{12} := bandwidth('h100-sxm')]]\ \text{byte/s}}"
        r" = [[4.18 := decode_floor(params_7b, bandwidth('h100-sxm'))]]\ \text{ms}": (
            "decode_floor(7e9, 3.35e12)"
        ),
        r"I(B, s) = \frac{2NB}{W + B\,s\,k}": "decode(N, B, s, k, W / N).intensity",
        r"\lim_{B\to\infty} I = \frac{2N}{s\,k}": "decode(N, many, s, k).intensity",
        r"2g": "decode_attention_intensity(g, 1)",
        r"N(B) = S + R\left(1 - \left(1 - \tfrac{k}{E}\right)^{B}\right)": (
            "moe_params_touched(S, R, E, k, B)"
        ),
        r"2N/(s\,k)": "decode(N, many, s, k).intensity",
        # Dao et al., "FlashAttention", 2022: a score for each pair of tokens.
        r"S\times S": "S**2",
        r"k = 2 \times L \times h_\text{kv} \times d \times b": (
            "kv_bytes_per_token(L, h_kv, d, b)"
        ),
        # Touvron et al., "Llama 2", 2023, and the model's config.json.
        r"[[2 := memory.kv_parts]] \times [[80 := arch('llama-2-70b').layers]]"
        r" \times [[8 := arch('llama-2-70b').kv_heads]]"
        r" \times [[128 := arch('llama-2-70b').head_dim]]"
        r" \times [[2,048 := memory.context_70b]]"
        r" \times [[2 := bytes_of('fp16')]]\ \text{byte}"
        r" = [[640 := kv_bytes_per_token(arch('llama-2-70b').layers,"
        r" arch('llama-2-70b').kv_heads, arch('llama-2-70b').head_dim)"
        r" * memory.context_70b]]\ \text{MiB}": "kv_bytes_per_token(80, 8, 128) * 2048",
        # One launch after the other, and none hidden behind a kernel.
        r"t \ge n_\text{kernel} \times t_\text{launch}": "n_kernel * t_launch",
    },
    "three-walls/questions.md": {
        r"E = \frac{1-a^{k+1}}{1-a}": "speculative_tokens(a, k)",
        r"k=[[4 := q1.draft_tokens]]": "q1.draft_tokens",
        r"a=[[0.8 := q1.accept_high]]": "q1.accept_high",
        r"a=[[0.6 := q1.accept_low]]": "q1.accept_low",
        r"2(N-1)/N": "busbw(1, 1, N)",
        r"T(N) = \frac{C}{N} + 2\,\frac{N-1}{N}\,\frac{S}{\beta} + 2(N-1)\,\alpha": (
            "step_time(C, S, N, beta, alpha)"
        ),
        r"\alpha=0": "0",
        r"T(N) = \frac{2S}{\beta} + \frac{C - 2S/\beta}{N}": "step_time(C, S, N, beta)",
        r"C > 2S/\beta": "step_time(C, S, 2, beta) < C",
        r"2S/\beta": "ring_all_reduce(S, many, beta)",
        r"2(N-1)\alpha": "ring_all_reduce(1, N, endless, alpha)",
        r"N^*=\sqrt{(C-2S/\beta)/(2\alpha)}": (
            "turning_point(C, S, beta, alpha) if step_time(C, S, 2, beta) < C else nan"
        ),
        r"C < 2S/\beta": "step_time(C, S, 2, beta) > C",
        r"E = \dfrac{\text{measured throughput}}{N \times \text{throughput of one GPU}}": (
            "strong_scaling_efficiency(1 / throughput_of_one_GPU, 1 / measured_throughput, N)"
        ),
        r"C/N": "step_time(C, 1, N, endless)",
        r"6ND": "training_flops(N, D)",
        # Chowdhery et al., "PaLM", 2022, appendix B: for each of s tokens and h channels, a
        # product with a key and one with a value; forward, and twice backward.
        r"3 \times 4Lsh": "3 * L * 2 * gemm(1, s, h).flops",
    },
}
# What a symbol is drawn from: from 2 to 64 unless it is listed here.
_LARGE = (10**9, 10**12)
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("beta", "beta_in", "beta_out", "beta_HBM"), _LARGE),
    **dict.fromkeys(("F", "P", "P_peak", "R", "S"), _LARGE),
    **dict.fromkeys(("B", "E"), (10**5, 10**6)),
    **dict.fromkeys(("a", "MFU"), (0.01, 0.99)),
    "alpha": (1e-6, 1e-3),
}
_POINTS = 100


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
        elif formula in models:
            wrong = difference(formula, models[formula])
        else:
            wrong = "is not listed in FORMULAS"
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
    assert not {word for word in IN_FORMULAS if rf"\text{{{word}}}" not in chinese}


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
    r"k = [[4 := q1.draft_tokens]]": "q1.draft_tokens",
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
        ("+ 2(", "- 2(", 2, r"not listed in FORMULAS; $T = \frac{S}{\beta} + 2(N-1)\,\alpha$ is"),
        (r"\frac{S}", r"\frac{2}", 2, "has the symbols ['N', 'alpha', 'beta'], not ['N', 'S'"),
        ("T =", "T -", 2, "not listed"),
        ("$N$", "$q$", 6, "$q$ no formula of this page has q"),
        ("$T(N)$", "$T(q)$", 6, "$T(q)$ no formula of this page has q"),
        ("C >", "C <", 6, "$C < 2S/\\beta$ is not listed in FORMULAS; $C > 2S/\\beta$ is"),
        ("2n^3", "2n^2", 6, "gives 3200, not 128000, for n = 40"),
        ("2n^3", "n", 6, "no formula of this page has n"),
        ("k = [[4", "k = [[5", 6, "not listed"),
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
