"""Off-heap columns as a command, to test its door: chunks from Arrow rows, without any table.

Its first argument says what it does wrong: `shift` (each chain has its first two words changed
over), `text` (a line that tells no chunk), `refuse`, or `nothing`.
"""

import json
import struct
import sys
from collections.abc import Iterator, Sequence
from decimal import Context
from itertools import pairwise
from typing import Any

import pyarrow as pa

from seambench.seams.column.oracle import TypeTree, parse_type

WRONG = sys.argv[1] if len(sys.argv) > 1 else "nothing"
EPOCH = 2440588
FIXED = {
    "boolean": "B",
    "tinyint": "b",
    "short": "h",
    "smallint": "h",
    "int": "i",
    "bigint": "q",
    "float": "f",
    "double": "d",
}


def _value(tree: TypeTree, value: Any) -> bytes:
    if value is None:
        return bytes(tree.width)
    if tree.kind in FIXED:
        return struct.pack("<" + FIXED[tree.kind], value)
    if tree.kind == "date":
        return struct.pack("<i", value + EPOCH)
    if tree.kind == "time":
        return struct.pack("<d", value / 1000)
    if tree.kind == "decimal":
        number = int(value.scaleb(tree.scale, Context(prec=80)))
        return number.to_bytes(tree.width, "little", signed=True)
    days, micros = divmod(value, 86_400_000_000)
    return struct.pack("<q", (days + EPOCH) << 40 | micros)


def _plain(column: pa.Array) -> list[Any]:
    """Values; days and microseconds as numbers, since Python has no years beyond 1 to 9999."""
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.view(pa.int64())
    elif pa.types.is_list(kind):
        items = _plain(column.values)
        ends = column.offsets.to_pylist()
        lists = [items[a:b] for a, b in pairwise(ends)]
        return [
            x if ok else None for x, ok in zip(lists, column.is_valid().to_pylist(), strict=True)
        ]
    elif pa.types.is_struct(kind):
        rows = list(zip(*(_plain(column.field(i)) for i in range(kind.num_fields)), strict=True))
        return [
            x if ok else None for x, ok in zip(rows, column.is_valid().to_pylist(), strict=True)
        ]
    values: list[Any] = column.to_pylist()
    return values


def _slots(tree: TypeTree, name: str, values: Sequence[Any]) -> Iterator[dict[str, str]]:
    def slot(kind: str, content: bytes) -> dict[str, str]:
        return {"kind": kind, "column": name, "hex": content.hex()}

    yield slot("nulls", bytes(value is None for value in values))
    if tree.width:
        yield slot("data", b"".join(_value(tree, value) for value in values))
        return
    parts = list(zip(tree.names, tree.children, strict=True))
    if tree.kind in ("struct", "variant"):
        for at, (child, part) in enumerate(parts):
            items = [None if value is None else value[at] for value in values]
            yield from _slots(part, f"{name}.{child}", items)
        return
    if tree.kind in ("string", "binary"):
        values = [v.encode() if isinstance(v, str) else v for v in values]
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value or ()))
    yield slot("offsets", struct.pack(f"<{len(ends)}i", *ends))
    if not parts:
        yield slot("bytes", b"".join(value or b"" for value in values))
    entries = [entry for value in values for entry in value or ()]
    for at, (child, part) in enumerate(parts):
        items = [entry[at] for entry in entries] if tree.kind == "map" else entries
        yield from _slots(part, f"{name}.{child}", items)


def main() -> None:
    """Answer one request."""
    asked = json.loads(sys.stdin.buffer.readline())
    if WRONG == "refuse":
        print(f"refused: no room for {asked['chunks']} chunks", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    for batch in pa.ipc.open_stream(sys.stdin.buffer):
        slots: list[dict[str, str]] = []
        for name in asked["required_fields"]:
            if name in asked["fields"]:
                at = asked["fields"].index(name)
                slots += _slots(parse_type(asked["types"][at]), name, _plain(batch.column(at)))
            else:
                slots.append({"kind": "unknown", "column": name})
        if WRONG == "shift":
            slots[:2] = reversed(slots[:2])
        told = {"num_rows": batch.num_rows, "slots": slots}
        print("no chunk" if WRONG == "text" else json.dumps(told))  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
