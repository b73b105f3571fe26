"""What an expression measures, worked out from its text: FLOP/s, byte, s, or a plain ratio.

Digits alone cannot tell 3.35 TB/s from 3.35 TFLOP/s, since both units are 10¹² of something. This
module reads an expression as physics does: each accessor and model has a dimension, products and
quotients combine them, sums need equal ones. Counts (tokens, parameters, layers) are plain numbers.
"""

from __future__ import annotations

import ast
from fractions import Fraction

from wallsite import tables, units

# Exponents of the base quantities; an empty one is a plain number.
Dimension = dict[str, Fraction]

PLAIN: Dimension = {}

RETURNS = {
    # accessors
    "bandwidth": "byte/s",
    "capacity": "byte",
    "power": "W",
    "peak": "FLOP/s",
    "sparse": "FLOP/s",
    "ridge": "FLOP/byte",
    "link": "byte/s",
    "both": "byte/s",
    "energy": "J",
    "params": "1",
    "active": "1",
    "tokens": "1",
    "year": "1",
    "bytes_of": "byte",
    # models
    "ridge_point": "FLOP/byte",
    "attainable": "FLOP/s",
    "time_floor": "s",
    "mfu": "1",
    "mbu": "1",
    "kv_bytes_per_token": "byte",
    "decode_floor": "s",
    "critical_batch": "1",
    "decode_attention_intensity": "FLOP/byte",
    "training_flops": "FLOP",
    "training_time": "s",
    "speculative_tokens": "1",
    "moe_params_touched": "1",
    "tensor_parallel_bytes": "byte",
    "ring_volume": "byte",
    "ring_all_reduce": "s",
    "tree_all_reduce": "s",
    "halving_doubling_all_reduce": "s",
    "hierarchical_all_reduce": "s",
    "reduce_scatter": "s",
    "all_gather": "s",
    "all_to_all": "s",
    "broadcast": "s",
    "ring_tree_crossover": "byte",
    "algbw": "byte/s",
    "busbw": "byte/s",
    "step_time": "s",
    "weak_step_time": "s",
    "exposed_in_buckets": "s",
    "best_ranks": "1",
    "turning_point": "1",
    "scaling_efficiency": "1",
    "exposed_time": "s",
}
ATTRIBUTES = {"flops": "FLOP", "traffic": "byte", "intensity": "FLOP/byte"}
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
        case ast.Constant():
            return PLAIN
        case ast.Name(id=name):
            return parse(units.unit(_CONSTANTS.get(name, name)).dimension)
        case ast.Attribute(attr=name):
            return parse(ATTRIBUTES.get(name, "1"))
        case ast.UnaryOp(operand=operand):
            return of(operand)
        case ast.BinOp(left=left, op=operator, right=right):
            return _combined(left, operator, right)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _called(name, arguments)
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


def _called(name: str, arguments: list[ast.expr]) -> Dimension:
    if name in {"min", "max", "abs"}:
        found = [of(argument) for argument in arguments]
        if any(each != found[0] for each in found):
            raise DimensionError(f"{name} compares unlike quantities")
        return found[0]
    if name == "sqrt":
        return {base: power / 2 for base, power in of(arguments[0]).items()}
    if name == "log2":
        return PLAIN
    if name == "q":
        quantity = tables.quantity(ast.literal_eval(arguments[0]))
        return parse(units.unit(quantity.unit).dimension)
    if name not in RETURNS:
        raise DimensionError(f"{name}(…) is not a number; take one of its attributes")
    return parse(RETURNS[name])
