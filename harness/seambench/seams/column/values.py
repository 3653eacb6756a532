"""Values for columns of any type, as a pure function of a seed, spelled as in golden tables."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from seambench.seams.column.oracle import TypeTree

#: How many of the values are NULL: none, about every fourth (on every level), all; `empty` stands
#: for no rows at all.
Nulls = Literal["none", "some", "all", "empty"]

_SIGNS = ["a", "Z", " ", "\x00", "é", "ß", "Ж", "中", "文", "€", "\uffff", "😀", "\U0001d518"]
_EDGES: dict[str, Sequence[Any]] = {
    "boolean": [False, True],
    "tinyint": [0, -1, -(2**7), 2**7 - 1],
    "short": [0, -1, -(2**15), 2**15 - 1],
    "int": [0, -1, -(2**31), 2**31 - 1],
    "bigint": ["0", "-1", str(-(2**63)), str(2**63 - 1)],
    "float": ["0.0", "-0.0", "NaN", "Infinity", "-Infinity", "1e-45", "3.4028234663852886e+38"],
    "double": ["0.0", "-0.0", "NaN", "Infinity", "-Infinity", "5e-324", "1.7976931348623157e+308"],
    "date": ["1970-01-01", "0001-01-01", "9999-12-31", "1582-10-10", "2000-02-29", "1969-12-31"],
    "time": [0, -1, 86399999, 86400000, -(2**31), 2**31 - 1],
    "timestamp": [
        "1970-01-01 00:00:00.000000",
        "1969-12-31 23:59:59.999999",
        "0001-01-01 00:00:00.000000",
        "9999-12-31 23:59:59.999999",
        "2020-02-29 12:00:00.123456",
    ],
    "string": ["", "a", "é", "中", "😀", "a\u0301", "0123456789" * 30],
    "binary": ["", "00", "ff00fe", "c328"],
}
_WIDE = {"smallint": "short", "timestamp-micros": "timestamp", "timestamp-millis": "timestamp"}


def column_values(tree: TypeTree, count: int, nulls: Nulls, seed: str) -> list[Any]:
    """Values for one column, as golden tables spell them; the first are the kind's extremes.

    They are a function of type, nulls (how many are None, likewise of the parts of nested values)
    and seed.
    """
    values, more = _drawn(tree, nulls, seed)
    values += itertools.islice(more, max(0, count - len(values)))
    return values[:count]


@functools.lru_cache(maxsize=256)
def _drawn(tree: TypeTree, nulls: Nulls, seed: str) -> tuple[list[Any], Iterator[Any]]:
    """Values drawn so far, and those that follow: cases differ in how many of them they take."""
    dice = random.Random(f"{seed}:{tree}:{nulls}")
    return [], (_value(tree, nulls, dice, at) for at in itertools.count())


def _value(tree: TypeTree, nulls: Nulls, dice: random.Random, at: int) -> Any:
    if nulls == "all" or (nulls == "some" and dice.random() < 0.25):
        return None
    if tree.kind == "struct":
        return [_value(child, nulls, dice, at) for child in tree.children]
    if tree.kind == "variant":  # both parts are always there
        return [_value(child, "none", dice, at) for child in tree.children]
    if tree.kind in ("array", "map"):
        rows = [
            [_value(child, nulls, dice, at * 4 + i) for child in tree.children]
            for i in range(dice.choice([0, 1, 1, 2, 3]))
        ]
        return rows if tree.kind == "map" else [element for [element] in rows]
    kind = _WIDE.get(tree.kind, tree.kind)
    if kind == "decimal":
        return _decimal(tree, dice, at)
    edges = _EDGES[kind]
    return edges[at] if at < len(edges) else _RANDOM[kind](dice)


def _decimal(tree: TypeTree, dice: random.Random, at: int) -> str:
    """Up to the digits that the width surely has room for."""
    digits = 18 if tree.width == 8 else 38
    numbers = [0, 1, -1, 10**digits - 1, 1 - 10**digits]
    number = numbers[at] if at < len(numbers) else dice.randrange(-(10**digits), 10**digits)
    text = str(abs(number)).rjust(tree.scale + 1, "0")
    point = len(text) - tree.scale
    sign = "-" if number < 0 else ""
    return f"{sign}{text[:point]}.{text[point:]}" if tree.scale else f"{sign}{text}"


def _date(dice: random.Random) -> str:
    return f"{dice.randint(1, 9999):04}-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}"


def _timestamp(dice: random.Random) -> str:
    clock = f"{dice.randint(0, 23):02}:{dice.randint(0, 59):02}:{dice.randint(0, 59):02}"
    return f"{_date(dice)} {clock}.{dice.randrange(10**6):06}"


def _whole(bits: int) -> Callable[[random.Random], int]:
    return lambda dice: dice.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))


_RANDOM: dict[str, Callable[[random.Random], Any]] = {
    "boolean": lambda dice: dice.random() < 0.5,
    "tinyint": _whole(8),
    "short": _whole(16),
    "int": _whole(32),
    "bigint": lambda dice: str(_whole(64)(dice)),
    "float": lambda dice: repr(dice.randrange(-(2**24), 2**24) / 2 ** dice.randrange(40)),
    "double": lambda dice: repr(dice.gauss(0, 1) * 10.0 ** dice.randrange(-300, 300)),
    "date": _date,
    "time": _whole(32),
    "timestamp": _timestamp,
    "string": lambda dice: "".join(dice.choices(_SIGNS, k=dice.randrange(12))),
    "binary": lambda dice: dice.randbytes(dice.randrange(12)).hex(),
}
