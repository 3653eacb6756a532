"""Merging sorted senders: rows come out in one order, whoever they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from seambase.encodings import plain_schema
from seambase.errors import InputError, UsageError
from seambase.foreign_arrow import sound_stream
from seambase.values import SortKey
from seamkit.core._seam import ffi, lib
from seamkit.core.border import ExportedBatch, address, batch_without_views, call, made
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.logic.messages import Bound
from seamkit.exchange.partition import column_index
from seamkit.exchange.source import ExchangeSource


class SortedMerge:
    """A k-way merge of sorted inputs, as pure logic: it is asked what it wants, and given it.

    Rows with equal keys come by the number of their input, within one as they were. NaN is the
    greatest number, -0 equals 0, strings are ordered by their bytes. Dictionaries and runs come out
    as what they stand for. Each chunk but the last has `chunk_rows`.
    """

    def __init__(
        self,
        schema: pa.Schema,
        keys: Sequence[SortKey],
        inputs: int,
        chunk_rows: int = 4096,
        allocator: TrackedAllocator | None = None,
    ) -> None:
        self.schema = plain_schema(schema)
        self._given = schema
        self._batches: dict[int, ExportedBatch] = {}
        self._key = pa.schema(
            [self.schema.field(column_index(schema, key.column, "to sort by")) for key in keys]
        )
        order = ffi.new("struct seam_order_key[]", len(keys))
        for number, key in enumerate(keys):
            order[number].column = column_index(schema, key.column, "to sort by")
            order[number].descending = key.descending
            order[number].nulls_first = key.nulls_first
        out = ffi.new("struct seam_sorted_merge **")
        make, free = lib.seam_sorted_merge_new, lib.seam_sorted_merge_free
        given = (allocator or TrackedAllocator()).pointer, order, len(keys), inputs, chunk_rows
        self._pointer = made(out, make, free, *given, by_caller=True)

    @property
    def wants(self) -> int | None:
        """The input that must be given its next batch, or its end, before rows can come."""
        input_ = int(lib.seam_sorted_merge_wants(self._pointer))
        return None if input_ < 0 else input_

    def add(self, input_: int, batch: pa.RecordBatch) -> None:
        """The next batch of an input that is wanted."""
        if not batch.schema.equals(self._given):
            raise UsageError(f"a batch of another schema:\n{batch.schema}")
        exported = ExportedBatch(batch_without_views(batch))
        given = self._pointer, input_, exported.schema, exported.array
        call(lib.seam_sorted_merge_add, *given, by_caller=True)
        self._batches[input_] = exported  # borrowed until the input is wanted again

    def bound(self, input_: int, bound: Bound) -> None:
        """How far an input is that is wanted: nothing less comes from it any more."""
        where = f"the bound of input {input_}"
        batches = sound_stream(bound.key, where, self._key)
        if len(batches) != 1 or batches[0].num_rows != 1:
            raise InputError(f"{where} is not one row")
        exported = ExportedBatch(batches[0])
        given = self._pointer, input_, exported.schema, exported.array
        call(lib.seam_sorted_merge_bound, *given, by_caller=True)

    def end(self, input_: int) -> None:
        """Nothing more comes from an input that is wanted."""
        call(lib.seam_sorted_merge_end, self._pointer, input_, by_caller=True)

    def chunks(self) -> Iterator[pa.RecordBatch]:
        """What is ready: every full chunk, and the last one when all inputs have ended."""
        got, array = ffi.new("int32_t *"), ffi.new("struct ArrowArray *")
        while True:
            call(lib.seam_sorted_merge_next, self._pointer, array, got)
            if not got[0]:
                return
            struct = pa.Array._import_from_c(address(array), pa.struct(list(self.schema)))
            yield pa.RecordBatch.from_struct_array(struct).replace_schema_metadata(
                self.schema.metadata
            )


class MergingReader:
    """Reads a driver's queues of a receiver that keeps order, one per sender, as one sorted stream.

    Only the queue of the sender whose rows are wanted is read; the others fill up to the receiver's
    limit, and then their answers wait. A sender that is kept by other receivers tells how far it
    is, so that rows before that leave without it: no receiver waits for a sender that waits for
    another receiver, and so round. The source is made with `keep_order`, a queue for each
    sender and driver, and the merge for as many inputs as there are senders.
    """

    def __init__(
        self, source: ExchangeSource, merge: SortedMerge, driver: int = 0, drivers: int = 1
    ) -> None:
        self._source = source
        self._driver, self._drivers = driver, drivers
        self._merge = merge
        self._ready: Iterator[pa.RecordBatch] = iter(())

    def read(self, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch in order; None when all senders have ended."""
        while True:
            if (batch := next(self._ready, None)) is not None:
                return batch
            wanted = self._merge.wants
            if wanted is None:
                self._ready = self._merge.chunks()
                if (batch := next(self._ready, None)) is not None:
                    return batch
                if (wanted := self._merge.wants) is None:
                    return None
            queue = wanted * self._drivers + self._driver
            came = self._source.read_wanted(queue, timeout)
            if came is None:
                self._merge.end(wanted)
            elif isinstance(came, Bound):
                self._merge.bound(wanted, came)
            else:
                self._merge.add(wanted, came)
