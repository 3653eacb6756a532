"""Deletes as merge events: keys read from text, ordering values in the columns' types."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambench.errors import InputError, RefusedError
from seambench_impl.tables.hudi.deletes import ORDERING_WORDS, DeleteKeys

__all__ = ["delete_keys", "delete_ordering", "ordering_word"]

Flags = npt.NDArray[np.uint8]


def delete_keys(deletes: DeleteKeys, fields: Sequence[pa.Field], where: str) -> pa.RecordBatch:
    """The keys of a delete block as columns.

    Args:
        deletes: the block's records.
        fields: one string field: the key's text as it stands. Otherwise integers: the text is
            `field:value,...`, and a single field may be without its name.
        where: file and offset, for messages.

    Raises:
        InputError: a key is missing, or does not fit the fields.
    """
    texts = deletes.record_key_array
    if texts.null_count:
        raise InputError(f"{where}: a delete without a record key")
    names = [field.name for field in fields]
    if len(fields) == 1 and pa.types.is_string(fields[0].type):
        return pa.RecordBatch.from_arrays([texts], names=names)
    parts = [rf"{re.escape(name)}:(?P<k{i}>-?[0-9]+)" for i, name in enumerate(names)]
    pattern = "^" + ",".join(parts) + "$"
    if len(names) == 1:
        pattern = rf"^(?:{re.escape(names[0])}:)?(?P<k0>-?[0-9]+)$"
    found = pc.extract_regex(texts, pattern)
    if found.null_count:
        bad = texts.filter(pc.is_null(found))[0].as_py()
        raise InputError(
            f"{where}: the record key {bad!r} does not fit the key fields {', '.join(names)}"
        )
    columns = [pc.cast(pc.struct_field(found, i), f.type) for i, f in enumerate(fields)]
    return pa.RecordBatch.from_arrays(columns, names=names)


def delete_ordering(
    deletes: DeleteKeys, fields: Sequence[pa.Field], where: str
) -> tuple[pa.RecordBatch, Flags]:
    """Ordering values of deletes, and 1 for each delete that has none.

    A value that is absent, the integer 0, or of another type than the column is none.

    Args:
        deletes: the block's records.
        fields: the ordering columns.
        where: file and offset, for messages.

    Raises:
        RefusedError: several ordering values to a record, or a column whose values in delete
            blocks are not known.
    """
    if len(fields) > 1:
        if deletes.branches.any():
            raise RefusedError(
                f"{where}: deletes with several ordering values are not supported yet"
            )
        columns = [pa.nulls(len(deletes), field.type) for field in fields]
        names = [field.name for field in fields]
        return pa.RecordBatch.from_arrays(columns, names=names), np.ones(len(deletes), np.uint8)
    field = fields[0]
    branches, words = deletes.branches, deletes.words
    integer_zero = (branches == ORDERING_WORDS.index("int")) & (words == 0)
    word = ordering_word(field.type)
    if word is None:
        if (branches[~integer_zero] != 0).any():
            raise RefusedError(
                f"{where}: deletes have ordering values, and the ordering column '{field.name}' "
                f"is {field.type}, for which they are not known"
            )
        unordered = np.ones(len(deletes), np.uint8)
    else:
        unordered = ((branches != ORDERING_WORDS.index(word)) | integer_zero).astype(np.uint8)
    column = _values(deletes, unordered, field, word)
    return pa.RecordBatch.from_arrays([column], names=[field.name]), unordered


def _values(deletes: DeleteKeys, unordered: Flags, field: pa.Field, word: str | None) -> pa.Array:
    """The column; places of deletes without a value are null and never compared."""
    if unordered.all():
        return pa.nulls(len(deletes), field.type)
    if word in ("int", "long", "date", "timestamp-micros"):
        mask = unordered.astype(bool)
        words = np.where(mask, 0, deletes.words)
        return pa.array(words, mask=mask).cast(_integer_of(field.type)).cast(field.type)
    values = [
        None if skip else value
        for value, skip in zip(deletes.ordering_values, unordered.tolist(), strict=True)
    ]
    return pa.array(values, field.type)


def _integer_of(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def ordering_word(kind: pa.DataType) -> str | None:
    """The type that a delete's ordering value must have to be compared with a column, if any."""
    words = (
        (pa.types.is_int32, "int"),
        (pa.types.is_int64, "long"),
        (pa.types.is_float32, "float"),
        (pa.types.is_float64, "double"),
        (pa.types.is_string, "string"),
        (pa.types.is_binary, "bytes"),
        (pa.types.is_date32, "date"),
        (pa.types.is_boolean, "boolean"),
    )
    for test, word in words:
        if test(kind):
            return word
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return "timestamp-micros"
    return None
