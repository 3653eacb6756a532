"""Pages of a column chunk in Parquet: what their headers say, where each begins, and its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seambench.formats.forms.footer import Listed, Struct, struct_to_end
from seambench.formats.lint import Wrong

_DICTIONARY = 2
_PLAIN_DICTIONARY, _RLE_DICTIONARY = 2, 8


@dataclass(frozen=True)
class Page:
    """A page of a chunk.

    Attributes:
        kind: number of the page's type.
        at: where its header begins.
        size: bytes of header and content.
        values: nulls among them; rows, where the column is no list.
        encoding: of the values.
    """

    kind: int
    at: int
    size: int
    values: int
    encoding: int


def pages_of(data: bytes, meta: Struct) -> Iterator[Page]:
    """The pages of a chunk, by the metadata of its column.

    Raises:
        ValueError, IndexError, KeyError: no page of a known type is where one must be.
    """
    at = min(meta.whole(11) or meta.whole(9), meta.whole(9))
    end = at + meta.whole(7) if meta.whole(5) else at
    while at < end:
        head, begin = struct_to_end(data, at)
        kind, size = head.whole(1), begin - at + head[3].value
        # Data pages, dictionaries, data pages of version 2: the values' encoding.
        said, encoding = {0: (5, 2), 2: (7, 2), 3: (8, 4)}[kind]
        if size <= 0 or at + size > end:
            raise ValueError(f"a page of {size} bytes at {at}")
        yield Page(kind, at, size, head[said].whole(1), head[said].whole(encoding))
        at += size


def misstated(pages: Sequence[Page], meta: Struct) -> Iterator[Wrong]:
    """What the footer says of the encodings of pages, by which readers trust a dictionary alone.

    Arrow's libraries count pages of version 2 as those of version 1.
    """
    there = Counter(_plain(one.encoding) for one in pages if one.kind != _DICTIONARY)
    listed = {_plain(one.value) for one in meta.get(2, Listed(5, [])).items}
    if set(there) - listed:
        yield "chunk.encodings", f"pages have the encodings {set(there)}, {listed} are listed"
    if 13 not in meta:
        return
    stated: Counter[int] = Counter()
    for one in (each for each in meta[13].items if each.whole(1) != _DICTIONARY):
        stated[_plain(one.whole(2))] += one.whole(3)
    if stated != there:
        says = f"pages by encoding are {dict(there)}, {dict(stated)} are stated"
        yield "chunk.encodings", says


def mislocated(pages: Sequence[Page], located: Sequence[Struct]) -> str:
    """What an offset index says of data pages that is not so, of a column that is no list."""
    rows, there = 0, []
    for page in (one for one in pages if one.kind != _DICTIONARY):
        there.append((page.at, page.size, rows))
        rows += page.values
    stated = [(one.whole(1), one.whole(2), one.whole(3)) for one in located]
    wrong = [pair for pair in zip(there, stated, strict=False) if pair[0] != pair[1]]
    if len(there) != len(stated):
        return f"{len(there)} pages, {len(stated)} of them located"
    return f"offset, size and first row are {wrong[0][0]}, not {wrong[0][1]}" if wrong else ""


def _plain(encoding: int) -> int:
    """An encoding's number, of which dictionaries have two."""
    return _PLAIN_DICTIONARY if encoding == _RLE_DICTIONARY else encoding
