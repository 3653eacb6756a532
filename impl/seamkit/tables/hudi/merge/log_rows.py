"""The rows of log blocks: Avro and Parquet blocks decoded into batches of the columns wanted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError, RefusedError
from seamkit.avro import AvroDecoder, AvroType, BlockPiece, cut_block, parse_schema, whole_block
from seamkit.core.arrow_data import batch_of, numbers
from seamkit.files.columns import renamed
from seamkit.files.equalities import RowTest
from seamkit.files.parquet import (
    PARQUET_ERRORS,
    dictionary_columns,
    open_parquet,
    with_dictionaries,
)
from seamkit.files.promotion import resolve_batch
from seamkit.scan.merging.assembly import spread
from seamkit.tables.hudi.log.log import LogBlock
from seamkit.tables.hudi.merge.view import LogView
from seamkit.tables.hudi.timeline.schema_history import file_names
from seamkit.tables.hudi.types.promotion import HUDI_TYPES

__all__ = ["WantedRecords", "decode_run"]

_LEAST_PIECE_BYTES = 64 * 1024
# Below this a thread costs more than it saves.
_LEAST_SHARE_BYTES = 1 << 20
# So many pieces a thread: whoever is done early takes another one.
_PIECES_A_THREAD = 3
# Rows of a Parquet block at once, where memory is bounded.
_BOUNDED_ROWS = 4096
# Of a piece's records: the share up to which only those asked for are decoded.
_MOST_WANTED = 0.25


class WantedRecords:
    """Which records of a slice's Avro blocks are decoded; threads may share it.

    Their keys are decoded first, and nothing behind them. Where many of the first records are
    wanted, all are: to look twice costs more than to decode them.

    Args:
        test: of keys; None for all records.
        view: how to read logs.
    """

    def __init__(self, test: RowTest | None, view: LogView) -> None:
        self._test = test
        self._view = view
        self.left_out = False

    def of(self, piece: BlockPiece, writer: AvroType) -> npt.NDArray[np.bool_] | None:
        """For each record of a piece whether it is decoded; None for all.

        Raises:
            InputError: a length or a key is broken.
        """
        test = self._test
        if test is None:
            return None
        view = self._view
        schema = pa.schema([view.schema.field(name) for name in sorted(test.columns)])
        decoder = _decoder(writer, schema, view, piece.source)
        decoder.decode_piece(piece)
        wanted = numbers(test.may_match(decoder.finish()))
        found = int(np.count_nonzero(wanted))
        if found > len(wanted) * _MOST_WANTED:
            if not self.left_out:
                self._test = None
            return None
        self.left_out = True
        return wanted


def decode_run(
    run: Sequence[LogBlock],
    view: LogView,
    schema: pa.Schema,
    wanted: WantedRecords | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of a run, in order.

    They come in one batch, or piece by piece where memory is bounded or several threads decode.

    Args:
        run: data blocks of one writer schema; one block, if it is Parquet.
        view: how to read them.
        schema: the columns wanted, by the names that the read shows.
        wanted: which records of Avro blocks; None for all.

    Raises:
        InputError: a block is broken, or a type does not promote.
        RefusedError: a partial update from before columns were renamed.
    """
    wanted = wanted or WantedRecords(None, view)
    names = file_names(view.timeline, view.window, run[0].instant)
    if names is None:
        yield from _decode(run, view, schema, wanted)
        return
    if run[0].is_partial:
        raise RefusedError(
            f"{run[0].where}: a partial update from before columns were renamed is not supported"
        )
    own = names.finder(run[0].where).file_schema(schema)
    for batch in _decode(run, view, own, WantedRecords(None, view)):
        yield renamed(batch, schema)


def _decode(
    run: Sequence[LogBlock], view: LogView, schema: pa.Schema, wanted: WantedRecords
) -> Iterator[pa.RecordBatch]:
    first = run[0]
    if first.kind == "parquet":
        yield from _decode_parquet(first, schema, view)
        return
    assert first.schema is not None  # read_blocks refuses an Avro block without one
    writer = parse_schema(first.schema)
    if view.held_bytes is not None:
        decoder = _decoder(writer, schema, view, first.file)
        piece_bytes = max(view.held_bytes // 8, _LEAST_PIECE_BYTES)
        for block in run:
            for piece in cut_block(block.content, piece_bytes, block.where):
                decoder.decode_piece(piece, wanted.of(piece, writer))
                yield decoder.finish()
        return
    run_bytes = sum(len(block.content) for block in run)
    if view.threads > 1 and run_bytes > 2 * _LEAST_SHARE_BYTES:
        yield from _decode_by_threads(run, writer, run_bytes, view, schema, wanted)
    else:
        yield _decode_whole(run, writer, view, schema, wanted)


def _decoder(writer: AvroType, schema: pa.Schema, view: LogView, source: str) -> AvroDecoder:
    """A strict one reads each record to its end, whatever is asked of it."""
    return AvroDecoder(
        writer, schema, view.allocator, rules=HUDI_TYPES, source=source, jumps=not view.strict
    )


def _decode_whole(
    run: Sequence[LogBlock],
    writer: AvroType,
    view: LogView,
    schema: pa.Schema,
    wanted: WantedRecords,
) -> pa.RecordBatch:
    decoder = _decoder(writer, schema, view, run[0].file)
    for block in run:
        piece = whole_block(block.content, block.where)
        decoder.decode_piece(piece, wanted.of(piece, writer))
    return decoder.finish()


def _decode_by_threads(
    run: Sequence[LogBlock],
    writer: AvroType,
    run_bytes: int,
    view: LogView,
    schema: pa.Schema,
    wanted: WantedRecords,
) -> Iterator[pa.RecordBatch]:
    """The rows in order, decoded by several threads, each of which takes the next piece."""
    piece_bytes = max(run_bytes // (_PIECES_A_THREAD * view.threads), _LEAST_SHARE_BYTES)

    def decode(piece: BlockPiece) -> pa.RecordBatch:
        decoder = _decoder(writer, schema, view, piece.source)
        decoder.decode_piece(piece, wanted.of(piece, writer))
        return decoder.finish()

    pool = ThreadPoolExecutor(view.threads, thread_name_prefix="seambench-log")
    try:
        cuts = (cut_block(block.content, piece_bytes, block.where) for block in run)
        yield from pool.map(decode, itertools.chain.from_iterable(cuts))
    except InputError:
        # Records are counted from the block's beginning, which a piece does not know.
        _decode_whole(run, writer, view, schema, wanted)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _decode_parquet(block: LogBlock, schema: pa.Schema, view: LogView) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet block.

    Where memory is bounded they come in small batches, and what a row group claims to take when it
    is decoded counts as long as it is read.
    """
    if len(block.content) == 0:  # Hudi writes nothing at all for no records
        yield _empty(schema)
        return
    where = block.where
    content = pa.BufferReader(pa.py_buffer(block.content))
    file = open_parquet(content, where)
    encoded = dictionary_columns(file, schema, schema.names)
    file = open_parquet(content, where, metadata=file.metadata, read_dictionary=encoded)
    present = [n for n in schema.names if n in file.schema_arrow.names]
    decoded = with_dictionaries(schema, encoded)
    rows = 0
    for batch in _parquet_batches(file, present, view, where):
        rows += batch.num_rows
        yield spread(resolve_batch(batch, decoded, HUDI_TYPES, where), encoded, view.allocator)
    if rows != file.metadata.num_rows:
        raise InputError(f"{where}: {rows} rows, but its footer says {file.metadata.num_rows}")
    if not rows:
        yield _empty(schema)


def _parquet_batches(
    file: pq.ParquetFile, names: Sequence[str], view: LogView, where: str
) -> Iterator[pa.RecordBatch]:
    if not names:
        # Of a table without columns pyarrow makes no batch, whatever its rows.
        yield batch_of([], pa.schema([]), file.metadata.num_rows)
        return
    try:
        if view.held_bytes is None:
            table = file.read(columns=names, use_threads=view.threads > 1)
            yield from table.combine_chunks().to_batches()
            return
        for group in range(file.num_row_groups):
            claimed = file.metadata.row_group(group).total_byte_size
            with view.allocator.reserve(max(claimed, 0)):
                for batch in file.iter_batches(
                    _BOUNDED_ROWS, row_groups=[group], columns=names, use_threads=False
                ):
                    with view.allocator.reserve(batch.nbytes):
                        yield batch
    except PARQUET_ERRORS as error:
        raise InputError(f"{where} is not readable: {error}") from error


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return batch_of([pa.nulls(0, field.type) for field in schema], schema, 0)
