"""Files of JSON, an object a line, as Hive's JsonSerDe reads them.

Names count in any case, the last of several for one column; `_col0`, as Hive's first versions call
columns by their places, is one, too. Unknown names are passed over, and so is what stands behind an
object's end.
A value of another kind than its column's ends Hive's query; it is refused here. Rows are turned one
by one, in Python.
These are the rules of HCatalog's serde. Hive's own has them, too, up to version 3; from 4 on it
makes other values of some (`HiveJsonReader`), and a table does not say by which it was written:
where they differ its rows are refused.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NoReturn

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.border import batch_of
from seamkit.files.reader import FileReader, RowsWanted
from seamkit.files.storage import Storage
from seamkit.tables.hive.line_reader import WHOLE, LineReader, parsed_value
from seamkit.tables.hive.row_format import RowFormat
from seamkit.tables.hive.types import HiveType, parse_type

_LINE = "line"
_BY_TEXT = ("decimal", "date", "timestamp")


class _Number(str):
    """A number as the file spells it."""

    __slots__ = ()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


class _Repeating(dict[str, Any]):
    """An object that has a name twice; `pairs` are all of its names and values, in their order."""

    pairs: Sequence[tuple[str, Any]]


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found = _Repeating(found)
        found.pairs = pairs
    return found


_DECODER = json.JSONDecoder(
    parse_int=_Number, parse_float=_Number, parse_constant=_no_number, object_pairs_hook=_object
)
_PLACE = re.compile(r"_col(\d+)", re.ASCII)
_WHOLE = re.compile(r"0|-?[1-9]\d*", re.ASCII)


class JsonReader(FileReader):
    """One file of JSON rows: a `FileReader`; `rows` tells header and footer.

    `of_hive`: the table's serde is Hive's own.
    """

    def __init__(
        self,
        storage: Storage,
        path: str,
        columns: Mapping[str, HiveType],
        rows: RowFormat,
        *,
        of_hive: bool = False,
    ) -> None:
        header, footer = rows.header_lines, rows.footer_lines
        whole = replace(WHOLE, header_lines=header, footer_lines=footer)
        self._lines = LineReader(storage, path, {_LINE: parse_type("string", path)}, whole)
        self.name = self._lines.name
        self.num_row_groups = self._lines.num_row_groups
        self._columns, self._names = columns, tuple(columns)
        self.schema = pa.schema([(name, kind.arrow) for name, kind in columns.items()])
        for name, kind in columns.items():
            _check(kind, f"{self.name}: column {name!r}")
        self._held: HiveType | None = None
        if of_hive:
            row, kinds = pa.struct(self.schema), tuple(columns.values())
            self._held = HiveType("struct", row, children=kinds, names=self._names)

    @cached_property
    def num_rows(self) -> int:
        """All rows, whether JSON or not; the file is read for that."""
        return self._lines.num_rows

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """See `LineReader.rows_in`."""
        return self._lines.rows_in(row_groups)

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`."""
        schema = wanted.schema
        for lines in self._lines.read(replace(wanted, schema=pa.schema([(_LINE, pa.string())]))):
            rows = [self._row(text) for text in lines.column(0).to_pylist()]
            columns = [self._column(rows, name) for name in schema.names]
            yield batch_of(columns, schema, len(rows))

    def _row(self, line: str) -> Mapping[str, Any]:
        try:
            row, _ = _DECODER.raw_decode(line.lstrip())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.name}: the line {line[:80]!r} is no JSON ({error})") from error
        if not isinstance(row, dict):
            raise InputError(f"{self.name}: the line {line[:80]!r} is no object")
        if self._held is not None and not _is_alike(row, self._held):
            raise RefusedError(
                f"{self.name}: of the line {line[:80]!r} Hive's own JsonSerDe makes other values "
                "since version 4 than before, which is not supported"
            )
        try:
            return _by_column(row, self._names)
        except ValueError as error:
            raise InputError(f"{self.name}: the line {line[:80]!r}: {error}") from error

    def _column(self, rows: Sequence[Mapping[str, Any]], name: str) -> pa.Array:
        kind = self._columns[name]
        try:
            return pa.array([_value(row.get(name), kind) for row in rows], kind.arrow)
        except (ValueError, OverflowError, pa.ArrowException) as error:
            raise InputError(f"{self.name}: column {name!r}: {error}") from error


def _check(kind: HiveType, where: str) -> None:
    if kind.word == "binary":
        raise RefusedError(f"{where}: Hive's JsonSerDe has no binary values")
    for child in kind.children:
        _check(child, where)


def _pairs(fields: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return fields.pairs if isinstance(fields, _Repeating) else fields.items()


def _by_column(fields: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Values by the names of columns, or of a struct's fields: of several for one the last."""
    found = {}
    for name, value in _pairs(fields):
        own, place = name.lower(), _PLACE.fullmatch(name)
        if place and own not in names:
            at = int(place[1])
            if name != f"_col{at}" or at >= len(names):
                raise ValueError(f"{name!r} is no place of {counted(len(names), 'column')}")
            own = names[at]
        found[own] = value
    return found


def _is_alike(value: Any, kind: HiveType) -> bool:
    """Whether Hive's own serde makes the same of a value since version 4 as before."""
    # It takes numbers with a fraction for doubles, goes by places before names, and of several
    # values of one name by the first one's place among them.
    if isinstance(value, _Repeating):
        return False
    if kind.word == "boolean":
        return value in (True, False, None, "true", "false")
    if isinstance(value, _Number) and kind.word in ("string", "varchar", "char", "decimal"):
        is_short = kind.word == "decimal" and sum(map(str.isdigit, value)) <= sys.float_info.dig
        return is_short or bool(_WHOLE.fullmatch(value))
    if isinstance(value, list) and kind.word == "array":
        return all(_is_alike(item, kind.children[0]) for item in value)
    if not isinstance(value, dict):
        return True
    if kind.word == "map":
        key, item = kind.children
        return all(_is_alike(name, key) and _is_alike(inner, item) for name, inner in value.items())
    known = dict(zip(kind.names, kind.children, strict=True))
    return not any(map(_PLACE.fullmatch, value)) and all(
        _is_alike(inner, known[name.lower()])
        for name, inner in value.items()
        if name.lower() in known
    )


def _value(value: Any, kind: HiveType) -> Any:
    if value is None:
        return None
    if kind.word in _BY_TEXT:
        return _by_text(_text(value), kind)
    return _MAKERS[kind.word](value, kind)


def _wrong(value: Any, kind: HiveType) -> ValueError:
    return ValueError(f"{str(value)[:80]!r} is no {kind.word}")


def _boolean(value: Any, kind: HiveType) -> bool:
    """True and its text in any case; all other values are false, as Java has them."""
    del kind
    return _text(value).lower() == "true"


def _number(value: Any, kind: HiveType) -> _Number:
    """A number; of a map's key not all that Python takes for one, such as `1_0`, is one of Java."""
    if not isinstance(value, _Number) or not value.isascii() or "_" in value or " " in value:
        raise _wrong(value, kind)
    return value


def _whole(value: Any, kind: HiveType) -> int:
    number = _number(value, kind)
    if number.lstrip("-").isdigit():
        return int(number)
    return int(float(number))  # cut off, as Java does


def _real(value: Any, kind: HiveType) -> float:
    return float(_number(value, kind))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    raise ValueError(f"{str(value)[:80]!r} is no text")


def _string(value: Any, kind: HiveType) -> str:
    text = _text(value)
    if not kind.length:
        return text
    return text[: kind.length].ljust(kind.length if kind.word == "char" else 0)


def _array(value: Any, kind: HiveType) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(value, kind)
    return [_value(item, kind.children[0]) for item in value]


def _map(value: Any, kind: HiveType) -> list[tuple[Any, Any]]:
    """Entries; of several whose keys are one in their type the last counts, as of one name's."""
    if not isinstance(value, dict):
        raise _wrong(value, kind)
    key, item = kind.children
    of_text = key.word in ("string", "varchar", "char")
    found = {
        _value(name if of_text else _Number(name), key): _value(inner, item)
        for name, inner in _pairs(value)
    }
    return list(found.items())


def _struct(value: Any, kind: HiveType) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, kind)
    fields = _by_column(value, kind.names)
    pairs = zip(kind.names, kind.children, strict=True)
    return {name: _value(fields.get(name), child) for name, child in pairs}


_MAKERS: Mapping[str, Callable[[Any, HiveType], Any]] = {
    "boolean": _boolean,
    "tinyint": _whole,
    "smallint": _whole,
    "int": _whole,
    "bigint": _whole,
    "float": _real,
    "double": _real,
    "string": _string,
    "varchar": _string,
    "char": _string,
    "array": _array,
    "map": _map,
    "struct": _struct,
}


def _by_text(text: str, kind: HiveType) -> Any:
    """A value whose text Hive parses; a decimal that does not fit is null, another is refused."""
    value = parsed_value(text, kind, "JSON").as_py()
    if value is None and kind.word != "decimal":
        raise _wrong(text, kind)
    return value
