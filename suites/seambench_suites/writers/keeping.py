"""Keep what a recipe made: archive, declaration and origin of a golden table, and its cases.

A recipe carries out its steps with a writer and, beside it, on plain Python rows. What these say
becomes the expected rows of cases; another reader is asked for the same rows before anything is
kept, and what it answers is the table's witness.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from seambase.errors import SeambenchError
from seambase.wording import counted
from seambench.conformance.plain import (
    difference,
    in_key_order,
    rows_of,
    spelling,
    typed,
)
from seambench.contracts.tables import Written
from seambench.formats.golden import origin_text, pack
from seambench_suites.cases import ROOT

Row = dict[str, Any]
"""A row by column: Python's own values, with `Decimal`, `bytes` and aware moments; None is null."""

Second = Callable[[Path, str], pa.Table]
"""Another reader: the rows of a table's folder, of the commit with this name."""


@dataclass(frozen=True)
class _Ask:
    step: int | None
    columns: Mapping[str, str]
    rows: Sequence[Row]
    where: str


@dataclass
class Recipe:
    """A golden table while it is made."""

    format: str
    writer: str
    title: str  # writer and version, for the origin
    name: str  # what the table is about; with the writer it names the folder
    note: str
    columns: Mapping[str, str]  # the latest schema, with the types of cases
    # what other reader was asked, by its name and version
    second: Mapping[str, Second] = field(default_factory=dict)
    # further keys of the declaration, such as `partition`
    declared: Mapping[str, Any] = field(default_factory=dict)
    compared: Sequence[str] | None = None  # the columns that cases name; None for all
    recipe: str = ""  # its module, where that is not named like the writer
    steps: list[str] = field(default_factory=list)  # what was done so far, as `step` notes it
    # the commit that each step made, empty where it made none
    instants: list[str] = field(default_factory=list)
    _asks: dict[str, _Ask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make way for the table."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)

    @property
    def path(self) -> Path:
        """Where it is written: no path of a machine may stand in it."""
        return Path(tempfile.gettempdir()) / f"golden-{self.format}" / self.folder

    @property
    def folder(self) -> str:
        """Name of its folder among the golden tables."""
        return f"{self.writer}-{self.name}"

    def step(self, said: str, commit: object = "") -> int:
        """Note a step that was carried out, and the commit that it made; the step's number."""
        self.steps.append(said)
        self.instants.append(str(commit))
        return len(self.steps)

    def ask(
        self,
        name: str,
        rows: Sequence[Row],
        *,
        step: int | None = None,
        columns: Mapping[str, str] | None = None,
        where: str = "",
    ) -> None:
        """Let a case ask for the rows after a step; those of the last where none is given.

        Columns are the schema then, where it was another; `where` is SQL, for all rows by default.
        """
        self._asks[name] = _Ask(step, columns or self.columns, [dict(row) for row in rows], where)

    def keep(self) -> None:
        """Ask the other readers, then write everything below the suite's root."""
        for reader, second in self.second.items():
            for name in self._asks:
                self._confirm(name, reader, second)
        folder = ROOT / "golden" / self.format / self.folder
        folder.mkdir(exist_ok=True)
        declared = self._declaration()
        (folder / "table.toml").write_text(declared, encoding="utf-8")
        pack(self.path, folder / "table.zip")
        shutil.rmtree(self.path)
        title = f"{self.title}, a table of {self.format}"
        origin = origin_text(
            title, folder / "table.zip", folder / "table.toml", Written(self.instants)
        )
        origin += f"confirmed = {literal(list(self.second))}\n"
        (folder / "origin.toml").write_text(origin, encoding="utf-8")
        cases = ROOT / "cases" / "scan" / self.format / "writers" / self.writer
        cases.mkdir(parents=True, exist_ok=True)
        (cases / f"{self.name}.toml").write_text(self._cases(), encoding="utf-8")
        size = (folder / "table.zip").stat().st_size
        sys.stderr.write(f"{self.format}/{self.folder}: {counted(size, 'byte')}\n")

    def _expected(self, name: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        ask = self._asks[name]
        kinds = ask.columns
        names = [one for one in kinds if self.compared is None or one in self.compared]
        return names, [
            tuple(typed(spelling(row.get(one), kinds[one]), kinds[one]) for one in names)
            for row in ask.rows
        ]

    def _confirm(self, name: str, reader: str, second: Second) -> None:
        ask = self._asks[name]
        names, expected = self._expected(name)
        table = second(self.path, self.instants[(ask.step or len(self.steps)) - 1])
        if ask.where:
            table = duckdb.from_arrow(table).filter(ask.where).to_arrow_table()
        table = table.select(names)
        rows = [tuple(map(in_key_order, row)) for row in rows_of(table.to_batches(), names)]
        wanted = [tuple(map(in_key_order, row)) for row in expected]
        if reason := difference(wanted, rows, names):
            raise SeambenchError(f"{self.folder}, {name}: {reader} reads otherwise: {reason}")

    def _module(self) -> str:
        return self.recipe or f"seambench_suites.writers.by_{self.writer}"

    def _declaration(self) -> str:
        lines = [f"note = {literal(self.note)}", f"recipe = {literal(self._module())}"]
        lines += [
            f"{key} = {literal(value)}"
            for key, value in self.declared.items()
            if not isinstance(value, Mapping)
        ]
        lines.append(f"columns = {literal(dict(self.columns))}")
        lines += ["steps = [", *(f"    {literal(step)}," for step in self.steps), "]"]
        for key, value in self.declared.items():
            if isinstance(value, Mapping):
                lines += ["", f"[{key}]", *(f"{k} = {literal(v)}" for k, v in value.items())]
        return "\n".join(lines) + "\n"

    def _cases(self) -> str:
        lines = [
            'level = "must"',
            f"requirement = {literal(f'{self.note}, as {self.title.split()[0]} writes it')}",
            f"table = {literal(self.folder)}",
        ]
        for name, ask in self._asks.items():
            names, _ = self._expected(name)
            lines += ["", f"[ask.{name}]"]
            if ask.step is not None:
                lines.append(f"as_of = {ask.step}")
            if ask.where:
                lines.append(f"where = {literal(ask.where)}")
            if names != list(self.columns):
                lines.append(f"columns = {literal(names)}")
            kinds = ask.columns
            texts = [{one: spelling(row.get(one), kinds[one]) for one in names} for row in ask.rows]
            lines += ["rows = [", *(f"    {literal(row)}," for row in texts), "]"]
        return "\n".join(lines) + "\n"


def literal(value: Any) -> str:
    """A value in TOML; nulls of a table are left out."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return ("nan" if math.isnan(value) else repr(value)).replace("e+", "e")
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, dict):
        inner = ", ".join(
            f"{name if name.replace('_', '').isalnum() and name.isascii() else literal(name)}"
            f" = {literal(one)}"
            for name, one in value.items()
            if one is not None
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)


def carry_out(*recipes: Callable[[], None]) -> None:
    """Carry out the recipes that the command line names, all if it names none."""
    chosen = set(sys.argv[1:])
    for recipe in recipes:
        if not chosen or recipe.__name__ in chosen:
            recipe()
