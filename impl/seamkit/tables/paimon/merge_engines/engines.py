"""Merge engines that put a row together from several: aggregation and partial update.

The rules are those of `AggregateMergeFunction` and `PartialUpdateMergeFunction` in paimon-core. A
key is followed row by row, oldest first, for what the columns alone cannot tell.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.core.border import numpy_of
from seamkit.scan.core_merges import RowNumbers
from seamkit.scan.runs_path import refuse_nan
from seamkit.scan.units import Combine
from seamkit.tables.paimon.merge_engines import functions, nested, sketches
from seamkit.tables.paimon.merge_engines.folding import ORDERLESS, folded, last_valid
from seamkit.tables.paimon.merge_engines.functions import FieldOptions, Function
from seamkit.tables.paimon.metadata.schemas import (
    KIND,
    OF_FIELDS,
    REMOVES_GROUP,
    REMOVES_RECORD,
    ReadOptions,
    TableSchema,
)

FUNCTIONS: Mapping[str, Callable[[pa.Array, FieldOptions, str], Function]] = {
    one.name: one
    for one in (
        functions.LastValue,
        functions.LastNonNull,
        functions.FirstValue,
        functions.FirstNonNull,
        functions.Max,
        functions.Min,
        functions.Sum,
        functions.Product,
        functions.BoolAnd,
        functions.BoolOr,
        functions.ListAgg,
        nested.Collect,
        nested.MergeMap,
        nested.MergeMapWithKeyTime,
        nested.NestedUpdate,
        nested.NestedPartialUpdate,
        sketches.ThetaSketch,
        sketches.HllSketch,
        sketches.Bitmap32,
    )
} | {"first_not_null_value": functions.FirstNonNull}


def make_function(name: str, column: pa.Array, options: FieldOptions, where: str) -> Function:
    """A function by its name."""
    if name not in FUNCTIONS:
        known = ", ".join(FUNCTIONS)
        raise RefusedError(
            f"{where}: the aggregate function {name!r} is not supported; there are {known}"
        )
    return FUNCTIONS[name](column, options, where)


_DELETE = 3
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FieldRule:
    """How a field's values are aggregated."""

    function: str  # name of the function
    options: FieldOptions = field(default_factory=dict)  # of the field
    ignores_retracts: bool = False  # whether retracts leave its value as it is


@dataclass(frozen=True)
class Aggregation:
    """Each field has a function of its own."""

    rules: Mapping[str, FieldRule]  # of the fields
    removes_records: bool  # whether a delete removes what was put together so far
    where: str  # the table, for messages

    def columns(self, names: Sequence[str]) -> Sequence[str]:
        """Just these: fields do not meet."""
        return [*names, KIND] if self.removes_records and KIND not in names else names

    def merge(self, rows: pa.RecordBatch, starts: RowNumbers, retracts: pa.Array) -> pa.RecordBatch:
        """See `seamkit.scan.units.Combine.merge`."""
        flags = numpy_of(retracts)
        deletes = _deletes(rows, flags) if self.removes_records else np.zeros(len(flags), np.bool_)
        columns: list[pa.Array] = []
        ends = np.append(starts[1:], len(flags))
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            rule = self.rules.get(name, _LAST)
            if rule == KEY:
                columns.append(column.take(pa.array(ends - 1)))
                continue
            where = f"{self.where}, field {name!r}"
            whole = None
            if not deletes.any() and (rule.ignores_retracts or not flags.any()):
                whole = folded(rule.function, column, ~flags, starts, where)
            if whole is None:
                function = make_function(rule.function, column, rule.options, where)
                bounds = zip(starts.tolist(), ends.tolist(), strict=True)
                kept = [_aggregated(function, rule, b, e, flags, deletes) for b, e in bounds]
                whole = function.result(kept)
            columns.append(whole)
        merged = pa.RecordBatch.from_arrays(columns, schema=rows.schema)
        return merged.filter(pa.array(~deletes[ends - 1])) if deletes.any() else merged


_LAST = FieldRule("last_value", ignores_retracts=False)
#: Of a column of the key, the newest, whose zero may be another; retracts leave it as it is.
KEY = FieldRule("primary-key")


def _aggregated(
    function: Function, rule: FieldRule, begin: int, end: int, flags: _Flags, deletes: _Flags
) -> Any:
    """What a field of one key becomes."""
    function.begin()
    kept: Any = None
    for row in range(begin, end):
        if deletes[row]:
            kept = function.start(row)
        elif not flags[row]:
            kept = function.agg(kept, row)
        elif not rule.ignores_retracts:
            kept = function.retract(kept, row)
    return kept


def _deletes(rows: pa.RecordBatch, flags: _Flags) -> _Flags:
    """Rows that remove a record: deletes, and not what an update takes back."""
    if KIND not in rows.schema.names:
        return np.zeros(len(flags), np.bool_)
    kinds: _Flags = numpy_of(rows.column(KIND)) == _DELETE
    return kinds


@dataclass(frozen=True)
class PartialUpdate:
    """Rows of a key fill each other's gaps."""

    # by the names of their sequence fields, the fields that these guard
    groups: Mapping[Sequence[str], Sequence[str]]
    rules: Mapping[str, FieldRule]  # functions of fields in groups that have one
    removes_records: bool  # whether a delete removes what was put together so far
    # sequence fields of the groups of which a delete that is not older removes it
    removing: frozenset[str]
    where: str  # the table, for messages

    def columns(self, names: Sequence[str]) -> Sequence[str]:
        """Sequence fields as well: they decide which values count."""
        more = [own for fields in self.groups for own in fields]
        kinds = [KIND] if self.removes_records or self.removing else []
        return list(dict.fromkeys([*names, *more, *kinds]))

    def merge(self, rows: pa.RecordBatch, starts: RowNumbers, retracts: pa.Array) -> pa.RecordBatch:
        """See `seamkit.scan.units.Combine.merge`."""
        keys = _Keys(starts, np.append(starts[1:], rows.num_rows), numpy_of(retracts))
        if keys.retracts.any() and not self.groups and not self.removes_records:
            raise RefusedError(
                f"{self.where}: partial updates meet a retract, which they have no word for; "
                "Paimon refuses it, too, unless ignore-delete, remove-record-on-delete or "
                "sequence groups are set"
            )
        groups = [_Group(self, rows, seq, keys) for seq in self.groups]
        records = _Records(keys, self._removals(rows, groups, keys))
        guards = {name: seq for seq, names in self.groups.items() for name in (*names, *seq)}
        columns = {}
        for name in rows.schema.names:
            if name not in guards:
                columns[name] = last_valid(rows.column(name), records.counted, starts)
        for seq, group in zip(self.groups, groups, strict=True):
            own = [name for name in rows.schema.names if guards.get(name) == seq]
            columns |= group.merged(own, records)
        ordered = [columns[name] for name in rows.schema.names]
        merged = pa.RecordBatch.from_arrays(ordered, schema=rows.schema)
        return merged.filter(pa.array(~records.gone)) if records.gone.any() else merged

    def _removals(self, rows: pa.RecordBatch, groups: Sequence[_Group], keys: _Keys) -> _Flags:
        """Rows that remove the record that came to be before them."""
        if not self.groups and self.removes_records:
            return _deletes(rows, keys.retracts)
        listed = [group for group in groups if self.removing.intersection(group.seq)]
        if not listed:
            return np.zeros(rows.num_rows, np.bool_)
        return _removed_by_groups(listed, _deletes(rows, keys.retracts), keys)


@dataclass(frozen=True)
class _Keys:
    """Which rows of a batch belong to one key, the oldest first."""

    starts: RowNumbers  # number of the first row of each key
    ends: npt.NDArray[np.int64]  # number behind its last row
    retracts: _Flags  # rows that take others back

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.starts.tolist(), self.ends.tolist(), strict=True)


class _Records:
    """What each key's record begins with, and whether there is one.

    What follows a removal begins with the values of the delete, all of them, and a key that begins
    with a retract with its own, as in Paimon 1.4. There is no record where the last row removes it,
    or nothing but retracts came; an update's old row behind a removal brings the values of the
    delete to light.

    Attributes:
        removals: rows that remove what came before them.
        begins: of each key the row with which its record begins.
        since: rows from there on.
        counted: rows whose values count for fields without a sequence.
        gone: keys without a record.
    """

    def __init__(self, keys: _Keys, removals: _Flags) -> None:
        self.removals = removals
        self.begins: npt.NDArray[np.int64] = keys.starts.astype(np.int64)
        self.since: _Flags = np.ones(len(removals), np.bool_)
        if removals.any():
            numbers = np.arange(len(removals))
            last = np.maximum.reduceat(np.where(removals, numbers, -1), keys.starts)
            self.begins = np.maximum(self.begins, last)
            self.since = numbers >= np.repeat(self.begins, keys.ends - keys.starts)
        self.counted: _Flags = self.since & ~keys.retracts
        self.counted[self.begins] = True
        only_retracts = np.logical_and.reduceat(keys.retracts, keys.starts)
        self.gone: _Flags = removals[keys.ends - 1] | only_retracts


class _Group:
    """The fields of one sequence group.

    Attributes:
        seq: names of the sequence fields.
        counted: rows that say something of the group: those whose sequence fields are not all null.
        ranks: a number for each row that orders its sequence.
    """

    def __init__(
        self, engine: PartialUpdate, rows: pa.RecordBatch, seq: Sequence[str], keys: _Keys
    ) -> None:
        self._engine = engine
        self._rows = rows
        self._keys = keys
        self.seq = seq
        columns = [rows.column(name) for name in seq]
        refuse_nan(rows.select(list(seq)), engine.where)
        filled = [numpy_of(column.is_valid()) for column in columns]
        self.counted: _Flags = np.logical_or.reduce(filled)
        self.ranks = _sequence_ranks(columns)

    def merged(self, names: Sequence[str], records: _Records) -> Mapping[str, pa.Array]:
        """The columns of the group: its fields, and the sequence fields."""
        winners = self._winners(records)
        retracts = self._keys.retracts
        found = {}
        for name in names:
            column = self._rows.column(name)
            rule = self._engine.rules.get(name)
            if name in self.seq:
                found[name] = column.take(pa.array(winners, mask=winners < 0))
            elif rule is None:
                # Where no row counts, the values are those of a retract that began the record.
                begins = records.begins
                begun = np.where((winners < 0) & retracts[begins], begins, winners)
                retracted = (winners >= 0) & (retracts & ~records.removals)[winners]
                found[name] = column.take(pa.array(begun, mask=(begun < 0) | retracted))
            else:
                found[name] = self._aggregated(name, column, rule, records)
        return found

    def _aggregated(
        self, name: str, column: pa.Array, rule: FieldRule, records: _Records
    ) -> pa.Array:
        """A field with a function; one for which order means nothing is folded at once."""
        where = f"{self._engine.where}, field {name!r}"
        whole = None
        if rule.function in ORDERLESS and not self._keys.retracts.any():
            whole = folded(rule.function, column, self.counted, self._keys.starts, where)
        if whole is not None:
            return whole
        function = make_function(rule.function, column, rule.options, where)
        removals = records.removals
        return function.result([self._followed(function, rule, removals, *k) for k in self._keys])

    def _winners(self, records: _Records) -> npt.NDArray[np.int64]:
        """Of each key the last row with the highest sequence, or -1 where no row has one."""
        starts, counted = self._keys.starts, self.counted & records.since
        numbers = np.arange(len(counted))
        ranks = np.where(counted, self.ranks, -1)
        highest = np.maximum.reduceat(ranks, starts)
        is_highest = counted & (ranks == np.repeat(highest, self._keys.ends - starts))
        found: npt.NDArray[np.int64] = np.maximum.reduceat(
            np.where(is_highest, numbers, -1), starts
        )
        return found

    def _followed(
        self, function: Function, rule: FieldRule, removals: _Flags, begin: int, end: int
    ) -> Any:
        """What an aggregated field of one key becomes."""
        function.begin()
        retracts = self._keys.retracts
        kept: Any = function.start(begin) if retracts[begin] else None
        highest = -1
        for row in range(begin, end):
            if removals[row]:
                kept, highest = function.start(row), -1
            if not self.counted[row]:
                continue
            is_newer = self.ranks[row] >= highest
            highest = max(highest, int(self.ranks[row]))
            if removals[row]:
                continue
            if retracts[row]:
                kept = kept if rule.ignores_retracts else function.retract(kept, row)
            elif is_newer:
                kept = function.agg(kept, row)
            else:
                kept = function.reverse(kept, row)
        return kept


def _removed_by_groups(groups: Sequence[_Group], deletes: _Flags, keys: _Keys) -> _Flags:
    """Deletes that remove the record: those that are not older than it in one of some groups."""
    # The record then has the sequences of the delete, of every group: nulls, too.
    found = np.zeros(len(deletes), np.bool_)
    ranks = [np.where(group.counted, group.ranks, -1).tolist() for group in groups]
    with_deletes = np.logical_or.reduceat(deletes, keys.starts)
    for begin, end in itertools.compress(keys, with_deletes):
        highest = [-1] * len(groups)
        for row in range(begin, end):
            own = [of_group[row] for of_group in ranks]
            if deletes[row] and any(0 <= r >= top for r, top in zip(own, highest, strict=True)):
                found[row], highest = True, own
            else:
                highest = list(map(max, own, highest))
    return found


def _sequence_ranks(columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """A number for each row that orders its sequence fields; nulls come first."""
    # Releases of Arrow differ in how they are told where nulls go.
    parts = [part for column in columns for part in (column.is_valid(), column)]
    table = pa.Table.from_arrays(parts, [str(i) for i in range(len(parts))])
    keys = [(name, "ascending") for name in table.column_names]
    order = numpy_of(pc.sort_indices(table, sort_keys=keys))
    ordered = table.take(pa.array(order))
    differs = np.zeros(len(order), np.bool_)
    for column in ordered.columns:
        whole = column.combine_chunks()
        above, below = whole.slice(0, len(whole) - 1), whole.slice(1)
        same = pc.fill_null(pc.equal(above, below), False)
        both_null = pc.and_(above.is_null(), below.is_null())
        differs[1:] |= ~numpy_of(pc.or_(same, both_null))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks


_FUNCTION = "aggregate-function"
_DEFAULT = "fields.default-aggregate-function"
_GROUP = ".sequence-group"
#: Options of a field that say nothing of what its values become.
_OF_WRITERS = ("default-value", "stats-mode")


def merge_rule(schema: TableSchema, options: ReadOptions) -> Combine:
    """What rows of one key become together, where not one of them is left as it is."""
    if options.engine == "aggregation":
        return Aggregation(_field_rules(schema, options), options.removes_records, schema.where)
    groups = _sequence_groups(schema)
    removing = _removing(schema, options, groups)
    rules = _in_groups(schema, groups)
    return PartialUpdate(groups, rules, options.removes_records, removing, schema.where)


def _field_rules(schema: TableSchema, options: ReadOptions) -> Mapping[str, FieldRule]:
    """The function of each field; keys and sequence fields have the newest value."""
    default = schema.options.get(_DEFAULT, "last_non_null_value")
    rules = {}
    for own in schema.fields:
        if own.name in schema.primary_keys:
            rules[own.name] = KEY
        elif own.name in options.sequence_fields:
            rules[own.name] = FieldRule("last_value")
        else:
            rules[own.name] = _field_rule(schema, own.name, default)
    return rules


def _field_rule(schema: TableSchema, name: str, default: str) -> FieldRule:
    prefix = f"fields.{name}."
    own = {
        key.removeprefix(prefix): value
        for key, value in schema.options.items()
        if key.startswith(prefix)
    }
    for word in own:
        # With a point in it, it is one of another field.
        if "." not in word and word not in (*OF_FIELDS, *_OF_WRITERS):
            raise RefusedError(f"{schema.where}: the option {prefix}{word} is not supported")
    function = own.get(_FUNCTION, default)
    if function not in FUNCTIONS:
        raise RefusedError(
            f"{schema.where}: the aggregate function {function!r} of the field {name!r} is not "
            f"supported; there are {', '.join(FUNCTIONS)}"
        )
    for word in ("distinct", "ignore-retract"):
        if own.get(word, "false").lower() not in ("true", "false"):
            raise InputError(
                f"{schema.where}: the option {prefix}{word} is {own[word]!r}, neither true nor "
                "false"
            )
    return FieldRule(function, own, own.get("ignore-retract", "false").lower() == "true")


def _sequence_groups(schema: TableSchema) -> Mapping[Sequence[str], Sequence[str]]:
    groups: dict[Sequence[str], Sequence[str]] = {}
    for key, value in schema.options.items():
        if key.startswith("fields.") and key.endswith(_GROUP):
            seq = _names(key.removeprefix("fields.").removesuffix(_GROUP), schema)
            groups[seq] = _names(value, schema)
    return groups


def _removing(
    schema: TableSchema, options: ReadOptions, groups: Iterable[Sequence[str]]
) -> frozenset[str]:
    """Sequence fields of the groups in which a delete removes the whole record."""
    if options.removes_records and groups:
        raise InputError(f"{schema.where}: it has sequence groups and {REMOVES_RECORD}")
    if REMOVES_GROUP not in schema.options:
        return frozenset()
    if options.ignores_deletes:
        raise InputError(f"{schema.where}: it has {REMOVES_GROUP} and ignores deletes")
    names = _names(schema.options[REMOVES_GROUP], schema)
    for name in names:
        if not any(name in seq for seq in groups):
            raise InputError(
                f"{schema.where}: {REMOVES_GROUP} names {name!r}, by which no sequence group goes"
            )
    return frozenset(names)


def _names(text: str, schema: TableSchema) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in schema.arrow.names:
            raise InputError(
                f"{schema.where}: there is no column {name!r}, which a sequence group names"
            )
    return names


def _in_groups(
    schema: TableSchema, groups: Mapping[Sequence[str], Sequence[str]]
) -> Mapping[str, FieldRule]:
    """Functions of fields of sequence groups."""
    default = schema.options.get(_DEFAULT)
    rules = {}
    for name in (name for names in groups.values() for name in names):
        if default is not None or f"fields.{name}.{_FUNCTION}" in schema.options:
            rules[name] = _field_rule(schema, name, default or "")
    return rules
