"""Data files of a log by their columns: a version may have very many, and few are looked at alone.

What most actions `add` have is taken column by column. One that has more, or something wrong, is
marked here as odd and is to be read by itself, which says what is wrong. So are all that the core's
reader of lines of JSON leaves (`seam/json_lines.h`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from struct import Struct
from typing import Any, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core._seam import ffi, lib
from seamkit.tables.delta.log.actions import AddFile, FileKey, VectorDescriptor, canonical

_File = TypeVar("_File")
_Values = Mapping[str, str | None]
FIELDS = tuple(one.name for one in fields(AddFile))


class AddedFiles(Sequence[AddFile]):
    """Data files in lists, one for each field of `AddFile`, and one of their keys.

    An object is made of a file that somebody asks for.
    """

    def __init__(self, keys: Iterable[FileKey] = (), *columns: list[Any]) -> None:
        self.keys = list(keys)
        self._columns = columns or tuple([] for _ in FIELDS)

    @property
    def paths(self) -> Sequence[str]:
        """The path of each file, as the log spells it."""
        return self._columns[0]

    @property
    def partition_values(self) -> Sequence[_Values]:
        """Those of each file."""
        return self._columns[1]

    @property
    def sizes(self) -> Sequence[int]:
        """Bytes of each file."""
        return self._columns[2]

    @property
    def stats(self) -> Sequence[str | None]:
        """Statistics of each file, as text."""
        return self._columns[3]

    @property
    def vectors(self) -> Sequence[VectorDescriptor | None]:
        """The deletion vector of each file."""
        return self._columns[4]

    def masked(self) -> Iterator[int]:
        """The numbers of files with a deletion vector."""
        return (at for at, one in enumerate(self.vectors) if one is not None)

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[AddFile]:
        return self.each(AddFile)

    def each(self, make: Callable[..., _File], *more: Iterable[Any]) -> Iterator[_File]:
        """What is made of the fields of each file, and of `more` of them."""
        return map(make, *self._columns, *more)

    @overload
    def __getitem__(self, at: int) -> AddFile: ...

    @overload
    def __getitem__(self, at: slice) -> AddedFiles: ...

    def __getitem__(self, at: int | slice) -> AddFile | AddedFiles:
        if isinstance(at, slice):
            return self.take(range(len(self))[at])
        [one] = self.take([at])
        return one

    def take(self, rows: Sequence[int]) -> AddedFiles:
        """Some files, in this order."""
        if isinstance(rows, range) and rows.step == 1:
            some = slice(rows.start, rows.stop)
            return AddedFiles(*(column[some] for column in (self.keys, *self._columns)))
        chosen = itemgetter(*rows, rows[0]) if rows else lambda _: (None,)
        return AddedFiles(*(list(chosen(column)[:-1]) for column in (self.keys, *self._columns)))

    def append(self, one: AddFile) -> None:
        """Add a file."""
        self.keys.append(one.key)
        for column, name in zip(self._columns, FIELDS, strict=True):
            column.append(getattr(one, name))

    def extend(self, others: AddedFiles) -> None:
        """Add files."""
        self.keys += others.keys
        for column, further in zip(self._columns, others._columns, strict=True):
            column += further


Found = tuple[AddedFiles, Sequence[int]]
"""Files, and the numbers of the odd ones that are not among them."""

_PAIR = Struct("=ii")  # numbers of a name and of a text
_OPTIONAL = ("baseRowId", "defaultRowCommitVersion")
_COUNTS = ("size", *_OPTIONAL)
_TYPES: Mapping[str, Callable[[pa.DataType], bool]] = {
    **dict.fromkeys(("path", "stats"), pa.types.is_string),
    **dict.fromkeys(_COUNTS, pa.types.is_integer),
}
_TEXTS = {
    **dict.fromkeys(("path", "stats"), lib.SEAM_JSON_TEXT),
    # Whether it is there is all that is asked of a vector.
    **dict.fromkeys(("partitionValues", "deletionVector"), lib.SEAM_JSON_OBJECT),
}


def adds_of_lines(content: bytes, count: int) -> Found:
    """The adds among so many lines."""
    odd, there = np.empty(count, np.uint8), np.empty((len(_TEXTS), count), np.uint8)
    counts = np.empty((len(_COUNTS), count), np.int64)
    ends = np.empty((len(_TEXTS), count + 1), np.int64)
    # Of this room no more is used than there is content.
    texts = np.empty((len(_TEXTS), len(content)), np.uint8)
    names = [ffi.new("char[]", name.encode()) for name in (*_TEXTS, *_COUNTS)]
    kinds = (*_TEXTS.values(), *itertools.repeat(lib.SEAM_JSON_COUNT, len(_COUNTS)))
    fields = ffi.new("struct seam_json_field[]", list(zip(names, kinds, strict=True)))
    bytes_ = (ffi.from_buffer("uint8_t[]", one) for one in (odd, there))
    numbers = (ffi.from_buffer("int64_t[]", one) for one in (ends, counts))
    given = content, len(content), count, b"add", fields, len(names)
    read = lib.seam_json_lines(*given, *bytes_, *numbers, ffi.from_buffer("uint8_t[]", texts))
    if read < 0:
        raise ValueError(f"{count} are not the lines of {len(content)} bytes")
    columns = {
        name: pa.Array.from_buffers(pa.large_string(), count, list(map(pa.py_buffer, own)))
        for name, *own in zip(_TEXTS, np.packbits(there, 1, "little"), ends, texts, strict=True)
    }
    for name, own in zip(_COUNTS, counts, strict=True):
        columns[name] = pa.array(own, mask=own < 0)
    return _made(columns, _parsed(columns["partitionValues"]))


def _parsed(objects: pa.LargeStringArray) -> list[_Values | None]:
    """The mapping of each line, one object for all lines that have the same; None for no such."""
    distinct = objects.dictionary_encode()
    known = json.loads(f"[{','.join(distinct.dictionary.to_pylist())}]")
    known = [own if _are_texts(own) else None for own in known]
    return [None if at is None else known[at] for at in distinct.indices.to_pylist()]


def _are_texts(values: Any) -> bool:
    return all(value is None or isinstance(value, str) for value in values.values())


def adds_of_checkpoint(column: pa.StructArray) -> Found:
    """The adds of a checkpoint's column, all of which are there."""
    columns = {one.name: column.field(at) for at, one in enumerate(column.type)}
    held = columns.get("partitionValues")
    odd = [name for name in _TYPES if name in columns and not _TYPES[name](columns[name].type)]
    if odd or held is None or held.type != pa.map_(pa.string(), pa.string()):
        return AddedFiles(), range(len(column))
    return _made(columns, _shared(held))


def _shared(held: pa.MapArray) -> list[_Values]:
    """The mapping of each row, one object for all rows that have the same."""
    sides = [side.dictionary_encode() for side in (held.keys, held.items)]
    names, texts = ([*side.dictionary.to_pylist(), None] for side in sides)
    pairs = np.column_stack([side.indices.fill_null(-1) for side in sides])
    ends = np.asarray(held.offsets, np.int64) * _PAIR.size
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(pairs)]
    rows = pa.Array.from_buffers(pa.large_binary(), len(held), buffers).dictionary_encode()
    known = [
        {names[name]: texts[text] for name, text in _PAIR.iter_unpack(row)}
        for row in rows.dictionary.to_pylist()
    ]
    return [known[number] for number in rows.indices.to_pylist()]


def those_of(column: pa.Array, wanted: pa.BooleanArray) -> pa.Array:
    """The rows that are wanted; where others stand only around them nothing is copied."""
    rows = pc.indices_nonzero(wanted)
    if not len(rows):
        return column[:0]
    first, end = rows[0].as_py(), rows[-1].as_py() + 1
    return column[first:end] if end - first == len(rows) else column.take(rows)


def _made(columns: Mapping[str, Any], values: Sequence[_Values | None]) -> Found:
    """The adds of columns, of which only those that none must have may be missing."""
    nulls = pa.nulls(len(values), pa.int64())
    own = {name: columns.get(name, nulls) for name in (*_TEXTS, *_COUNTS)}
    plain = pc.and_(own["path"].is_valid(), own["deletionVector"].is_null())
    plain = pc.and_(plain, own["partitionValues"].is_valid())
    plain = pc.and_(plain, pc.fill_null(pc.greater_equal(own["size"], 0), False))
    for name in _OPTIONAL:
        plain = pc.and_(plain, pc.fill_null(pc.greater_equal(own[name], 0), True))
    if None in values:
        plain = pc.and_(plain, pa.array([held is not None for held in values]))
    odd = pc.indices_nonzero(pc.invert(plain)).to_pylist()
    if odd:
        values = list(itertools.compress(values, plain.to_pylist()))
        own = {name: those_of(column, plain) for name, column in own.items()}
    try:
        lists = [own[name].to_pylist() for name in ("path", "size", "stats", *_OPTIONAL)]
    except UnicodeDecodeError:
        return AddedFiles(), range(len(plain))
    paths, *others = lists
    others.insert(2, [None] * len(paths))
    keys = (canonical(path) if ":" in path or "%" in path else path for path in paths)
    return AddedFiles(keys, paths, list(values), *others), odd
