"""A local exchange between threads: drivers that write, drivers that read, bounded memory between.

Who reads what and when writers wait is `LocalExchange`'s to decide; here are the lock around it and
the rows. Rows that are dealt are copied once, in the core and by the thread that writes, so that
nobody holds a chunk for the sake of a row; chunks that go whole change hands as they are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.local.logic import (
    BY_HASH,
    DealtRows,
    LocalChunk,
    LocalExchange,
    LocalKind,
    LocalOptions,
)
from seamkit.exchange.partition import KeyColumns, Partitioner, PartitionRule, hash_rows
from seamkit.exchange.source import ExchangeFailedError

_ROWS = "rows of a key"


class ThreadedLocalExchange:
    """One exchange between threads of a process. Thread-safe; each writer and reader is one thread.

    At most `limit_bytes` wait, and what the batch that passed the limit adds to them.

    Args:
        kind: see `seamkit.exchange.local.logic.KINDS`.
        schema: of the batches.
        writers: threads that write; each must `finish`, or somebody `cancel`.
        readers: threads that read.
        rule: by whose keys rows are dealt, for the kinds that hash; its parts are the readers.
        options: the limits.
        seed: of `random-passthrough`.
        allocator: owner of rows that are dealt; a new one without limit by default.

    Raises:
        UsageError: an unknown kind, a rule where rows are not hashed or none where they are, or
            one of other parts.
    """

    def __init__(
        self,
        kind: LocalKind,
        schema: pa.Schema,
        writers: int,
        readers: int,
        *,
        rule: PartitionRule | None = None,
        options: LocalOptions | None = None,
        seed: int = 0,
        allocator: TrackedAllocator | None = None,
    ) -> None:
        self._logic = LocalExchange(kind, writers, readers, options, seed)
        if (rule is not None) != (kind in BY_HASH):
            raise UsageError(f"{', '.join(BY_HASH)} go by a partition rule, and only they")
        if rule is not None and rule.channels * rule.drivers != readers:
            raise UsageError(
                f"the rule has {counted(rule.channels * rule.drivers, 'part')}, "
                f"there are {counted(readers, 'reader')}"
            )
        self._rule = rule
        self._schema = schema
        self.allocator = allocator or TrackedAllocator()
        self._partitioners = (
            [Partitioner(schema, rule, self.allocator) for _ in range(writers)]
            if rule is not None and kind != "key-partition"
            else []
        )
        self._changed = threading.Condition()
        self._error: str | None = None
        self.peak_bytes = 0

    def write(self, writer: int, batch: pa.RecordBatch) -> None:
        """Give a batch to its readers; waits while the exchange is full."""
        if not batch.schema.equals(self._schema):
            raise UsageError(f"a batch of another schema:\n{batch.schema}")
        dealt = list(self._dealt(writer, batch)) if self._rule is not None else None
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or not self._logic.is_full)
            self._check()
            if dealt is None:
                self._logic.accept(writer, batch, batch.num_rows, batch.nbytes)
            else:
                self._logic.accept_dealt(writer, dealt)
            self.peak_bytes = max(self.peak_bytes, self._logic.waiting_bytes)
            self._changed.notify_all()

    def finish(self) -> None:
        """One writer has ended."""
        with self._changed:
            self._check()
            self._logic.end()
            self._changed.notify_all()

    def read(self, reader: int, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch of a reader, within `timeout` seconds; None when nothing will come."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._can_go_on(reader), timeout):
                raise ExchangeFailedError(f"nothing came to reader {reader} in {timeout} s")
            self._check()
            chunks = self._logic.pull(reader)
            self._changed.notify_all()
        batches = [_rows_of(chunk) for chunk in chunks]
        if len(batches) > 1:
            return pa.concat_batches(batches)
        return batches[0] if batches else None

    def finish_reader(self, reader: int) -> None:
        """A reader needs nothing more; what comes to it is dropped."""
        with self._changed:
            self._logic.finish_reader(reader)
            self._changed.notify_all()

    def leave(self, reader: int, reason: str) -> None:
        """A reader goes: while anybody writes the exchange fails with `reason`."""
        with self._changed:
            over = self._logic.is_ended
        if over:
            self.finish_reader(reader)
        else:
            self.cancel(reason)

    def cancel(self, reason: str) -> None:
        """End without an end: everyone who waits, or comes, gets `reason`. Repeatable."""
        with self._changed:
            self._error = self._error or reason
            self._logic.drop()
            self._changed.notify_all()

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait for readers."""
        return self._logic.waiting_bytes

    def _check(self) -> None:
        if self._error is not None:
            raise ExchangeFailedError(self._error)

    def _can_go_on(self, reader: int) -> bool:
        logic = self._logic
        return self._error is not None or logic.is_finished(reader) or logic.has_output(reader)

    def _dealt(self, writer: int, batch: pa.RecordBatch) -> Iterator[DealtRows]:
        """Rows by reader, in memory of their own."""
        if not self._partitioners:
            yield from self._by_key(batch)
            return
        if not 0 <= writer < len(self._partitioners):
            raise UsageError(f"there is no writer {writer}")
        partitioner = self._partitioners[writer]
        for steps in (partitioner.append(batch), partitioner.flush()):
            for reader, rows in steps:
                yield DealtRows(reader, rows, rows.num_rows, rows.nbytes)

    def _by_key(self, batch: pa.RecordBatch) -> Iterator[DealtRows]:
        """A chunk a distinct key; keys whose hashes are equal share a reader and no chunk."""
        assert self._rule is not None
        readers = hash_rows(batch, self._rule) % (self._rule.channels * self._rule.drivers)
        columns = KeyColumns(self._schema, self._rule.keys, self._rule.columns)
        arranged = columns.arrange(batch)
        dealt = arranged.select(list(range(columns.dealt)))
        keys = [str(number) for number in range(len(columns.indexes))]
        found = [arranged.column(index) for index in columns.indexes]
        numbered = pa.table([*found, np.arange(len(readers))], [*keys, _ROWS])
        try:
            grouped = numbered.group_by(keys, use_threads=False).aggregate([(_ROWS, "list")])
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise RefusedError(f"key-partition cannot tell keys apart: {error}") from error
        for rows_of_key in grouped[f"{_ROWS}_list"].combine_chunks():
            rows = dealt.take(rows_of_key.values)
            reader = int(readers[rows_of_key[0].as_py()])
            yield DealtRows(reader, rows, rows.num_rows, rows.nbytes)


def _rows_of(chunk: LocalChunk) -> pa.RecordBatch:
    batch: pa.RecordBatch = chunk.payload
    return batch if chunk.rows is None else batch.take(pa.array(chunk.rows, pa.int64()))
