"""Damaged bytes: whatever is cut, flipped or garbled must be refused by name or read validly.

Every truncation of a file (a sample of a long one's), every byte of a small one flipped in several
ways, numbers replaced by ones that reach too far. Where a checksum covers the damage only a refusal
will do; where a flipped byte is simply another value, a valid batch within the limits will. What
may never be is a crash, a hang, an exception that is no refusal, or memory beyond the limit.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa

from seambase import errors
from seambase.pages.reader import HEADER_BYTES, Page, frame, page_options, read_pages
from seambase.serde import SerdeRequest
from seambase.walk import ByteField
from seambase.wording import counted
from seambench.conformance.judge import NO_REFUSAL
from seambench.conformance.private_process import open_to_itself
from seambench.contracts.outcomes import Mismatch, NotOffered
from seambench.contracts.serde import Serde
from seambench.seams.serde.vectors import Expected, Vector, decode_problem

#: Most bytes that a damaged input may make an implementation hand out.
SIZE_LIMIT = 32 << 20
_DEPTH_LIMIT = 64
#: Memory that a whole case may add beyond the limit: copies, the interpreter's own.
_SLACK_KIB = 160 << 10
_MOST_CUTS = 4096
#: Files up to this size have every byte flipped.
SMALL_BYTES = 1024
_GARBLED = 150
_WRONG_NUMBERS = (0, 1, -1, -2, 7, 255, 1 << 16, (1 << 31) - 1, -(1 << 31), 1 << 30)
_CHECKSUM_AT = 13
_DIGIT = re.compile(r"\d")


class Damaged(NamedTuple):
    """Bytes with a defect."""

    what: str
    data: bytes
    # `refuse`: an error must come; `any`: an error or a valid result; an int: exactly so many whole
    # batches (pages) or rows are left and must come out; `same`: an error or the undamaged values
    verdict: Literal["refuse", "any", "same"] | int


def check_damage(operation: str, vector: Vector, serde: Serde) -> None:
    """Put an implementation to every defect of a kind."""
    options = dict(vector.request.options)
    if serde.capabilities.get("limits"):
        options |= {"size_limit": SIZE_LIMIT, "depth_limit": _DEPTH_LIMIT}
    request = replace(vector.request, options=options)
    before = _fresh_peak_kib()
    is_peer, read = serde.kind == "peer", serde.deserialize
    for defect in damaged(operation, vector):
        _check(defect, request, vector, read, is_peer=is_peer)
    if serde.capabilities.get("checksum") and operation == "flip":
        summing = replace(request, options={**options, "checksum": True})
        for defect in _flips_under_checksum(_checksummed(vector)):
            _check(defect, summing, vector, read, is_peer=is_peer)
    if (grown := _peak_kib() - before) > (SIZE_LIMIT >> 10) + _SLACK_KIB:
        raise Mismatch(f"memory grew by {grown >> 10} MiB over damaged input")


def _fresh_peak_kib() -> int:
    """The peak of this process from now on: what it holds.

    The one that getrusage tells is of the whole life, which after one heavy case no other exceeds.
    """
    try:
        with open_to_itself():
            Path("/proc/self/clear_refs").write_text("5")
    except OSError as error:
        raise errors.UnavailableError(
            f"memory over damaged input cannot be measured: /proc/self/clear_refs: {error}"
        ) from error
    return _peak_kib()


def _peak_kib() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise errors.UnavailableError("/proc/self/status tells no peak of memory (VmHWM)")


def damaged(operation: str, vector: Vector) -> Iterator[Damaged]:
    """All defects of a kind that a vector is put to, without those under a checksum of its own."""
    if vector.data is None:
        raise NotOffered("no bytes are known")
    kinds: dict[str, Callable[[Vector, bytes], Iterator[Damaged]]] = {
        "truncate": _cuts,
        "flip": _flips,
        "garble": _garbled,
    }
    return kinds[operation](vector, vector.data)


def _check(
    defect: Damaged,
    request: SerdeRequest,
    vector: Vector,
    read: Callable[[SerdeRequest, bytes], Sequence[pa.RecordBatch]],
    *,
    is_peer: bool,
) -> None:
    try:
        batches = read(request, defect.data)
    except NO_REFUSAL:
        raise
    except (errors.InputError, errors.RefusedError) as error:
        if isinstance(defect.verdict, int):
            raise Mismatch(f"{defect.what} leaves a whole stream, refused: {error}") from error
        if not is_peer and not _DIGIT.search(str(error)):
            raise Mismatch(f"{defect.what}: the refusal names no offset: {error}") from error
        return
    except errors.SeambenchError as error:
        if is_peer and not isinstance(defect.verdict, int):
            return
        raise Mismatch(f"{defect.what}: {type(error).__name__}: {error}") from error
    except Exception as error:
        raise Mismatch(f"{defect.what}: no refusal but {type(error).__name__}: {error}") from error
    _check_result(defect, batches, vector)


def _check_result(defect: Damaged, batches: Sequence[pa.RecordBatch], vector: Vector) -> None:
    """What came of damage that was not refused."""
    if defect.verdict == "refuse":
        raise Mismatch(f"{defect.what} was not noticed")
    for batch in batches:
        try:
            batch.validate(full=True)
        except pa.ArrowInvalid as error:
            raise Mismatch(f"{defect.what} gives an invalid batch: {error}") from error
        if batch.get_total_buffer_size() > 2 * SIZE_LIMIT:
            raise Mismatch(f"{defect.what} gives {counted(batch.get_total_buffer_size(), 'byte')}")
    if defect.verdict == "same" and (problem := decode_problem(vector, batches)):
        raise Mismatch(f"{defect.what}: {problem}")
    if isinstance(defect.verdict, int):
        _check_rest(defect, defect.verdict, batches, vector)


def _check_rest(
    defect: Damaged, left: int, batches: Sequence[pa.RecordBatch], vector: Vector
) -> None:
    """What is left whole must come out, with its values."""
    if vector.request.format == "presto":
        want = replace(vector, batches=vector.batches[:left])
    else:
        columns = [column[:left] for column in vector.batches[0].columns]
        want = replace(vector, batches=[Expected(left, columns)])
    if problem := decode_problem(want, batches):
        raise Mismatch(f"{defect.what}: {problem}")


def _cuts(vector: Vector, data: bytes) -> Iterator[Damaged]:
    """Every truncation, or a sample of a long file's."""
    if vector.request.format == "presto":
        ends = _page_ends(_pages(vector))
    else:
        ends = list(vector.row_ends)
        if vector.request.options.get("framing") == "velox-group":
            ends = [0]  # no group at all is no rows
    places = {end: at for at, end in reversed(list(enumerate(ends)))}
    for length in _sample(len(data)):
        yield Damaged(
            f"cut to {counted(length, 'byte')}", data[:length], places.get(length, "refuse")
        )


def _sample(length: int) -> Sequence[int]:
    if length <= _MOST_CUTS:
        return range(length)
    part = _MOST_CUTS // 4
    middle = random.Random(length).sample(range(part, length - part), 2 * part)
    return [*range(part), *sorted(middle), *range(length - part, length)]


def _pages(vector: Vector) -> list[Page]:
    assert vector.data is not None
    return read_pages(vector.data, page_options(vector.request), list(vector.types))


def _page_ends(pages: Sequence[Page]) -> list[int]:
    """Offsets at which whole pages end, 0 included."""
    ends = [0]
    for page in pages:
        ends.append(ends[-1] + HEADER_BYTES + page.size)
    return ends


def _flips(vector: Vector, data: bytes) -> Iterator[Damaged]:
    """Every byte of a small file, flipped in three ways."""
    if len(data) > SMALL_BYTES or vector.request.options.get("checksum"):
        return
    for at in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            flipped = data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
            yield Damaged(f"byte {at} flipped by {mask:02x}", flipped, "any")


def _checksummed(vector: Vector) -> bytes:
    """The pages of a small vector with checksums; nothing of a large one."""
    if vector.data is None or len(vector.data) > SMALL_BYTES:
        return b""
    if vector.request.format != "presto" or vector.request.options.get("checksum"):
        return vector.data if vector.request.format == "presto" else b""
    codec = str(vector.request.options.get("codec", "none"))
    return b"".join(
        frame(page.rows, page.payload, codec if page.marker & 1 else "none", checksum=True)
        for page in _pages(vector)
    )


def _flips_under_checksum(data: bytes) -> Iterator[Damaged]:
    """Every byte of pages with checksums: only a refusal will do.

    The upper half of the checksum field is always zero, and readers need not look at it.
    """
    at, start = 0, 0
    while start < len(data):
        size = struct.unpack_from("<i", data, start + 9)[0]
        for at in range(start, start + HEADER_BYTES + size):
            upper = start + _CHECKSUM_AT + 4 <= at < start + HEADER_BYTES
            flipped = data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :]
            what = f"byte {at} flipped under a checksum"
            yield Damaged(what, flipped, "same" if upper else "refuse")
        start += HEADER_BYTES + size


def _garbled(vector: Vector, data: bytes) -> Iterator[Damaged]:
    """Numbers of the format replaced by ones that reach too far; checksums are made anew."""
    chance = random.Random(len(data))
    if vector.request.format == "presto":
        yield from _garbled_pages(vector, chance)
        return
    places = range(0, max(len(data) - 3, 0), 4)
    for _ in range(_GARBLED if places else 0):
        at, number = chance.choice(places), chance.choice(_WRONG_NUMBERS)
        word = struct.pack(chance.choice(("<i", ">i")), number)
        yield Damaged(f"{number} at byte {at}", data[:at] + word + data[at + 4 :], "any")


def _garbled_pages(vector: Vector, chance: random.Random) -> Iterator[Damaged]:
    """Counts, lengths, offsets and ids of the first page's payload, replaced one at a time."""
    pages = _pages(vector)
    if not pages:
        return
    page, options = pages[0], vector.request.options
    codec = str(options.get("codec", "none")) if page.marker & 1 else "none"
    walked: list[ByteField] = []
    read_pages(
        frame(page.rows, page.payload), page_options(vector.request), list(vector.types), walked
    )
    words = [
        at - HEADER_BYTES
        for field in walked
        if isinstance(field.value, (int, list)) and field.offset >= HEADER_BYTES
        for at in range(field.offset, field.offset + field.length - 3, 4)
    ]
    for _ in range(_GARBLED if words else 0):
        at, number = chance.choice(words), chance.choice((*_WRONG_NUMBERS, page.rows + 1))
        payload = page.payload[:at] + struct.pack("<i", number) + page.payload[at + 4 :]
        whole = frame(page.rows, payload, codec, bool(options.get("checksum")))
        yield Damaged(f"{number} at byte {at} of the payload", whole, "any")
