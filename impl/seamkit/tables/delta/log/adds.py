"""Actions `add` by their columns: a log of many files has one for each of them.

What most of them have is taken column by column. An action that has more, or something wrong, is
None here and is to be read by itself, which says what is wrong. So are all that Arrow's reader of
JSON refuses: it is the stricter one but for bytes that are no UTF-8, several objects in a line, and
fields that it is not asked for.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from seamkit.tables.delta.log.actions import AddFile

Adds = Sequence[AddFile | None]
_Values = Mapping[str, str | None]

FORMS = (b'{"add":{', b'{"add": {')
"""With which lines of JSON begin that add a file, as writers spell it."""

FEW = 100
"""Below so many lines one by one are as fast."""

_BEGIN, _PARTITION = b'{"add":', b'"partitionValues"'
_BLOCK_BYTES = 1 << 24
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


def adds_of_lines(lines: Sequence[bytes]) -> Adds:
    """The adds of lines in one of `FORMS`."""
    nothing: Adds = [None] * len(lines)
    joined = b"\n".join(lines)
    # Without what stands around the contents nothing beside them is JSON. No text holds a newline.
    content = joined.replace(b"}}\n" + _BEGIN, b"}\n")
    cut_off = (len(lines) - 1) * len(b"}" + _BEGIN)
    texts = _partition_texts(joined, len(lines))
    if not joined.endswith(b"}}") or len(joined) - len(content) != cut_off or texts is None:
        return nothing
    try:
        content.decode()
        values = {text: json.loads(text) for text in set(texts)}
        read = pj.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
        parse = pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore")
        table = pj.read_json(io.BytesIO(content[len(_BEGIN) : -1]), read, parse)
    except (ValueError, RecursionError, pa.ArrowException):
        return nothing
    if len(table) != len(lines) or table.column("partitionValues").null_count:
        return nothing
    known = {text: own if _are_texts(own) else None for text, own in values.items()}
    columns = {name: table.column(name) for name in table.schema.names}
    return _made(columns, [known[text] for text in texts])


def _partition_texts(joined: bytes, count: int) -> list[bytes] | None:
    """The partition values of each line; None where they do not stand once in each, plainly."""
    _, *found = joined.split(_PARTITION + b":")
    ends = found[:-1]
    if len(found) != joined.count(_PARTITION) or len(found) != count:
        return None
    if any(one.count(b"\n") != 1 for one in ends):
        return None
    return [one[: one.find(b"}") + 1] for one in found]


def _are_texts(values: Any) -> bool:
    return all(value is None or isinstance(value, str) for value in values.values())


def adds_of_checkpoint(column: pa.StructArray) -> Adds:
    """The adds of a checkpoint's column, all of which are there."""
    columns = {one.name: column.field(at) for at, one in enumerate(column.type)}
    held = columns.get("partitionValues")
    odd = [name for name in _TYPES if name in columns and not _TYPES[name](columns[name].type)]
    if odd or held is None or held.type != pa.map_(pa.string(), pa.string()):
        return [None] * len(column)
    ends = held.offsets.to_pylist()
    pairs = list(zip(held.keys.to_pylist(), held.items.to_pylist(), strict=True))
    rows = [tuple(pairs[begin:end]) for begin, end in itertools.pairwise(ends)]
    known = {row: dict(row) for row in set(rows)}
    return _made(columns, [known[row] for row in rows])


def _made(columns: Mapping[str, Any], values: Sequence[_Values | None]) -> Adds:
    """The adds of columns, of which only those that none must have may be missing."""
    nulls = pa.nulls(len(values), pa.int64())
    own = {name: columns.get(name, nulls) for name in _SCHEMA.names}
    plain = pc.and_(own["path"].is_valid(), own["deletionVector"].is_null())
    plain = pc.and_(plain, own["partitionValues"].is_valid())
    plain = pc.and_(plain, pc.fill_null(pc.greater_equal(own["size"], 0), False))
    for name in _OPTIONAL:
        plain = pc.and_(plain, pc.fill_null(pc.greater_equal(own[name], 0), True))
    try:
        lists = [own[name].to_pylist() for name in ("path", "size", "stats", *_OPTIONAL)]
    except UnicodeDecodeError:
        return [None] * len(values)
    return [
        AddFile(path, held, size, stats, None, *others) if fits and held is not None else None
        for fits, held, path, size, stats, *others in zip(
            plain.to_pylist(), values, *lists, strict=True
        )
    ]
