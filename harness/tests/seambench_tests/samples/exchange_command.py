"""A side of an exchange as a command, to test its door; written from docs/doors.md alone.

Its first argument says what it does wrong: `lose` or `double` the first chunk, `early` (ends after
the first chunk), `deaf` (takes a lost sender for one that has ended), or `nothing`.
"""

import contextlib
import io
import json
import socket
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

WRONG = sys.argv[1] if len(sys.argv) > 1 else "nothing"


def _frame(read: Callable[[int], bytes]) -> tuple[str, bytes]:
    size = read(4)
    if len(size) < 4:
        return "", b""
    content = read(struct.unpack("<I", size)[0])
    return chr(content[0]), content[1:]


def _bytes(kind: str, body: bytes) -> bytes:
    return struct.pack("<I", 1 + len(body)) + kind.encode() + body


def _refuse(reason: str) -> None:
    print(f"refused: {reason}", file=sys.stderr)  # noqa: T201 - its only voice
    sys.stderr.flush()
    sys.exit(2)


class _Way:
    """A connection to one receiver."""

    def __init__(self, number: int, address: str, window: int) -> None:
        self.window = window
        self.sent = 0
        self.socket = socket.socket(socket.AF_UNIX)
        if self.socket.connect_ex(address.removeprefix("unix:")) != 0:
            _refuse("the receiver is gone")
        self.read = self.socket.makefile("rb").read
        greeting = json.dumps({"version": 1, "sender": number}).encode()
        self.socket.sendall(_bytes("H", greeting))
        self.open = 0

    def send(self, kind: str, rest: bytes) -> None:
        while self.open >= self.window:
            self.answer()
        self.socket.sendall(_bytes(kind, struct.pack("<Q", self.sent) + rest))
        self.sent += 1
        self.open += 1

    def answer(self) -> None:
        kind, body = _frame(self.read)
        if kind != "A":
            raise OSError(body.decode() or "the receiver is gone")
        self.open -= 1


def _send(request: dict[str, Any]) -> None:
    ways = [_Way(request["number"], a, request["window"]) for a in request["addresses"]]
    try:
        reason = _pass_on(request, ways)
        if reason is None:
            for way in ways:
                way.send("E", b"")
            for way in ways:
                while way.open:
                    way.answer()
            return
        for way in ways:
            way.socket.sendall(_bytes("X", reason))
    except OSError as error:
        reason = str(error).encode()
    for way in ways:
        way.socket.close()
    _refuse(reason.decode())


def _pass_on(request: dict[str, Any], ways: list[_Way]) -> bytes | None:
    """Deal all rows; None when they are complete, else why they are not."""
    chunks = 0
    while True:
        kind, body = _frame(sys.stdin.buffer.read)
        if kind != "D":
            return None if kind == "E" else body or b"the input broke off"
        for part, rows in _dealt(request, body[12:], len(ways)):
            chunks += 1
            times = {"lose": 0, "double": 2}.get(WRONG, 1) if chunks == 1 else 1
            way, driver = divmod(part, request["drivers"])
            for _ in range(times):
                ways[way].send("D", struct.pack("<I", driver) + rows)


def _dealt(request: dict[str, Any], rows: bytes, ways: int) -> list[tuple[int, bytes]]:
    """Parts and their rows; what goes whole need not be looked at."""
    if request["partition"] != "hash":
        receivers = range(ways if request["partition"] == "broadcast" else 1)
        return [(way * request["drivers"], rows) for way in receivers]
    import pyarrow as pa

    [batch] = pa.ipc.open_stream(rows)
    parts: dict[int, list[int]] = {}
    keys = zip(*(batch[name].to_pylist() for name in request["keys"]), strict=True)
    for row, key in enumerate(keys):
        parts.setdefault(sum(str(key).encode()) % (ways * request["drivers"]), []).append(row)
    found = []
    for part, numbers in parts.items():
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch.take(numbers))
        found.append((part, sink.getvalue()))
    return found


class _Receiver:
    """Threads for the senders; rows leave in the order in which they came."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.left = request["senders"]
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.error = ""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(request["addresses"][0].removeprefix("unix:"))
        listener.listen(64)
        sys.stdout.buffer.write(_bytes("L", request["addresses"][0].encode()))
        sys.stdout.buffer.flush()
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        read = connection.makefile("rb").read
        _frame(read)
        chunks = 0
        while True:
            kind, body = _frame(read)
            if kind == "D":
                chunks += 1
                times = {"lose": 0, "double": 2}.get(WRONG, 1) if chunks == 1 else 1
                with self.lock:
                    for _ in range(0 if self.over.is_set() else times):
                        sys.stdout.buffer.write(_bytes("D", body))
                    sys.stdout.buffer.flush()
                    if WRONG == "early":
                        self.over.set()
            elif kind != "E" and WRONG != "deaf":
                self.error = body.decode() or "a sender is lost before its end"
                self.over.set()
                return
            if kind != "D":
                with self.lock:
                    self.left -= 1
            if kind in ("D", "E"):
                # One that gives up waits for no answer; what it said last is still to be read.
                with contextlib.suppress(OSError):
                    connection.sendall(_bytes("A", body[:8]))
            if self.left == 0:
                self.over.set()
            if kind != "D":
                return

    def run(self) -> None:
        self.over.wait()
        if self.error:
            _refuse(self.error)
        with self.lock:
            sys.stdout.buffer.write(_bytes("E", struct.pack("<Q", 0)))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    ASKED = json.loads(sys.stdin.buffer.readline())
    if ASKED["role"] == "sender":
        _send(ASKED)
    else:
        _Receiver(ASKED).run()
