"""What a table must hold after each step of a script: rows as plain Python, and nothing else."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import compress, permutations, product
from pathlib import Path
from typing import Any, cast

from seambase.errors import UsageError
from seambench.conformance.plain import rows_of, typed
from seambench.contracts.table_writer import Test, WriterStep
from seambench.formats.arrow_rows import arrow_rows, arrow_type
from seambench.seams.table_writer.cases import StepFile, WriterCase, typed_row

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, listed: value in listed,
}
Row = dict[str, Any]


@dataclass
class Model:
    """The state of a table."""

    columns: dict[str, str]  # types of cases by name, in order
    keys: Sequence[str] = ()  # columns that tell rows apart
    # Python values by column, as Arrow holds them: a float is one of 32 bits
    rows: list[Row] = field(default_factory=list)
    partitions: Sequence[str] = ()  # columns by which the table is partitioned
    # the states of tags and branches, by name
    named: Mapping[str, Model] = field(default_factory=dict)

    def expected(self) -> list[tuple[Any, ...]]:
        """The rows as readers are compared with them."""
        table = arrow_rows(self.rows, self.columns)
        return rows_of(table.to_batches(), list(self.columns))

    def apply(self, step: WriterStep) -> None:
        """Do a step."""
        if step.name:
            self._apply_named(step)
            return
        match step.do:
            case "append":  # by a state before, perhaps, in which columns were lacking
                added = step.rows.to_pylist()
                self.rows += [{name: row.get(name) for name in self.columns} for row in added]
            case "overwrite":
                self.rows = step.rows.to_pylist()
            case "upsert":
                new = {self._key(row): row for row in step.rows.to_pylist()}
                kept = [row for row in self.rows if self._key(row) not in new]
                self.rows = [*kept, *new.values()]
            case "delete":
                self.rows = [row for row in self.rows if not meets(row, step.where)]
            case "update":
                self.rows = [
                    {**row, **step.assign} if meets(row, step.where) else row for row in self.rows
                ]
            case "add-column":
                self.rows = [{**row, step.column: None} for row in self.rows]
            case "drop-column":
                self.rows = [
                    {name: value for name, value in row.items() if name != step.column}
                    for row in self.rows
                ]
            case "rename-column":
                self.rows = [
                    {
                        (step.to if name == step.column else name): value
                        for name, value in row.items()
                    }
                    for row in self.rows
                ]

    def _apply_named(self, step: WriterStep) -> None:
        """Make a tag or a branch, or append to a branch."""
        if step.do == "append":
            state = replace(self.named[step.name], rows=list(self.named[step.name].rows))
            state.apply(replace(step, name=""))
        else:
            state = replace(self, named={})
        self.named = {**self.named, step.name: state}

    def after(self, declared: StepFile, step: WriterStep) -> Model:
        """The state that a step leaves."""
        model = replace(self, columns=dict(self.columns), rows=list(self.rows))
        model.apply(step)
        model.change_columns(declared)
        return model

    def change_columns(self, step: StepFile) -> None:
        """Do what a step does to the columns, or to those that partition the table."""
        match step.do:
            case "add-partition-field":
                self.partitions = [*self.partitions, step.column]
            case "drop-partition-field":
                self.partitions = [one for one in self.partitions if one != step.column]
            case "add-column" | "widen-column":
                self.columns[step.column] = step.type
            case "drop-column":
                del self.columns[step.column]
            case "rename-column":
                renamed = {(step.to if n == step.column else n): t for n, t in self.columns.items()}
                self.columns = renamed

    def _key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.keys)


def meets(row: Mapping[str, Any], where: Sequence[Test]) -> bool:
    """Whether a row meets all tests, as SQL means them."""
    return all(_meets(row[column], how, value) for column, how, value in where)


def _meets(stored: Any, how: str, value: Any) -> bool:
    if how == "null":
        return stored is None
    return stored is not None and bool(_COMPARED[how](stored, value))


def steps_of(case: WriterCase, table: Path) -> Iterator[tuple[WriterStep, Model]]:
    """The steps of a case, each with the state that it must leave: one after the other."""
    model = new_model(case)
    for declared in declared_steps(case):
        by = model
        for one in declared.all:
            step = made_step(one, by, case, table)
            model = model.after(one, step)
            yield step, model


def new_model(case: WriterCase) -> Model:
    """The state of a table that its creation leaves."""
    script = case.script
    return Model(dict(script.columns), script.keys, partitions=script.partitions)


def declared_steps(case: WriterCase) -> Sequence[StepFile]:
    """The steps of a case as it has them, with the creation."""
    return (StepFile(do="create"), *case.script.steps)


def states_after(
    model: Model, steps: Sequence[tuple[StepFile, WriterStep]], done: Sequence[bool | None]
) -> list[Model]:
    """The states that steps at once may leave: by each order of those done, one after the other.

    None stands for a step of which nobody knows whether it was done.
    """
    choices = [(False, True) if one is None else (one,) for one in done]
    orders = (
        order for taken in product(*choices) for order in permutations(compress(steps, taken))
    )
    return [reduce(lambda state, one: state.after(*one), order, model) for order in orders]


def made_step(declared: StepFile, model: Model, case: WriterCase, table: Path) -> WriterStep:
    """A step as it is asked of a writer that finds a state."""
    script, columns = case.script, model.columns
    rows = [typed_row(row, columns, case.file) for row in declared.rows]
    for test in declared.where:
        if len(test) != 3 or test[0] not in columns or test[1] not in (*_COMPARED, "null"):
            raise UsageError(f"{case.file}: {list(test)} is no test of a column")
    where = [
        (name, how, _operand(how, value, columns[name])) for name, how, value in declared.where
    ]
    return WriterStep(
        do=declared.do,
        table=table,
        format=case.format,
        rows=arrow_rows(rows, columns),
        keys=script.keys,
        partitions=model.partitions,
        properties=script.properties.get(case.format, {}),
        where=cast("list[Test]", where),
        assign={name: typed(value, columns[name]) for name, value in declared.assign.items()},
        column=declared.column,
        type=arrow_type(declared.type) if declared.type else None,
        to=declared.to,
        name=declared.name,
    )


def _operand(how: str, value: Any, type_: str) -> Any:
    if how == "in":
        return [typed(one, type_) for one in value]
    return None if how == "null" else typed(value, type_)
