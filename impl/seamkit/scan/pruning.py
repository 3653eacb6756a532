"""Which units and row groups a filter leaves to be read, by what is known before rows are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import all_of, filter_columns
from seamkit.core.tasks import gc_paused
from seamkit.files.reader import FileReader
from seamkit.files.statistics import FileStatistics, guarantee_of, that_may_match
from seamkit.scan.statistics import of_runs
from seamkit.scan.units import KeyMask, Mask, ReadPlan, ReadUnit, Runs

RuledOutBy = Literal["bucket", "group", "unit", "file"]
"""What leaves a unit out: its bucket, what is known of its group, of itself, of its files' keys."""


def units_that_may_match(
    units: Sequence[ReadUnit],
    condition: pc.Expression | None,
    schema: pa.Schema,
    tested: Sequence[str] | None = None,
) -> list[bool]:
    """For each unit whether it may have rows that meet a condition; see `ruled_out_by`."""
    return [what is None for what in ruled_out_by(units, condition, schema, tested)]


def ruled_out_by(
    units: Sequence[ReadUnit],
    condition: pc.Expression | None,
    schema: pa.Schema,
    tested: Sequence[str] | None = None,
) -> list[RuledOutBy | None]:
    """For each unit what says that no row of it meets a condition; None where nothing does.

    What is asked later is asked of what is left alone. Units have the values of their partitions,
    their guarantees, their buckets, and files with statistics, which count where no row is added to
    the file's. `tested` names the columns that the condition tests, where the caller has looked
    already.
    """
    found: list[RuledOutBy | None] = [None] * len(units)
    if condition is None:
        return found
    found = [None if kept else "bucket" for kept in _in_buckets(units, condition)]
    if any(map(_is_known, units)):
        with gc_paused():
            _by_what_is_known(units, found, condition, schema, tested)
    return found


def _by_what_is_known(
    units: Sequence[ReadUnit],
    ruled: list[RuledOutBy | None],
    condition: pc.Expression,
    schema: pa.Schema,
    tested: Sequence[str] | None,
) -> None:
    """Enter which units are ruled out by more than their bucket."""
    tested = filter_columns(condition, schema) if tested is None else tested
    # By what many units share first: what is known of each of them takes longer to read.
    by_partition = {*tested}
    if not all(by_partition.isdisjoint(unit.partition) for unit in units):
        _rule_out("group", units, ruled, condition, schema, tested)
    _rule_out("unit", units, ruled, condition, schema, tested)
    for number, unit in enumerate(units):
        added = not isinstance(unit.changes, Mask | KeyMask | None)
        if ruled[number] is None and not added and files_ruled_out(unit, condition, schema, tested):
            ruled[number] = "file"


def ruled_out_note(
    plan: ReadPlan,
    condition: pc.Expression | None,
    ruled: Sequence[RuledOutBy | None],
    in_partition: Sequence[bool],
) -> list[str]:
    """How many files a table's metadata leaves unread by what it tells of rows, for descriptions.

    `ruled` is what `ruled_out_by` says. Of units that are not `in_partition` nothing counts: these
    values stand in paths, or beside them.
    """
    if condition is None:
        return []
    tested = filter_columns(condition, plan.schema)
    units = list(zip(plan.units, ruled, in_partition, strict=True))
    read = {file.path for unit, by, _ in units if by is None for file in unit.changed_by}
    unread: dict[str, set[str]] = {"group": set(), "unit": set(), "file": set()}
    for unit, by, may in units:
        own = {file.name for file in unit.files}
        if by is None and files_ruled_out(unit, condition, plan.schema, tested):
            unread["file"] |= own
        elif by is not None and by != "bucket" and may:
            unread[by] |= own | {file.path for file in unit.changed_by} - read
    words = {"group": "of its partition", "unit": "of its columns", "file": "of its keys"}
    parts = [f"{len(unread[by])} by what is known {of}" for by, of in words.items() if unread[by]]
    return [f"unread     files: {', '.join(parts)}"] if parts else []


def files_ruled_out(
    unit: ReadUnit, condition: pc.Expression, schema: pa.Schema, tested: Sequence[str]
) -> bool:
    """Whether the files of a unit surely hold no row that meets a condition, by its `file_test`.

    Where its changes add or replace rows, these are to be read all the same.
    """
    counted = settled_columns(unit, tested) - unit.partition.keys()
    if unit.file_test is None or not counted:
        return False
    fields = pa.schema([schema.field(name) for name in tested])
    return not unit.file_test(condition, fields, counted)


def settled_columns(unit: ReadUnit, names: Collection[str]) -> frozenset[str]:
    """Columns among `names` whose values in a unit's files are those of its rows.

    By these a filter may rule out rows before the unit's changes are applied. A column that an
    event or a merge may change is none: a replaced version of a row could meet a filter that the
    row itself does not, or the other way round.
    """
    changes = unit.changes
    if isinstance(changes, Mask | KeyMask | None):
        return frozenset(names)
    keys = changes.keys if isinstance(changes, Runs) else changes.key_columns
    return frozenset(names).intersection({*keys, *unit.partition})


def _is_known(unit: ReadUnit) -> bool:
    """Whether anything is known of the rows of a unit."""
    known = (unit.guarantee, unit.file_test)
    has_ranges = isinstance(unit.changes, Runs) or any(file.statistics for file in unit.files[:1])
    return bool(unit.partition) or has_ranges or any(one is not None for one in known)


def _rule_out(
    by: Literal["group", "unit"],
    units: Sequence[ReadUnit],
    ruled: list[RuledOutBy | None],
    condition: pc.Expression,
    schema: pa.Schema,
    tested: Sequence[str],
) -> None:
    """Enter which of the units that are left are ruled out by what holds for all of their rows."""
    # Units of one partition share its values: they are looked at once.
    numbers: dict[tuple[int, int, int], int] = {}
    guarantees: list[pc.Expression | None] = []
    of_units: list[int | None] = []
    alive: list[object] = []
    for unit, known in zip(units, ruled, strict=True):
        if known is not None:
            of_units.append(None)
            continue
        said = None if by == "group" else unit.guarantee
        of_file = None if by == "group" else _statistics(unit, schema)
        alive.append(of_file)  # while numbers tell objects apart, none may go
        key = id(unit.partition), id(said), id(of_file)
        if key not in numbers:
            numbers[key] = len(guarantees)
            others = [name for name in tested if name not in unit.partition]
            further = [
                None if said is None else said(others),
                None if of_file is None or not others else guarantee_of(of_file(others)),
            ]
            guarantees.append(_guarantee(unit.partition, further))
        of_units.append(numbers[key])
    left = set(that_may_match(guarantees, condition, schema))
    for at, number in enumerate(of_units):
        if number is not None and number not in left:
            ruled[at] = by


def groups_by_key(
    key_columns: Collection[str], condition: pc.Expression, tested: Sequence[str], schema: pa.Schema
) -> Callable[[FileReader], Sequence[int]] | None:
    """Which row groups of a merged file can hold keys that a condition lets through.

    Values below the merge may be stale, but keys are not. `key_columns` are those whose values no
    change replaces. None where the condition says nothing of keys.
    """
    keys = frozenset(tested).intersection(key_columns)
    if not keys:
        return None
    fields = pa.schema([schema.field(name) for name in tested])
    return lambda reader: reader.row_groups_that_may_match(condition, fields, counted=keys)


def keyless_may_match(
    keys: Collection[str], condition: pc.Expression, tested: Collection[str], schema: pa.Schema
) -> bool:
    """Whether rows without a value of some key may meet a condition.

    An event may hold some values of a row alone, and leave the key's columns to the file: where the
    row group of its row is left out, it comes without them.
    """
    fields = pa.schema([schema.field(name) for name in tested])
    lacking = [pc.field(name).is_null() for name in sorted({*keys}.intersection(tested))]
    return bool(that_may_match(lacking, condition, fields))


def rules_some_out(
    unit: ReadUnit, condition: pc.Expression | None, schema: pa.Schema, tested: Sequence[str]
) -> bool:
    """Whether a condition leaves out a unit, or row groups of its file by their keys."""
    if condition is None:
        return False
    if not units_that_may_match([unit], condition, schema, tested)[0]:
        return True
    if isinstance(unit.changes, Mask | KeyMask | Runs | None):
        return False
    groups_of = groups_by_key(unit.changes.key_columns, condition, tested, schema)
    if groups_of is None:
        return False
    if files_ruled_out(unit, condition, schema, tested):
        return True
    reader = unit.files[0].open()
    return len(groups_of(reader)) < reader.num_row_groups


def _in_buckets(units: Sequence[ReadUnit], condition: pc.Expression) -> list[bool]:
    """For each unit whether its bucket may hold keys that meet a condition."""
    by_buckets: dict[int, Collection[int] | None] = {}
    kept = []
    for unit in units:
        numbers = None
        if unit.bucket is not None:
            buckets, number = unit.bucket
            if id(buckets) not in by_buckets:
                by_buckets[id(buckets)] = buckets.numbers(condition)
            numbers = by_buckets[id(buckets)]
        kept.append(numbers is None or number in numbers)
    return kept


def _statistics(
    unit: ReadUnit, schema: pa.Schema
) -> Callable[[Collection[str]], FileStatistics] | None:
    """Those of the unit's files, where all of its rows are rows of these."""
    is_alone = len(unit.files) == 1 and not unit.made
    if is_alone and isinstance(unit.changes, Mask | KeyMask | None):
        return unit.files[0].statistics
    if isinstance(unit.changes, Runs) and not unit.made:
        return functools.partial(of_runs, unit, schema)
    return None


def _guarantee(
    values: Mapping[str, pa.Scalar], further: Sequence[pc.Expression | None]
) -> pc.Expression | None:
    parts = (
        pc.field(name) == value if value.is_valid else pc.field(name).is_null()
        for name, value in values.items()
    )
    return all_of(*further, *parts)
