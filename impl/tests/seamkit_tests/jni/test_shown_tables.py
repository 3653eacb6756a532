"""What a scanner's author appended can be read back in Java, by rows and as a picture."""

from collections.abc import Callable
from typing import Any

import pytest

from seambench_impl.column_java import _to_java, case_classes
from seamkit_tests.samples.lacking import OrSkipped

pytestmark = pytest.mark.jvm

#: Of each column its type, values as cases spell them, and how these are shown.
_COLUMNS: dict[str, tuple[str, list[Any], list[str]]] = {
    "b": ("boolean", [True, None, False], ["true", "NULL", "false"]),
    "t": ("tinyint", [-128, None, 127], ["-128", "NULL", "127"]),
    "s": ("smallint", [-2, None, 0], ["-2", "NULL", "0"]),
    "i": ("int", [2**31 - 1, None, 0], ["2147483647", "NULL", "0"]),
    "l": ("bigint", [-(2**63), None, 1], ["-9223372036854775808", "NULL", "1"]),
    "f": ("float", [1.5, None, 0.25], ["1.5", "NULL", "0.25"]),
    "d": ("double", [-0.0, None, 2.5], ["-0.0", "NULL", "2.5"]),
    "n": ("decimal(9,2)", ["-1.25", None, "0.00"], ["-1.25", "NULL", "0.00"]),
    "w": (
        "decimal(38,3)",
        ["-9999999999999999999.001", None, "1.000"],
        ["-9999999999999999999.001", "NULL", "1.000"],
    ),
    "day": ("date", ["1969-12-31", None, "2020-02-29"], ["1969-12-31", "NULL", "2020-02-29"]),
    "ts": (
        "timestamp",
        ["1969-12-31 23:59:59.999999", None, "2020-02-29 12:00:00"],
        ["1969-12-31 23:59:59.999999", "NULL", "2020-02-29 12:00:00"],
    ),
    "x": ("binary", ["00ff", None, ""], ["00ff", "NULL", ""]),
    "u": ("string", ["grün", None, ""], ["grün", "NULL", ""]),
    "a": ("array<int>", [[1, None], None, []], ["[1, NULL]", "NULL", "[]"]),
    "m": ("map<string,bigint>", [[["k", 2]], None, []], ["{k: 2}", "NULL", "{}"]),
    "r": (
        "struct<p:int,q:array<string>>",
        [[7, ["", None]], None, [None, []]],
        ["{p: 7, q: [, NULL]}", "NULL", "{p: NULL, q: []}"],
    ),
}


@pytest.fixture(scope="module")
def java() -> Any:
    """The classes of a scanner, and values of cases."""
    with OrSkipped():
        return case_classes()


def _table(java: Any) -> Any:
    jpype = java.jpype
    column_type = java.java_class("seamkit.offheap.ColumnType")
    array = jpype.JClass("java.lang.reflect.Array")
    types = array.newInstance(column_type.class_, len(_COLUMNS))
    for i, (text, _, _) in enumerate(_COLUMNS.values()):
        array.set(types, i, column_type(text))
    memory = java.java_class("seamkit.offheap.Memory")(0)
    names = jpype.JArray(jpype.JString)(list(_COLUMNS))
    table = java.java_class("seamkit.offheap.OffHeapTable")(types, names, 1, memory, False)
    value = java.java_class("seambench.CaseValue")
    for i, (_, items, _) in enumerate(_COLUMNS.values()):
        for item in items:
            table.column(i).appendValue(value.of(_to_java(jpype, item), types[i]))
    table.setNumRows(3)
    return table


def test_a_table_is_shown(java: Any) -> None:
    """Each kind, NULLs, empty ones, nested ones: a line a row, below the names."""
    table = _table(java)
    shown = [column[2] for column in _COLUMNS.values()]
    lines = ["\t".join(_COLUMNS), *("\t".join(row) for row in zip(*shown, strict=True))]
    assert str(table.show(100)) == "".join(f"{line}\n" for line in lines)
    assert str(table.show(1)).splitlines() == lines[:2]
    table.close()


def test_rows_are_read_by_their_numbers(java: Any) -> None:
    """Values by the column's own width; another width, and a row that is none, are refused."""
    table = _table(java)
    column = dict(zip(_COLUMNS, map(table.column, range(len(_COLUMNS))), strict=True))
    assert (column["i"].getInt(0), column["l"].getLong(0)) == (2**31 - 1, -(2**63))
    assert [bool(column["u"].isNullAt(row)) for row in range(3)] == [False, True, False]
    assert str(column["u"].getUTF8String(0)) == "grün"
    wrong: list[Callable[[], Any]] = [
        lambda: column["i"].getInt(3),
        lambda: column["i"].getInt(-1),
        lambda: column["i"].getLong(0),
        lambda: column["i"].getUTF8String(0),
        lambda: column["a"].getInt(0),
    ]
    for call in wrong:
        with pytest.raises(java.jpype.JException, match=r"has no row|has values of"):
            call()
    table.close()
