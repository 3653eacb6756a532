"""Which record keys a filter names, as the texts that Hudi's key generators make of them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.equalities import named_values

__all__ = ["key_text", "named_keys", "named_record_keys"]

_RECORD_KEY = "_hoodie_record_key"
#: What takes a key apart, or stands in one for no text.
_NOT_PLAIN = re.compile(r"[:,]|__null__|__empty__")


def key_text(value: Any) -> str | None:
    """A value's text in a record key; None where it has none that is sure."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value)
    return None if not text or _NOT_PLAIN.search(text) else text


def named_keys(
    condition: pc.Expression, fields: Sequence[str], most: int
) -> list[tuple[str, ...]] | None:
    """The keys that a condition names, each as the texts of its fields.

    Args:
        condition: a filter.
        fields: names of the key fields, which are whole numbers or texts.
        most: so many are worth looking at.

    Returns:
        None where the condition does not name all that may meet it, or names too many.
    """
    values = [named_values(condition, field) for field in fields]
    named = [column for column in values if column is not None]
    if not named or len(named) < len(values) or math.prod(map(len, named)) > most:
        return None
    keys = []
    for key in itertools.product(*named):
        texts = tuple(text for text in map(key_text, key) if text is not None)
        if len(texts) < len(key):
            return None
        keys.append(texts)
    return keys


def named_record_keys(
    condition: pc.Expression,
    fields: Sequence[str],
    schema: pa.Schema,
    counted: Collection[str] | None,
    most: int,
) -> list[tuple[str, ...]] | None:
    """The record keys that a condition names, each in the forms that writers give to it.

    Args:
        condition: a filter.
        fields: names of the key fields.
        schema: the columns that it tests, in the table's types.
        counted: those of them whose values may be looked at; None for all.
        most: so many are worth looking at.

    Returns:
        For each key its possible texts; None where the condition does not name all keys that may
        meet it. A single field stands with its name before it, or without.
    """
    usable = {field.name for field in schema if counted is None or field.name in counted}
    if _RECORD_KEY in usable:
        texts = named_values(condition, _RECORD_KEY)
        if texts is not None and len(texts) <= most and all(type(text) is str for text in texts):
            return [(text,) for text in texts]
    if not fields or not usable.issuperset(fields):
        return None
    kinds = [schema.field(name).type for name in fields]
    if not all(pa.types.is_integer(kind) or pa.types.is_string(kind) for kind in kinds):
        return None
    keys = named_keys(condition, fields, most)
    if keys is None:
        return None
    whole = [",".join(map(":".join, zip(fields, key, strict=True))) for key in keys]
    if len(fields) == 1:
        return [(key[0], named) for key, named in zip(keys, whole, strict=True)]
    return [(named,) for named in whole]
