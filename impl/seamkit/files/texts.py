"""Texts of files, which are UTF-8 or broken, and names in metadata.

Arrow's readers hand out the bytes of a text as the file has them, and whoever decodes one that is
no UTF-8 fails far from here.

In metadata without a checksum an unknown name is passed over, as a later writer's may be; so a
flipped bit of a known one would take away what it says without a word. One that is a letter away
from a known one is damage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa

from seambase.errors import InputError
from seambase.foreign_arrow import is_plain, is_text


def check_texts(batch: pa.RecordBatch, source: str) -> None:
    """Make sure that all texts of a batch are UTF-8, at every depth.

    Its buffers are as long as they must be.
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


def check_names(names: Iterable[str], known: Collection[str], where: str, what: str) -> None:
    """Refuse names that are one letter away from one that is read.

    `what` is the kind of name, for messages.
    """
    for name in names:
        if name in known:
            continue
        for other in sorted(known):
            if len(other) == len(name) and sum(map(str.__ne__, name, other)) == 1:
                raise InputError(f"{where}: the {what} {name!r} is one letter away from {other!r}")
