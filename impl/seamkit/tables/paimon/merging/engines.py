"""Merge engines that put a row together from several: aggregation and partial update.

The rules are those of `AggregateMergeFunction` and `PartialUpdateMergeFunction` in paimon-core. A
key is followed row by row, oldest first, for what the columns alone cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seamkit.scan.merging.log_index import Words
from seamkit.scan.runs_path import refuse_nan
from seamkit.tables.paimon.merging.choosing import FieldOptions, Function
from seamkit.tables.paimon.merging.folding import ORDERLESS, folded, last_valid
from seamkit.tables.paimon.merging.functions import make_function
from seamkit.tables.paimon.metadata.system import KIND

__all__ = ["KEY", "Aggregation", "FieldRule", "PartialUpdate"]

_DELETE = 3
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FieldRule:
    """How a field's values are aggregated.

    Attributes:
        function: name of the function.
        options: of the field.
        ignores_retracts: whether retracts leave its value as it is.
    """

    function: str
    options: FieldOptions = field(default_factory=dict)
    ignores_retracts: bool = False


@dataclass(frozen=True)
class Aggregation:
    """Each field has a function of its own.

    Attributes:
        rules: of the fields.
        removes_records: whether a delete removes what was put together so far.
        has_kinds: whether files tell row kinds.
        where: the table, for messages.
    """

    rules: Mapping[str, FieldRule]
    removes_records: bool
    where: str

    def columns(self, names: Sequence[str]) -> Sequence[str]:
        """Just these: fields do not meet."""
        return [*names, KIND] if self.removes_records and KIND not in names else names

    def merge(self, rows: pa.RecordBatch, starts: Words, retracts: pa.Array) -> pa.RecordBatch:
        """See `seamkit.scan.units.Combine.merge`."""
        flags = _flags(retracts)
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


def _flags(retracts: pa.Array) -> _Flags:
    found: _Flags = retracts.to_numpy(zero_copy_only=False)
    return found


def _deletes(rows: pa.RecordBatch, flags: _Flags) -> _Flags:
    """Rows that remove a record: deletes, and not what an update takes back."""
    if KIND not in rows.schema.names:
        return np.zeros(len(flags), np.bool_)
    kinds: _Flags = rows.column(KIND).to_numpy(zero_copy_only=False) == _DELETE
    return kinds


@dataclass(frozen=True)
class PartialUpdate:
    """Rows of a key fill each other's gaps.

    Attributes:
        groups: by the names of their sequence fields, the fields that these guard.
        rules: functions of fields in groups that have one.
        removes_records: whether a delete removes what was put together so far.
        where: the table, for messages.
    """

    groups: Mapping[Sequence[str], Sequence[str]]
    rules: Mapping[str, FieldRule]
    removes_records: bool
    where: str

    def columns(self, names: Sequence[str]) -> Sequence[str]:
        """Sequence fields as well: they decide which values count."""
        more = [own for fields in self.groups for own in fields]
        kinds = [KIND] if self.removes_records else []
        return list(dict.fromkeys([*names, *more, *kinds]))

    def merge(self, rows: pa.RecordBatch, starts: Words, retracts: pa.Array) -> pa.RecordBatch:
        """See `seamkit.scan.units.Combine.merge`."""
        flags = _flags(retracts)
        counted = np.ones(len(flags), np.bool_)
        gone = np.zeros(len(starts), np.bool_)
        ends = np.append(starts[1:], len(flags))
        if flags.any() and not self.groups:
            if not self.removes_records:
                raise RefusedError(
                    f"{self.where}: partial updates meet a retract, which they have no word for; "
                    "Paimon refuses it, too, unless ignore-delete, remove-record-on-delete or "
                    "sequence groups are set"
                )
            deletes = _deletes(rows, flags)
            counted, gone = _after_deletes(deletes, flags, starts, ends)
        if self.groups:
            # A retract that nothing came before starts the row with its own values (Paimon 1.4).
            counted = ~flags
            counted[starts] = True
            # Where nothing but retracts came there is no record.
            gone = np.logical_and.reduceat(flags, starts)
        guards = {name: seq for seq, names in self.groups.items() for name in (*names, *seq)}
        columns = {}
        for name in rows.schema.names:
            if name not in guards:
                columns[name] = last_valid(rows.column(name), counted, starts)
        for seq in self.groups:
            group = _Group(self, rows, seq, starts, ends, flags)
            columns |= group.merged([name for name in rows.schema.names if guards.get(name) == seq])
        ordered = [columns[name] for name in rows.schema.names]
        merged = pa.RecordBatch.from_arrays(ordered, schema=rows.schema)
        return merged.filter(pa.array(~gone)) if gone.any() else merged


def _after_deletes(
    deletes: _Flags, flags: _Flags, starts: Words, ends: Words
) -> tuple[_Flags, _Flags]:
    """The rows that count, from the last delete of a key on, and the keys without a record.

    What follows a delete begins with the delete's own values, and so does a key that begins with a
    retract, as in Paimon 1.4. There is no record where the last row is a delete, or nothing but
    retracts came; an update's old row behind a delete brings the delete's values to light.
    """
    numbers = np.arange(len(flags))
    last = np.maximum.reduceat(np.where(deletes, numbers, -1), starts)
    counted = (numbers >= np.repeat(last, ends - starts)) & (~flags | deletes)
    counted[starts[last < 0]] = True
    gone: _Flags = deletes[ends - 1] | np.logical_and.reduceat(flags, starts)
    return counted, gone


class _Group:
    """The fields of one sequence group."""

    def __init__(
        self,
        engine: PartialUpdate,
        rows: pa.RecordBatch,
        seq: Sequence[str],
        starts: Words,
        ends: Words,
        flags: _Flags,
    ) -> None:
        self._engine = engine
        self._rows = rows
        self._seq = seq
        self._starts, self._ends = starts, ends
        self._flags = flags
        columns = [rows.column(name) for name in seq]
        refuse_nan(rows.select(list(seq)), engine.where)
        filled = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns]
        #: Rows whose sequence fields are all null say nothing of the group.
        self._counted: _Flags = np.logical_or.reduce(filled)
        self._ranks = _sequence_ranks(columns)

    def merged(self, names: Sequence[str]) -> Mapping[str, pa.Array]:
        """The columns of the group: its fields, and the sequence fields."""
        winners = self._winners()
        found = {}
        for name in names:
            column = self._rows.column(name)
            rule = self._engine.rules.get(name)
            if name in self._seq:
                found[name] = column.take(pa.array(winners, mask=winners < 0))
            elif rule is None:
                # Where no row counts, the values are those of a retract that began the record.
                begun = np.where((winners < 0) & self._flags[self._starts], self._starts, winners)
                retracted = (winners >= 0) & self._flags[winners]
                found[name] = column.take(pa.array(begun, mask=(begun < 0) | retracted))
            else:
                found[name] = self._aggregated(name, column, rule)
        return found

    def _aggregated(self, name: str, column: pa.Array, rule: FieldRule) -> pa.Array:
        """A field with a function; one for which order means nothing is folded at once."""
        where = f"{self._engine.where}, field {name!r}"
        whole = None
        if rule.function in ORDERLESS and not self._flags.any():
            whole = folded(rule.function, column, self._counted, self._starts, where)
        if whole is not None:
            return whole
        function = make_function(rule.function, column, rule.options, where)
        return function.result([self._followed(function, rule, b, e) for b, e in self._keys()])

    def _keys(self) -> Iterator[tuple[int, int]]:
        return zip(self._starts.tolist(), self._ends.tolist(), strict=True)

    def _winners(self) -> npt.NDArray[np.int64]:
        """Of each key the last row with the highest sequence, or -1 where no row has one."""
        numbers = np.arange(len(self._flags))
        ranks = np.where(self._counted, self._ranks, -1)
        highest = np.maximum.reduceat(ranks, self._starts)
        is_highest = self._counted & (ranks == np.repeat(highest, self._ends - self._starts))
        found: npt.NDArray[np.int64] = np.maximum.reduceat(
            np.where(is_highest, numbers, -1), self._starts
        )
        return found

    def _followed(self, function: Function, rule: FieldRule, begin: int, end: int) -> Any:
        """What an aggregated field of one key becomes."""
        function.begin()
        kept: Any = function.start(begin) if self._flags[begin] else None
        highest = -1
        for row in range(begin, end):
            if not self._counted[row]:
                continue
            is_newer = self._ranks[row] >= highest
            highest = max(highest, int(self._ranks[row]))
            if self._flags[row]:
                kept = kept if rule.ignores_retracts else function.retract(kept, row)
            elif is_newer:
                kept = function.agg(kept, row)
            else:
                kept = function.reverse(kept, row)
        return kept


def _sequence_ranks(columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """A number for each row that orders its sequence fields; nulls come first."""
    names = [str(i) for i in range(len(columns))]
    table = pa.Table.from_arrays(list(columns), names)
    keys = [(name, "ascending", "at_start") for name in names]
    order = pc.sort_indices(table, sort_keys=keys).to_numpy()
    ordered = table.take(pa.array(order))
    differs = np.zeros(len(order), np.bool_)
    for column in ordered.columns:
        whole = column.combine_chunks()
        above, below = whole.slice(0, len(whole) - 1), whole.slice(1)
        same = pc.fill_null(pc.equal(above, below), False)
        both_null = pc.and_(above.is_null(), below.is_null())
        differs[1:] |= ~pc.or_(same, both_null).to_numpy(zero_copy_only=False)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks
