"""The connector path: one row at a time, as connectors behind a language border work.

It is the executable description of the seam, and a witness for the merge path. Records are Python
values, and the merge is a dictionary; how their values cross is in `unit_rows`.

It shares with the merge path what is asked and what the files say: the plan (slices, the timeline,
the table's properties), the blocks that count in their order, the records of delete blocks, and the
columns of files whose rows only come as columns: base files in ORC, of two files, or from before
columns were renamed. How records are known, ordered, deleted, merged, renamed and cast is written
here once more, and nothing below is imported from `seamkit.tables.hudi.merge`.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.schema import arrow_type, parse_schema
from seamkit.connector.plain_values import floating_text, row_converter
from seamkit.files.parquet import PARQUET_ERRORS, ParquetReader, open_parquet
from seamkit.scan.units import ReadContext
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.config.properties import MergeRules
from seamkit.tables.hudi.listing.files import FileSlice
from seamkit.tables.hudi.listing.log_blocks import (
    SliceLogs,
    defaults_of,
    read_ordered_blocks,
    refuse_pieces,
)
from seamkit.tables.hudi.log.deletes import DeleteKeys
from seamkit.tables.hudi.log.log import LogBlock, avro_records
from seamkit.tables.hudi.timeline.window import file_names

_FETCH_SIZE = 4096
_KEY, _GONE, _OPERATION = "_hoodie_record_key", "_hoodie_is_deleted", "_hoodie_operation"
Row = Mapping[str, Any]
_Convert = Callable[[Any], Any]


class PlannedSlice(Protocol):
    """What the planner says of a unit: a slice, and how its logs are read."""

    @property
    def slice_(self) -> FileSlice:
        """Base file, logs, or both."""

    @property
    def source(self) -> SliceLogs:
        """How its logs are read."""


@dataclass(frozen=True)
class _Version:
    """A version of a record; `row` None is a delete.

    `order` None is a delete without an ordering value: it beats what came before it. A version of
    a partial update has some columns only. `listed` is true for a delete of a delete block.
    """

    row: Row | None
    order: tuple[Any, ...] | None
    listed: bool = False


@dataclass(frozen=True)
class _Rules:
    """What the table says of its records, worked out once a slice."""

    logs: SliceLogs  # how its logs are read
    schema: pa.Schema  # the columns that are read
    merge: MergeRules  # how two versions become one

    @classmethod
    def of(cls, logs: SliceLogs, names: Sequence[str]) -> _Rules:
        """For some columns, and those by which records are known, ordered and deleted."""
        merge, known = logs.config.merge, logs.schema.names
        by = [*logs.config.record_keys, _KEY, _GONE, _OPERATION]
        by += logs.config.ordered_by
        by += [merge.delete_marker.column] if merge.delete_marker else []
        roots = (name if name in known else name.partition(".")[0] for name in by)
        read = dict.fromkeys([*names, *(root for root in roots if root in known)])
        return cls(logs, pa.schema([logs.schema.field(name) for name in read]), merge)

    @property
    def root(self) -> str:
        """The table, for messages."""
        return self.logs.storage.root

    @cached_property
    def order(self) -> tuple[pa.Field, ...]:
        """The ordering fields; none where the last write wins."""
        names = self.logs.config.ordered_by
        return tuple(filter(None, (_field(self.schema, name) for name in names)))

    @cached_property
    def made_of(self) -> tuple[pa.Field, ...]:
        """The fields that keys are made of; none where rows have their key."""
        if not self.logs.config.virtual_keys:
            return ()
        names = self.logs.config.record_keys
        found = tuple(filter(None, (_field(self.schema, name) for name in names)))
        if not found or len(found) < len(names):
            raise RefusedError(
                f"{self.root}: the key fields {', '.join(names)} are not all in the schema"
            )
        return found

    def for_blocks(self, blocks: Sequence[LogBlock]) -> _Rules:
        """The same as the blocks of a slice have it.

        Hudi goes by what blocks hold alone where one is of partial updates. The operation of a row
        is a column that changelog writers keep and the table's schema does not have.
        """
        merge, schema = self.merge, self.schema
        if any(block.is_partial for block in blocks):
            merge = replace(merge, fill_rule=None)
        tells = any(f'"{_OPERATION}"' in (block.schema or "") for block in blocks)
        if tells and _OPERATION not in schema.names:
            schema = schema.append(pa.field(_OPERATION, pa.string()))
        return _Rules(self.logs, schema, merge)

    def refuse(self, slice_: FileSlice) -> None:
        """Refuse logs that cannot be merged: by the user's code, or without a column it takes."""
        _ = self.made_of
        marker = self.merge.delete_marker
        for name in [*self.logs.config.ordered_by, *([marker.column] if marker else ())]:
            if _field(self.logs.schema, name) is None:
                raise RefusedError(
                    f"{self.root}: versions of a record are merged by the column '{name}', which "
                    "is not among the table's columns"
                )
        if self.merge.mode == "custom":
            payload = self.logs.config.raw.get("hoodie.compaction.payload.class", "a custom merger")
            raise RefusedError(
                f"{self.root}: file group {slice_.file_id} has logs, and records are merged by "
                f"{payload}, which is not supported"
            )


def _field(schema: pa.Schema, name: str) -> pa.Field | None:
    """A field under its full name, which may lie inside structs; None if there is none."""
    kind: pa.DataType = pa.struct(list(schema))
    for part in [name] if name in schema.names else name.split("."):
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return None
        kind = kind.field(part).type
    return pa.field(name, kind)


def merged_rows(planned: PlannedSlice, names: Sequence[str], context: ReadContext) -> Iterator[Row]:
    """Base rows as the logs leave them, then rows that only the logs have; each has all names."""
    return ({name: row.get(name) for name in names} for row in _merged(planned, names, context))


def _merged(planned: PlannedSlice, names: Sequence[str], context: ReadContext) -> Iterator[Row]:
    slice_, rules = planned.slice_, _Rules.of(planned.source, names)
    if not slice_.logs:
        yield from _base_rows(slice_, rules)
        return
    rules.refuse(slice_)
    logs = replace(rules.logs, schema=rules.schema)
    blocks = read_ordered_blocks(slice_, logs, context.warnings)
    by_table, rules = rules.merge, rules.for_blocks(blocks)
    newest = _fold(blocks, rules, by_table)
    for row in _base_rows(slice_, rules):
        # The first row of a doubled key uses its version up.
        version = newest.pop(_key_of(row, rules), None)
        if version is None:
            yield row
            continue
        merged = _merge(_Version(row, _order_of(row, rules)), version, rules)
        if merged.row is not None:
            yield merged.row
    for version in newest.values():
        if version.row is not None:
            yield version.row


def _base_rows(slice_: FileSlice, rules: _Rules) -> Iterator[Row]:
    if slice_.base is None:
        return
    storage, schema = rules.logs.storage, rules.schema
    name = storage.full(slice_.base.path)
    reader = open_slice_base(storage, slice_.base)
    if not isinstance(reader, ParquetReader):  # its rows only come as columns
        for batch in reader.batches(schema, _FETCH_SIZE, use_threads=False):
            yield from batch.to_pylist()
        return
    try:
        file = reader.opened().file
        present = [n for n in schema.names if n in file.schema_arrow.names]
        convert = row_converter(_columns(file), schema, name)
        for batch in file.iter_batches(batch_size=_FETCH_SIZE, columns=present):
            yield from map(convert, batch.to_pylist())
    except PARQUET_ERRORS as error:
        raise InputError(f"{name}: not readable as Parquet ({error})") from error


def _fold(blocks: Sequence[LogBlock], rules: _Rules, by_table: MergeRules) -> dict[str, _Version]:
    """The newest version of every record key, in scan order."""
    # Until the first partial update records are merged as the table says.
    newest: dict[str, _Version] = {}
    own = replace(rules, merge=by_table)
    for block in blocks:
        own = rules if block.is_partial else own
        for key, version in _versions(block, rules):
            older = newest.get(key)
            newest[key] = version if older is None else _merge(older, version, own)
    return newest


def _merge(older: _Version, newer: _Version, rules: _Rules) -> _Version:
    if _wins(older, newer, rules):
        return _put_together(newer, older, rules)
    return _put_together(older, newer, rules)


def _wins(older: _Version, newer: _Version, rules: _Rules) -> bool:
    if not rules.order or newer.order is None:
        return not (rules.order and older.order is None and newer.listed)
    if older.order is None:  # a delete without an ordering value; a second one changes nothing
        return not newer.listed
    for old, new in zip(older.order, newer.order, strict=True):
        if (old is None) != (new is None):
            raise RefusedError(
                f"{rules.root}: a null and a value of an ordering column have no defined order"
            )
        if old is not None and _java_order(old) != _java_order(new):
            return bool(_java_order(new) > _java_order(old))
    return True


def _java_order(value: Any) -> Any:
    """Floats as Java orders them: -0.0 before 0.0, NaN last."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value, math.copysign(1.0, value))
    return value


def _put_together(high: _Version, low: _Version, rules: _Rules) -> _Version:
    """The higher version, its gaps filled from the lower one."""
    if high.row is None or low.row is None:
        return high
    fill = rules.merge.fill_rule
    if fill is None and high.row.keys() >= low.row.keys():
        return high
    row = {**low.row, **high.row}
    if fill is not None:
        for name, value in high.row.items():
            gap = value is None if fill.gaps == "defaults" else value == fill.marker
            if gap:
                row[name] = low.row.get(name)
    return _Version(row, high.order)


def _versions(block: LogBlock, rules: _Rules) -> Iterator[tuple[str, _Version]]:
    if block.kind == "delete":
        yield from _deletes(block, block.delete_keys(), rules)
        return
    held = None
    if block.is_partial:
        held = frozenset(parse_schema(block.schema or "null").names)
    for row in _rows_of(block, rules):
        order = _order_of(row, rules)
        if _is_delete(row, rules):
            none = _stands_for_none(order, rules)
            yield _key_of(row, rules), _Version(None, None if none else order)
        else:
            own = row if held is None else {name: row[name] for name in row if name in held}
            yield _key_of(row, rules), _Version(own, order)


def _deletes(block: LogBlock, deletes: DeleteKeys, rules: _Rules) -> Iterator[tuple[str, _Version]]:
    """A delete block knows records by the text of their key, which must be that of the rows."""
    # Points in time are numbers there, or texts of the writer's clock, of which the table says
    # nothing; and not every type has a text that is known.
    for field in rules.made_of:
        if not (_is_plain(field.type) or pa.types.is_timestamp(field.type)):
            raise RefusedError(
                f"{rules.root}: deletes know records by the text of the key field '{field.name}', "
                f"and texts of {field.type} are not supported; compact the table with Hudi, so "
                "that no log is left"
            )
    for key, value, word in zip(
        deletes.record_keys, deletes.ordering_values, deletes.ordering_types, strict=True
    ):
        if key is None:
            raise InputError(f"{block.where}: a delete without a record key")
        key = key.removeprefix(rules.logs.config.delete_prefix)
        for field in rules.made_of:
            if pa.types.is_timestamp(field.type) and not _has_number(key, field.name, rules):
                raise RefusedError(
                    f"{block.where}: the record key {key!r} of a delete has no number for the "
                    f"point in time '{field.name}', and texts of the clock are not supported "
                    "there; compact the table with Hudi, so that no log is left"
                )
        yield key, _Version(None, _delete_order(value, word, rules), listed=True)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether Hudi's text of a value is that of `_key_text`."""
    names = ("integer", "floating", "string", "boolean", "date32", "decimal")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def _has_number(key: str, name: str, rules: _Rules) -> bool:
    """Whether a key has a number, or null, for one of the fields that it is made of."""
    if len(rules.made_of) == 1:
        return re.fullmatch(r"-?[0-9]+", key) is not None
    return re.search(rf"(?:^|,){re.escape(name)}:(?:-?[0-9]+|__null__)(?:,|$)", key) is not None


def _key_of(row: Row, rules: _Rules) -> str:
    """The text that names a record; without meta columns it is made of the key fields."""
    if not rules.made_of:
        if row[_KEY] is None:
            raise InputError(f"{rules.root}: a record without a key (column '{_KEY}' is null)")
        return str(row[_KEY])
    texts = [_key_text(_leaf(row, field.name), field.type) for field in rules.made_of]
    names = [field.name for field in rules.made_of]
    if all(text is None for text in texts):
        raise InputError(f"{rules.root}: a record without a key ({', '.join(names)})")
    if len(names) == 1:
        return str(texts[0])
    shown = ["__null__" if text is None else text or "__empty__" for text in texts]
    return ",".join(f"{name}:{text}" for name, text in zip(names, shown, strict=True))


def _key_text(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, float):
        return floating_text(value, kind)
    if isinstance(value, dt.datetime):
        epoch = dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return str((value - epoch) // dt.timedelta(microseconds=1))
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def _is_delete(row: Row, rules: _Rules) -> bool:
    if row.get(_GONE) or row.get(_OPERATION) in ("D", "-U"):
        return True
    marker = rules.merge.delete_marker
    value = None if marker is None else _leaf(row, marker.column)
    if marker is None or value is None:
        return False
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = (value - dt.date(1970, 1, 1)).days
    elif not isinstance(value, bool | int | str):
        raise RefusedError(
            f"{rules.root}: deletes are marked by the column '{marker.column}', and values such as "
            f"{value!r:.80} are not supported for that"
        )
    return (str(value).lower() if isinstance(value, bool) else str(value)) == marker.text


def _rows_of(block: LogBlock, rules: _Rules) -> Iterator[Row]:
    """The rows of a data block, under the names that the read shows."""
    schema, logs = rules.schema, rules.logs
    read = _parquet_rows if block.kind == "parquet" else _avro_rows
    names = file_names(logs.timeline, logs.window, block.instant)
    if names is None:
        defaults = {} if block.kind == "parquet" else defaults_of(block, logs, schema)
        rows = read(block, schema)
        yield from ({**row, **defaults} for row in rows) if defaults else rows
        return
    if block.is_partial:
        raise RefusedError(
            f"{block.where}: a partial update from before columns were renamed is not supported"
        )
    own = names.finder(block.where).file_schema(schema)
    rename = _renamer(pa.struct(list(own)), pa.struct(list(schema)))
    yield from map(rename, read(block, own))


def _renamer(have: pa.DataType, want: pa.DataType) -> _Convert:
    """Gives structs the names of another type, which differs in names alone, at every depth."""
    if pa.types.is_struct(have):
        pairs = [
            (old.name, new.name, _renamer(old.type, new.type))
            for old, new in zip(have, want, strict=True)
        ]
        return lambda value: value and {new: turn(value.get(old)) for old, new, turn in pairs}
    if pa.types.is_list(have):
        item = _renamer(have.value_type, want.value_type)
        return lambda value: None if value is None else [item(one) for one in value]
    if pa.types.is_map(have):
        inner = _renamer(have.item_type, want.item_type)
        return lambda value: value and {key: inner(one) for key, one in dict(value).items()}
    return lambda value: value


def _avro_rows(block: LogBlock, schema: pa.Schema) -> Iterator[Row]:
    convert = row_converter(_avro_columns(block, schema), schema, block.where)
    for record in avro_records(block):
        yield convert(record.row)


def _parquet_rows(block: LogBlock, schema: pa.Schema) -> Iterator[Row]:
    if len(block.content):
        try:
            content = pa.BufferReader(pa.py_buffer(block.content))
            file = open_parquet(content, block.where, coerce_int96_timestamp_unit="us")
            refuse_pieces(file.schema_arrow, schema, block.where)
            convert = row_converter(_columns(file), schema, block.where)
            for batch in file.iter_batches(batch_size=_FETCH_SIZE):
                yield from map(convert, batch.to_pylist())
        except PARQUET_ERRORS as error:
            raise InputError(f"{block.where} is not readable: {error}") from error


def _columns(file: pq.ParquetFile) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in file.schema_arrow}


def _avro_columns(block: LogBlock, schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of a block's fields that are asked for; others may have no Arrow type."""
    writer = parse_schema(block.schema or "null")
    fields = zip(writer.names, writer.children, strict=True)
    wanted = set(schema.names)
    return {
        name: arrow_type(avro, f"{block.where}: field '{name}'")
        for name, avro in fields
        if name in wanted
    }


def _leaf(row: Row, name: str) -> Any:
    """The value of a field, which may lie inside structs."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        value = None if value is None else value.get(part)
    return value


def _order_of(row: Row, rules: _Rules) -> tuple[Any, ...]:
    """The ordering values of a record; a null where Java has an `Integer` counts as 0."""
    values = []
    for field in rules.order:
        value = _leaf(row, field.name)
        values.append(_zero(field.type) if value is None else value)
    return tuple(values)


def _zero(kind: pa.DataType) -> Any:
    """The integer 0 as a column has it that Hudi's Spark reader holds as `Integer`; else None."""
    if pa.types.is_date32(kind):
        return dt.date(1970, 1, 1)
    return 0 if pa.types.is_int32(kind) else None


def _stands_for_none(order: tuple[Any, ...], rules: _Rules) -> bool:
    """Whether these are the integer 0, which in a delete stands for no ordering value."""
    if rules.merge.runs_class:
        return True
    return len(order) == 1 and order[0] == _zero(rules.order[0].type)


def _delete_order(value: Any, word: str, rules: _Rules) -> tuple[Any, ...] | None:
    """The ordering value of a delete, or None: absent, integer 0, or not of the column's type."""
    if not rules.order or word == "null" or (word == "int" and value == 0):
        return None
    if rules.merge.runs_class:
        return None
    items = value if word == "array" else ((word, value),)
    if items is None or (word == "array") != (len(rules.order) > 1):
        return None
    if len(items) != len(rules.order):
        raise InputError(f"{rules.root}: a delete has {counted(len(items), 'ordering value')}")
    order = []
    for field, (kind, plain) in zip(rules.order, items, strict=True):
        if kind != "null" and kind not in _java_classes(field.type):
            return None
        order.append(None if plain is None else _of_column(plain, field.type))
    return tuple(order)


def _java_classes(kind: pa.DataType) -> Sequence[str]:
    """The types of a delete's ordering value that Java compares with a column's: of one class."""
    if pa.types.is_timestamp(kind):
        return "long", "timestamp-micros"
    if pa.types.is_time64(kind):
        return "long", "time-micros"
    if pa.types.is_time32(kind):
        return ("int",)
    if pa.types.is_decimal(kind):
        return ("decimal",)
    names = {"int32": "int", "int64": "long", "bool": "boolean", "date32[day]": "date"}
    plain = {"float": "float", "double": "double", "string": "string"}
    known = {**names, **plain}.get(str(kind))
    return () if known is None else (known,)


def _of_column(value: Any, kind: pa.DataType) -> Any:
    """An ordering value as rows of the base have it: points in time come in microseconds."""
    if pa.types.is_timestamp(kind):
        if kind.unit == "ms" and value <= 9_999_999_999_999:
            value *= 1000
        return pa.scalar(value, pa.timestamp("us", kind.tz)).cast(kind).as_py()
    if pa.types.is_date32(kind) or pa.types.is_time(kind):
        return (
            pa.scalar(value, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind).as_py()
        )
    return value
