"""Files that hold variants in pieces, read as if they held them whole.

What a file holds in typed columns becomes one value again. The rules are those of Parquet's
specification of shredding. A group has the columns `value`, what could not be typed, and
`typed_value`, which is a primitive, a list of such groups, or an object: a group of such groups by
name. Of each row one of both is there, or neither where a field is missing; of an object both may
be, and then `value` has the fields for which there are no columns. Metadata stay as they are: the
specification has all names in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.core.border import batch_of
from seamkit.files.columns import Place, TableField
from seamkit.files.promotion import inner_of, with_inner
from seamkit.files.reader import FileReader, OverReader, RowsWanted
from seamkit.files.variants.encoding import (
    NULL,
    make_array,
    make_object,
    name_ids,
    object_fields,
    primitives,
    value_bytes,
)

METADATA, VALUE, TYPED = "metadata", "value", "typed_value"

_Names = Sequence[Mapping[bytes, int]]
"""Of each row the names of its metadata, with their numbers."""

_Values = Sequence[bytes | None]
"""Of each row a value; None where it is missing."""

_NO_NAMES: Mapping[bytes, int] = {}


def whole_variants(column: pa.StructArray, kind: pa.StructType, where: str) -> pa.StructArray:
    """Variants of which a file has pieces, with their whole value.

    A group has `metadata`, `typed_value` and, where there are such values, `value`; `kind` has two
    binary fields, for metadata and value.
    """
    parts = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    metadata = parts[METADATA].cast(pa.binary())
    present = column.is_valid().to_pylist()
    try:
        names = [
            _names_of(own) if is_there else _NO_NAMES
            for own, is_there in zip(metadata.to_pylist(), present, strict=True)
        ]
        values = _group(parts, names)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: a variant in pieces is broken: {error}") from error
    # A variant that is there is null where neither piece is.
    whole = [
        (NULL if own is None else own) if is_there else None
        for own, is_there in zip(values, present, strict=True)
    ]
    mask = column.is_null() if column.null_count else None
    arrays = {METADATA: metadata, VALUE: pa.array(whole, pa.binary())}
    ordered = [arrays[field.name] for field in kind]
    return pa.StructArray.from_arrays(ordered, fields=list(kind), mask=mask)


def _names_of(metadata: bytes | None) -> Mapping[bytes, int]:
    if metadata is None:
        raise ValueError("it has no metadata")
    return name_ids(metadata)


def _group(parts: Mapping[str, pa.Array], names: _Names) -> _Values:
    """The values of a group of a value and a typed one."""
    typed = parts.get(TYPED)
    value = parts.get(VALUE)
    rest: _Values = [None] * len(names)
    if value is not None:
        rest = value.cast(pa.binary()).to_pylist()
        _check_whole(rest)
    if typed is None:
        return rest
    if pa.types.is_struct(typed.type):
        return _objects(typed, rest, names)
    if pa.types.is_list(typed.type) or pa.types.is_large_list(typed.type):
        return _either(_arrays(typed, names), rest)
    return _either(primitives(typed), rest)


def _check_whole(values: _Values) -> None:
    for own in values:
        if own is not None and value_bytes(own) != len(own):
            raise ValueError("there are bytes behind a value")


def _either(typed: _Values, rest: _Values) -> _Values:
    """The one of both that is there."""
    found = []
    for one, other in zip(typed, rest, strict=True):
        if one is not None and other is not None:
            raise ValueError("it has both a value and a typed value, and is no object")
        found.append(other if one is None else one)
    return found


def _members(group: pa.StructArray) -> Mapping[str, pa.Array]:
    """The columns of a group; null where it is."""
    return dict(zip((field.name for field in group.type), group.flatten(), strict=True))


def _fields(typed: pa.StructArray, names: _Names) -> Mapping[bytes, _Values]:
    """The values of the typed fields of an object, by their names."""
    found = {}
    for name, group in _members(typed).items():
        if not pa.types.is_struct(group.type):
            raise ValueError(f"its field {name!r} is no group of a value and a typed value")
        found[name.encode()] = _group(_members(group), names)
    return found


def _objects(typed: pa.StructArray, rest: _Values, names: _Names) -> _Values:
    """Objects of their typed fields and those of the rest; the rest alone where none is typed."""
    fields = _fields(typed, names)
    found: list[bytes | None] = []
    for row, is_object in enumerate(typed.is_valid().to_pylist()):
        other = rest[row]
        if not is_object:
            found.append(other)
            continue
        own = {name: value for name, of in fields.items() if (value := of[row]) is not None}
        if other is not None:
            others = object_fields(other, names[row])
            if others is None:
                raise ValueError("it has typed fields and a value that is no object")
            if twice := fields.keys() & others.keys():
                raise ValueError(f"its value has the field {min(twice).decode()!r}, too")
            own |= others
        found.append(make_object(own, names[row]))
    return found


def _arrays(typed: pa.ListArray, names: _Names) -> _Values:
    """Arrays of their items; one that is missing is null, as an array has no place for that."""
    counts = pc.list_value_length(typed).to_pylist()
    below = list(
        itertools.chain.from_iterable(
            itertools.repeat(own, count or 0) for own, count in zip(names, counts, strict=True)
        )
    )
    items = typed.flatten()
    if not pa.types.is_struct(items.type):
        raise ValueError("the items of its array are no groups of a value and a typed value")
    values = iter(_group(_members(items), below))
    return [
        None
        if count is None
        else make_array([NULL if v is None else v for v in itertools.islice(values, count)])
        for count in counts
    ]


Path = tuple[str | int, ...]
"""Where a file has a variant: the name of a column; then of structs the name of a field, 0 for the
items of a list or the keys of a map, and 1 for its values."""


class VariantField(TableField, Protocol):
    """A field of a table that may be a variant."""

    @property
    def is_variant(self) -> bool:
        """Whether it is one, and no struct of the same two fields."""

    @property
    def children(self) -> Sequence[VariantField]:
        """Fields of a struct; the element of a list; key and value of a map."""


def with_whole_variants(
    reader: FileReader, fields: Iterable[VariantField], file: Place
) -> FileReader:
    """The reader itself, or one that puts together the variants that the file has in pieces.

    Fields without others within them are none.
    """
    own = pa.struct(list(reader.schema))
    found = frozenset(_in_fields(fields, file, own, reader.name))
    return ShreddedReader(reader, found) if found else reader


def _in_fields(
    fields: Iterable[VariantField], file: Place, kind: pa.DataType, where: str
) -> Iterator[Path]:
    """Where the variants in pieces are in fields that lie side by side, in a struct of the file."""
    inner = _inner(kind)
    for own in fields:
        place = file.child(own, where)
        if place is not None and place.name in inner:
            for path in _paths(own, place, inner[place.name], where):
                yield (place.name, *path)


def _paths(own: VariantField, place: Place, kind: pa.DataType, where: str) -> Iterator[Path]:
    """The same in one field, behind its own path."""
    if own.is_variant:
        if _inner(kind).keys() >= {METADATA, TYPED}:
            yield ()
    elif pa.types.is_struct(kind):
        yield from _in_fields(own.children, place, kind, where)
    else:
        parts = zip(own.children, place.children, _inner(kind).values(), strict=False)
        for step, (child, below, inner) in enumerate(parts):
            for path in _paths(child, below, inner, where):
                yield (step, *path)


def in_pieces(schema: pa.Schema) -> frozenset[Path]:
    """Where a file has variants in pieces, by their form alone: for tables that do not tell."""
    return frozenset((field.name, *path) for field in schema for path in _by_form(field.type))


def _by_form(kind: pa.DataType) -> Iterator[Path]:
    inner = _inner(kind)
    if {METADATA, TYPED} <= inner.keys() <= {METADATA, VALUE, TYPED}:
        yield ()
        return
    for step, below in inner.items():
        for path in _by_form(below):
            yield (step, *path)


def _inner(kind: pa.DataType) -> dict[str | int, pa.DataType]:
    """The types within a type, by the steps of a path."""
    if pa.types.is_struct(kind):
        return {field.name: field.type for field in kind}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {0: kind.value_type}
    if pa.types.is_map(kind):
        return {0: kind.key_type, 1: kind.item_type}
    return {}


class ShreddedReader(OverReader):
    """A `FileReader` that puts variants together.

    Statistics are the file's own: it has none of the type of a variant. `paths` are those of the
    variants that it has in pieces.
    """

    def __init__(self, reader: FileReader, paths: frozenset[Path]) -> None:
        super().__init__(reader)
        self._paths = paths

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`."""
        schema = wanted.schema
        own = self._in_pieces(schema)
        if own.equals(schema):
            yield from self._reader.read(wanted)
            return
        for batch in self._reader.read(replace(wanted, schema=own, encoded=())):
            columns = [
                self._whole(column, field.type, (field.name,))
                for column, field in zip(batch.columns, schema, strict=True)
            ]
            yield batch_of(columns, schema, batch.num_rows)

    def stored(self, schema: pa.Schema) -> tuple[FileReader, Sequence[pa.Field | pa.Scalar]] | None:
        """See `FileReader.stored`; nothing where a column has a variant in pieces."""
        return self._reader.stored(schema) if self._in_pieces(schema).equals(schema) else None

    def _in_pieces(self, schema: pa.Schema) -> pa.Schema:
        """The columns with the file's own types for variants that it has in pieces."""
        own = {field.name: field.type for field in self._reader.schema}
        return pa.schema(
            [
                field.with_type(self._pieces(field.type, own[field.name], (field.name,)))
                if field.name in own
                else field
                for field in schema
            ]
        )

    def _pieces(self, kind: pa.DataType, own: pa.DataType, path: Path) -> pa.DataType:
        if path in self._paths and _inner(kind).keys() == {METADATA, VALUE}:
            return own
        inner = _inner(own)

        def below(step: str | int, wanted: pa.DataType) -> pa.DataType:
            return self._pieces(wanted, inner[step], (*path, step)) if step in inner else wanted

        if pa.types.is_struct(kind):
            return pa.struct([one.with_type(below(one.name, one.type)) for one in kind])
        if pa.types.is_list(kind):
            return pa.list_(kind.value_field.with_type(below(0, kind.value_type)))
        if pa.types.is_map(kind):
            return pa.map_(below(0, kind.key_type), below(1, kind.item_type))
        return kind

    def _whole(self, column: pa.Array, kind: pa.DataType, path: Path) -> pa.Array:
        if column.type.equals(kind):
            return column
        if path in self._paths:
            where = f"{self.name}: column {path[0]!r}"
            return whole_variants(column, kind, where)
        inner = [
            self._whole(part, below, (*path, step))
            for part, (step, below) in zip(inner_of(column), _inner(kind).items(), strict=True)
        ]
        return with_inner(column, kind, inner)
