"""Data files of a log by their columns: a version may have very many, and few are looked at alone.

What most actions `add` have is taken column by column. One that has more, or something wrong, is
told here as odd and is to be read by itself, which says what is wrong. So are all that Arrow's
reader of JSON refuses: it is the stricter one but for bytes that are no UTF-8, several objects in a
line, and fields that it is not asked for.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import itemgetter
from struct import Struct
from typing import Any, TypeVar, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

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

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[AddFile]:
        return self.each(AddFile)

    def each(self, make: Callable[..., _File]) -> Iterator[_File]:
        """What is made of the fields of each file."""
        return map(make, *self._columns)

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

_FORMS = (b'{"add":{', b'{"add": {')  # with which lines that add a file begin
_FEW = 100  # below so many lines one by one are as fast
_BEGIN, _PARTITION = b'{"add":', b'"partitionValues"'
_OWN_PARTITION = re.compile(_PARTITION + rb": *+(\{[^}\n]*+\}).*+")
_BLOCK_BYTES = 1 << 24
_PAIR = Struct("=ii")  # numbers of a name and of a text
_OPTIONAL = ("baseRowId", "defaultRowCommitVersion")
_TYPES: Mapping[str, Callable[[pa.DataType], bool]] = {
    **dict.fromkeys(("path", "stats"), pa.types.is_string),
    **dict.fromkeys(("size", *_OPTIONAL), pa.types.is_integer),
}
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("path", "stats")),
        *((name, pa.int64()) for name in ("size", *_OPTIONAL)),
        # Whether they are there is all that is asked of these.
        *((name, pa.struct([])) for name in ("partitionValues", "deletionVector")),
    ]
)


def block_of_adds(content: bytes) -> tuple[int, int]:
    """Where the first of many lines that add a file begins, and where the last one ends."""
    begin = 0 if content.startswith(_FORMS) else content.find(b"\n" + _BEGIN) + 1
    last = content.rfind(b"\n" + _BEGIN) + 1
    end = content.find(b"\n", last)
    end = len(content) if end < 0 else end
    return (begin, end) if last and content.count(b"\n", begin, end) >= _FEW else (0, 0)


def adds_of_lines(block: bytes, count: int) -> Found:
    """The adds among so many lines, of which most add a file."""
    # Without what stands around the contents nothing beside them is JSON. No text holds a newline.
    content = block.replace(b"}}\n" + _BEGIN, b"}\n")
    cut_off = (count - 1) * len(b"}" + _BEGIN)
    if block.startswith(_BEGIN) and block.endswith(b"}}") and len(block) - len(content) == cut_off:
        return _adds(block, pa.py_buffer(content)[len(_BEGIN) : -1], count)
    lines = block.split(b"\n")
    adding = [at for at, line in enumerate(lines) if line.startswith(_FORMS)]
    if not adding or len(adding) == count:
        return AddedFiles(), range(count)
    made, odd = adds_of_lines(b"\n".join(lines[at] for at in adding), len(adding))
    others = set(range(count)).difference(adding)
    return made, [*others, *(adding[at] for at in odd)]


def _adds(block: bytes, content: pa.Buffer, count: int) -> Found:
    """Those of lines, by their contents alone."""
    nothing = AddedFiles(), range(count)
    texts = _partition_texts(block, count)
    if texts is None:
        return nothing
    try:
        ends = pa.py_buffer(np.array([0, content.size]))
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, content]).validate(full=True)
        values = {text: json.loads(text) for text in set(texts)}
        read = pj.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
        parse = pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore")
        table = pj.read_json(pa.BufferReader(content), read, parse)
    except (ValueError, RecursionError, pa.ArrowException):
        return nothing
    if len(table) != count or table.column("partitionValues").null_count:
        return nothing
    known = {text: own if _are_texts(own) else None for text, own in values.items()}
    columns = {name: table.column(name) for name in table.schema.names}
    return _made(columns, [known[text] for text in texts])


def _partition_texts(joined: bytes, count: int) -> list[bytes] | None:
    """The partition values of each line; None where they do not stand once in each, plainly."""
    # Each match takes the rest of its line: as many as lines are one in each.
    found: list[bytes] = _OWN_PARTITION.findall(joined)
    return found if len(found) == joined.count(_PARTITION) == count else None


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


def _made(columns: Mapping[str, Any], values: Sequence[_Values | None]) -> Found:
    """The adds of columns, of which only those that none must have may be missing."""
    nulls = pa.nulls(len(values), pa.int64())
    own = {name: columns.get(name, nulls) for name in _SCHEMA.names}
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
        own = {name: column.filter(plain) for name, column in own.items()}
    try:
        lists = [own[name].to_pylist() for name in ("path", "size", "stats", *_OPTIONAL)]
    except UnicodeDecodeError:
        return AddedFiles(), range(len(plain))
    paths, *others = lists
    others.insert(2, [None] * len(paths))
    return AddedFiles(map(canonical, paths), paths, list(values), *others), odd
