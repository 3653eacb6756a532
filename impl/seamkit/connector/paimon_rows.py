"""Paimon's merge, one key after the other: a dictionary of lists of rows.

A second reading of the rules in docs/paimon.md, and a witness for the merge of sorted runs
(`seamkit.scan.runs_path`) and for `seamkit.tables.paimon.merge_engines`, of which nothing is
imported here. From the planner come the files of a section, run by run, and the table's schema with
its options as texts; what these mean is read here once more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.connector.field_functions import FUNCTIONS, Function
from seamkit.connector.planned import Row, file_rows, refuse_nan, stated
from seamkit.scan.units import ReadUnit, Runs, UnitFile
from seamkit.tables.paimon.metadata.schemas import TableSchema

_SEQUENCE, _KIND, _DELETE = "_SEQUENCE_NUMBER", "_VALUE_KIND", 3
_SYSTEM = pa.schema([pa.field(_SEQUENCE, pa.int64()), pa.field(_KIND, pa.int8())])
Gone = Callable[[UnitFile], Collection[int]]
"""The rows of a file that a vector takes out, by position."""


class _Version(NamedTuple):
    """A row of a key, and what orders it among the others: the later in the order wins."""

    sequence: Sequence[Any]
    number: int
    run: int
    depth: int
    is_whole: bool
    row: Row

    @property
    def is_retract(self) -> bool:
        return bool(self.row[_KIND] & 1)


def merged_rows(unit: ReadUnit, runs: Runs, wanted: pa.Schema, gone: Gone) -> Iterator[Row]:
    """The rows of a section of a bucket."""
    rules = _Rules(stated(unit.files[0].open)["schema"])
    names = dict.fromkeys([*wanted.names, *rules.columns])
    read = [rules.schema.arrow.field(name) for name in names if name not in unit.partition]
    read_schema = pa.schema([*read, *_SYSTEM])
    keys: dict[tuple[Any, ...], list[_Version]] = {}
    for number, run in enumerate(runs.runs):
        before: tuple[Any, ...] | None = None
        for file in run:
            depth, is_whole = _depth(file)
            out = gone(file)
            for at, row in enumerate(file_rows(file, read_schema)):
                if at in out:
                    continue
                rules.check(row, file.name, is_merged=len(runs.runs) > 1)
                key = tuple(row[name] for name in rules.keys)
                if before is not None and not before < key:
                    raise InputError(f"{file.name}: the keys of its run do not ascend at row {at}")
                before = key
                order = [row.get(name) for name in rules.sequence]
                version = _Version(order, row[_SEQUENCE], number, depth, is_whole, row)
                keys.setdefault(key, []).append(version)
    for versions in keys.values():
        left = rules.merged(_that_count(versions))
        if left is not None:
            yield left


def _depth(file: UnitFile) -> tuple[int, bool]:
    """The level of a file, and whether its rows were looked up in deeper ones as it was written."""
    given = stated(file.open)
    entry = given["entry"]
    options = given["schemas"].load(entry.schema_id).options
    words = (options.get(name, "") for name in ("deletion-vectors.enabled", "force-lookup"))
    looks_up = any(word.lower() == "true" for word in words)
    looks_up = looks_up or options.get("changelog-producer", "").lower() == "lookup"
    return entry.level, looks_up and entry.level > 0


def _that_count(versions: list[_Version]) -> list[_Version]:
    """Without those that a row of a level less deep has in it."""
    least = min((one.depth for one in versions if one.is_whole), default=None)
    return [one for one in versions if least is None or one.depth <= least]


class _Rules:
    """What the options of a table say of several rows of a key."""

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema
        self.options = schema.options
        self.keys = [name for name in schema.primary_keys if name not in schema.partition_keys]
        self.engine = self.options.get("merge-engine", "deduplicate").lower().replace("_", "-")
        self.sequence = _names(self.options.get("sequence.field", ""))
        order = self.options.get("sequence.field.sort-order", "ascending").lower()
        self._descending = order == "descending"
        spellings = ["", "first-row.", "deduplicate.", "partial-update."]
        told = [word for word in spellings if f"{word}ignore-delete" in self.options]
        ignored = bool(told) and self._is(f"{told[0]}ignore-delete")
        self.passes_over = ignored and self.engine != "aggregation"
        self.removes = self._is(f"{self.engine}.remove-record-on-delete")
        self.groups = [
            _SequenceGroup(_names(name[len("fields.") : -len(".sequence-group")]), _names(value))
            for name, value in self.options.items()
            if name.startswith("fields.") and name.endswith(".sequence-group")
        ]
        removing = "partial-update.remove-record-on-sequence-group"
        self.removing = _names(self.options.get(removing, ""))

    def _is(self, option: str) -> bool:
        return self.options.get(option, "false").lower() == "true"

    @property
    def columns(self) -> Sequence[str]:
        """Columns that decide what is left, whatever is asked for."""
        of_groups = [name for group in self.groups for name in group.sequence]
        return [*self.keys, *self.sequence, *of_groups]

    def check(self, row: Row, where: str, *, is_merged: bool) -> None:
        """Refuse a row without a kind, and one that has no place in the order."""
        if row[_KIND] not in (0, 1, 2, _DELETE):
            raise InputError(f"{where}: a row has the kind {row[_KIND]}")
        for name in [*self.keys, *self.sequence] if is_merged else ():
            refuse_nan(row.get(name), name, where)

    def merged(self, versions: list[_Version]) -> Row | None:
        """What is left of a key's rows; None where nothing is."""
        if self.passes_over:
            versions = [one for one in versions if not one.is_retract]
        versions.sort(key=functools.cmp_to_key(self._compare))
        if len(versions) < 2:  # a merge function never meets a row that is alone
            return next((one.row for one in versions if not one.is_retract), None)
        if self.engine == "first-row":
            if any(one.is_retract for one in versions[1:]):
                raise RefusedError(
                    f"{self.schema.where}: a first-row table has a retract, and no ignore-delete"
                )
            return None if versions[0].is_retract else versions[0].row
        if self.engine == "aggregation":
            return self._aggregated(versions)
        if self.engine == "partial-update":
            return self._updated(versions)
        return None if versions[-1].is_retract else versions[-1].row

    def _compare(self, one: _Version, other: _Version) -> int:
        """By the sequence fields, then by the order in which rows were written."""
        found = _compared(one.sequence, other.sequence, descending=self._descending)
        own = (one.number, one.run) > (other.number, other.run)
        return found or (1 if own else -1)

    def _function(self, name: str, default: str | None) -> Function | None:
        """The function of a field, None where it has none."""
        prefix = f"fields.{name}."
        own = {key[len(prefix) :]: x for key, x in self.options.items() if key.startswith(prefix)}
        word = own.get("aggregate-function", default)
        if word is None:
            return None
        where = f"{self.schema.where}, field {name!r}"
        if word not in FUNCTIONS:
            raise RefusedError(
                f"{where}: the aggregate function {word!r} is not supported by the connector; "
                f"there are {', '.join(FUNCTIONS)}"
            )
        kind = self.schema.arrow.field(name).type
        return FUNCTIONS[word](word, kind, own, where)

    def _aggregated(self, versions: Sequence[_Version]) -> Row | None:
        """Each field by its function; a delete that removes begins anew with its own values."""
        default = self.options.get("fields.default-aggregate-function", "last_non_null_value")
        names = [name for name in versions[0].row if name not in _SYSTEM.names]
        functions = {
            name: self._function(name, default)
            for name in names
            if name not in self.schema.primary_keys and name not in self.sequence
        }
        for name in self.sequence:
            functions[name] = FUNCTIONS["last_value"]("last_value", pa.null(), {}, "")
        record: dict[str, Any] = dict.fromkeys(names)
        for one in versions:
            record |= {name: one.row[name] for name in names if name in self.schema.primary_keys}
            if self.removes and one.row[_KIND] == _DELETE:
                record = {name: one.row[name] for name in names}
                continue
            for name, function in functions.items():
                assert function is not None
                put = function.retract if one.is_retract else function.add
                record[name] = put(record[name], one.row[name])
        is_removed = self.removes and versions[-1].row[_KIND] == _DELETE
        return None if is_removed else _finished(record, functions)

    def _updated(self, versions: Sequence[_Version]) -> Row | None:
        """Rows fill each other's gaps, those of a sequence group as its sequence tells."""
        names = [name for name in versions[0].row if name not in _SYSTEM.names]
        default = self.options.get("fields.default-aggregate-function")
        guarded = {name for group in self.groups for name in (*group.sequence, *group.fields)}
        functions = {
            name: self._function(name, default)
            for group in self.groups
            for name in group.fields
            if name in names and name not in group.sequence
        }
        record: dict[str, Any] = dict.fromkeys(names)
        has_row = is_removed = False
        for at, one in enumerate(versions):
            row = one.row
            if at == 0 and one.is_retract:
                record = {name: row[name] for name in names}
            is_removed = one.is_retract and self._removes(row, record)
            if is_removed:
                record = {name: row[name] for name in names}
                continue
            if one.is_retract and not self.groups and not self.removes:
                raise RefusedError(
                    f"{self.schema.where}: partial updates meet a retract, and the table has none "
                    "of ignore-delete, remove-record-on-delete and sequence groups"
                )
            if not one.is_retract:
                has_row = True
                filled = (name for name in names if name not in guarded and row[name] is not None)
                record |= {name: row[name] for name in filled}
            for group in self.groups:
                group.update(record, one, functions, self.schema.where)
        return None if is_removed or not has_row else _finished(record, functions)

    def _removes(self, row: Row, record: Row) -> bool:
        """Whether a retract removes the record that came to be before it."""
        if row[_KIND] != _DELETE:
            return False
        if not self.groups:
            return self.removes
        listed = (one for one in self.groups if not {*one.sequence}.isdisjoint(self.removing))
        return any(group.is_newer(row, record, self.schema.where) for group in listed)


class _SequenceGroup(NamedTuple):
    """Fields that go together, by the names of those that order their values."""

    sequence: Sequence[str]
    fields: Sequence[str]

    def says(self, row: Row) -> bool:
        """Whether a row says something of the group."""
        return any(row[name] is not None for name in self.sequence)

    def is_newer(self, row: Row, record: Row, where: str) -> bool:
        """Whether a row is not older than the record in this group."""
        for name in self.sequence:
            refuse_nan(row[name], name, where)
        own, other = ([one[name] for name in self.sequence] for one in (row, record))
        return self.says(row) and _compared(own, other) >= 0

    def update(
        self,
        record: dict[str, Any],
        one: _Version,
        functions: Mapping[str, Function | None],
        where: str,
    ) -> None:
        """Put a row's values of the group into the record."""
        row = one.row
        is_newer = self.is_newer(row, record, where)
        if not self.says(row):
            return
        for name in self.fields:
            if name not in functions:
                continue  # not asked for, or a sequence field
            function = functions[name]
            if function is not None:
                put = function.add if is_newer else function.late
                put = function.retract if one.is_retract else put
                record[name] = put(record[name], row[name])
            elif is_newer:
                record[name] = None if one.is_retract else row[name]
        if is_newer:
            record |= {name: row[name] for name in self.sequence}


def _finished(record: Row, functions: Mapping[str, Function | None]) -> Row:
    """A record once all rows have come."""
    found = dict(record)
    for name, function in functions.items():
        if function is not None:
            found[name] = function.whole(found[name])
    return found


def _compared(one: Sequence[Any], other: Sequence[Any], *, descending: bool = False) -> int:
    """Which of two sequences is later; null is the earliest, whatever the direction."""
    for own, its in zip(one, other, strict=True):
        if own is None or its is None:
            if own is not its:
                return -1 if own is None else 1
        elif own != its:
            return 1 if (own > its) != descending else -1
    return 0


def _names(text: str) -> Sequence[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
