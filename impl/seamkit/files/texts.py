"""Texts of files, which are UTF-8 or broken.

Arrow's readers hand out the bytes of a text as the file has them, and whoever decodes one that is
no UTF-8 fails far from here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from seambase.errors import InputError
from seambase.texts import is_plain, is_text


def check_texts(batch: pa.RecordBatch, source: str) -> None:
    """Make sure that all texts of a batch are UTF-8, at every depth.

    Args:
        batch: its buffers as long as they must be.
        source: the file, for messages.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        for texts in _texts_in(column):
            if not is_plain(texts):
                try:
                    texts.validate(full=True)
                except pa.ArrowInvalid as error:
                    raise InputError(f"{source}: column {name!r} is no text ({error})") from error


def _texts_in(column: pa.Array) -> Iterator[pa.Array]:
    kind = column.type
    if is_text(kind):
        yield column
    elif pa.types.is_dictionary(kind):
        yield from _texts_in(column.dictionary)
    elif pa.types.is_struct(kind):
        for number in range(kind.num_fields):
            yield from _texts_in(column.field(number))
    elif pa.types.is_map(kind):
        yield from _texts_in(column.keys)
        yield from _texts_in(column.items)
    elif pa.types.is_nested(kind):  # lists of any kind
        yield from _texts_in(column.values)
