"""The names that a checked number's expression may use, and their evaluation.

Accessors read the tables and note what they read, so that a result can name its inputs. Quantities
of a lesson stand by their own names, ``q3.alpha``; one that is derived from others may take
arguments, ``efficiency(128)``, and is put in their place before anything is evaluated. Models come
from `wallsite.roofline`, `wallsite.workload`, `wallsite.collectives` and `wallsite.topology` as
they are. All values are in SI base units.
"""

from __future__ import annotations

import ast
import copy
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from wallsite import _checks, collectives, lessons, roofline, tables, topology, units, workload
from wallsite.render import facts
from wallsite.render.facts import Statement
from wallsite.site.checked import dimensions
from wallsite.tables import Value


class ExpressionError(ValueError):
    """An expression that cannot be evaluated, or that rests on nothing."""


class Result(NamedTuple):
    """An evaluated expression.

    Attributes:
        value: in SI base units.
        dimension: what it measures, see `wallsite.site.checked.dimensions`.
        inputs: the facts of the tables that it read, in order, each once.
        kind: the kind of statement it makes, see `wallsite.tables`.
        defined: the definitions that it went through, a line each: ``step(N) = …``.
    """

    value: float
    dimension: dimensions.Dimension
    inputs: tuple[Statement, ...]
    kind: str
    defined: tuple[str, ...] = ()


class _Reader:
    """The accessors, and what they have read, by key."""

    def __init__(self) -> None:
        self.inputs: dict[str, Statement] = {}

    def accessors(self) -> dict[str, Callable[..., Any]]:
        """Everything an expression may read, by name."""
        own = {"__init__", "accessors", "note"}
        methods = inspect.getmembers(self, inspect.ismethod)
        return {name: method for name, method in methods if name not in own}

    def note(self, value: Value | None, missing: str = "", alt: int = 0) -> float:
        if value is None:
            raise ExpressionError(f"{missing} is unknown")
        read = Statement(facts.of(value), alt)
        if not 0 <= alt <= len(value.alternatives):
            raise ExpressionError(
                f"{read.fact.label('en')} has {len(value.alternatives)} alternatives"
            )
        self.inputs[read.key] = read
        return read.value.si

    def bandwidth(self, device: str, alt: int = 0) -> float:
        found = tables.accelerator(device)
        return self.note(found.bandwidth, f"{found.name} memory bandwidth", alt)

    def capacity(self, device: str, alt: int = 0) -> float:
        found = tables.accelerator(device)
        return self.note(found.capacity, f"{found.name} memory capacity", alt)

    def power(self, device: str, alt: int = 0) -> float:
        found = tables.accelerator(device)
        return self.note(found.power, f"{found.name} power", alt)

    def peak(self, device: str, dtype: str = "", alt: int = 0) -> float:
        found = tables.accelerator(device)
        return self.note(found.peak(dtype or found.sixteen_bit or "fp16"), alt=alt)

    def sparse(self, device: str, dtype: str = "fp16") -> float:
        found = tables.accelerator(device)
        value = found.fields.get(f"{dtype}_sparse")
        return self.note(value, f"{found.name} {dtype} figure with sparsity")

    def ridge(self, device: str, dtype: str = "", alt: int = 0) -> float:
        return roofline.ridge_point(self.peak(device, dtype), self.bandwidth(device, alt))

    def link(self, name: str, alt: int = 0) -> float:
        return self.note(tables.link(name).bandwidth, alt=alt)

    def both(self, name: str, alt: int = 0) -> float:
        return _checks.BothDirections(2 * self.link(name, alt))

    def energy(self, operation: str) -> float:
        return self.note(tables.energy(operation))

    def params(self, model: str) -> float:
        return self.note(tables.model(model).params)

    def active(self, model: str) -> float:
        return self.note(tables.model(model).active_params)

    def tokens(self, model: str) -> float:
        found = tables.model(model)
        return self.note(found.tokens, f"{found.name} training tokens")

    def arch(self, model: str) -> _Counts:
        return _Counts(self, tables.model(model))

    def cluster(self, name: str) -> _Counts:
        return _Counts(self, tables.cluster(name))

    def quantity(self, name: str) -> float:
        return self.note(lessons.quantity(name))

    def topology(self, name: str) -> topology.Topology:
        found = tables.cluster(name)
        for value in (*found.fields.values(), found.link.bandwidth, found.network.bandwidth):
            self.note(value)
        return topology.of(found)

    def year(self, name: str) -> int:
        try:
            return tables.accelerator(name).year
        except tables.UnknownName:
            return tables.model(name).year


class _Counts:
    """Whole numbers of a model or a cluster, as attributes such as ``layers`` or ``nics``."""

    def __init__(self, reader: _Reader, thing: tables.Model | tables.Cluster) -> None:
        self._reader = reader
        self._thing = thing

    def __getattr__(self, name: str) -> int:
        value = getattr(self._thing, name, None)
        if not isinstance(value, Value | None) or not hasattr(self._thing, name):
            known = ", ".join(self._thing.fields)
            raise ExpressionError(f"{self._thing.id} has no number {name!r}; known: {known}")
        return int(self._reader.note(value, f"{self._thing.name} {name}"))


def bytes_of(dtype: str) -> float:
    """Bytes that one stored element of a data type takes.

    Raises:
        ExpressionError: the data type is not known.
    """
    try:
        return workload.ELEMENT_BYTES[dtype]
    except KeyError:
        known = ", ".join(workload.ELEMENT_BYTES)
        raise ExpressionError(f"unknown data type {dtype!r}; known: {known}") from None


_CONSTANTS: dict[str, Any] = {name: units.scale(name) for name in ("MB", "GB", "TB")}
_CONSTANTS |= {name: units.scale(name) for name in ("KiB", "MiB", "GiB", "ms", "day")}
_CONSTANTS |= {"KB": 1e3, "us": 1e-6}
# They change no value; they say what a bare factor counts: ``2 * FLOP * params('gpt-3')``.
_CONSTANTS |= {"FLOP": 1.0, "byte": 1.0}
_ARITHMETIC: dict[str, Any] = {
    "sqrt": math.sqrt,
    "log2": math.log2,
    "min": min,
    "max": max,
    "abs": abs,
}


@cache
def _models() -> dict[str, Callable[..., Any]]:
    """Public functions of the three model modules, by name."""
    return {"bytes_of": bytes_of} | {
        name: function
        for module in (roofline, workload, collectives)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }


def names() -> list[str]:
    """List the accessors and models that an expression may call."""
    return sorted(_Reader().accessors() | _models())


@cache
def evaluate(expression: str) -> Result:
    """Evaluate an expression over the tables, the lessons' quantities and the models.

    Raises:
        ExpressionError: it does not parse, uses an unknown name, fails, is not a finite number,
            or calls neither an accessor nor a model, so that it could never be wrong.
    """
    writer = _Expansion()
    tree = writer.expand(_parsed(expression), {})
    reader = _Reader()
    grounded = reader.accessors() | _models()
    if not {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & grounded.keys():
        raise ExpressionError("depends on no data and no model, so it could never be wrong")
    try:
        dimension = dimensions.of(tree)
        floats = _InFloats().visit(copy.deepcopy(tree))
        code = compile(
            ast.fix_missing_locations(ast.Expression(floats)), "<checked number>", "eval"
        )
        scope = _CONSTANTS | _ARITHMETIC | grounded
        value = eval(code, {"__builtins__": {}, _FLOAT: float}, scope)
    except ExpressionError:
        raise
    except dimensions.DimensionError as error:
        raise ExpressionError(str(error)) from None
    except Exception as error:
        raise ExpressionError(f"{type(error).__name__}: {error}") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ExpressionError(f"is {_checks.shown(value)}, not a number")
    if not math.isfinite(value):
        raise ExpressionError(f"is {value}, not a finite number")
    inputs = tuple(reader.inputs.values())
    return Result(value, dimension, inputs, _kind(tree, inputs), tuple(writer.defined.values()))


def check_definitions() -> None:
    """Evaluate what the lessons derive; of what takes arguments, look up the names.

    Raises:
        ExpressionError: a definition is wrong; the message names file and entry.
    """
    for name, definition in lessons.definitions().items():
        if definition.args:
            given: list[ast.expr] = [ast.Constant(1) for _ in definition.args]
            _Expansion().named(name, given)
        else:
            evaluate(name)


def _parsed(expression: str) -> ast.expr:
    try:
        tree = ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"does not parse: {error.msg}") from None
    except (MemoryError, RecursionError, ValueError) as error:  # nested too deep, or a null byte
        raise ExpressionError(f"does not parse: {error or 'nested too deep'}") from None
    _check_form(tree, expression)
    return tree


class _Expansion:
    """Puts quantities and definitions in the place of their names."""

    def __init__(self) -> None:
        self.defined: dict[str, str] = {}
        self._within: list[str] = []

    def expand(self, node: ast.expr, arguments: Mapping[str, ast.expr]) -> ast.expr:
        """Return an expression of accessors, models and numbers alone.

        Args:
            node: the expression.
            arguments: what the names of a definition's arguments stand for.
        """
        expanded: ast.expr = _Names(self, arguments).visit(copy.deepcopy(node))
        return expanded

    def named(self, name: str, values: list[ast.expr] | None) -> ast.expr:
        """Return what a name stands for, called with values or not called."""
        definition = lessons.definitions().get(name)
        if definition is None:
            if name in lessons.quantities():
                return ast.Call(ast.Name("quantity", ast.Load()), [ast.Constant(name)], [])
            if name in _CONSTANTS:
                return ast.Name(name, ast.Load())
            raise _unknown(name)
        given = values or []
        if len(given) != len(definition.args) or (values is None) != (not definition.args):
            raise ExpressionError(f"write {definition.call}, with {len(definition.args)} arguments")
        if name in self._within:
            raise ExpressionError(f"{' → '.join([*self._within, name])}: defined by itself")
        self.defined.setdefault(name, f"{definition.call} = {definition.text}")
        self._within.append(name)
        try:
            found = self.expand(
                _parsed(definition.text), dict(zip(definition.args, given, strict=True))
            )
        except ExpressionError as error:
            where = f"{definition.file}: [{name}] is"
            told = str(error)
            raise ExpressionError(told if ": [" in told else f"{where}: {told}") from None
        self._within.pop()
        return found


class _Names(ast.NodeTransformer):
    """Replaces the names of one expression."""

    def __init__(self, expansion: _Expansion, arguments: Mapping[str, ast.expr]) -> None:
        self._expansion = expansion
        self._arguments = arguments

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._arguments:
            return copy.deepcopy(self._arguments[node.id])
        return self._expansion.named(node.id, None)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name):
            return self._expansion.named(ast.unparse(node), None)
        node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [self.visit(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            node.func.value = self.visit(node.func.value)
            return node
        name = ast.unparse(node.func)
        if name not in lessons.definitions():
            if name not in _callable():
                raise _unknown(name)
            return node
        if node.keywords:
            raise ExpressionError(f"{name} takes its arguments by place")
        return self._expansion.named(name, node.args)


@cache
def _callable() -> frozenset[str]:
    return frozenset(_Reader().accessors() | _models() | _ARITHMETIC)


def _unknown(name: str) -> ExpressionError:
    known = [*_callable(), *_CONSTANTS, *lessons.quantities(), *lessons.definitions()]
    near = _checks.did_you_mean(_checks.near_matches(name, known))
    return ExpressionError(
        f"unknown name {name!r}{near}; an expression may use the accessors and models of "
        "CONTRIBUTING, and the quantities of docs/lessons"
    )


def _check_form(node: ast.expr, expression: str, depth: int = 0) -> None:
    """Let through what physics needs and no other Python, before any of it is run."""
    if depth > _DEEPEST:
        raise ExpressionError("is nested too deep")
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            parts: Sequence[ast.expr] = ()
        case ast.Name() | ast.Attribute(value=ast.Name()) if "__" not in ast.unparse(node):
            parts = ()
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            parts = (operand,)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
            parts = (node.left, node.right)
        case ast.Attribute(value=ast.Call() as call, attr=name) if not name.startswith("_"):
            parts = (call,)
        case ast.Call(args=given, keywords=named) if _may_be_called(node.func) and all(
            x.arg for x in named
        ):
            values = (*given, *(x.value for x in named))
            # A text is a name to look up; nothing else can be done with it.
            parts = tuple(value for value in values if not _is_text(value))
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
                parts = (*parts, node.func.value)
        case _:
            raise ExpressionError(
                f"{ast.get_source_segment(expression, node)} is not allowed; an expression holds "
                "numbers, + - * / **, calls such as ridge('h100-sxm'), and their attributes"
            )
    for part in parts:
        _check_form(part, expression, depth + 1)


_DEEPEST = 100  # far from what Python's own stack allows


def _may_be_called(function: ast.expr) -> bool:
    """Whether it is a name, a quantity with a dot, or a method of a topology."""
    match function:
        case ast.Name():
            return True
        case ast.Attribute(value=ast.Name(), attr=name):
            return not name.startswith("_")
        case ast.Attribute(value=ast.Call(func=ast.Name(id="topology")), attr=name):
            return not name.startswith("_")
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


_FLOAT = "<float>"  # no expression can write this name


class _InFloats(ast.NodeTransformer):
    """Raise floats only: the digits of 10**10**10 as an integer would fill the memory."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            node.left = ast.Call(ast.Name(_FLOAT, ast.Load()), [node.left], [])
        return node


def _kind(root: ast.expr, inputs: Sequence[Statement]) -> str:
    """Kind of statement: that of the value when one is quoted as it stands, else derived."""
    if any(item.value.kind == "rumour" for item in inputs):
        return "rumour"
    if isinstance(root, ast.Call) and isinstance(root.func, ast.Name) and len(inputs) == 1:
        quotes = not {root.func.id} & ({"both", "year"} | _models().keys())
        return inputs[0].value.kind if quotes else "derived"
    return "derived"
