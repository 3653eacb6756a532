"""Whoever breaks a rule of rows fails in every format, with a reason that tells it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import RefusedError
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.contracts.registry import resolve
from seambench.seams.scan.cases import ScanCase
from seambench_suites.meta.bent import Bend, members, scans

_EMPTY: Mapping[str, Any] = {"int32": 0, "int64": 0, "string": "", "double": 0.0, "bool": False}


def _each(table: pa.Table, change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> pa.Table:
    return pa.table([change(column) for column in table.columns], table.schema.names)


def _a_deleted_row(table: pa.Table) -> pa.Table:
    """A row more than there is, whose values others have."""
    first, last = table.slice(0, 1), table.slice(table.num_rows - 1)
    mixed = [first.column(0), *last.columns[1:]]
    return pa.concat_tables([table, pa.table(mixed, schema=table.schema)])


def _older_wins(table: pa.Table) -> pa.Table:
    """Keys with the values of others, as if changes were applied in another order."""
    order = [*range(1, table.num_rows), 0]
    return table.set_column(0, table.schema.names[0], table.column(0).take(order))


def _numbers_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_integer(column.type) else column


def _nulls_as_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    empty = _EMPTY.get(str(column.type))
    return column if empty is None else pc.fill_null(column, empty)


def _items_joined(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of a list as one that looks like several; of other lists the first item."""
    if not pa.types.is_list(column.type):
        return column
    is_text = pa.types.is_string(column.type.value_type)
    rows = [
        row and ([",str:".join(map(str, row))] if is_text else row[:1])
        for row in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(rows, column.type)])


def _refused(*_: Any) -> Any:
    raise RefusedError("no table is read")


RULES: Mapping[str, Bend] = {
    "deletes are ignored": scans(table=_a_deleted_row),
    "a row is lost": scans(table=lambda table: table.slice(1)),
    "changes are applied in another order": scans(table=_older_wins),
    "numbers are text": scans(table=lambda table: _each(table, _numbers_as_text)),
    "nulls are empty": scans(table=lambda table: _each(table, _nulls_as_empty)),
    "a page comes twice": scans(table=lambda table: pa.concat_tables([table, table])),
    "all is refused": members(open=_refused),
    "nothing is there": scans(table=lambda table: table.slice(0, 0)),
    "items of lists are joined": scans(table=lambda table: _each(table, _items_joined)),
}

_FORMATS = ("delta", "hive", "hudi", "iceberg", "paimon")


def _columns(case: ScanCase) -> Iterator[list[object]]:
    """Values of each column of a case's answer."""
    return (list(column) for column in zip(*case.expected_answers()[0], strict=True))


def _has_keys(case: ScanCase) -> bool:
    first = next(_columns(case), [])
    return len({repr(value) for value in first}) == len(first) > 1


def _has_nulls(case: ScanCase) -> bool:
    return any(
        None in column and any(type(value) in (int, str) for value in column)
        for column in _columns(case)
    )


def _has_lists(case: ScanCase) -> bool:
    """Lists of several items; the entries of maps are pairs."""
    return any(
        isinstance(value, list) and len(value) > 1 and not isinstance(value[0], tuple)
        for column in _columns(case)
        for value in column
    )


def _has_numbers(case: ScanCase) -> bool:
    return any(type(value) is int for column in _columns(case) for value in column)


_NEEDS: dict[str, Callable[[ScanCase], bool]] = {
    "numbers are text": _has_numbers,
    "nulls are empty": _has_nulls,
    "items of lists are joined": _has_lists,
}


def _chosen(rule: str) -> list[ScanCase]:
    """The first case of each format that must be right and to which the rule applies."""
    asks = _NEEDS.get(rule, _has_keys)
    found: dict[str, ScanCase] = {}
    for case in load_cases("scan"):
        assert isinstance(case, ScanCase)
        plain = not (case.refused or case.focus or case.request.where or case.expect.any_of)
        if (
            plain
            and case.level == "must"
            and case.group in _FORMATS
            and case.group not in found
            and asks(case)
        ):
            found[case.group] = case
    return list(found.values())


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_broken_is_found_in_every_format(rule: str) -> None:
    """A case of each format fails, and the reason says what was expected."""
    reader = RULES[rule](resolve("scan", "auto"))
    chosen = _chosen(rule)
    assert len(chosen) == len(_FORMATS)
    says = "refused what it offers" if rule == "all is refused" else "expected"
    for case in chosen:
        found = verdict(case, reader)
        assert (found.word, says in found.reason) == ("fail", True), (case.id, found.reason)
