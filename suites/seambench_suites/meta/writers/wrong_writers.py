"""Mistakes of writers: each does a step, over one that does it right, with one thing wrong."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.registry import resolve
from seambench.contracts.table_writer import WriterStep

Do = Callable[[WriterStep], None]
Mistake = Callable[[Do, WriterStep], None]


class WrongWriter:
    """A right writer, of Delta tables if not by name, and a mistake in the steps of one name."""

    kind: Kind = "peer"

    def __init__(self, name: str, right: str = "deltalake") -> None:
        self._right = resolve("table-writer", right)
        self.name, self.version = name, self._right.version
        self.capabilities: Mapping[str, bool] = self._right.capabilities
        self._steps, self._mistake = {**MISTAKES, **OF_ICEBERG}[name]

    def step(self, step: WriterStep) -> None:
        """Do it, wrongly if it is one of those."""
        if step.do in self._steps:
            self._mistake(self._right.step, step)
        else:
            self._right.step(step)


def _twice(do: Do, step: WriterStep) -> None:
    do(step)
    do(step)


def _too_late(do: Do, step: WriterStep) -> None:
    do(step)
    if (step.table / "_delta_log/00000000000000000002.json").exists():
        raise RefusedError("no more than one append")


def _rounded(do: Do, step: WriterStep) -> None:
    at = step.rows.schema.get_field_index("v")
    column = step.rows.column(at).cast("float32", safe=False).cast("float64")
    do(replace(step, rows=step.rows.set_column(at, step.rows.schema.field(at), column)))


def _small(do: Do, step: WriterStep) -> None:
    names = [name.lower() for name in step.rows.schema.names]
    do(replace(step, rows=step.rows.rename_columns(names)))


def _narrow(do: Do, step: WriterStep) -> None:
    do(step)
    newest = max((step.table / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for line in newest.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            stats = json.loads(line["add"]["stats"])
            stats["maxValues"]["id"] = stats["minValues"]["id"]
            line["add"]["stats"] = json.dumps(stats)
    newest.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _torn(do: Do, step: WriterStep) -> None:
    do(step)
    newest = max(step.table.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-20])


def _moving(do: Do, step: WriterStep) -> None:
    do(step)
    do(replace(step, do="tag", name="t1"))


def _of_one_partitioning(do: Do, step: WriterStep) -> None:
    do(replace(step, where=[*step.where, ("id", ">", 3)]))


MISTAKES: Mapping[str, tuple[tuple[str, ...], Mistake]] = {
    "forgets-deletes": (("delete",), lambda _, step: None),  # noqa: ARG005 - it forgets it
    "appends-twice": (("append",), _twice),
    "deletes-by-the-first-test": (
        ("delete",),
        lambda do, step: do(replace(step, where=step.where[:1])),
    ),
    "appends-upserts": (("upsert",), lambda do, step: do(replace(step, do="append"))),
    "appends-overwrites": (("overwrite",), lambda do, step: do(replace(step, do="append"))),
    "refuses-too-late": (("append",), _too_late),
    "writes-small-letters": (("create", "append"), _small),
    "narrows-bounds": (("append",), _narrow),
    "tears-a-file": (("append",), _torn),
    "rounds-doubles": (("append",), _rounded),
}
OF_ICEBERG: Mapping[str, tuple[tuple[str, ...], Mistake]] = {
    "appends-to-main": (("append",), lambda do, step: do(replace(step, name=""))),
    "moves-tags": (("append",), _moving),
    "deletes-of-one-partitioning": (("delete",), _of_one_partitioning),
}
