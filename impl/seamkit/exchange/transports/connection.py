"""Frames over a stream, each way: the wire of `sockets`, whoever listens.

A connection begins with eight bytes from each side. Then frames follow: two little-endian words,
the sizes of message and attachment, the message (`seamkit.exchange.transports.wire`), the
attachment: the payloads of all chunks.
"""

from __future__ import annotations

import contextlib
import struct
import threading
import time
from typing import Any

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.core.payloads import size_of
from seamkit.exchange.logic.messages import Answer
from seamkit.exchange.transports.base import (
    HELLO,
    MESSAGE_BYTES_AT_MOST,
    SECONDS_TO_GREET,
    SILENCE_SECONDS,
)
from seamkit.exchange.transports.streams import Stream
from seamkit.exchange.transports.wire import BEAT, encode_answer

_SIZES = struct.Struct("<IQ")
#: Enough for the heads and messages of several frames; what belongs to an attachment is copied.
_BYTES_AHEAD = 4096
#: A peer that broke the protocol hears why, as far as it listens.
_SECONDS_TO_PART = 1.0


class Connection:
    """Frames over a stream. One thread reads; any may write.

    A peer with an attachment of more than `most_bytes` is refused; attachments are the allocator's.
    """

    def __init__(self, stream: Stream, most_bytes: int, allocator: TrackedAllocator) -> None:
        self._stream = stream
        self._most_bytes = most_bytes
        self._allocator = allocator
        self._writing = threading.Lock()
        self._beat_seconds: float | None = None
        self._beaten = self._heard = 0.0
        self._silence_seconds = 0.0
        self._unanswered = 0
        self._ahead = memoryview(bytearray(_BYTES_AHEAD))
        self._used = self._read_ahead = 0  # of what was read ahead, and what is left of it

    def greet(self, peer: str) -> None:
        """Say which protocol this is and hear the same."""
        self._stream.bound(SECONDS_TO_GREET, SECONDS_TO_GREET)
        self._stream.send([HELLO])
        heard = self._take(len(HELLO))
        if heard[:-1] != HELLO[:-1]:
            raise InputError(f"{peer} does not speak this protocol: it says {bytes(heard)!r}")
        if heard[-1] != HELLO[-1]:
            raise InputError(f"{peer} speaks version {heard[-1]} of the protocol, not {HELLO[-1]}")

    def watch(self, seconds: float) -> None:
        """Give the peer up when it is silent for so long, or takes nothing."""
        self._stream.bound(seconds, seconds)

    def beat(self, seconds: float, silence_seconds: float) -> None:
        """Show the peer, so often, that this side lives; whoever reads does that.

        A peer that owes a frame, or the rest of one, is given up when it is silent for so long.
        """
        self._beat_seconds = seconds
        self._silence_seconds = silence_seconds
        self._beaten = self._heard = time.monotonic()
        self._stream.bound(seconds, SILENCE_SECONDS)

    def expect_answers(self, count: int) -> None:
        """So many more (or fewer) answers are due: until then silence of the peer is no fault."""
        with self._writing:
            self._unanswered += count

    def part(self, reason: str) -> None:
        """Tell the peer why this is the end, and wait a moment until it has gone."""
        with contextlib.suppress(OSError, InputError):
            self.write(encode_answer(Answer(0, -1, reason)), [])
            self._beat_seconds = None
            self._stream.bound(_SECONDS_TO_PART, _SECONDS_TO_PART)
            deadline = time.monotonic() + _SECONDS_TO_PART
            while time.monotonic() < deadline and self._stream.receive((self._ahead,)):
                pass  # what is not taken would be a reason for the system to drop the answer

    def write(self, message: bytes, payloads: list[Any]) -> None:
        """Send one frame whole; a connection that stalls within one is of no more use."""
        sizes = _SIZES.pack(len(message), sum(map(size_of, payloads)))
        with self._writing:
            try:
                self._stream.send([sizes + message, *payloads])
            except OSError:
                self._stream.hang_up()
                raise

    def read(self) -> tuple[bytes, memoryview] | None:
        """The next frame; None when the peer closed between two."""
        if self._read_ahead == 0 and not self._receive((self._ahead,), at_border=True):
            return None
        message_bytes, attachment_bytes = _SIZES.unpack(self._take(_SIZES.size))
        if message_bytes > MESSAGE_BYTES_AT_MOST or attachment_bytes > self._most_bytes:
            raise InputError(
                f"a frame of {message_bytes} + {counted(attachment_bytes, 'byte')}; at most "
                f"{MESSAGE_BYTES_AT_MOST} + {self._most_bytes} are taken"
            )
        message = bytes(self._take(message_bytes))
        attachment = memoryview(b"")
        if attachment_bytes:
            attachment = Block(self._allocator, attachment_bytes).view
            self._fill(attachment)
        return message, attachment

    def _take(self, size_bytes: int) -> bytearray:
        """The next bytes of the stream, of which there are few."""
        taken = bytearray(size_bytes)
        self._fill(memoryview(taken))
        return taken

    def _fill(self, target: memoryview) -> None:
        """Fill `target` with what was read ahead and what comes."""
        # Of little, what follows is read ahead by the same call, as far as it has come; a lot is
        # waited for in one call, so that Python does not run for each piece that comes.
        done = min(self._read_ahead, len(target))
        if done:
            target[:done] = self._ahead[self._used : self._used + done]
            self._used += done
            self._read_ahead -= done
        while done < len(target):
            missing = len(target) - done
            if missing > _BYTES_AHEAD:
                done += self._receive((target[done:],), missing, whole=True)
                continue
            count = self._receive((target[done:], self._ahead), missing)
            done += min(count, missing)
            self._note_ahead(count - missing)

    def _note_ahead(self, count: int) -> None:
        self._used, self._read_ahead = 0, max(count, 0)

    def _receive(
        self,
        targets: tuple[memoryview, ...],
        missing: int = 1,
        *,
        at_border: bool = False,
        whole: bool = False,
    ) -> int:
        """Bytes that came, at least one; 0 where the stream may end and does."""
        while True:
            try:
                count = self._stream.receive(targets, whole=whole)
            except TimeoutError:
                if self._beat_seconds is None:
                    raise
                count = -1
            except ConnectionResetError:  # the peer left without reading all that was said to it
                if not at_border:
                    raise
                count = 0
            if self._beat_seconds is not None:
                self._beat_when_due(self._beat_seconds)
                self._check_life(count > 0, at_border)
            if count == 0 and not at_border:
                raise InputError(f"the connection ended {counted(missing, 'byte')} too early")
            if at_border:
                self._note_ahead(count)
            if count >= 0:
                return count

    def _beat_when_due(self, seconds: float) -> None:
        now = time.monotonic()
        if now - self._beaten >= seconds:
            self._beaten = now
            self.write(BEAT, [])

    def _check_life(self, heard: bool, at_border: bool) -> None:
        now = time.monotonic()
        if heard or (at_border and self._unanswered > 0):
            self._heard = now
        elif now - self._heard >= self._silence_seconds:
            raise InputError(f"the sender said nothing for {self._silence_seconds:g} s")

    def hang_up(self) -> None:
        """Wake whoever reads or writes. Repeatable."""
        self._stream.hang_up()
