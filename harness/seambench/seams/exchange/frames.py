"""The frames of an exchange's door: what outside senders and receivers speak (docs/doors.md).

A frame is a little-endian word of 32 bits, the size of what follows, then a byte that names its
kind, then its body:

| kind | from | body |
|---|---|---|
| `H` | sender | JSON: `version` (1) and `sender` (its number); the first frame |
| `D` | sender | sequence (64 bits), driver (32 bits), an Arrow IPC stream of one batch |
| `E` | sender | sequence (64 bits): nothing follows |
| `A` | receiver | the sequence that is answered (64 bits) |
| `L` | receiver, on standard output | the address at which it listens; its first frame there |
| `X` | either | why the exchange fails, as UTF-8 |
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from seambase.errors import InputError
from seambase.foreign_arrow import sound_stream, stream_of
from seambase.wording import counted

FRAME_VERSION = 1
#: A frame that says it is larger is refused before it is read.
MOST_FRAME_BYTES = 256 << 20

_SIZE = struct.Struct("<I")
_SEQUENCE = struct.Struct("<Q")
_DATA = struct.Struct("<QI")


@dataclass(frozen=True)
class Frame:
    """One frame."""

    kind: str  # its letter
    sequence: int = 0  # of `D`, `E` and `A`
    driver: int = 0  # of `D`
    body: bytes = b""  # what is behind these

    def encode(self) -> bytes:
        """The frame's bytes."""
        head = b""
        if self.kind == "D":
            head = _DATA.pack(self.sequence, self.driver)
        elif self.kind in "EA":
            head = _SEQUENCE.pack(self.sequence)
        return _SIZE.pack(1 + len(head) + len(self.body)) + self.kind.encode() + head + self.body

    @classmethod
    def data(cls, sequence: int, driver: int, batch: pa.RecordBatch) -> Frame:
        """A frame of rows."""
        return cls("D", sequence, driver, stream_of([batch], batch.schema).to_pybytes())

    def batch(self) -> pa.RecordBatch:
        """The rows of a frame of data."""
        batches = sound_stream(self.body, f"frame {self.sequence}")
        if len(batches) != 1:
            raise InputError(
                f"frame {self.sequence} holds {counted(len(batches), 'batch')}, not one"
            )
        return batches[0]

    def text(self) -> str:
        """What a frame `X` or `L` says."""
        return self.body.decode("utf-8", "replace")


def hello(sender: int) -> Frame:
    """The first frame of a sender."""
    return Frame("H", body=json.dumps({"version": FRAME_VERSION, "sender": sender}).encode())


def read_frame(read: Callable[[int], bytes]) -> Frame | None:
    """The next frame; None where the stream ends between two.

    `read` gives fewer bytes than it is asked for only where the stream ends.
    """
    head = read(_SIZE.size)
    if not head:
        return None
    size = _SIZE.unpack(head)[0] if len(head) == _SIZE.size else 0
    if not 0 < size <= MOST_FRAME_BYTES:
        raise InputError(f"a frame of {counted(size, 'byte')}; there are 1 to {MOST_FRAME_BYTES}")
    content = read(size)
    if len(content) != size:
        raise InputError(f"a frame of {counted(size, 'byte')} breaks off after {len(content)}")
    kind, body = chr(content[0]), content[1:]
    if kind in "HLX":
        return Frame(kind, body=body)
    layout = {"D": _DATA, "E": _SEQUENCE, "A": _SEQUENCE}.get(kind)
    if layout is None or len(body) < layout.size or (kind != "D" and len(body) != layout.size):
        raise InputError(f"there is no frame {kind!r} with {counted(len(body), 'byte')}")
    words = layout.unpack_from(body)
    return Frame(kind, words[0], words[1] if kind == "D" else 0, body[layout.size :])
