"""The checked-number syntax, its evaluation, and everything it must refuse."""

import inspect
import re

import pytest
from pages import ROOT

from wallsite import collectives, lessons, roofline, topology, workload
from wallsite.site.checked import dimensions, expressions, numbers
from wallsite.site.checked.numbers import NumberError


def check(text):
    (number,) = numbers.find(text)
    return number.check()


@pytest.mark.parametrize(
    "text",
    [
        "[[295 FLOP/byte := ridge('h100-sxm')]]",
        "[[295.34 := ridge('h100-sxm')]]",
        "[[3.35 TB/s := bandwidth('h100-sxm')]]",
        "[[3,350 GB/s := bandwidth('h100-sxm')]]",
        "[[2.30× := bandwidth('b200') / bandwidth('h100-sxm')]]",
        "[[2.39× := bandwidth('b200', alt=1) / bandwidth('h100-sxm')]]",
        "[[281 := ridge('b200', alt=1)]]",
        "[[450 GB/s := link('nvlink4')]]",
        "[[900 GB/s := both('nvlink4')]]",
        "[[4.18 ms := decode_floor(7e9, bandwidth('h100-sxm'))]]",
        "[[1750 亿 := params('gpt-3')]]",
        "[[175 billion := params('gpt-3')]]",
        "[[3.35×10¹² byte/s := bandwidth('h100-sxm')]]",
        r"$\frac{[[989.4\times10^{12} := peak('h100-sxm')]]}{1}$",
        "[[-1 := -gemv(8, 8).intensity / gemv(8, 8).intensity]]",
        "[[50% := bytes_of('fp8') / bytes_of('bf16')]]",
        "[[32 := arch('llama-2-7b').layers]]",
        r"$[[4.18 := decode_floor(7e9, bandwidth('h100-sxm'))]]\ \text{ms}$",
        r"$[[295 := ridge('h100-sxm')]]\ \text{FLOP/byte}$",
        "[[2 bytes := bytes_of('bf16')]]",
        "[[7.5 FLOP/byte := 2 * FLOP * params('gpt-3') / (46.7 * GB)]]",
        "[[4 := year('v100') - 2014]] years",
    ],
)
def test_right_numbers_pass(text):
    check(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[296 := ridge('h100-sxm')]]", r"shows 296, but the value is 295\.34.* rounds to 295"),
        ("[[3.35 GB/s := bandwidth('h100-sxm')]]", "rounds to 3,350.00"),
        ("[[3.4 TB/s := bandwidth('h100-sxm') * 0.98]]", "rounds to 3.3"),
        ("[[3.35 TBs := bandwidth('h100-sxm')]]", "unknown unit 'TBs'; did you mean"),
        ("[[about 295 := ridge('h100-sxm')]]", "cannot read 'about 295' as a number"),
        ("[[29,5 := ridge('h100-sxm')]]", "unknown unit ',5'"),
        ("[[２９５ := ridge('h100-sxm')]]", "cannot read '２９５' as a number"),
        ("[[0295 := ridge('h100-sxm')]]", "unknown unit '295'"),
        ("[[0,295 := ridge('h100-sxm')]]", "unknown unit ',295'"),
        ("[[1×10^{999} := bytes_of('fp8')]]", "unknown unit '×10"),
        ("[[1×10⁻⁹⁹⁹ := bytes_of('fp8')]]", "unknown unit '⁹'"),
        ("[[295.3432835820895522388059701492537 := ridge('h100-sxm')]]", "rounds to 295.34328358"),
        ("[[295 := 295]]", "depends on no data and no model"),
        ("[[295 := max(295, 1)]]", "depends on no data and no model"),
        ("[[295 := ridge('h100-sxm']]", "does not parse"),
        ("[[295 := rigde('h100-sxm')]]", "unknown name 'rigde'"),
        ("[[295 := ridge('h1000')]]", "h100"),
        ("[[295 := ridge('h100-sxm', 'bf61')]]", "bf61"),
        ("[[295 := ridge('h100-sxm') / 0]]", "ZeroDivisionError"),
        ("[[1 := ridge('h100-sxm') * 1e400]]", "is inf, not a finite number"),
        ("[[1 := turning_point(1 * day, 1 * GB, link('ib-ndr'), 0)]]", "is inf"),
        ("[[1 := bandwidth('h100-sxm', alt=3)]]", "alternatives"),
        ("[[1 := __import__('os').getpid() + ridge('h100-sxm')]]", "is not allowed"),
        ("[[3.35 TFLOP/s := bandwidth('h100-sxm')]]", "TFLOP/s measures FLOP/s, but .* byte/s"),
        ("[[3.35 TB := bandwidth('h100-sxm')]]", "TB measures byte, but the expression is byte/s"),
        ("[[450 GB/s := link('nvlink4') * ms / ms / ms]]", "but the expression is byte/s.2"),
        ("[[2.3× := bandwidth('b200') / peak('h100-sxm')]]", "× measures 1, but .* byte/FLOP"),
        ("[[4 ms := decode_floor(7e9, bandwidth('h100-sxm')) + 1]]", "they cannot be added"),
        ("[[3.35 := bandwidth('h100-sxm') / 1e12]] TB/s", "'TB/s' after it belongs inside"),
        (
            r"$[[4.18 := decode_floor(7e9, bandwidth('h100-sxm'))]]\,\text{µs}$",
            "rounds to 4,179.10",
        ),
        (r"$[[4.18 := decode_floor(7e9, bandwidth('h100-sxm'))]]\ \text{GB}$", "GB measures byte"),
        (
            "[[1 := bound(1 * FLOP / byte, peak('h100-sxm'), bandwidth('h100-sxm'))]]",
            "is 'memory', not a number",
        ),
        ("[[1 := bytes_of('fp7')]]", "unknown data type 'fp7'; known: fp64"),
    ],
)
def test_wrong_numbers_are_refused(text, message):
    with pytest.raises(NumberError, match=message):
        check(text)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("ridge('h100-sxm') * 10**10**10", "OverflowError"),
        ("ridge('h100-sxm') * ((10**99)**99)**99", "OverflowError"),
        ("ridge('h100-sxm') * max(10**10**10, 1)", "OverflowError"),
        ("ridge('h100-sxm') * (-8)**0.5", "is .*j.*, not a number"),
        ("ridge('h100-sxm') * 0 / 0", "ZeroDivisionError"),
        ("ridge('h100-sxm') * 1e400 * 0", "is nan, not a finite number"),
        ("arch('gpt-3')", "is not a number"),
        ("ridge('h100-sxm') if 1 else None", "ridge.* is not allowed"),
        ("(ridge('h100-sxm'), 1)", "is not allowed"),
        ("f\"{ridge('h100-sxm')}\"", "is not allowed"),
        ("ridge('h100-sxm') * len", "unknown name 'len'"),
        ("ridge('h100-sxm').__class__", r"__class__ is not allowed; an expression holds"),
        ("arch('gpt-3').note(1)", "is not allowed"),
        ("ridge.__self__", "is not allowed"),
        ("ridge('h100-sxm' * 10**10)", "is not allowed"),
        ("ridge(*('h100-sxm',))", "is not allowed"),
        ("ridge(**params)", "is not allowed"),
        ("ridge((lambda: 'h100-sxm')())", "unknown name|is not allowed"),
        ("ridge('h100-sxm') + 'x'", "'x' is not allowed"),
        ("ridge('h100-sxm') + True", "True is not allowed"),
        ("ridge('h100-sxm') // 1", "is not allowed"),
        ("ridge('h100-sxm') << 99999999999", "is not allowed"),
        ("(x := ridge('h100-sxm'))", "is not allowed"),
        ("ridge(", "does not parse"),
        ("ridge('h100-sxm')\0", "does not parse"),
        ("(" * 5_000 + "ridge('h100-sxm')" + ")" * 5_000, "does not parse"),
        ("-" * 500 + "ridge('h100-sxm')", "is nested too deep"),
        ("-" * 50_000 + "ridge('h100-sxm')", "does not parse|is nested too deep"),
    ],
)
def test_expression_is_a_sum_of_lookups_and_models_and_nothing_else(expression, message):
    with pytest.raises(expressions.ExpressionError, match=message):
        expressions.evaluate(expression)


def test_a_result_names_its_inputs_and_kind():
    ridge = check("[[295 := ridge('h100-sxm')]]")
    assert [(item.value.value, item.value.unit) for item in ridge.inputs] == [
        (989.4, "TFLOP/s"),
        (3.35, "TB/s"),
    ]
    assert ridge.kind == "derived"
    assert check("[[1.8 trillion := params('gpt-4-rumour')]]").kind == "rumour"
    assert check("[[2 := params('gpt-4-rumour') / params('gpt-4-rumour') * 2]]").kind == "rumour"
    quoted = check("[[3.35 TB/s := bandwidth('h100-sxm')]]")
    assert quoted.kind == quoted.inputs[0].value.kind != "derived"
    assert check("[[900 GB/s := both('nvlink4')]]").kind == "derived"


def test_find_gives_position_and_plain_text():
    text = "a [[1 := year('h100-sxm')]] b [link](x) [[2 TB/s := link('x')]]"
    found = numbers.find(text)
    assert [text[n.start : n.end] for n in found] == [
        "[[1 := year('h100-sxm')]]",
        "[[2 TB/s := link('x')]]",
    ]
    assert numbers.plain(text) == "a 1 b [link](x) 2 TB/s"


@pytest.mark.parametrize("module", [roofline, workload, collectives, topology.Topology])
def test_every_model_says_what_its_numbers_measure(module):
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("_") or function.__module__ not in {
            module.__name__,
            "wallsite.topology",
        }:
            continue
        said = dimensions.measures(function)
        plain = {"self", "collective", "step", "stage", "scattered", "apart", "ranks", "return"}
        for parameter in inspect.signature(function).parameters:
            assert said.get(parameter) or parameter in plain, f"{name}({parameter})"
        returned = inspect.signature(function).return_annotation
        assert said.get("return") or returned in {"Work", "str", "Topology"}, name


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "ridge_point(bandwidth('h100-sxm'), peak('h100-sxm'))",
            r"ridge_point: peak is FLOP/s, but bandwidth\('h100-sxm'\) is byte/s",
        ),
        ("ring_volume(params_7b, 8)", r"size is byte, but .* is a plain number; write 5 \* GB"),
        ("ring_volume(gradient, q3.alpha)", "ranks is a plain number, but .* is s"),
        ("decode_floor(params_7b, bandwidth=peak('b200'))", "bandwidth is byte/s, but"),
        ("ring_volume(gradient)", "ring_volume: missing a required argument: 'ranks'"),
        ("topology('dgx-h100').ring_all_reduce(q3.alpha, 8)", "size is byte, but .* is s"),
        ("topology('dgx-h100').fly(8)", "a topology has no method 'fly'"),
        ("cluster('dgx-h100').link", "dgx-h100 has no number 'link'; known: domain, nics"),
        ("decode(params_7b).weight", "has no attribute 'weight'; known: flops, traffic"),
        ("efficiency", r"write efficiency\(N\), with 1 argument"),
        ("efficiency(1, 2)", r"write efficiency\(N\)"),
        ("efficiency(N=128)", "takes its arguments by place"),
        ("gradient(1)", "write gradient, with 0 arguments"),
        ("q3.alhpa", "unknown name 'q3.alhpa'; did you mean q3.alpha"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(expression, message):
    with pytest.raises(expressions.ExpressionError, match=message):
        expressions.evaluate(expression)


def test_a_definition_is_put_in_the_place_of_its_name():
    # By hand: 106.1 s of compute; a step is C/128 + 2 · 127/128 · 14 GB / 50 GB/s + 254 · 5 µs.
    found = expressions.evaluate("efficiency(128)")
    compute = 6 * 7e9 * 1e6 / (0.4 * 989.4e12)
    step = compute / 128 + 2 * 127 / 128 * 14e9 / 50e9 + 2 * 127 * 5e-6
    assert found.value == pytest.approx(compute / (128 * step))
    assert [item.key for item in found.inputs] == [
        *("params_7b", "q3.tokens", "h100-sxm.fp16", "q3.mfu", "q3.link", "q3.alpha"),
    ]
    assert found.kind == "derived"
    assert found.defined[0] == (
        "efficiency(N) = strong_scaling_efficiency(compute_time, step(N), N)"
    )
    assert [line.split(" = ")[0] for line in found.defined] == [
        *("efficiency(N)", "compute_time", "step(N)", "gradient"),
    ]


def test_every_definition_can_be_evaluated_and_is_used():
    written = "".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    texts = [definition.text for definition in lessons.definitions().values()]
    for name, definition in lessons.definitions().items():
        used = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
        on_pages = (x["expression"] for x in numbers.PATTERN.finditer(written))
        assert any(map(used.search, [*on_pages, *texts])), f"{definition.file}: [{name}] is unused"


def test_no_expression_on_a_page_is_long():
    for path in sorted((ROOT / "docs").rglob("*.md")):
        text = path.read_text("utf-8")
        for number in numbers.find(text):
            line = text.count("\n", 0, number.start) + 1
            assert len(number.expression) <= 50, (
                f"{path.relative_to(ROOT)}:{line}: {number.expression}: define it in "
                "docs/lessons/*/quantities/derived.toml"
            )


@pytest.mark.parametrize(
    "text",
    [
        "[[half := bytes_of('fp8') / bytes_of('bf16')]]",
        "[[减半 := bytes_of('fp8') / bytes_of('bf16')]]",
        "[[一半 := bytes_of('fp8') / bytes_of('bf16')]]",
        "[[twice := bytes_of('bf16') / bytes_of('fp8')]]",
        "[[翻倍 := bytes_of('bf16') / bytes_of('fp8')]]",
        "[[a third := bytes_of('fp8') / (bytes_of('fp8') + bytes_of('bf16'))]]",
        "[[三分之一 := bytes_of('fp8') / (bytes_of('fp8') + bytes_of('bf16'))]]",
        "[[Half := bytes_of('fp8') / bytes_of('bf16')]]",
        "[[three minutes := questions.think_time]]",
        "[[三分钟 := questions.think_time]]",
    ],
)
def test_words_can_be_checked(text):
    check(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[half := bandwidth('h100-sxm') / link('nvlink4')]]", "says 0.5, but .* 7.44.* 2.5% off"),
        ("[[half := 0.513 * bytes_of('bf16') / bytes_of('bf16')]]", "more than 2.5% off"),
        ("[[half := bandwidth('h100-sxm') * ms]]", "a plain number|says 0.5"),
        ("[[two minutes := questions.think_time]]", "shows 2, but the value is 3"),
        ("[[halfway := bytes_of('fp8') / bytes_of('bf16')]]", "cannot read 'halfway'"),
    ],
)
def test_wrong_words_are_refused(text, message):
    with pytest.raises(NumberError, match=message):
        check(text)


@pytest.mark.parametrize(
    ("expression", "dimension"),
    [
        ("ridge('h100-sxm')", "FLOP/byte"),
        ("sqrt(bandwidth('h100-sxm') * bandwidth('b200'))", "byte/s"),
        ("power('h100-sxm') / peak('h100-sxm')", "J/FLOP"),
        ("q3.alpha", "s"),
        ("decode(7e9).traffic / bandwidth('h100-sxm')", "s"),
        ("min(link('nvlink4'), link('ib-ndr')) * ms", "byte"),
        ("(peak('b200') / peak('h100-sxm')) ** 0.5", "1"),
    ],
)
def test_dimensions(expression, dimension):
    assert expressions.evaluate(expression).dimension == dimensions.parse(dimension)
