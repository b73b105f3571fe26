"""Parsed JSON turned into dataclasses, with every field checked against its annotation."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from typing import Any

from wallsite._checks import shown


def read(kind: Any, value: Any, name: str) -> Any:
    """Turn parsed JSON into the type that an annotation asks for.

    Args:
        kind: a dataclass, ``tuple[T, ...]``, ``dict[str, T]``, ``T | None`` or a plain type.
        value: what the JSON held.
        name: of the value, for the message.

    Raises:
        ValueError: the value is something else; the message names it.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {types.UnionType, typing.Union}:
        (given,) = (argument for argument in arguments if argument is not types.NoneType)
        return None if value is None else read(given, value, name)
    if origin is tuple:
        items = _checked(list, value, name)
        return tuple(read(arguments[0], item, f"{name}[{i}]") for i, item in enumerate(items))
    if origin is dict:
        items = _checked(dict, value, name).items()
        return {key: read(arguments[1], item, f"{name}.{key}") for key, item in items}
    if dataclasses.is_dataclass(kind):
        return _record(kind, value, name)
    if kind is float and type(value) is int and abs(value) < _LARGEST:
        value = float(value)
    return _checked(kind, value, name)


def _record(kind: Any, value: Any, name: str) -> Any:
    hints = typing.get_type_hints(kind)
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object, got {shown(value)}")  # noqa: TRY004 - of a file
    if missing := [key for key in hints if key not in value]:
        raise ValueError(f"{name}.{missing[0]} is missing")
    if unknown := [key for key in value if key not in hints]:
        raise ValueError(f"{name}.{shown(unknown[0])} is no field; known: {', '.join(hints)}")
    fields = {key: read(hints[key], value[key], f"{name}.{key}") for key in hints}
    try:
        return kind(**fields)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


_LARGEST = 2**63  # of a whole number, as in most languages that may read the file
_JSON = {
    list: "a list",
    dict: "an object",
    str: "a text",
    int: "a whole number",
}
_JSON |= {float: "a finite number", bool: "true or false"}


def _checked(kind: Any, value: Any, name: str) -> Any:
    if type(value) is not kind or not _is_real(value):
        plain = " without control characters" if type(value) is str is kind else ""
        raise ValueError(f"{name} must be {_JSON[kind]}{plain}, got {shown(value)}")
    return value


def _is_real(value: Any) -> bool:
    """Refuse what nothing can mean: 1e999, a huge number, half a character, a control character."""
    match value:
        case float():
            return math.isfinite(value)
        case int():
            return abs(value) < _LARGEST
        case str():
            return not any("\ud800" <= x <= "\udfff" or x < " " or x == "\x7f" for x in value)
    return True
