"""Mistakes in the arithmetic of the models and probes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .edits import Edit, File

_SWAPPED: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.Pow: "*",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
}
_NAMES = {"min": "max", "max": "min", "ceil": "floor", "floor": "ceil", "any": "all", "all": "any"}


def arithmetic(file: File) -> Iterator[Edit]:
    """An operator, a comparison, a number, or min for max, in a function's body."""
    starts = [0]
    for line in file.text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    encoded = file.text.encode()

    def place(line: int, column: int) -> int:
        return len(encoded[: starts[line - 1] + column].decode())

    tree = ast.parse(file.text)
    spared = set(map(id, _stand_ins(tree)))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in (x for statement in function.body for x in ast.walk(statement)):
            if id(node) in spared:
                continue
            match node:
                case ast.BinOp(left=left, op=operator, right=right):
                    ends = left.end_lineno, left.end_col_offset, right.lineno, right.col_offset
                case ast.Compare(left=left, ops=[operator], comparators=[right]):
                    ends = left.end_lineno, left.end_col_offset, right.lineno, right.col_offset
                case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                    start = place(node.lineno, node.col_offset)
                    end = place(node.end_lineno, node.end_col_offset)
                    yield start, end, repr(number * 2 if number else 1)
                    continue
                case ast.Name(id=name) if name in _NAMES:
                    start = place(node.lineno, node.col_offset)
                    yield start, start + len(name), _NAMES[name]
                    continue
                case _:
                    continue
            if type(operator) not in _SWAPPED:
                continue
            start, end = place(*ends[:2]), place(*ends[2:])
            between = file.text[start:end]
            old = _written(operator)
            if between.strip(" ()\n") == old:  # an f-string or a line break may stand between
                at = start + between.index(old)
                yield at, at + len(old), _SWAPPED[type(operator)]


def _stand_ins(tree: ast.AST) -> Iterator[ast.AST]:
    """What stands for a value that is missing: any small number does as well."""
    for node in ast.walk(tree):
        match node:
            case ast.BoolOp(op=ast.Or(), values=[_, ast.Constant() as number]):
                yield number
            case ast.keyword(arg="default", value=ast.Constant() as number):
                yield number


_WRITTEN: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def _written(operator: ast.AST) -> str:
    return _WRITTEN[type(operator)]
