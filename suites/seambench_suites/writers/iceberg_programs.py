"""Iceberg tables that programs in other languages write, confirmed by Spark and others.

A program is built with its own tools out of a folder beside this module, and is handed a file of
steps, a JSON object each, whose rows lie in files of Arrow's IPC.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.contracts.formats import resolve_format
from seambench.formats.arrow_rows import arrow_rows, arrow_type
from seambench.formats.golden import small_session
from seambench_suites.writers.keeping import Recipe, Row, Second
from seambench_suites.writers.sample import WALL

_SESSIONS = contextlib.ExitStack()
_FLAT = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
}


@dataclass(frozen=True)
class Program:
    """A program that writes tables."""

    writer: str  # its name in ids of cases
    title: str  # the library that it uses, with its version
    path: Path
    module: str


def built(folder: str, command: Sequence[str], program: str) -> Path:
    """Build a program in a copy of its folder, beside this module, by a command; where it lies."""
    copy = Path(tempfile.gettempdir()) / "golden-writers" / folder
    shutil.copytree(Path(__file__).parent / folder, copy, dirs_exist_ok=True)
    subprocess.run(command, cwd=copy, check=True)
    return copy / program


@cache
def _session() -> Any:
    return _SESSIONS.enter_context(small_session(resolve_format("iceberg")))


def by_spark(path: Path, snapshot: str) -> pa.Table:
    """What Spark reads of a snapshot, with Iceberg's own library."""
    rows = _session().read.format("iceberg").option("snapshot-id", snapshot).load(str(path))
    with tempfile.TemporaryDirectory() as folder:
        rows.coalesce(1).write.parquet(f"{folder}/rows")
        return pq.read_table(f"{folder}/rows")


def iceberg_type(kind: pa.DataType, ids: Iterator[int]) -> Any:
    """A type as Iceberg's JSON spells it, with fresh ids for what lies in it."""
    if pa.types.is_struct(kind):
        fields = [(next(ids), one) for one in kind]
        return {
            "type": "struct",
            "fields": [
                {"id": id_, "name": one.name, "type": iceberg_type(one.type, ids)}
                | {"required": False}
                for id_, one in fields
            ],
        }
    if pa.types.is_list(kind):
        made = {"type": "list", "element-id": next(ids), "element-required": False}
        return made | {"element": iceberg_type(kind.value_type, ids)}
    if pa.types.is_map(kind):
        made = {"type": "map", "key-id": next(ids), "value-id": next(ids)}
        inner = {"key": kind.key_type, "value": kind.item_type}
        types = {name: iceberg_type(one, ids) for name, one in inner.items()}
        return made | types | {"value-required": False}
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    return _FLAT[kind]


class Making(Recipe):
    """A table that a program writes, whose steps are collected and carried out at the end."""

    def __init__(
        self,
        by: Program,
        name: str,
        note: str,
        columns: Mapping[str, str],
        second: Mapping[str, Second],
        *,
        first: Mapping[str, str] | None = None,
        version: int = 2,
    ) -> None:
        declared = {"features": [f"iceberg.v{version}"]}
        super().__init__(
            "iceberg", by.writer, by.title, name, note, columns, second, declared, recipe=by.module
        )
        self.version = version
        self._program = by.path
        self._first = first or columns
        self._noted: list[dict[str, Any]] = []
        self._work = Path(tempfile.mkdtemp(prefix="golden-rows-"))

    @property
    def schema(self) -> dict[str, Any]:
        """The first schema in Iceberg's JSON: its columns have the ids 1, 2, ..."""
        kinds = [(one, WALL.get(one) or arrow_type(kind)) for one, kind in self._first.items()]
        struct = iceberg_type(pa.struct([pa.field(*one) for one in kinds]), itertools.count(1))
        return {"schema-id": 0, "identifier-field-ids": [], **struct}

    def rows(self, rows: Sequence[Row], columns: Mapping[str, str] | None = None) -> str:
        """Rows in a file for the program; its path."""
        path = self._work / f"{len(list(self._work.iterdir()))}.arrow"
        table = arrow_rows(rows, columns or self.columns, WALL)
        with pa.ipc.new_stream(path, table.schema) as out:
            out.write_table(table)
        return str(path)

    def do(self, said: str, **step: Any) -> int:
        """Note a step that the program will carry out; its number."""
        self._noted.append(step)
        return self.step(said)

    def append(
        self, rows: Sequence[Row], said: str, columns: Mapping[str, str] | None = None
    ) -> int:
        """Append rows."""
        return self.do(said, append=self.rows(rows, columns))

    def keep(self) -> None:
        """Carry out all steps, name the metadata files by number, and keep the table."""
        steps = self._work / "steps.jsonl"
        steps.write_text("".join(json.dumps(step) + "\n" for step in self._noted))
        command = [str(self._program), str(self.path), str(steps)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        instants = done.stdout.decode().split()
        self.instants = [one.strip("-") for _, one in zip(self.steps, instants, strict=True)]
        number_metadata(self.path / "metadata")
        super().keep()
        shutil.rmtree(self._work)


def number_metadata(folder: Path) -> None:
    """Name metadata files as tables without a catalogue have them; no byte is changed."""
    for file in folder.glob("0*.metadata.json"):
        file.rename(folder / f"v{int(file.name.partition('-')[0]) + 1}.metadata.json")
    numbers = [int(one.name[1:].partition(".")[0]) for one in folder.glob("v*.metadata.json")]
    (folder / "version-hint.text").write_text(str(max(numbers)))
