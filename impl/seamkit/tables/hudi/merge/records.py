"""The records of log blocks as merge events: rows decoded into columns, deletes, and their order.

Avro and Parquet blocks become batches of the columns wanted. Which rows stand for deletes, and what
orders rows and deletes, follows Hudi 1.2.0 (RecordContext, OrderingValues).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.decoder import AvroDecoder, BlockPiece, cut_block, whole_block
from seamkit.avro.schema import AvroType, parse_schema
from seamkit.core.border import array_of, batch_of, no_rows, numpy_of
from seamkit.core.unpack import Bound
from seamkit.files.columns import renamed
from seamkit.files.expressions import RowTest
from seamkit.files.parquet import (
    PARQUET_ERRORS,
    dictionary_columns,
    open_parquet,
    with_dictionaries,
)
from seamkit.files.promotion import resolve_batch
from seamkit.files.reader import check_rows
from seamkit.files.spreading import long_dictionaries, texts_within
from seamkit.files.storage import read_part
from seamkit.scan.core_merges import spread
from seamkit.scan.units import ReadContext
from seamkit.tables.hudi.config.properties import DeleteMarker
from seamkit.tables.hudi.config.value_types import HUDI_TYPES
from seamkit.tables.hudi.listing.log_blocks import IS_DELETED, defaults_of, refuse_pieces
from seamkit.tables.hudi.log.deletes import ORDERING_WORDS, DeleteKeys
from seamkit.tables.hudi.log.log import LogBlock
from seamkit.tables.hudi.merge.keys import OPERATION, LogSource, leaf_column
from seamkit.tables.hudi.timeline.window import file_names

_LEAST_PIECE_BYTES = 64 * 1024
# Below this a thread costs more than it saves.
_LEAST_SHARE_BYTES = 1 << 20
# So many pieces a thread: whoever is done early takes another one.
_PIECES_A_THREAD = 3
# Rows of a Parquet block at once, where memory is bounded.
_BOUNDED_ROWS = 4096
# Of a piece's records: the share up to which only those asked for are decoded.
_MOST_WANTED = 0.25


@dataclass
class RecordReader:
    """Reads the data blocks of one slice; threads may share it.

    Where a look-up asks for few records, the keys of an Avro block are decoded first, and nothing
    behind them. Where many of the first records are wanted, all are: to look twice costs more than
    to decode them.
    """

    source: LogSource
    context: ReadContext
    test: RowTest | None = None  # says of keys which records are wanted; None for all
    left_out: bool = False  # whether a record was passed over

    def batches(self, run: Sequence[LogBlock], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows of neighbouring blocks, in order.

        They come in one batch, or piece by piece where memory is bounded or several threads decode.
        Blocks of a run have one writer schema; one of Parquet is a run.
        """
        names = file_names(self.source.timeline, self.source.window, run[0].instant)
        if names is None:
            yield from self._decoded(run, schema)
            return
        if run[0].is_partial:
            raise RefusedError(
                f"{run[0].where}: a partial update from before columns were renamed is not "
                "supported"
            )
        own = names.finder(run[0].where).file_schema(schema)
        for batch in RecordReader(self.source, self.context)._decoded(run, own):
            yield renamed(batch, schema)

    def _decoded(self, run: Sequence[LogBlock], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        first, context = run[0], self.context
        if first.kind == "parquet":
            yield from _parquet_rows(first, schema, context, self.source.storage.bound)
            return
        assert first.schema is not None  # read_blocks refuses an Avro block without one
        writer = parse_schema(first.schema)
        new = partial(self._decoder, writer, schema, defaults_of(first, self.source, schema))
        if context.held_bytes is not None:
            decoder = new(first.file)
            piece_bytes = max(context.held_bytes // 8, _LEAST_PIECE_BYTES)
            for block in run:
                for piece in cut_block(block.content, piece_bytes, block.where):
                    decoder.decode_piece(piece, self.wanted(piece, writer))
                    yield decoder.finish()
            return
        run_bytes = sum(len(block.content) for block in run)
        if context.threads > 1 and run_bytes > 2 * _LEAST_SHARE_BYTES:
            yield from self._by_threads(run, writer, new, run_bytes)
        else:
            yield self._whole(run, writer, new)

    def _decoder(
        self, writer: AvroType, schema: pa.Schema, defaults: Mapping[str, Any], source: str
    ) -> AvroDecoder:
        """A strict one reads each record to its end, whatever is asked of it."""
        return AvroDecoder(
            writer,
            schema,
            self.context.allocator,
            defaults=defaults,
            rules=HUDI_TYPES,
            source=source,
            jumps=not self.source.strict,
        )

    def wanted(self, piece: BlockPiece, writer: AvroType) -> npt.NDArray[np.bool_] | None:
        """For each record of a piece whether it is decoded; None for all."""
        test = self.test
        if test is None:
            return None
        fields = self.source.schema
        schema = pa.schema([fields.field(name) for name in sorted(test.columns)])
        decoder = self._decoder(writer, schema, {}, piece.source)
        decoder.decode_piece(piece)
        wanted = numpy_of(test.may_match(decoder.finish()))
        count = int(np.count_nonzero(wanted))
        if count > len(wanted) * _MOST_WANTED:
            if not self.left_out:
                self.test = None
            return None
        self.left_out = True
        return wanted

    def _whole(
        self, run: Sequence[LogBlock], writer: AvroType, new: Callable[[str], AvroDecoder]
    ) -> pa.RecordBatch:
        decoder = new(run[0].file)
        for block in run:
            piece = whole_block(block.content, block.where)
            decoder.decode_piece(piece, self.wanted(piece, writer))
        return decoder.finish()

    def _by_threads(
        self,
        run: Sequence[LogBlock],
        writer: AvroType,
        new: Callable[[str], AvroDecoder],
        run_bytes: int,
    ) -> Iterator[pa.RecordBatch]:
        """The rows in order, decoded by several threads, each of which takes the next piece."""
        threads = self.context.threads
        piece_bytes = max(run_bytes // (_PIECES_A_THREAD * threads), _LEAST_SHARE_BYTES)

        def decode(piece: BlockPiece) -> pa.RecordBatch:
            decoder = new(piece.source)
            decoder.decode_piece(piece, self.wanted(piece, writer))
            return decoder.finish()

        pool = ThreadPoolExecutor(threads, thread_name_prefix="seambench-log")
        try:
            cuts = (cut_block(block.content, piece_bytes, block.where) for block in run)
            yield from pool.map(decode, itertools.chain.from_iterable(cuts))
        except InputError:
            # Records are counted from the block's beginning, which a piece does not know.
            self._whole(run, writer, new)
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _parquet_rows(
    block: LogBlock, schema: pa.Schema, context: ReadContext, bound: Bound
) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet block."""
    # Where memory is bounded they come in small batches, and what a row group claims to take when
    # it is decoded counts as long as it is read.
    if len(block.content) == 0:  # Hudi writes nothing at all for no records
        yield no_rows(schema)
        return
    where = block.where
    content = pa.BufferReader(pa.py_buffer(block.content))
    file = open_parquet(content, where, bound)
    refuse_pieces(file.schema_arrow, schema, where)
    encoded = dictionary_columns(file, schema, schema.names)
    present = [n for n in schema.names if n in file.schema_arrow.names]
    long: Sequence[str] = ()
    if bound.is_stated:
        groups, read = range(file.num_row_groups), partial(read_part, content)
        long = long_dictionaries(file.metadata, present, groups, read, bound, where)
    own = {"metadata": file.metadata, "read_dictionary": [*encoded, *long]}
    file = open_parquet(content, where, coerce_int96_timestamp_unit="us", **own)
    decoded = with_dictionaries(schema, encoded)
    rows = 0
    for batch in _parquet_batches(file, present, context, where):
        rows += batch.num_rows
        pieces = texts_within(batch, encoded, bound, where) if long else (batch,)
        for piece in pieces:
            resolved = resolve_batch(piece, decoded, HUDI_TYPES, where)
            yield spread(resolved, encoded, context.allocator)
    check_rows(rows, file.metadata.num_rows, where)
    if not rows:
        yield no_rows(schema)


def _parquet_batches(
    file: pq.ParquetFile, names: Sequence[str], context: ReadContext, where: str
) -> Iterator[pa.RecordBatch]:
    if not names:
        # Of a table without columns pyarrow makes no batch, whatever its rows.
        yield batch_of([], pa.schema([]), file.metadata.num_rows)
        return
    allocator = context.allocator
    try:
        if context.held_bytes is None:
            table = file.read(columns=names, use_threads=context.threads > 1)
            yield from table.combine_chunks().to_batches()
            return
        for group in range(file.num_row_groups):
            claimed = file.metadata.row_group(group).total_byte_size
            with allocator.reserve(max(claimed, 0)):
                for batch in file.iter_batches(
                    _BOUNDED_ROWS, row_groups=[group], columns=names, use_threads=False
                ):
                    with allocator.reserve(batch.nbytes):
                        yield batch
    except PARQUET_ERRORS as error:
        raise InputError(f"{where} is not readable: {error}") from error


def deleted_rows(
    batch: pa.RecordBatch, marker: DeleteMarker | None, source: str
) -> npt.NDArray[np.bool_] | None:
    """Rows of a log that stand for deletes; None if none can.

    They are those with `_hoodie_is_deleted`, with the operation D or -U, or with the table's own
    marker.
    """
    marks: list[pa.Array] = []
    if batch.schema.get_field_index(IS_DELETED) >= 0:
        flags = batch.column(IS_DELETED)
        if not pa.types.is_boolean(flags.type):
            raise RefusedError(
                f"{source}: deletes are marked by the column '{IS_DELETED}', and its type "
                f"{flags.type} is not supported for that; a boolean is"
            )
        marks.append(flags)
    if batch.schema.get_field_index(OPERATION) >= 0:
        marks.append(pc.is_in(batch.column(OPERATION), value_set=pa.array(["D", "-U"])))
    if marker is not None:
        own = leaf_column(batch, marker.column)
        marks.append(pc.equal(_texts(own, marker, source), marker.text))
    deleted: npt.NDArray[np.bool_] | None = None
    for flags in marks:
        words = numpy_of(pc.and_kleene(flags, flags.is_valid()))  # a null is false
        deleted = words if deleted is None else deleted | words
    return deleted


def _texts(column: pa.Array, marker: DeleteMarker, source: str) -> pa.Array:
    """What Java's `toString` makes of Spark's own values: of a date its number of days."""
    kind = column.type
    if pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif not any(
        test(kind) for test in (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean)
    ):
        raise RefusedError(
            f"{source}: deletes are marked by the column '{marker.column}', and its type {kind} is "
            "not supported for that"
        )
    return column.cast(pa.string())


def is_java_integer(kind: pa.DataType) -> bool:
    """Whether Hudi's Spark reader holds values of a column as `Integer`: dates count their days."""
    return bool(pa.types.is_int32(kind) or pa.types.is_date32(kind))


def ordering_columns(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The ordering columns. Hudi takes a null for the integer 0.

    So nulls are zeros where a column holds integers. Elsewhere they stay: they equal each other,
    and the core refuses to compare one with a value.
    """
    columns = []
    for name in names:
        column = leaf_column(batch, name)
        if column.null_count and is_java_integer(column.type):
            column = pc.fill_null(column.cast(pa.int32()), 0).cast(column.type)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def is_default(ordering: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """Rows whose single ordering value is the integer 0, which Hudi takes for "none" in a delete.

    A null is a 0 whatever the column's type.
    """
    if ordering.num_columns != 1:
        return np.zeros(ordering.num_rows, np.bool_)
    column = ordering.column(0)
    if is_java_integer(column.type):
        return np.asarray(numpy_of(column.cast(pa.int32())) == 0)
    return numpy_of(column.is_null())


Flags = npt.NDArray[np.bool_]

_LARGEST_MILLIS = 9_999_999_999_999


def delete_ordering(
    deletes: DeleteKeys, fields: Sequence[pa.Field], where: str
) -> tuple[pa.RecordBatch, Flags]:
    """Ordering values of deletes, and which deletes have none.

    A value that is absent, the integer 0, or of another type than the column is none. Several
    columns have a list of values, each with its type.
    """
    names = [field.name for field in fields]
    if len(fields) > 1:
        columns, unordered = _several(deletes, fields, where)
        return pa.RecordBatch.from_arrays(columns, names=names), unordered
    field = fields[0]
    branches, words = deletes.branches, deletes.words
    fitting = [ORDERING_WORDS.index(word) for word in ordering_words(field.type)]
    zero = (branches == ORDERING_WORDS.index("int")) & (words == 0)
    without = ~np.isin(branches, fitting) | zero
    if not fitting and (branches[words != 0] != 0).any():
        raise RefusedError(_unknown_order(field, where))
    if pa.types.is_integer(field.type) or pa.types.is_temporal(field.type):
        column = _from_words(np.where(without, 0, words), without, field.type)
    else:
        pairs = zip(deletes.ordering_values, without.tolist(), strict=True)
        column = _from_values([None if skip else v for v, skip in pairs], field, where)
    return pa.RecordBatch.from_arrays([column], names=names), without


def _unknown_order(field: pa.Field, where: str) -> str:
    return (
        f"{where}: deletes have ordering values, and the ordering column '{field.name}' is "
        f"{field.type}, with which they cannot be compared"
    )


def _several(
    deletes: DeleteKeys, fields: Sequence[pa.Field], where: str
) -> tuple[list[pa.Array], Flags]:
    fitting = [(*ordering_words(field.type), "null") for field in fields]
    unordered = np.ones(len(deletes), np.bool_)
    rows: list[Sequence[Any]] = []
    for items in deletes.ordering_values:
        rows.append([None] * len(fields))
        if not isinstance(items, tuple):
            continue
        if len(items) != len(fields):
            raise InputError(
                f"{where}: a delete has {counted(len(items), 'ordering value')} where the table "
                f"has {counted(len(fields), 'ordering column')}"
            )
        if all(word in words for (word, _), words in zip(items, fitting, strict=True)):
            unordered[len(rows) - 1] = False
            rows[-1] = [value for _, value in items]
    columns = []
    for at, field in enumerate(fields):
        values = [row[at] for row in rows]
        if pa.types.is_temporal(field.type):
            missing = np.array([value is None for value in values], dtype=np.bool_)
            words = np.array([value or 0 for value in values], dtype=np.int64)
            columns.append(_from_words(words, missing, field.type))
        else:
            columns.append(_from_values(values, field, where))
    return columns, unordered


def _from_words(
    words: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_], kind: pa.DataType
) -> pa.Array:
    """Integers, days, or points in time: those are in microseconds."""
    # A timestamp in milliseconds comes as it is, unless it is too large for one (Hudi 1.2.0,
    # OrderingValueEngineTypeConverter).
    if pa.types.is_timestamp(kind) and kind.unit == "ms":
        words = np.where(words > _LARGEST_MILLIS, words // 1000, words)
    elif pa.types.is_timestamp(kind) and kind.unit == "ns":
        words = words * 1000
    integer = pa.int32() if kind.bit_width == 32 else pa.int64()
    return array_of(words, ~missing).cast(integer).cast(kind)


def _from_values(values: list[Any], field: pa.Field, where: str) -> pa.Array:
    try:
        if pa.types.is_decimal(field.type):
            return pa.array(values, pa.decimal128(38, 15)).cast(field.type)
        return pa.array(values, field.type)
    except pa.ArrowInvalid as error:
        raise RefusedError(f"{_unknown_order(field, where)} ({error})") from error


def ordering_words(kind: pa.DataType) -> tuple[str, ...]:
    """The types that a delete's ordering value must have to be compared with a column.

    Hudi's Spark reader compares Java objects of one class: it holds points in time as `Long`, and
    cannot compare bytes at all.
    """
    if pa.types.is_timestamp(kind):
        return ("long", "timestamp-micros")
    if pa.types.is_time(kind):
        return ("long", "time-micros") if kind.bit_width == 64 else ("int",)
    words = (
        (pa.types.is_int32, "int"),
        (pa.types.is_int64, "long"),
        (pa.types.is_float32, "float"),
        (pa.types.is_float64, "double"),
        (pa.types.is_string, "string"),
        (pa.types.is_date32, "date"),
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_decimal, "decimal"),
    )
    return tuple(word for test, word in words if test(kind))
