"""Which units and row groups a filter leaves to be read, by what is known before rows are."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import filter_columns
from seamkit.files.reader import FileReader
from seamkit.files.statistics import FileStatistics, guarantee_of, that_may_match
from seamkit.scan.units import KeyMask, Mask, ReadUnit, Runs

__all__ = ["groups_by_key", "leaves_out", "units_that_may_match"]


def units_that_may_match(
    units: Sequence[ReadUnit],
    condition: pc.Expression | None,
    schema: pa.Schema,
    tested: Sequence[str] | None = None,
) -> list[bool]:
    """For each unit whether it may have rows that meet a condition.

    Args:
        units: with the values of their partitions, their guarantees, their buckets, and files with
            statistics, which count where no row is added to the file's.
        condition: a filter, or None.
        schema: the columns that it and the guarantees name.
        tested: names of the columns that it tests, where the caller has looked already.
    """
    if condition is None:
        return [True] * len(units)
    in_bucket = _in_buckets(units, condition)
    if not any(u.partition or u.guarantee is not None or _statistics(u) for u in units):
        return in_bucket
    tested = filter_columns(condition, schema) if tested is None else tested
    # Units of one partition share its values: they are looked at once.
    numbers: dict[tuple[int, int, int], int] = {}
    guarantees: list[pc.Expression | None] = []
    of_units = []
    for unit in units:
        of_file = _statistics(unit)
        key = id(unit.partition), id(unit.guarantee), id(of_file)
        if key not in numbers:
            numbers[key] = len(guarantees)
            further = [
                None if unit.guarantee is None else unit.guarantee(tested),
                None if of_file is None else guarantee_of(of_file(tested)),
            ]
            guarantees.append(_guarantee(unit.partition, further))
        of_units.append(numbers[key])
    left = set(that_may_match(guarantees, condition, schema))
    return [kept and number in left for kept, number in zip(in_bucket, of_units, strict=True)]


def groups_by_key(
    key_columns: Collection[str],
    condition: pc.Expression | None,
    tested: Sequence[str],
    schema: pa.Schema,
) -> Callable[[FileReader], Sequence[int]] | None:
    """Which row groups of a merged file can hold keys that a condition lets through.

    Values below the merge may be stale, but keys are not.

    Args:
        key_columns: the columns whose values no change replaces.
        condition: a filter, or None.
        tested: names of the columns that it tests.
        schema: has these.

    Returns:
        None where the condition says nothing of keys.
    """
    keys = frozenset(tested).intersection(key_columns)
    if condition is None or not keys:
        return None
    fields = pa.schema([schema.field(name) for name in tested])
    return lambda reader: reader.row_groups_that_may_match(condition, fields, counted=keys)


def leaves_out(
    unit: ReadUnit,
    condition: pc.Expression | None,
    schema: pa.Schema,
    tested: Sequence[str],
) -> bool:
    """Whether a condition leaves out a unit, or row groups of its file by their keys.

    Args:
        unit: of any kind.
        condition: a filter, or None.
        schema: the columns that it names.
        tested: names of those that it tests.

    Raises:
        InputError: the file is missing or broken.
    """
    if not units_that_may_match([unit], condition, schema, tested)[0]:
        return True
    if isinstance(unit.changes, Mask | KeyMask | Runs | None):
        return False
    groups_of = groups_by_key(unit.changes.key_columns, condition, tested, schema)
    if groups_of is None:
        return False
    reader = unit.files[0].open()
    return len(groups_of(reader)) < reader.num_row_groups


def _in_buckets(units: Sequence[ReadUnit], condition: pc.Expression) -> list[bool]:
    """For each unit whether its bucket may hold keys that meet a condition."""
    found: dict[int, Collection[int] | None] = {}
    kept = []
    for unit in units:
        numbers = None
        if unit.bucket is not None:
            buckets, number = unit.bucket
            if id(buckets) not in found:
                found[id(buckets)] = buckets.numbers(condition)
            numbers = found[id(buckets)]
        kept.append(numbers is None or number in numbers)
    return kept


def _statistics(unit: ReadUnit) -> Callable[[Collection[str]], FileStatistics] | None:
    """Those of the unit's file, where all of its rows are rows of that file."""
    if len(unit.files) == 1 and isinstance(unit.changes, Mask | KeyMask | None):
        return unit.files[0].statistics
    return None


def _guarantee(
    values: Mapping[str, pa.Scalar], further: Sequence[pc.Expression | None]
) -> pc.Expression | None:
    parts = [one for one in further if one is not None]
    parts += [
        pc.field(name) == value if value.is_valid else pc.field(name).is_null()
        for name, value in values.items()
    ]
    return functools.reduce(operator.and_, parts) if parts else None
