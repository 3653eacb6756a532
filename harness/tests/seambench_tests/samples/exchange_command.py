"""An exchange of somebody else: a program that knows docs/doors.md and docs/exchange.md alone.

It is a sender or a receiver over frames, or over the wire `seamxch`, protobuf written by hand. Its
first argument says what it does wrong: `lose` or `double` the first chunk, `early` (ends after the
first chunk), `quit` (ends without an end), `skip` a sequence number, `deaf` (takes a lost sender
for one that has ended), `bytes` (hashes numbers in the wrong order of bytes), `encoded` (deals rows
in the encoding in which they came), or `nothing`.
"""

import base64
import contextlib
import io
import json
import os
import socket
import struct
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Context
from typing import Any

WRONG = sys.argv[1] if len(sys.argv) > 1 else "nothing"
HELLO = b"SEAMXCH\x01"
Fields = dict[int, list[Any]]


class _WithoutPandas:
    """Arrow would import it to make an array, which takes longer than all the rest."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, _WithoutPandas)


def _refuse(reason: str) -> None:
    sys.stderr.write(f"refused: {reason}\n")
    sys.stderr.flush()
    os._exit(2)  # from any thread


# The door: frames on standard input and output.


def _frame(read: Callable[[int], bytes]) -> tuple[str, bytes]:
    size = read(4)
    if len(size) < 4:
        return "", b""
    content = read(struct.unpack("<I", size)[0])
    return chr(content[0]), content[1:]


def _framed(kind: str, body: bytes) -> bytes:
    return struct.pack("<I", 1 + len(body)) + kind.encode() + body


def _give(kind: str, body: bytes) -> None:
    sys.stdout.buffer.write(_framed(kind, body))
    sys.stdout.buffer.flush()


# Protobuf.


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varints(content: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in content:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value - 2**64 if value >> 63 else value
            value = shift = 0


def _fields(message: bytes) -> Fields:
    found: Fields = defaultdict(list)
    at = 0

    def take() -> int:
        nonlocal at
        end = at
        while message[end] > 0x7F:
            end += 1
        [value] = _varints(message[at : end + 1])
        at = end + 1
        return value

    while at < len(message):
        key = take()
        if key & 7 == 0:
            found[key >> 3].append(take())
        else:
            size = take()
            found[key >> 3].append(message[at : at + size])
            at += size
    return found


def _one(fields: Fields, number: int) -> int:
    return int(fields[number][-1]) if fields[number] else 0


# The wires: of each what a sender says and hears of one receiver, and the other way.


def _connected(address: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.connect(address.removeprefix("unix:"))
    return made


class _FramesWay:
    """A sender's connection to one receiver, over frames."""

    def __init__(self, asked: dict[str, Any], address: str) -> None:
        self.window = asked["window"]
        self.sent = self.open = 0
        self.socket = _connected(address)
        self.read = self.socket.makefile("rb").read
        greeting = {"version": 1, "sender": asked["number"]}
        self.socket.sendall(_framed("H", json.dumps(greeting).encode()))

    def send(self, chunks: list[tuple[int, bytes]]) -> None:
        """Chunks when they may leave, or the end where there are none."""
        kind, rest = "E", b""
        for driver, rows in chunks:
            kind, rest = "D", struct.pack("<I", driver) + rows
        while self.open >= self.window:
            self.answer()
        self.socket.sendall(_framed(kind, struct.pack("<Q", self.sent) + rest))
        self.sent += 1
        self.open += 1

    def answer(self) -> None:
        """Wait for one."""
        kind, body = _frame(self.read)
        if kind != "A":
            raise OSError(body.decode() or "the receiver is gone")
        self.open -= 1

    def give_up(self, reason: bytes) -> None:
        """Tell why no end will come."""
        self.socket.sendall(_framed("X", reason))


class _FramesPeer:
    """A receiver's connection to one sender, over frames."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection

    def heard(self) -> Iterator[tuple[list[tuple[int, bytes]], bool, bytes]]:
        """Chunks, whether they are the last, and the answer to them."""
        read = self.connection.makefile("rb").read
        _frame(read)
        while True:
            kind, body = _frame(read)
            if kind not in ("D", "E"):
                raise OSError(body.decode())
            chunks = [(*struct.unpack("<I", body[8:12]), body[12:])] if kind == "D" else []
            yield chunks, kind == "E", _framed("A", body[:8])

    def put(self, answer: bytes) -> None:
        # One that gives up waits for no answer; what it said last is still to be read.
        with contextlib.suppress(OSError):
            self.connection.sendall(answer)


class _Wire:
    """A greeted connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.read = connection.makefile("rb").read
        self.lock = threading.Lock()
        connection.sendall(HELLO)
        if self.read(8) != HELLO:
            raise OSError("the peer speaks something else")

    def put(self, message: bytes, attachment: bytes = b"") -> None:
        with self.lock:
            sizes = struct.pack("<IQ", len(message), len(attachment))
            self.connection.sendall(sizes + message + attachment)

    def take(self) -> tuple[Fields, bytes] | None:
        head = self.read(12)
        if len(head) < 12:
            return None
        message, attachment = struct.unpack("<IQ", head)
        return _fields(self.read(message)), self.read(attachment)


class _Way:
    """A sender's connection to one receiver."""

    def __init__(self, asked: dict[str, Any], address: str) -> None:
        self.wire = _Wire(_connected(address))
        self.who = _number(2, 1) + _number(4, asked["number"])
        if asked["order"] != "none":
            self.who += _number(3, asked["number"])
        self.window = asked["window"]
        self.sent = self.open = 0
        self.wire.put(self.who + _number(6, -1))

    def send(self, chunks: list[tuple[int, bytes]]) -> None:
        """A request, when it may leave; without chunks it is the end."""
        while self.open >= self.window or (self.open and self.sent == 1):
            self.answer()
        message = self.who + _number(5, not chunks)
        for _, payload in chunks:
            message += _bytes(7, _number(8, len(payload)))
        message += _bytes(11, b"".join(_varint(driver) for driver, _ in chunks))
        message += _number(6, self.sent + (WRONG == "skip" and self.sent > 0))
        self.wire.put(message, b"".join(payload for _, payload in chunks))
        self.sent += 1
        self.open += 1

    def answer(self) -> None:
        """Wait for one."""
        while True:
            heard = self.wire.take()
            if heard is None:
                raise OSError("the receiver is gone")
            result, _ = heard
            status = _fields(result[1][0])
            if _one(status, 1):
                raise OSError(b"; ".join(status[2]).decode())
            if _one(result, 102) >= 0:
                self.open -= 1
                return

    def give_up(self, reason: bytes) -> None:
        """The connection that breaks off says it."""


class _Peer(_Wire):
    """A receiver's connection to one sender."""

    def heard(self) -> Iterator[tuple[list[tuple[int, bytes]], bool, bytes]]:
        """Chunks, whether they are the last, and the answer to them."""
        threading.Thread(target=self.beat, daemon=True).start()
        while (heard := self.take()) is not None:
            params, attachment = heard
            sequence = _one(params, 6)
            if sequence < 0:
                continue
            drivers = [number for packed in params[11] for number in _varints(packed)]
            content = io.BytesIO(attachment)
            rows = [content.read(_one(_fields(chunk), 8)) for chunk in params[7]]
            for one in rows:
                _check(one)
            answer = _bytes(1, b"") + _number(101, _one(params, 4)) + _number(102, sequence)
            yield list(zip(drivers, rows, strict=True)), bool(_one(params, 5)), answer
        raise OSError

    def beat(self) -> None:
        """Show now and then that this side lives."""
        with contextlib.suppress(OSError):
            while True:
                time.sleep(15.0)
                self.put(_bytes(1, b"") + _number(102, -1))


def _check(rows: bytes) -> None:
    """Every chunk is a stream of the agreed types."""
    import pyarrow as pa

    agreed, types = _schema(ASKED).types, pa.ipc.open_stream(rows).schema.types
    if types != agreed:
        _refuse(f"a chunk of {types} came, agreed are {agreed}")


def _times(chunks: int) -> int:
    """How often a chunk is passed on, of which it is the n-th."""
    return {"lose": 0, "double": 2}.get(WRONG, 1) if chunks == 1 else 1


def _send(asked: dict[str, Any]) -> None:
    try:
        ways = [WAYS[ASKED["wire"]][0](asked, address) for address in asked["addresses"]]
        kind, body = _pass_on(asked, ways)
        if kind != "E":
            for way in ways:
                way.give_up(body or b"the input broke off")
            _refuse(body.decode() or "the input broke off")
        for way in ways if WRONG != "quit" else ():
            way.send([])
        for way in ways if WRONG != "quit" else ():
            while way.open:
                way.answer()
    except OSError as error:
        _refuse(str(error) or "a connection broke")


def _pass_on(asked: dict[str, Any], ways: list[Any]) -> tuple[str, bytes]:
    """Deal all rows; the frame after them."""
    chunks = 0
    while True:
        kind, body = _frame(sys.stdin.buffer.read)
        if kind != "D":
            return kind, body
        for part, payload in _dealt(asked, body[12:], len(ways)):
            chunks += 1
            way, driver = divmod(part, asked["drivers"])
            for _ in range(_times(chunks)):
                ways[way].send([(driver, payload)])


class _Fnv:
    """The state of FNV-1a, fed as docs/partition-functions.md says."""

    def __init__(self, state: int = 0x811C9DC5) -> None:
        self.state = state

    def _bytes(self, content: bytes) -> None:
        for byte in content[::-1] if WRONG == "bytes" else content:
            self.state = (self.state ^ byte) * 0x01000193 & 0xFFFFFFFF

    def _null(self) -> None:
        self.state ^= (0x9E3779B9 + (self.state << 6) + (self.state >> 2)) & 0xFFFFFFFF

    def feed(self, kind: Any, value: Any) -> None:
        """A value as pyarrow's `as_py` gives it, of an Arrow type without encodings."""
        import pyarrow.types as is_

        if value is None:
            self._null()
        elif is_.is_map(kind):
            self._map(kind, value)
        elif is_.is_list(kind):
            self._bytes(len(value).to_bytes(8, "little"))
            for element in value:
                self.feed(kind.value_type, element)
        elif is_.is_struct(kind):
            for field in kind:
                self.feed(field.type, value[field.name])
        else:
            self._bytes(_flat(kind, value))

    def _map(self, kind: Any, entries: list[tuple[Any, Any]]) -> None:
        self._bytes(len(entries).to_bytes(8, "little"))
        total = base = self.state
        for key, value in entries:
            entry = _Fnv(base)
            entry.feed(kind.key_type, key)
            entry.feed(kind.item_type, value)
            total += entry.state
        self.state = total & 0xFFFFFFFF

    def part(self, ways: int, drivers: int) -> int:
        """The number of the receiver's driver."""
        turned = self.state
        for left, by in ((True, 13), (False, 17), (True, 5)):
            turned ^= (turned << by if left else turned >> by) & 0xFFFFFFFF
        return (self.state * ways >> 32) * drivers + (turned * drivers >> 32)


def _flat(kind: Any, value: Any) -> bytes:
    import pyarrow.types as is_

    if is_.is_timestamp(kind):
        day = value.toordinal() + 1721425
        of_day = ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond
        return bytes((day << 40 | of_day).to_bytes(8, "little"))
    if is_.is_date(kind):
        return bytes((value.toordinal() + 1721425).to_bytes(4, "little"))
    if is_.is_decimal(kind):
        width = 4 if kind.precision <= 9 else 8 if kind.precision <= 18 else 16
        number = int(value.scaleb(kind.scale, Context(prec=40)))
        return number.to_bytes(width, "little", signed=True)
    if is_.is_floating(kind):
        return struct.pack("<f" if kind.bit_width == 32 else "<d", value)
    if is_.is_integer(kind) or is_.is_boolean(kind):
        return int(value).to_bytes(max(1, kind.bit_width // 8), "little", signed=True)
    return value.encode() if isinstance(value, str) else bytes(value)


def _part(asked: dict[str, Any], kinds: list[Any], key: tuple[Any, ...], ways: int) -> int:
    """By the function that is asked for, or in a way of its own."""
    if asked.get("function") != "fnv":
        return sum(repr(key).encode()) % (ways * int(asked["drivers"]))
    hashed = _Fnv()
    for kind, value in zip(kinds, key, strict=True):
        hashed.feed(kind, value)
    return hashed.part(ways, int(asked["drivers"]))


def _schema(asked: dict[str, Any]) -> Any:
    """What must travel: its types, and no others."""
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(asked["schema"])))


def _carried(batch: Any, schema: Any) -> Any:
    """Rows as they came, without the encodings that the agreed types do not have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if WRONG == "encoded":
        return batch
    columns = []
    for column, kind in zip(batch.columns, schema.types, strict=True):
        if column.type != kind and pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        columns.append(column if column.type == kind else column.cast(kind))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _dealt(asked: dict[str, Any], rows: bytes, ways: int) -> list[tuple[int, bytes]]:
    """Parts and their chunks; what goes whole may go as it was written."""
    if asked["partition"] != "hash":
        receivers = range(ways if asked["partition"] == "broadcast" else 1)
        return [(way * asked["drivers"], rows) for way in receivers]
    import pyarrow as pa

    batch = pa.ipc.open_stream(rows).read_next_batch()
    schema = _schema(asked) if "schema" in asked else batch.schema
    batch = _carried(batch, schema)
    parts: dict[int, list[int]] = {}
    kinds = [schema.field(name).type for name in asked["keys"]]
    keys = zip(*(batch[name].to_pylist() for name in asked["keys"]), strict=True)
    for row, key in enumerate(keys):
        parts.setdefault(_part(asked, kinds, key, ways), []).append(row)
    found = []
    for part, numbers in sorted(parts.items()):
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch.take(numbers))
        found.append((part, sink.getvalue()))
    return found


class _Receiver:
    """A thread for each sender."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.left = asked["senders"]
        self.peer = WAYS[ASKED["wire"]][1]
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.chunks = 0
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(asked["addresses"][0].removeprefix("unix:"))
        listener.listen(64)
        _give("L", asked["addresses"][0].encode())
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        """One sender, from its announcement to its end."""
        try:
            peer = self.peer(connection)
            for chunks, ended, answer in peer.heard():
                self.deliver(chunks)
                peer.put(answer)
                if ended:
                    break
        except OSError as error:
            if WRONG != "deaf":
                _refuse(str(error) or "a sender is lost before its end")
        with self.lock:
            self.left -= 1
            if self.left == 0:
                self.over.set()
        connection.recv(1)  # it closes

    def deliver(self, chunks: list[tuple[int, bytes]]) -> None:
        with self.lock:
            for driver, rows in chunks:
                self.chunks += 1
                for _ in range(0 if self.over.is_set() else _times(self.chunks)):
                    _give("D", struct.pack("<QI", 0, driver) + rows)
                if WRONG == "early":
                    self.over.set()

    def run(self) -> None:
        self.over.wait()
        with self.lock:
            _give("E", struct.pack("<Q", 0))


WAYS: dict[str, tuple[Any, Any]] = {"frames": (_FramesWay, _FramesPeer), "seamxch": (_Way, _Peer)}

if __name__ == "__main__":
    ASKED = {"wire": "frames", "format": "arrow"} | json.loads(sys.stdin.buffer.readline())
    if ASKED["wire"] not in WAYS or ASKED["format"] != "arrow":
        _refuse("it speaks frames and seamxch, of Arrow's chunks")
    if ASKED["role"] == "sender":
        _send(ASKED)
    else:
        _Receiver(ASKED).run()
