"""Shredded variants put together: what a file holds in typed columns becomes one value again.

The rules are those of Parquet's specification of shredding. A group has the columns `value`, what
could not be typed, and `typed_value`, which is a primitive, a list of such groups, or an object: a
group of such groups by name. Of each row one of both is there, or neither where a field is missing;
of an object both may be, and then `value` has the fields for which there are no columns. Metadata
stay as they are: the specification has all names in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.variants.encoding import (
    NULL,
    make_array,
    make_object,
    name_ids,
    object_fields,
    value_bytes,
)
from seamkit.files.variants.primitives import primitives

METADATA, VALUE, TYPED = "metadata", "value", "typed_value"

_Names = Sequence[Mapping[bytes, int]]
"""Of each row the names of its metadata, with their numbers."""

_Values = Sequence[bytes | None]
"""Of each row a value; None where it is missing."""

_NO_NAMES: Mapping[bytes, int] = {}


def whole_variants(column: pa.StructArray, kind: pa.StructType, where: str) -> pa.StructArray:
    """Variants of which a file has pieces, with their whole value.

    Args:
        column: a group with `metadata`, `typed_value` and, where there are such values, `value`.
        kind: two binary fields, for metadata and value.
        where: file and column, for messages.
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
    arrays = [metadata, pa.array(whole, pa.binary())]
    return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=mask)


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
