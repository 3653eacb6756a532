"""The Avro decoder: blocks in, a record batch out."""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.plan import Column, Plan, plan_column
from seamkit.avro.schema import AvroType, parse_schema
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call, expect, made
from seamkit.core.memory import TrackedAllocator
from seamkit.files.promotion import LOSSLESS, TypeRules, resolve_column

# Layouts of data blocks: versions 1 to 3 are the same, a record count before the records.
_BLOCK_VERSIONS = frozenset((1, 2, 3))


@dataclass(frozen=True)
class BlockPiece:
    """Some neighbouring records of an Avro data block."""

    content: Any  # the whole block's content, as the core takes it
    begin: int  # where the first of them starts, in bytes from the content's start
    end: int  # where the last one ends
    count: int
    source: str  # what messages call the block


def new_native_decoder(plan: Plan, allocator: TrackedAllocator, source: str) -> Any:
    """Compile a plan in the core; the result frees itself."""
    given = allocator.pointer, *plan.native_nodes, *plan.native_columns
    make, free = lib.seam_avro_new, lib.seam_avro_free
    return made(ffi.new("struct seam_avro_decoder **"), make, free, *given, source=source)


def finish_native_decoder(decoder: Any, schema: pa.Schema, source: str) -> pa.RecordBatch:
    """Hand the rows of a decoder to pyarrow without copying them."""
    array = ffi.new("struct ArrowArray *")
    call(lib.seam_avro_finish, decoder, array, source=source)
    return pa.RecordBatch._import_from_c(int(ffi.cast("uintptr_t", array)), schema)


class _Plans:
    """Plans that were made last: blocks of a table mostly have one schema, and are read alike.

    They are those of columns that all come from the writer, in the types asked for. The writer's
    type is known by itself, as `parse_schema` gives one object for one text. Threads may share it.
    """

    _MOST = 32
    _MOST_TYPES = 1000  # of a plan

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, tuple[AvroType, TypeRules, Plan]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, writer: AvroType, schema: pa.Schema, rules: TypeRules) -> Plan | None:
        """The plan of a writer's schema for some columns; None if it is not there."""
        key = id(writer), schema, id(rules)
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return self._known[key][2]

    def put(self, writer: AvroType, schema: pa.Schema, rules: TypeRules, plan: Plan) -> None:
        """Keep a plan; what its key names by `id` stays as long as it does."""
        _, n_types, _, _ = plan.native_nodes
        if n_types > self._MOST_TYPES:
            return
        with self._lock:
            self._known[id(writer), schema, id(rules)] = writer, rules, plan
            while len(self._known) > self._MOST:
                self._known.popitem(last=False)


_PLANS = _Plans()


class AvroDecoder:
    """Decodes the Avro data blocks that one writer schema wrote.

    Memory belongs to the allocator; the batches keep it alive for as long as they need it. One
    thread at a time may use a decoder; the core runs outside the GIL.

    Args:
        writer_schema: the block's schema (header 2), JSON text or parsed.
        schema: the columns wanted, in order, matched to the writer's fields by name. A column that
            the writer lacks holds its default, or null.
        allocator: where the memory comes from; None for one of its own without a limit.
        defaults: values of columns that the writer lacks, by name (plain Python values).
        rules: which types of the writer become which of the columns.
        source: what messages call the input, such as the file's path.
        jumps: pass over what follows a record's last field that is asked for by the record's
            length, unread, so that it is not checked.
        plan: of a decoder of the same, all of whose columns the writer has.
    """

    def __init__(
        self,
        writer_schema: str | bytes | Mapping[str, Any] | AvroType,
        schema: pa.Schema,
        allocator: TrackedAllocator | None = None,
        *,
        defaults: Mapping[str, Any] | None = None,
        rules: TypeRules = LOSSLESS,
        source: str = "",
        jumps: bool = False,
        plan: Plan | None = None,
    ) -> None:
        self._framing = lib.SEAM_AVRO_JUMPED if jumps else lib.SEAM_AVRO_FRAMED
        self._writer = (
            writer_schema if isinstance(writer_schema, AvroType) else parse_schema(writer_schema)
        )
        if self._writer.kind != "record":
            raise InputError(
                f"{source}: an Avro data block holds records, not {self._writer.kind}."
            )
        self.schema = schema
        self._rules = rules
        self._source = source
        self._defaults = dict(defaults or {})
        self._allocator = allocator or TrackedAllocator()
        self._present = schema.remove_metadata()
        self.plan = plan or self._plan()
        self._decoder = new_native_decoder(self.plan, self._allocator, self._source)

    def _plan(self) -> Plan:
        """How to read the writer's records."""
        plan = _PLANS.get(self._writer, self.schema, self._rules)
        if plan is None:
            plan, self._present = self._planned()
            if self._present.equals(self.schema):
                _PLANS.put(self._writer, self.schema, self._rules, plan)
        return plan

    def _planned(self) -> tuple[Plan, pa.Schema]:
        """How to read the writer's records, and the columns that they have."""
        positions = {name: i for i, name in enumerate(self._writer.names)}
        wanted: dict[int, Column] = {}
        present: list[pa.Field] = []
        for field in self.schema:
            position = positions.get(field.name)
            avro = None if position is None else self._writer.children[position]
            # A writer's type that knows null alone has no value for a nested column.
            is_null = avro is not None and avro.value_type().kind == "null"
            if position is None or avro is None or (is_null and pa.types.is_nested(field.type)):
                self._check_missing(field)
                continue
            wanted[position], kind = plan_column(field.name, avro, field, self._rules, self._source)
            present.append(field.with_type(kind))
        return Plan(self._writer, wanted), pa.schema(present)

    def _check_missing(self, wanted: pa.Field) -> None:
        if self._defaults.get(wanted.name) is None and not wanted.nullable:
            raise InputError(
                f"{self._source}: field '{wanted.name}' is not in the writer's schema, and its "
                "column allows no nulls and has no default."
            )

    @property
    def rows(self) -> int:
        """Rows decoded since the start or the last `finish`."""
        return int(lib.seam_avro_rows(self._decoder))

    def decode(self, content: Any, source: str | None = None) -> int:
        """Append the records of one Avro data block.

        Args:
            content: the block's content (bytes-like, contiguous), its two int32 included. It may go
                away after the call.
            source: what messages call this block, instead of the decoder's own source.

        Returns:
            How many records the block had.
        """
        block = whole_block(content, self._source if source is None else source)
        self.decode_piece(block)
        return block.count

    def decode_piece(self, piece: BlockPiece, kept: npt.NDArray[np.bool_] | None = None) -> None:
        """Append the records of a piece of a block; errors as of `decode`.

        Only records of a block's first piece are counted from the block's beginning in messages.
        """
        span = piece.content, piece.end, piece.begin, piece.count
        if kept is None:
            call(lib.seam_avro_decode, self._decoder, *span, self._framing, source=piece.source)
            return
        expect(len(kept) == piece.count, "a word for each record")
        given = *span, ffi.from_buffer("uint8_t[]", np.packbits(kept, bitorder="little"))
        call(lib.seam_avro_decode_kept, self._decoder, *given, self._framing, source=piece.source)

    def decode_plain(self, content: Any, count: int, source: str | None = None) -> None:
        """Append records that follow each other without lengths, as in blocks of Avro's own files.

        Their bytes may go away after the call; messages call them as in `decode`.
        """
        view = ffi.from_buffer("uint8_t[]", content)
        given = view, len(view), 0, count, lib.SEAM_AVRO_PLAIN
        source = self._source if source is None else source
        call(lib.seam_avro_decode, self._decoder, *given, source=source)

    def decode_framed(self, content: bytes, count: int) -> None:
        """Append records with an int32 of its length before each; errors as of `decode`."""
        view = ffi.from_buffer("uint8_t[]", content)
        self.decode_piece(BlockPiece(view, 0, len(view), count, self._source))

    def finish(self) -> pa.RecordBatch:
        """Hand over all rows decoded so far, in order; the decoder is empty and usable again.

        The batch has the schema asked for; its buffers belong to the allocator.
        """
        rows = self.rows
        batch = finish_native_decoder(self._decoder, self._present, self._source)
        if self._present.equals(self.schema):
            return batch
        arrays = []
        for wanted in self.schema:
            index = self._present.get_field_index(wanted.name)
            if index < 0:
                arrays.append(self._missing(wanted, rows))
            else:
                arrays.append(
                    resolve_column(batch.column(index), wanted, self._rules, self._source)
                )
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _missing(self, wanted: pa.Field, rows: int) -> pa.Array:
        value = self._defaults.get(wanted.name)
        if value is None:
            return pa.nulls(rows, wanted.type)
        return pa.repeat(pa.scalar(value, wanted.type), rows)


def whole_block(content: Any, source: str) -> BlockPiece:
    """All records of an Avro data block; arguments and errors as of `cut_block`."""
    view, count = _open(content, source)
    return BlockPiece(view, 8, len(view), count, source)


def cut_block(content: Any, piece_bytes: int, source: str) -> Iterator[BlockPiece]:
    """Cut an Avro data block between records, into one piece or more, in order.

    Nothing but lengths is looked at. Pieces borrow from the content; each has `piece_bytes` encoded
    bytes, passed by one record at most.
    """
    view, left = _open(content, source)
    end, count, at = ffi.new("int64_t *"), ffi.new("int64_t *"), 8
    while True:
        lib.seam_avro_cut(view, len(view), at, left, piece_bytes, end, count)
        yield BlockPiece(view, at, int(end[0]), int(count[0]), source)
        left -= int(count[0])
        at = int(end[0])
        if not left:
            return


def _open(content: Any, where: str) -> tuple[Any, int]:
    """The bytes of a data block, and how many records it says it has."""
    view = ffi.from_buffer("uint8_t[]", content)
    if len(view) < 8:
        raise InputError(
            f"{where}: an Avro data block of {counted(len(view), 'byte')} has no header."
        )
    version, count = struct.unpack_from(">ii", ffi.buffer(view, 8))
    if version not in _BLOCK_VERSIONS:
        raise RefusedError(f"{where}: Avro data block of unknown content version {version}.")
    return view, int(count)
