"""Parquet footers whose columns have other types, so that pyarrow hands out what is stored."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError
from seamkit.core.varints import signed, varint

_MAGIC = b"PAR1"
_TAIL_BYTES = 4 + len(_MAGIC)
# Fields of a column: its type, the length of its values, whether it is repeated, its name, how many
# columns are below it, converted and logical type, its id.
_TYPE, _LENGTH, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _ID = 1, 2, 3, 4, 5, 6, 9
_MEANINGS = frozenset((_CONVERTED, 10))
# Types of Thrift's compact protocol.
_BOOLEANS, _BYTE, _INTEGERS, _INT32, _BINARY, _LIST, _STRUCT = (1, 2), 3, (4, 5, 6), 5, 8, 9, 12
# Values of these: the types INT96 and FIXED_LEN_BYTE_ARRAY, and the number 12.
_OF_INT96, _OF_FIXED, _TWELVE = b"\x06", b"\x0e", b"\x18"
# Numbers: an optional column, a repeated one; one column below, two; of maps, as which a converted
# or a logical type says so; of lists.
_OPTIONAL, _REPEATED, _ONE, _TWO, _OF_LISTS = b"\x02", b"\x04", b"\x02", b"\x04", b"\x06"
_OF_MAPS = frozenset(((_CONVERTED, b"\x02"), (_CONVERTED, b"\x04"), (10, b"\x2c\x00\x00")))

PAIRS_ID = (1 << 31) - 1
"""The id of entries of a map that are items of a list; see `footer_of_pairs`."""
_OF_PAIRS = b"\xfe\xff\xff\xff\x0f"

Field = tuple[int, int, memoryview | bytes]
"""A field of a struct: number, type, bytes."""


_Change = Callable[[str, int, Sequence[Field]], Sequence[Field]]


def rewritten(footer: pq.FileMetaData, change: _Change) -> pq.FileMetaData | None:
    """A footer whose columns have the fields that `change` makes of a name, a depth and its own.

    None where pyarrow writes footers, or reads this one, otherwise than is known here.
    """
    sink = pa.BufferOutputStream()
    footer.write_metadata_file(sink)
    changed = _rewritten(memoryview(sink.getvalue()).cast("B")[len(_MAGIC) : -_TAIL_BYTES], change)
    if changed is None or changed.num_row_groups != footer.num_row_groups:
        return None
    return changed


def _rewritten(body: memoryview, change: _Change) -> pq.FileMetaData | None:
    """The same of a footer's bytes, whoever wrote them."""
    try:
        at, begin = _changed(body, change)
        changed = begin + body[at:]
        whole = _MAGIC + changed + len(changed).to_bytes(4, "little") + _MAGIC
        footer = pq.read_metadata(pa.BufferReader(whole))
        footer.schema.to_arrow_schema()
    except (InputError, ValueError, KeyError, IndexError, OSError, pa.ArrowException):
        return None
    return footer


def footer_of_int96(footer: pq.FileMetaData) -> pq.FileMetaData | None:
    """The footer of a file whose times of INT96 are twelve bytes each; None as of `rewritten`."""

    def change(name: str, depth: int, fields: Sequence[Field]) -> Sequence[Field]:
        del name, depth
        if not any(one[0] == _TYPE and bytes(one[2]) == _OF_INT96 for one in fields):
            return fields
        own: list[Field] = [(_TYPE, _INT32, _OF_FIXED), (_LENGTH, _INT32, _TWELVE)]
        return own + [one for one in fields if one[0] > _LENGTH and one[0] not in _MEANINGS]

    return rewritten(footer, change)


def footer_of_pairs(body: bytes) -> pq.FileMetaData | None:
    """The footer, of its bytes, of a file whose maps have optional keys; None as of `rewritten`.

    Arrow reads no such maps. They become lists of entries, which have the id `PAIRS_ID`.
    """
    try:
        _, columns, _ = _columns(memoryview(body))
    except (InputError, ValueError, IndexError):
        return None
    maps = {n for n in range(len(columns) - 2) if _has_optional_keys(*columns[n : n + 3])}
    numbers = itertools.count()

    def change(name: str, depth: int, fields: Sequence[Field]) -> Sequence[Field]:
        del name, depth
        number = next(numbers)
        own: Field = (_CONVERTED, _INT32, _OF_LISTS)
        if number - 1 in maps:
            own = (_ID, _INT32, _OF_PAIRS)
        elif number not in maps:
            return fields
        left = [one for one in fields if one[0] not in {own[0], *_MEANINGS}]
        return sorted([*left, own], key=itemgetter(0))

    return _rewritten(memoryview(body), change) if maps else None


def _has_optional_keys(*columns: Sequence[Field]) -> bool:
    """Whether three columns behind each other are a map, its entries, and keys that may be null."""
    map_, entries, key = (frozenset((one[0], bytes(one[2])) for one in own) for own in columns)
    return bool(
        map_ & _OF_MAPS
        and (_CHILDREN, _ONE) in map_
        and {(_REPETITION, _REPEATED), (_CHILDREN, _TWO)} <= entries
        and (_REPETITION, _OPTIONAL) in key
    )


def _columns(
    footer: memoryview,
) -> tuple[int, Sequence[Sequence[tuple[int, int, memoryview]]], int]:
    """The columns of a footer, where their list begins, behind its head, and where it ends."""
    words = _Compact(footer, 0)
    for kind in (_INT32, _LIST):  # the version, then the columns
        if words.byte() != 1 << 4 | kind:
            raise ValueError("a footer in another order")
        if kind == _INT32:
            words.varint()
    count = words.elements(_STRUCT)
    begin = words.at
    return begin, [list(words.fields()) for _ in range(count)], words.at


def _changed(footer: memoryview, change: _Change) -> tuple[int, bytes]:
    """A footer up to the end of its list of columns, changed; and where that list ended."""
    begin, columns, end = _columns(footer)
    out = bytearray(footer[:begin])
    open_parents = [1]  # columns that are still to come of each, the root's one first
    for fields in columns:
        known = {number: value for number, _, value in fields}
        name = bytes(_Compact(known[_NAME], 0).text()).decode()
        _write(out, change(name, len(open_parents) - 1, fields))
        open_parents[-1] -= 1
        children = _Compact(known[_CHILDREN], 0).integer() if _CHILDREN in known else 0
        if children:
            open_parents.append(children)
        while open_parents and not open_parents[-1]:
            open_parents.pop()
    return end, bytes(out)


def _write(out: bytearray, fields: Iterable[Field]) -> None:
    """A struct, each field behind the difference of its number to the one before it."""
    last = 0
    for number, kind, value in fields:
        out.append((number - last) << 4 | kind)
        out += value
        last = number
    out.append(0)


class _Compact:
    """Thrift's compact form, from some place on."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self.at = at

    def byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def varint(self) -> int:
        """A number from 0 on."""
        value, self.at = varint(self._data, self.at, "a footer")
        return value

    def integer(self) -> int:
        """A number whose lowest bit is its sign."""
        return signed(self.varint())

    def text(self) -> memoryview:
        """Bytes behind their length."""
        size = self.varint()
        self.at += size
        return self._data[self.at - size : self.at]

    def elements(self, kind: int) -> int:
        """How many elements a list has."""
        header = self.byte()
        if header & 0xF != kind:
            raise ValueError("a list of something else")
        return self.varint() if header >> 4 == 0xF else header >> 4

    def fields(self) -> Iterator[tuple[int, int, memoryview]]:
        """The fields of a struct: number, type, bytes."""
        number = 0
        while header := self.byte():
            if not header >> 4:
                raise ValueError("a field far from the one before it")
            number += header >> 4
            begin = self.at
            self.skip(header & 0xF)
            yield number, header & 0xF, self._data[begin : self.at]

    def skip(self, kind: int) -> None:
        """Pass over a value; a boolean is its type."""
        if kind in (_BYTE, *_BOOLEANS):
            self.at += kind == _BYTE
        elif kind in _INTEGERS:
            self.varint()
        elif kind == _BINARY:
            self.text()
        elif kind == _STRUCT:
            for _ in self.fields():
                pass
        else:
            raise ValueError(f"a value of type {kind}")
