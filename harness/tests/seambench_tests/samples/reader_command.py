"""A reader as a command, to test the command door: the table's name says how it behaves."""

import io
import json
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa


class _WithoutPandas:
    """Arrow would import it to make an array, which takes longer than all the rest."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, _WithoutPandas)


#: What it says before it ends with 2, as a refusal does, and as a panic of Go does.
_LAST_WORDS = {
    "refuse properly": "looked at it\nrefused: table version 3 is not supported",
    "refuse too early": "refused: version 3\npanic: index out of range",
    "refuse silently": "refused: ",
    "panic": "panic: index out of range\n\ngoroutine 1 [running]:",
}
#: A list whose second offset is far beyond its elements.
_UNSOUND = pa.Array.from_buffers(
    pa.list_(pa.int32()),
    3,
    [None, pa.py_buffer(struct.pack("<4i", 0, 500_000_000, 2, 3))],
    children=[pa.array([1, 2, 3], pa.int32())],
)

#: Streams that are not just one whole stream.
_OTHER_ENDS: Mapping[str, Callable[[bytes], bytes]] = {
    "without the end mark": lambda content: content[:-8],
    "half of the end mark": lambda content: content[:-4],
    "junk behind the end": lambda content: content + b"junk" * 3,
    "much behind the end": lambda content: content + b"junk" * 1_000_000,
    "a second stream": lambda content: content * 2,
}


def _write_otherwise(table: pa.Table, behaviour: str) -> None:
    content = io.BytesIO()
    with pa.ipc.new_stream(content, table.schema) as sink:
        sink.write_table(table, max_chunksize=4)
    sys.stdout.buffer.write(_OTHER_ENDS[behaviour](content.getvalue()))


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    behaviour = request["table"]
    if behaviour == "refuse":
        sys.exit("2 is refused")
    if behaviour in _LAST_WORDS:
        print(_LAST_WORDS[behaviour], file=sys.stderr)  # noqa: T201 - its only voice
        sys.exit(2)
    if behaviour == "nothing":
        return
    if behaviour == "hang":
        time.sleep(60)
    if behaviour == "garbage":
        sys.stdout.write("id,name\n1,x\n")
        return
    table = pa.table({"id": range(10), "request": [json.dumps(request)] * 10})
    table = table.select(request.get("columns", table.schema.names))
    if behaviour == "other columns":
        table = pa.table({"other": [1]})
    if behaviour == "unsound":
        table = pa.Table.from_arrays([_UNSOUND], ["id"])
    if behaviour in _OTHER_ENDS:
        _write_otherwise(table, behaviour)
        return
    _write(table, behaviour)


def _write(table: pa.Table, behaviour: str) -> None:
    with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as sink:
        sink.write_table(table, max_chunksize=4)
        sys.stdout.buffer.flush()
        if behaviour == "crash half way":
            os.kill(os.getpid(), signal.SIGSEGV)
        if behaviour == "fail half way":
            print("disk\ngone", file=sys.stderr)  # noqa: T201 - its only voice
            sys.stdout.buffer.flush()
            os._exit(7)


if __name__ == "__main__":
    main()
