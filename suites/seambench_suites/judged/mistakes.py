"""Small mistakes in Python text: a check that is gone, a comparison turned round, a number off."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OTHER: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


@dataclass(frozen=True)
class Mistake:
    """One change of a text."""

    where: str  # name of the function, with that of its class
    line: int  # number of the first line, from 1
    was: str  # the part that is changed, in one line
    becomes: str  # what stands there afterwards
    begin: int  # of the part in the text, in characters
    end: int  # behind it
    statement: int  # line at which the statement begins that it is in

    @property
    def title(self) -> str:
        """The mistake in a line, by which it can be accepted."""
        return f"{self.where}: {self.was} -> {self.becomes}"

    def made_in(self, text: str) -> str:
        """The text with this mistake, every line behind it at its place."""
        lines = "\n" * text.count("\n", self.begin, self.end)
        becomes = self.becomes + lines if self.becomes == "pass" else f"({self.becomes}{lines})"
        return text[: self.begin] + (becomes if lines else self.becomes) + text[self.end :]


def mistakes(text: str) -> list[Mistake]:
    """Every mistake that can be made in the functions of a module, in order of their places."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def place(line: int, column: int) -> int:
        # Columns of the syntax tree count bytes.
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    tree = ast.parse(text)
    statements = sorted({one.lineno for one in ast.walk(tree) if isinstance(one, ast.stmt)})
    found = []
    for where, node in _in_functions(tree, ""):
        for part, becomes in _changes(node):
            begin = place(part.lineno, part.col_offset)
            end = place(part.end_lineno or part.lineno, part.end_col_offset or 0)
            was = " ".join(text[begin:end].split())
            statement = statements[bisect_right(statements, part.lineno) - 1]
            found.append(Mistake(where, part.lineno, was, becomes, begin, end, statement))
    return sorted(set(found), key=lambda one: (one.begin, one.end, one.becomes))


def _in_functions(tree: ast.AST, where: str) -> Iterator[tuple[str, ast.AST]]:
    """Every node below a function, with the function's name; types and defaults are left out."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{where}.{child.name}".lstrip(".")
            for statement in child.body:
                inside = ast.Module([statement], [])
                yield from _in_functions(inside, name)
        elif where and not isinstance(child, ast.arguments | ast.AnnAssign | ast.JoinedStr):
            yield where, child
            yield from _in_functions(child, where)
        elif not where:
            yield from _in_functions(child, where)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """What can be wrong at one node: the part that is changed, and what it becomes."""
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in _TURNED:
            turned = ast.Compare(left, [_TURNED[type(op)]()], [right])
            yield node, f"({ast.unparse(turned)})"
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.BinOp(left, op, right) if type(op) in _OTHER and not _is_text(left, right):
            yield node, f"({ast.unparse(ast.BinOp(left, _OTHER[type(op)](), right))})"
        case ast.If(test) | ast.IfExp(test):
            yield test, "False"
        case ast.Raise():
            yield node, "pass"
        case ast.Expr(ast.Call() as call):
            yield call, "None"
        case ast.Return(ast.expr() as value) if not _is_nothing(value):
            yield value, "None"
        case ast.Constant(bool() | int() as value):
            yield node, str(not value if isinstance(value, bool) else value + 1)


def _is_text(*parts: ast.expr) -> bool:
    """Whether texts are put together."""
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in parts
    )


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
