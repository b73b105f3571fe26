"""The names that a checked number's expression may use, and their evaluation.

Accessors read the tables and note what they read, so that a result can name its inputs; model
functions come from `wallsite.roofline`, `wallsite.workload` and `wallsite.collectives` as they
are. All values are in SI base units.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from wallsite import collectives, roofline, tables, units, workload
from wallsite.site import dimensions
from wallsite.tables import Value


class ExpressionError(ValueError):
    """An expression that cannot be evaluated, or that rests on nothing."""


class Input(NamedTuple):
    """A value of the tables that an expression read, and what it is a value of."""

    label: str
    value: Value


class Result(NamedTuple):
    """An evaluated expression.

    Attributes:
        value: in SI base units.
        dimension: what it measures, see `wallsite.site.dimensions`.
        inputs: the values of the tables that it read, in order.
        kind: the kind of statement it makes, see `wallsite.tables`.
    """

    value: float
    dimension: dimensions.Dimension
    inputs: tuple[Input, ...]
    kind: str


class _Reader:
    """The accessors, and the list of what they have read."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []

    def accessors(self) -> dict[str, Callable[..., Any]]:
        """Everything an expression may read, by name."""
        own = {"__init__", "accessors", "note"}
        methods = inspect.getmembers(self, inspect.ismethod)
        return {name: method for name, method in methods if name not in own}

    def note(self, label: str, value: Value | None, alt: int = 0) -> float:
        if value is None:
            raise ExpressionError(f"{label} is unknown")
        if alt:
            if alt > len(value.alternatives):
                raise ExpressionError(f"{label} has {len(value.alternatives)} alternatives")
            value = value.alternatives[alt - 1]
        self.inputs.append(Input(label, value))
        return value.si

    def bandwidth(self, device: str, alt: int = 0) -> float:
        found = tables.accelerator(device)
        return self.note(f"{found.name} memory bandwidth", found.bandwidth, alt)

    def capacity(self, device: str, alt: int = 0) -> float:
        found = tables.accelerator(device)
        return self.note(f"{found.name} memory capacity", found.capacity, alt)

    def power(self, device: str, alt: int = 0) -> float:
        found = tables.accelerator(device)
        return self.note(f"{found.name} power", found.power, alt)

    def peak(self, device: str, dtype: str = "fp16", alt: int = 0) -> float:
        found = tables.accelerator(device)
        return self.note(f"{found.name} dense {dtype} peak", found.peak(dtype), alt)

    def sparse(self, device: str, dtype: str = "fp16") -> float:
        found = tables.accelerator(device)
        return self.note(
            f"{found.name} {dtype} figure with sparsity", found.fields.get(f"{dtype}_sparse")
        )

    def ridge(self, device: str, dtype: str = "fp16", alt: int = 0) -> float:
        return roofline.ridge_point(self.peak(device, dtype), self.bandwidth(device, alt))

    def link(self, name: str, alt: int = 0) -> float:
        found = tables.link(name)
        return self.note(f"{found.name}, one direction", found.bandwidth, alt)

    def both(self, name: str, alt: int = 0) -> float:
        return 2 * self.link(name, alt)

    def energy(self, operation: str) -> float:
        found = tables.energy(operation)
        return self.note(f"energy of {operation}", found)

    def params(self, model: str) -> float:
        found = tables.model(model)
        return self.note(f"{found.name} parameters", found.params)

    def active(self, model: str) -> float:
        found = tables.model(model)
        return self.note(f"{found.name} active parameters", found.active_params)

    def tokens(self, model: str) -> float:
        found = tables.model(model)
        return self.note(f"{found.name} training tokens", found.tokens)

    def arch(self, model: str) -> _Architecture:
        return _Architecture(self, model)

    def q(self, name: str, alt: int = 0) -> float:
        return self.note(name, tables.quantity(name), alt)

    def year(self, name: str) -> int:
        try:
            return tables.accelerator(name).year
        except tables.UnknownName:
            return tables.model(name).year


class _Architecture:
    """Whole numbers of a model's architecture, as attributes such as ``layers``."""

    def __init__(self, reader: _Reader, model: str) -> None:
        self._reader = reader
        self._model = tables.model(model)

    def __getattr__(self, name: str) -> int:
        return int(self._reader.note(f"{self._model.name} {name}", getattr(self._model, name)))


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
        if function.__module__ == module.__name__
    }


def names() -> list[str]:
    """List the accessors and models that an expression may call."""
    return sorted(_Reader().accessors() | _models())


@cache
def evaluate(expression: str) -> Result:
    """Evaluate an expression over the tables and the models.

    Raises:
        ExpressionError: it does not parse, uses an unknown name, fails, is not a finite number,
            or calls neither an accessor nor a model, so that it could never be wrong.
    """
    reader = _Reader()
    grounded = reader.accessors() | _models()
    scope = _CONSTANTS | _ARITHMETIC | grounded
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"does not parse: {error.msg}") from None
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if unknown := sorted(used - scope.keys()):
        raise ExpressionError(f"unknown name {unknown[0]!r}; known: {', '.join(sorted(scope))}")
    if not used & grounded.keys():
        raise ExpressionError("depends on no data and no model, so it could never be wrong")
    try:
        value = float(eval(compile(tree, "<checked number>", "eval"), {"__builtins__": {}}, scope))
    except ExpressionError:
        raise
    except Exception as error:
        raise ExpressionError(f"{type(error).__name__}: {error}") from None
    if not math.isfinite(value):
        raise ExpressionError(f"is {value}, not a finite number")
    try:
        dimension = dimensions.of(tree.body)
    except dimensions.DimensionError as error:
        raise ExpressionError(str(error)) from None
    return Result(value, dimension, tuple(reader.inputs), _kind(tree.body, reader.inputs))


def _kind(root: ast.expr, inputs: list[Input]) -> str:
    """Kind of statement: that of the value when one is quoted as it stands, else derived."""
    if any(item.value.kind == "rumour" for item in inputs):
        return "rumour"
    if isinstance(root, ast.Call) and isinstance(root.func, ast.Name) and len(inputs) == 1:
        quotes = not {root.func.id} & ({"both", "year"} | _models().keys())
        return inputs[0].value.kind if quotes else "derived"
    return "derived"
