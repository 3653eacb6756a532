"""Off-heap columns as a command, to test its door: chunks from Arrow rows, without any table.

Its first argument says what it does wrong: `shift` (each chain has its first two words changed
over), `text` (a line that tells no chunk), `refuse`, or `nothing`.
"""

import json
import sys
from itertools import pairwise
from typing import Any

import pyarrow as pa

from seambench.seams.column.oracle import expected_slots

WRONG = sys.argv[1] if len(sys.argv) > 1 else "nothing"


def _plain(column: pa.Array) -> list[Any]:
    """Values as the layout's oracle takes them."""
    kind = column.type
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        column = column.cast(pa.string())  # Python has no years beyond 1 to 9999
    elif pa.types.is_binary(kind):
        return [value if value is None else value.hex() for value in column.to_pylist()]
    elif pa.types.is_list(kind):
        items = _plain(column.values)
        ends = column.offsets.to_pylist()
        return _present(column, [items[a:b] for a, b in pairwise(ends)])
    elif pa.types.is_struct(kind):
        parts = (_plain(column.field(i)) for i in range(kind.num_fields))
        return _present(column, list(zip(*parts, strict=True)))
    values: list[Any] = column.to_pylist()
    return values


def _present(column: pa.Array, values: list[Any]) -> list[Any]:
    return [x if ok else None for x, ok in zip(values, column.is_valid().to_pylist(), strict=True)]


def main() -> None:
    """Answer one request."""
    asked = json.loads(sys.stdin.buffer.readline())
    if WRONG == "refuse":
        print(f"refused: no room for {asked['chunks']} chunks", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    for batch in pa.ipc.open_stream(sys.stdin.buffer):
        rows = list(zip(*map(_plain, batch.columns), strict=True)) or [()] * batch.num_rows
        slots = expected_slots(asked["fields"], asked["types"], rows, asked["required_fields"])
        for slot in slots:
            slot |= {name: text.replace("??", "00") for name, text in slot.items()}
        if WRONG == "shift":
            slots[:2] = reversed(slots[:2])
        told = {"num_rows": batch.num_rows, "slots": slots}
        print("no chunk" if WRONG == "text" else json.dumps(told))  # noqa: T201 - its answer


if __name__ == "__main__":
    main()
