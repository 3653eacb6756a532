"""Scripts at random: a case file says which steps, a number which script of them it is."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seambench.contracts.table_writer import Do

_TEXTS = ("", "a", "b", "B", "a b", "ä", "x/y=z%", "null", "k" * 40)
_VALUES: Mapping[str, Callable[[random.Random], Any]] = {
    "bigint": lambda dice: dice.choice((0, 1, 2, 3, 5, 8, -1, 2**53 + 1, -(2**63))),
    "int": lambda dice: dice.choice((0, 1, 2, 3, -1, 2**31 - 1)),
    "string": lambda dice: dice.choice(_TEXTS),
    "double": lambda dice: dice.choice((0.5, -1.5, 0.1, 1e300)),
    "boolean": lambda dice: dice.random() < 0.5,
    "decimal(9,2)": lambda dice: dice.choice(("0.00", "1.20", "-9999999.99")),
}
_NULLS, _MOST_ROWS = 0.2, 6
_NULL = {"null": True}


@dataclass(frozen=True, kw_only=True)
class RandomFile:
    """The key `random` of a case file."""

    scripts: int  # how many there are
    length: int  # steps of each
    steps: Sequence[Do]  # what is drawn from, often named is often drawn
    killed: float = 0.0  # how many of all but the first are killed, from 0 to 1
    beside: float = 0.0  # how many of them have another step beside them


@dataclass
class _Drawing:
    """A script while it is drawn: its columns, as the steps so far leave them."""

    dice: random.Random
    columns: dict[str, str]
    keys: Sequence[str]
    fixed: frozenset[str]
    added: int = 0
    steps: list[dict[str, Any]] = field(default_factory=list)

    def value(self, column: str) -> Any:
        if column not in self.keys and self.dice.random() < _NULLS:
            return _NULL
        return _VALUES[self.columns[column]](self.dice)

    def rows(self) -> list[list[Any]]:
        """A few rows; of equal keys one."""
        many = self.dice.randrange(_MOST_ROWS)
        rows = [{name: self.value(name) for name in self.columns} for _ in range(many)]
        if self.keys:
            rows = list({repr([row[key] for key in self.keys]): row for row in rows}.values())
        return [list(row.values()) for row in rows]

    def where(self) -> list[list[Any]]:
        """One test, of any column."""
        column = self.dice.choice(list(self.columns))
        if column not in self.keys and self.dice.random() < _NULLS:
            return [[column, "null", 0]]
        how = self.dice.choice(("=", "=", "<>", "<", "<=", ">", ">=", "in"))
        if self.columns[column] == "boolean":
            how = "="
        make = _VALUES[self.columns[column]]
        return [
            [column, how, [make(self.dice) for _ in range(3)] if how == "in" else make(self.dice)]
        ]

    def draw(self, do: Do) -> dict[str, Any] | None:
        """A step; None where there is nothing to do it to."""
        free = [name for name in self.columns if name not in self.fixed]
        match do:
            case "append" | "overwrite" | "upsert":
                return {"do": do, "rows": self.rows()}
            case "delete":
                return {"do": do, "where": self.where()}
            case "update" if free:
                column = self.dice.choice(free)
                return {"do": do, "where": self.where(), "assign": {column: self.value(column)}}
            case "add-column":
                self.added += 1
                name, type_ = f"c{self.added}", self.dice.choice(("int", "string", "double"))
                self.columns[name] = type_
                return {"do": do, "column": name, "type": type_}
            case "compact":
                return {"do": do}
        return None

    def trouble(self, drawn: RandomFile) -> dict[str, Any]:
        """What may come upon a step."""
        chance = self.dice.random() if drawn.killed or drawn.beside else 1.0
        if chance < drawn.killed:
            return {"killed": True}
        if chance < drawn.killed + drawn.beside:
            beside = self.draw(self.dice.choice(list(drawn.steps)))
            return {"beside": beside, "late": self.dice.random() < 1 / 2}
        return {}


def drawn_steps(
    drawn: RandomFile,
    columns: Mapping[str, str],
    keys: Sequence[str],
    partitions: Sequence[str],
    number: int,
) -> list[dict[str, Any]]:
    """The steps of the script of a number, as a case file would spell them."""
    fixed = frozenset((*keys, *partitions, next(iter(columns))))
    drawing = _Drawing(random.Random(number), dict(columns), keys, fixed)
    first: Do = "upsert" if keys else "append"
    while len(drawing.steps) < drawn.length:
        do = first if not drawing.steps else drawing.dice.choice(list(drawn.steps))
        if step := drawing.draw(do):
            drawing.steps.append({**step, **(drawing.trouble(drawn) if drawing.steps else {})})
    return drawing.steps
