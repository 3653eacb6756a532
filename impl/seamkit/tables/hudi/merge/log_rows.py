"""The rows of log blocks: Avro and Parquet blocks decoded into batches of the columns wanted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError, RefusedError
from seamkit.avro import AvroDecoder, BlockPiece, cut_block
from seamkit.avro.schema import parse_schema
from seamkit.core.arrow_data import batch_of
from seamkit.files.parquet import (
    PARQUET_ERRORS,
    dictionary_columns,
    open_parquet,
    with_dictionaries,
)
from seamkit.files.promotion import resolve_batch
from seamkit.files.renamed import renamed
from seamkit.scan.merge import spread
from seamkit.tables.hudi.log.log import LogBlock
from seamkit.tables.hudi.merge.view import LogView
from seamkit.tables.hudi.timeline.schema_history import file_names
from seamkit.tables.hudi.types.promotion import HUDI_TYPES

__all__ = ["decode_run"]

_LEAST_PIECE_BYTES = 64 * 1024
# Below this a thread costs more than it saves.
_LEAST_SHARE_BYTES = 1 << 20
# So many pieces a thread: whoever is done early takes another one.
_PIECES_A_THREAD = 3
# Rows of a Parquet block at once, where memory is bounded.
_BOUNDED_ROWS = 4096


def decode_run(
    run: Sequence[LogBlock], view: LogView, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows of a run, in order.

    They come in one batch, or piece by piece where memory is bounded or several threads decode.

    Args:
        run: data blocks of one writer schema; one block, if it is Parquet.
        view: how to read them.
        schema: the columns wanted, by the names that the read shows.

    Raises:
        InputError: a block is broken, or a type does not promote.
        RefusedError: a partial update from before columns were renamed.
    """
    names = file_names(view.timeline, view.window, run[0].instant)
    if names is None:
        yield from _decode(run, view, schema)
        return
    if run[0].is_partial:
        raise RefusedError(
            f"{run[0].where}: a partial update from before columns were renamed is not supported"
        )
    for batch in _decode(run, view, names.asked(schema)):
        yield renamed(batch, schema)


def _decode(run: Sequence[LogBlock], view: LogView, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    first = run[0]
    if first.kind == "parquet":
        yield from _decode_parquet(first, schema, view)
        return
    assert first.schema is not None  # read_blocks refuses an Avro block without one
    if view.held_bytes is not None:
        decoder = AvroDecoder(
            first.schema, schema, view.allocator, rules=HUDI_TYPES, source=first.file
        )
        piece_bytes = max(view.held_bytes // 8, _LEAST_PIECE_BYTES)
        for block in run:
            yield from decoder.decode_in_pieces(block.content, piece_bytes, source=block.where)
        return
    run_bytes = sum(len(block.content) for block in run)
    if view.threads > 1 and run_bytes > 2 * _LEAST_SHARE_BYTES:
        yield from _decode_by_threads(run, run_bytes, view, schema)
    else:
        yield _decode_whole(run, view, schema)


def _decode_whole(run: Sequence[LogBlock], view: LogView, schema: pa.Schema) -> pa.RecordBatch:
    decoder = AvroDecoder(
        run[0].schema or "", schema, view.allocator, rules=HUDI_TYPES, source=run[0].file
    )
    for block in run:
        decoder.decode(block.content, source=block.where)
    return decoder.finish()


def _decode_by_threads(
    run: Sequence[LogBlock], run_bytes: int, view: LogView, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows in order, decoded by several threads, each of which takes the next piece."""
    writer = parse_schema(run[0].schema or "")
    piece_bytes = max(run_bytes // (_PIECES_A_THREAD * view.threads), _LEAST_SHARE_BYTES)

    def decode(piece: BlockPiece) -> pa.RecordBatch:
        decoder = AvroDecoder(writer, schema, view.allocator, rules=HUDI_TYPES, source=piece.source)
        decoder.decode_piece(piece)
        return decoder.finish()

    pool = ThreadPoolExecutor(view.threads, thread_name_prefix="seambench-log")
    try:
        cuts = (cut_block(block.content, piece_bytes, block.where) for block in run)
        yield from pool.map(decode, itertools.chain.from_iterable(cuts))
    except InputError:
        # Records are counted from the block's beginning, which a piece does not know.
        _decode_whole(run, view, schema)
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
    return batch_of([pa.array([], field.type) for field in schema], schema, 0)
