"""What merges of all slices of a read share, and what tells the records of a slice apart.

Records are matched by typed columns where these tell them apart as the key's text does, because
that is cheaper. Delete blocks have the text alone. A table without meta columns has no text in its
rows either: there it is made of the key fields as Hudi's key generators make it (Hudi 1.2.0,
KeyGenerator.constructRecordKey).

The header `RECORD_POSITIONS` says which rows of the base file a block's records are: base64 of a
64-bit roaring bitmap in its portable form; the n-th set bit belongs to the n-th record. It counts
for the base file whose instant the header `BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS` names, and
for no other (Hudi 1.2.0, PositionBasedFileGroupRecordBuffer).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.files.expressions import RowTest, row_test
from seamkit.files.promotion import java_text
from seamkit.files.roaring import Positions, read_bitmap
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.listing.files import FileSlice
from seamkit.tables.hudi.listing.log_blocks import IS_DELETED, SliceLogs
from seamkit.tables.hudi.log.deletes import DeleteKeys
from seamkit.tables.hudi.log.log import LogBlock

RECORD_KEY = "_hoodie_record_key"
OPERATION = "_hoodie_operation"
_POSITION = "position"
_NULL = "__null__"
_EMPTY = "__empty__"
_TELL_VALUES = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_string,
    pa.types.is_boolean,
    pa.types.is_date32,
    pa.types.is_decimal,
)
"""Key fields of which one text is one value."""
_HAVE_TEXT = (*_TELL_VALUES, pa.types.is_timestamp)


class NullKeyFieldError(InputError):
    """A record lacks a field of its key, and has the key's text, which is to be compared then.

    Hudi 1.2.0 writes such records where a `MERGE INTO` has several matched clauses.
    """


@dataclass(frozen=True)
class SliceKeys:
    """How the records of one slice are matched."""

    schema: pa.Schema  # the key columns
    # fields of rows that they are, or are made of; none when rows go by position
    fields: tuple[str, ...]
    roots: tuple[str, ...]  # the columns that hold these, which may lie inside structs
    made: bool = False  # the single key column is text made of the fields
    times: tuple[str, ...] = ()  # those of the fields that are points in time, where it is made
    prefix: str = ""  # what may stand before the text of a delete, where it is made of one field
    # rows have the key's text, too, which tells them apart where a field is null
    spares_text: bool = False

    @classmethod
    def by_row(cls) -> SliceKeys:
        """Records that are known by their rows in the base file."""
        return cls(pa.schema([pa.field(_POSITION, pa.int64())]), (), ())

    @classmethod
    def by_text(cls) -> SliceKeys:
        """Records that are known by their keys' text."""
        text = pa.schema([pa.field(RECORD_KEY, pa.string())])
        return cls(text, (RECORD_KEY,), (RECORD_KEY,))

    @property
    def by_position(self) -> bool:
        """Whether a record is known by its row in the base file."""
        return not self.fields

    def of_rows(self, batch: pa.RecordBatch, source: str) -> pa.RecordBatch:
        """The key columns of rows that hold the fields."""
        columns = [leaf_column(batch, name) for name in self.fields]
        keys = pa.RecordBatch.from_arrays(columns, names=list(self.fields))
        present = [column.is_valid() for column in keys.columns if column.null_count]
        if len(present) == len(self.fields):
            any_present = present[0]
            for column in present[1:]:
                any_present = pc.or_(any_present, column)
            if not pc.all(any_present).as_py():
                names = "', '".join(self.fields)
                kind = NullKeyFieldError if self.spares_text else InputError
                raise kind(f"{source}: a record without a key (column '{names}' is null)")
        if self.made:
            return pa.RecordBatch.from_arrays([_made_text(keys)], schema=self.schema)
        return keys

    def of_positions(self, positions: np.ndarray) -> pa.RecordBatch:
        """The key column of rows that go by position."""
        return pa.RecordBatch.from_arrays([pa.array(positions, pa.int64())], schema=self.schema)

    def of_deletes(self, deletes: DeleteKeys, where: str) -> pa.RecordBatch:
        """The key columns of a delete block."""
        texts = deletes.record_key_array
        if texts.null_count:
            raise InputError(f"{where}: a delete without a record key")
        if self.prefix:
            texts = pc.replace_substring_regex(texts, f"^{re.escape(self.prefix)}", "")
        check_times(texts, self.fields, self.times, where)
        if self.made or self.fields == (RECORD_KEY,):
            return pa.RecordBatch.from_arrays([texts], schema=self.schema)
        return _parsed(texts, self.schema, where)


def choose_keys(
    config: TableConfig, schema: pa.Schema, where: str, *, with_deletes: bool, partial: bool
) -> SliceKeys:
    """How to match the records of a slice.

    `with_deletes`: the slice has delete blocks, which know a key's text alone; `partial`: some
    blocks leave the key fields out.
    """
    names = config.record_keys
    if not config.virtual_keys:
        known = all(schema.get_field_index(name) >= 0 for name in names)
        by_text = partial or config.may_name_key
        typed = known and not by_text and _may_be_typed(names, schema, with_deletes)
        if typed:
            return SliceKeys(_fields(names, schema, where), names, names, spares_text=True)
        return SliceKeys.by_text()
    fields = _fields(names, schema, where)
    roots = tuple(dict.fromkeys(root_of(name, schema.names) for name in names))
    if not with_deletes or all(map(pa.types.is_integer, fields.types)):
        return SliceKeys(fields, names, roots)
    times = check_texts(names, schema, where)
    text = SliceKeys.by_text().schema
    return SliceKeys(text, names, roots, made=True, times=times, prefix=config.delete_prefix)


def check_fields(config: TableConfig, schema: pa.Schema, where: str) -> None:
    """Make sure that virtual keys can be made."""
    if config.virtual_keys:
        _fields(config.record_keys, schema, where)


def check_texts(names: Sequence[str], schema: pa.Schema, where: str) -> tuple[str, ...]:
    """Make sure that deletes, which know records by a text, find them by virtual keys.

    Those of the fields that are points in time come back; see `check_times`.
    """
    fields = _fields(names, schema, where)
    for field in fields:
        if not any(test(field.type) for test in _HAVE_TEXT):
            raise RefusedError(
                f"{where}: deletes know records by the text of the key field '{field.name}', and "
                f"texts of {field.type} are not supported; compact the table with Hudi, so that no "
                "log is left"
            )
    return tuple(field.name for field in fields if pa.types.is_timestamp(field.type))


def check_times(texts: pa.Array, names: Sequence[str], times: Sequence[str], where: str) -> None:
    """Make sure that keys of deletes have points in time as numbers.

    With `hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled`, which is not a
    property of the table, they are texts of the writer's clock, cut to milliseconds.
    """
    for name in times:
        named = f"(^|,){re.escape(name)}:(-?[0-9]+|{_NULL})(,|$)"
        fits = pc.match_substring_regex(texts, named if len(names) > 1 else "^-?[0-9]+$")
        if not pc.all(fits).as_py():
            bad = texts.filter(pc.invert(fits))[0].as_py()
            raise RefusedError(
                f"{where}: the record key {bad!r} of a delete has no number for the point in time "
                f"'{name}', and texts of the clock are not supported there; compact the table with "
                "Hudi, so that no log is left"
            )


def _fields(names: Sequence[str], schema: pa.Schema, where: str) -> pa.Schema:
    """The key fields under their full names, some of which may lie inside structs."""
    leaves = (leaf_field(schema, name) for name in names)
    fields = [field for field in leaves if field is not None]
    if not fields or len(fields) < len(names):
        told = ", ".join(names) or "(none, or a key generator of the user's)"
        raise RefusedError(f"{where}: the key fields {told} are not all in the schema")
    return pa.schema(fields)


def _may_be_typed(names: Sequence[str], schema: pa.Schema, with_deletes: bool) -> bool:
    """A delete block's text can be read back into integers."""
    tests = [pa.types.is_integer]
    if not with_deletes:
        tests += [pa.types.is_string, pa.types.is_date]
    kinds = [schema.field(name).type for name in names]
    return bool(names) and all(any(test(kind) for test in tests) for kind in kinds)


def _made_text(keys: pa.RecordBatch) -> pa.Array:
    """One field: its text. Several: `name:text` of each, a comma between them."""
    texts = [_text(column) for column in keys.columns]
    if len(texts) == 1:
        return texts[0]
    parts = []
    for name, text in zip(keys.schema.names, texts, strict=True):
        filled = pc.if_else(pc.equal(text, ""), _EMPTY, text)
        parts.append(pc.binary_join_element_wise(name, pc.fill_null(filled, _NULL), ":"))
    return pc.binary_join_element_wise(*parts, ",")


def _text(column: pa.Array) -> pa.Array:
    """Dates as ISO 8601 has them, points in time as their number, floating numbers as Java's."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return java_text(column)


def _parsed(texts: pa.Array, schema: pa.Schema, where: str) -> pa.RecordBatch:
    """Integers out of `field:value,...`; a single field may be without its name."""
    names = schema.names
    value = rf"-?[0-9]+|{_NULL}"
    parts = [rf"{re.escape(name)}:(?P<k{i}>{value})" for i, name in enumerate(names)]
    pattern = "^" + ",".join(parts) + "$"
    if len(names) == 1:
        pattern = rf"^(?:{re.escape(names[0])}:)?(?P<k0>-?[0-9]+)$"
    groups = pc.extract_regex(texts, pattern)
    if groups.null_count:
        bad = texts.filter(pc.is_null(groups))[0].as_py()
        raise InputError(
            f"{where}: the record key {bad!r} does not fit the key fields {', '.join(names)}"
        )
    columns = []
    for i, field in enumerate(schema):
        text = pc.struct_field(groups, i)
        # No scalar is made of the text: pyarrow would import pandas where it is installed.
        missing = pc.starts_with(text, _NULL)
        if missing.true_count:
            text = pc.if_else(missing, pa.nulls(len(text), pa.string()), text)
        try:
            columns.append(text.cast(field.type))
        except pa.ArrowInvalid as error:
            raise InputError(
                f"{where}: a record key's {field.name} does not fit {field.type} ({error})"
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def root_of(name: str, columns: Collection[str]) -> str:
    """The column that holds a key or ordering field, which may lie inside structs: `a.b`."""
    return name if name in columns else name.split(".")[0]


def leaf_field(schema: pa.Schema, name: str) -> pa.Field | None:
    """A key or ordering field under its full name; None if the schema has no such field."""
    root = root_of(name, schema.names)
    if schema.get_field_index(root) < 0:
        return None
    kind = schema.field(root).type
    for part in name.removeprefix(root).split(".")[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            return None
        kind = kind.field(part).type
    return pa.field(name, kind)


def leaf_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The values of a key or ordering field, null where a struct that holds it is null."""
    root = root_of(name, batch.schema.names)
    column = batch.column(root)
    return column if root == name else pc.struct_field(column, name.split(".")[1:])


@dataclass(frozen=True)
class LogSource(SliceLogs):
    """The same with what merging needs; the columns that are read, see `reading`."""

    # match records by their positions in the base file where all blocks of a slice have them. It
    # spares reading keys and changes no row, but where the base holds a key twice: Hudi logs both
    # positions then, and both rows change
    positions: bool = False

    @cached_property
    def identity(self) -> Hashable | None:
        """All of it as one value; None where records depend on more than its own files tell."""
        if self.timeline.schema_history is not None:
            return None
        properties = tuple(sorted(self.config.raw.items()))
        return (
            "hudi",
            self.storage.root,
            properties,
            tuple(self.timeline.instants),
            self.schema.serialize().to_pybytes(),
            self.window,
            self.strict,
            self.positions,
        )

    @cached_property
    def ordering_types(self) -> pa.Schema:
        """The same with their types; they may lie inside structs."""
        fields = [leaf_field(self.schema, name) for name in self.config.ordered_by]
        return pa.schema([field for field in fields if field is not None])

    @property
    def told_by_keys(self) -> list[str]:
        """Fields of the key that are the same in all versions of a record, as its text tells them.

        Points in time are none: with `...consistent.logical.timestamp.enabled`, see `check_times`,
        those of one millisecond have one text, and so have those of an hour that a clock showed
        twice. All bytes of one length have one text, too.
        """
        names = (name for name in self.config.record_keys if name in self.schema.names)
        return [n for n in names if any(test(self.schema.field(n).type) for test in _TELL_VALUES)]

    def reading(self, names: Sequence[str]) -> LogSource:
        """The same with fewer columns: these, and those that merging needs."""
        columns = self.schema.names
        merged_by = [*self.config.record_keys, *self.config.ordered_by]
        if self.config.merge.delete_marker is not None:
            merged_by.append(self.config.merge.delete_marker.column)
        needed = [root_of(name, columns) for name in merged_by]
        needed += [RECORD_KEY, IS_DELETED, OPERATION]
        wanted = dict.fromkeys([*names, *(name for name in needed if name in columns)])
        return replace(self, schema=pa.schema([self.schema.field(name) for name in wanted]))

    def with_operation(self, blocks: Sequence[LogBlock]) -> LogSource:
        """The same with the operation of each row, where blocks have it.

        Changelog writers keep it as a meta column, which the table's schema does not have.
        """
        known = self.schema.get_field_index(OPERATION) >= 0
        if known or not any(f'"{OPERATION}"' in (block.schema or "") for block in blocks):
            return self
        return replace(self, schema=self.schema.append(pa.field(OPERATION, pa.string())))

    def key_test(self, condition: pc.Expression | None) -> RowTest | None:
        """Which records a condition may be true of, as far as their keys tell; None for all.

        By fields of a key only where one record key is one set of values: texts with commas and
        colons in them may make one key in two ways. Strict reads look at all records.
        """
        if self.strict or condition is None:
            return None
        keys = self.told_by_keys
        kinds = [self.schema.field(name).type for name in keys]
        plain = all(pa.types.is_integer(kind) or pa.types.is_date32(kind) for kind in kinds)
        if len(keys) < len(self.config.record_keys) or not (plain or len(keys) == 1):
            keys = []
        names = [*keys, *({RECORD_KEY}.intersection(self.schema.names))]
        return row_test(condition, pa.schema([self.schema.field(name) for name in names]))


def refuse_merge(slice_: FileSlice, source: LogSource) -> None:
    """Slices with logs cannot be read where code of the user's merges records.

    Nor where a column is missing that tells deletes, the order, or the keys.
    """
    if slice_.logs:
        check_fields(source.config, source.schema, source.storage.root)
    marker = source.config.merge.delete_marker
    for name in [*source.config.ordered_by, *([] if marker is None else [marker.column])]:
        if slice_.logs and leaf_field(source.schema, name) is None:
            raise RefusedError(
                f"{source.storage.root}: versions of a record are merged by the column '{name}', "
                "which is not among the table's columns"
            )
    if source.config.merge.mode == "custom" and slice_.logs:
        payload = source.config.raw.get("hoodie.compaction.payload.class", "a custom merger")
        raise RefusedError(
            f"{source.storage.root}: file group {slice_.file_id} has logs, and records are merged "
            f"by {payload}, which is not supported"
        )


def usable_positions(blocks: Sequence[LogBlock], base_instant: str) -> list[Positions] | None:
    """The positions of each block's records, or None if any block lacks them.

    Hudi then goes by key for the whole slice. `base_instant` is that of the slice's base file.
    """
    found = []
    for block in blocks:
        if not block.has_positions_in(base_instant):
            return None
        try:
            text = block.header["RECORD_POSITIONS"]
            positions = read_bitmap(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise InputError(f"{block.where}: the record positions are broken: {error}") from error
        if len(positions) == 0:
            return None
        found.append(positions)
    return found


def partial_columns(block: LogBlock) -> frozenset[str] | None:
    """The columns that a block of partial updates holds; None for a block of whole rows."""
    if not block.is_partial:
        return None
    try:
        return frozenset(f["name"] for f in json.loads(block.schema or "")["fields"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{block.where}: the schema is not an Avro record") from error
