"""What an expression measures, worked out from its text: FLOP/s, byte, s, or a plain ratio.

Digits alone cannot tell 3.35 TB/s from 3.35 TFLOP/s, since both units are 10¹² of something. This
module reads an expression as physics does: each accessor has a dimension, each model takes and
returns what its own signature says, products and quotients combine them, sums need equal ones.
Counts (tokens, parameters, layers) are plain numbers.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from wallsite import collectives, lessons, roofline, topology, units, workload

# Exponents of the base quantities; an empty one is a plain number.
Dimension = dict[str, Fraction]

PLAIN: Dimension = {}

_READ = {
    **dict.fromkeys(("bandwidth", "link", "both"), "byte/s"),
    **dict.fromkeys(("peak", "sparse"), "FLOP/s"),
    **dict.fromkeys(("capacity", "bytes_of"), "byte"),
    **dict.fromkeys(("params", "active", "tokens", "year"), "1"),
    "ridge": "FLOP/byte",
    "power": "W",
    "energy": "J",
}
"""What the accessors return. What the models take and return stands in their signatures."""

_WHOLE = {"arch", "cluster"}  # whose attributes are counts
_CONSTANTS = {"KB": "kB", "us": "µs"}  # names that Python allows for units that it does not
_COUNTS = {"", "1", "token", "transfer"}


class DimensionError(ValueError):
    """An expression that adds unlike quantities, or whose dimension cannot be told."""


def parse(text: str) -> Dimension:
    """Read a dimension as `wallsite.units` writes it: ``FLOP/byte``, ``byte/s``, ``1``."""
    result: Dimension = {}
    for power, names in zip((1, -1), text.replace("W", "J/s").split("/", 1), strict=False):
        if names not in _COUNTS:
            result[names] = result.get(names, Fraction(0)) + power
    return result


def write(dimension: Dimension) -> str:
    """Write a dimension for an error message."""
    over = [_power(name, power) for name, power in sorted(dimension.items()) if power > 0]
    under = [_power(name, -power) for name, power in sorted(dimension.items()) if power < 0]
    if not under:
        return "·".join(over) or "a plain number"
    return f"{'·'.join(over) or '1'}/{'/'.join(under)}"


def _power(name: str, power: Fraction) -> str:
    return name if power == 1 else f"{name}^{power}"


def of(tree: ast.expr) -> Dimension:
    """Work out the dimension of an expression.

    Raises:
        DimensionError: it adds or compares unlike quantities, or uses what has no dimension.
    """
    match tree:
        case ast.Name(id=name):
            return parse(units.unit(_CONSTANTS.get(name, name)).dimension)
        case ast.Attribute(value=ast.Call(func=ast.Name(id=owner)), attr=name):
            return _attribute(owner, name)
        case ast.UnaryOp(operand=operand):
            return of(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            return _combined(left, operator, right)
        case ast.Call():
            return _call(tree)
        case ast.Constant():
            return PLAIN
    raise DimensionError(f"cannot tell what {ast.unparse(tree)} measures")


def _combined(left: ast.expr, operator: ast.operator, right: ast.expr) -> Dimension:
    one, other = of(left), of(right)
    match operator:
        case ast.Mult():
            return _product(one, other, 1)
        case ast.Div():
            return _product(one, other, -1)
        case ast.Add() | ast.Sub():
            if one != other:
                raise DimensionError(
                    f"{ast.unparse(left)} is {write(one)} and {ast.unparse(right)} is "
                    f"{write(other)}: they cannot be added"
                )
            return one
        case ast.Pow() if not one and not other:
            return PLAIN
    raise DimensionError(f"cannot tell what a {type(operator).__name__} of these measures")


def _product(one: Dimension, other: Dimension, sign: int) -> Dimension:
    powers = {name: one.get(name, 0) + sign * other.get(name, 0) for name in {**one, **other}}
    return {name: Fraction(power) for name, power in powers.items() if power}


def _call(tree: ast.Call) -> Dimension:
    match tree.func:
        case ast.Name(id=name):
            return _called(name, tree.args, tree.keywords)
        case ast.Attribute(attr=name):
            method = getattr(topology.Topology, name, None)
            if inspect.isfunction(method):
                return _of_signature(name, method, [None, *tree.args], tree.keywords)
            raise DimensionError(f"a topology has no method {name!r}")
    raise DimensionError(f"cannot tell what {ast.unparse(tree)} measures")


def _called(name: str, arguments: list[ast.expr], keywords: Sequence[ast.keyword]) -> Dimension:
    if name in {"min", "max", "abs"}:
        found = [of(argument) for argument in arguments]
        if not found or any(each != found[0] for each in found):
            raise DimensionError(f"{name} compares unlike quantities")
        return found[0]
    if name == "sqrt":
        (argument,) = arguments
        return {base: power / 2 for base, power in of(argument).items()}
    if name == "log2":
        if of(arguments[0]):
            raise DimensionError("log2 takes a plain number")
        return PLAIN
    if name == "quantity":
        found_unit = lessons.quantity(ast.literal_eval(arguments[0])).unit
        return parse(units.unit(found_unit).dimension)
    if name in _READ:
        return parse(_READ[name])
    model = _models().get(name)
    if model is None:
        raise DimensionError(f"{name}(…) is not a number; take one of its attributes")
    return _of_signature(name, model, arguments, keywords)


@cache
def _models() -> dict[str, Callable[..., Any]]:
    return {
        name: function
        for module in (roofline, workload, collectives)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
    }


@cache
def measures(function: Callable[..., Any]) -> Mapping[str, str | None]:
    """Tell what each argument of a model measures, and ``return``; None where nothing is said."""
    hints = get_type_hints(function, include_extras=True)
    return {name: _measured(hint) for name, hint in hints.items()}


def _measured(hint: Any) -> str | None:
    """Read the dimension of a hint such as ``Byte``, ``Byte | None``; None if it has none."""
    if get_origin(hint) is Annotated:
        return str(get_args(hint)[1])
    return next(filter(None, map(_measured, get_args(hint))), None)


def _of_signature(
    name: str,
    function: Callable[..., Any],
    arguments: Sequence[ast.expr | None],
    keywords: Sequence[ast.keyword],
) -> Dimension:
    """Check the arguments of a call against a model's signature; return what it returns."""
    said = measures(function)
    try:
        bound = inspect.signature(function).bind(
            *arguments, **{str(keyword.arg): keyword.value for keyword in keywords}
        )
    except TypeError as error:
        raise DimensionError(f"{name}: {error}") from None
    for parameter, argument in bound.arguments.items():
        if argument is None or (isinstance(argument, ast.Constant) and argument.value == 0):
            continue
        wanted, found = parse(said.get(parameter) or "1"), of(argument)
        if found != wanted:
            hint = "; write 5 * GB, 5 * us or 5 * byte" if not found else ""
            raise DimensionError(
                f"{name}: {parameter} is {write(wanted)}, but {ast.unparse(argument)} is "
                f"{write(found)}{hint}"
            )
    returned = said.get("return")
    if returned is None:
        if inspect.signature(function).return_annotation == "str":
            return PLAIN
        raise DimensionError(f"{name}(…) is not a number; take one of its attributes")
    return parse(returned)


def _attribute(owner: str, name: str) -> Dimension:
    """Tell what an attribute measures: of a `Work`, or a count of a model or a cluster."""
    if owner in _WHOLE:
        return PLAIN
    hints = get_type_hints(workload.Work, include_extras=True)
    if name in hints:
        return parse(_measured(hints[name]) or "1")
    made = getattr(workload.Work, name, None)
    if isinstance(made, property) and made.fget:
        return parse(measures(made.fget)["return"] or "1")
    raise DimensionError(f"{owner}(…) has no attribute {name!r}; known: flops, traffic, intensity")
