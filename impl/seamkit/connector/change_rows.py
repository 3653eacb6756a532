"""Changes a row at a time, worked out once more.

Whoever plans a query of changes names a reader for its units. What that reader is given, and
nothing that it does, is taken here: two states of a Paimon table's partition or of what a write of
Hudi touched, both sides of an Iceberg commit, a changelog.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seamkit.connector.plain_values import alike
from seamkit.connector.planned import Row, file_rows, stated, word
from seamkit.connector.unit_rows import batches_of, plan_rows, read_unit, unit_rows
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.unit_tasks import ReadRows
from seamkit.scan.units import ReadContext, ReadPlan, ReadUnit

_KIND = "_VALUE_KIND"
_COMMIT_TIME, *_KEY = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")
_INSERT, _BEFORE, _AFTER, _DELETE = range(4)


_Changed = Iterator[tuple[Row | None, Row | None]]


def reader_of(scan: UnitScan) -> ReadRows:
    """What reads the units of a scan a row at a time; see `UnitScan.read_by`."""
    other = scan.other_path
    return read_unit if other is None else partial(read_changes, other.read)


def scan_rows(scan: UnitScan, names: Sequence[str], context: ReadContext) -> Iterator[Row]:
    """The rows of all units of a scan."""
    other = scan.other_path
    rows = unit_rows if other is None else partial(change_rows, other.read)
    return plan_rows(scan.plan, names, context, rows)


def read_changes(
    made: ReadRows, unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
) -> Iterator[pa.RecordBatch]:
    """The changes of a unit for which the planner's reader is `made`; see `UnitScan.read_by`."""
    rows = change_rows(made, unit, schema, context)
    yield from batches_of(rows, schema, batch_rows, context)


def change_rows(
    made: ReadRows, unit: ReadUnit, schema: pa.Schema, context: ReadContext
) -> Iterator[Row]:
    """The changes of a unit as values of Python, by the names of a schema."""
    own: Any = made
    if hasattr(own, "commits"):
        if unit.name not in own.commits:
            return unit_rows(unit, schema, context)
        return _of_commit(own.commits[unit.name], own.columns, schema, context)
    if hasattr(own, "writes"):
        old, new = (_by_key(plan, own.columns, context) for plan in own.writes[unit.name])
        if unit.name in own.overwrites:
            return _images(_all_anew(old, new, own.columns))
        return _images(_of_write(unit.name, old, new, own.columns))
    if hasattr(own, "states"):
        find = _images if own.with_images else _new
        return find(_states(own.states[unit.name], own.keys, context))
    if word(made) == "changelog_rows":
        return _changelog(unit, **stated(made))
    raise RefusedError(f"the connector knows no changes by {word(made)}")


def _of_commit(
    sides: Sequence[ReadPlan], columns: Sequence[str], schema: pa.Schema, context: ReadContext
) -> Iterator[Row]:
    """What an Iceberg commit deleted and inserted but for rows that it merely wrote anew."""
    names = list(dict.fromkeys([*columns, *schema.names]))
    old, new = (list(plan_rows(side, names, context)) for side in sides)
    return itertools.chain(*_not_in_both(old, new, columns))


def _not_in_both(
    one: Sequence[Row], other: Sequence[Row], columns: Sequence[str]
) -> list[list[Row]]:
    """What is left of rows when those that are alike are taken out in pairs, the first ones."""
    both = one, other
    keys = [[alike([row[name] for name in columns]) for row in rows] for rows in both]
    pairs = Counter(keys[0]) & Counter(keys[1])
    found: list[list[Row]] = []
    for rows, own in zip(both, keys, strict=True):
        left = pairs.copy()
        found.append([])
        for row, key in zip(rows, own, strict=True):
            if left[key]:
                left[key] -= 1
            else:
                found[-1].append(row)
    return found


_ByKey = dict[Sequence[str], list[Row]]


def _by_key(plan: ReadPlan, columns: Sequence[str], context: ReadContext) -> _ByKey:
    """The rows of a state of a Hudi table by their key."""
    rows: _ByKey = {}
    for row in plan_rows(plan, [_COMMIT_TIME, *_KEY, *columns], context):
        rows.setdefault(tuple(row[one] or "" for one in _KEY), []).append(row)
    return rows


def _of_write(instant: str, old: _ByKey, new: _ByKey, columns: Sequence[str]) -> _Changed:
    """What a write of Hudi did: of the rows of a key those that it did not leave as they were."""
    for key in old | new:
        rows = new.get(key, [])
        own = [_some(row, columns) for row in rows if row[_COMMIT_TIME] == instant]
        left = [_some(row, columns) for row in rows if row[_COMMIT_TIME] != instant]
        was = [_some(row, columns) for row in old.get(key, [])]
        was, left = _not_in_both(was, left, columns)
        yield from itertools.zip_longest(was, own + left)


def _all_anew(old: _ByKey, new: _ByKey, columns: Sequence[str]) -> _Changed:
    """What an overwrite did: no row is replaced, whatever its key."""
    yield from ((_some(row, columns), None) for rows in old.values() for row in rows)
    yield from ((None, _some(row, columns)) for rows in new.values() for row in rows)


def _some(row: Row, columns: Sequence[str]) -> Row:
    return {name: row[name] for name in columns}


def _states(plans: Sequence[ReadPlan], keys: Sequence[str], context: ReadContext) -> _Changed:
    """Rows of a Paimon partition before and after that are not the same, by their key."""
    old, new = (
        {
            tuple(row[name] for name in keys): row
            for row in plan_rows(plan, plan.schema.names, context)
        }
        for plan in plans
    )
    for key in {**old, **new}:
        if alike(old.get(key)) != alike(new.get(key)):
            yield old.get(key), new.get(key)


def _new(changed: _Changed) -> Iterator[Row]:
    return (after for _, after in changed if after is not None)


def _images(changed: _Changed) -> Iterator[Row]:
    for before, after in changed:
        op = "i" if before is None else "d" if after is None else "u"
        yield {"op": op, "before": before, "after": after}


def _changelog(unit: ReadUnit, table: pa.Schema, keys: Sequence[str]) -> Iterator[Row]:
    """The changes of a Paimon changelog; an update's old row and the new one behind it are one."""
    (file,) = unit.files
    read = pa.schema([*table, pa.field(_KIND, pa.int8())])
    waits: Row | None = None
    for whole in file_rows(file, read):
        kind, row = whole[_KIND], {name: whole[name] for name in table.names}
        if waits is not None:
            is_same = all(row[name] == waits[name] for name in keys)
            if kind == _AFTER and is_same:
                yield {"op": "u", "before": waits, "after": row}
                waits = None
                continue
            yield {"op": "u", "before": waits, "after": None}
            waits = None
        if kind == _BEFORE:
            waits = row
        else:
            op = {_INSERT: "i", _AFTER: "u", _DELETE: "d"}[kind]
            before, after = (row, None) if kind == _DELETE else (None, row)
            yield {"op": op, "before": before, "after": after}
    if waits is not None:
        yield {"op": "u", "before": waits, "after": None}


#: Ways to read units that plans may name; see `seamkit.ranges.codec`.
WORDS = (read_unit, read_changes)
