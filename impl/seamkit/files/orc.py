"""Files in ORC: rows as batches of the table's types, through pyarrow.

A timestamp is kept as the clock on the wall showed it in the writer's zone, which the footer of
each stripe names (ORC specification v1, "Stripe Footer" and "Timestamp Columns"); pyarrow does not
tell these. The file ends with its footer, a postscript and the postscript's length in one byte; the
footer lists stripes, and each stripe ends with a footer of its own. Footers are protobuf messages,
in compressed chunks behind three bytes of length and a flag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from seambase.errors import InputError, RefusedError
from seamkit.core.arrow_data import batch_of
from seamkit.core.unpack import unpack
from seamkit.files.parquet import check_names
from seamkit.files.promotion import LOSSLESS, TypeRules, resolve_batch
from seamkit.files.protobuf import fields
from seamkit.files.reader import FileReader, RowsWanted
from seamkit.files.statistics import FileStatistics
from seamkit.files.storage import Storage, read_part

_UTC = frozenset(("", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z"))


class OrcReader(FileReader):
    """One open ORC file: a `FileReader`.

    Args:
        storage: the table's folder.
        path: the file below it.
        rules: which types of the file become which of the table.

    Raises:
        InputError: the file is missing, truncated, or no ORC file.
    """

    def __init__(self, storage: Storage, path: str, rules: TypeRules = LOSSLESS) -> None:
        self._rules = rules
        self.name = storage.full(path)
        self._content = storage.open(path)
        try:
            self._file = orc.ORCFile(self._content)
            self.schema = self._file.schema.remove_metadata()
            self._names = set(self.schema.names)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"{self.name}: not readable as ORC ({error})") from error
        check_names(self.schema.names, self.name)
        self.num_rows: int = self._file.nrows

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """The rows, as the footer tells; pyarrow does not show what ORC knows of columns."""
        del schema
        return FileStatistics(self.num_rows)

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`; stripes are decoded one by one, texts as they are.

        Raises:
            InputError: a stripe is broken, rows are missing, or a type does not promote.
            RefusedError: timestamps are wanted, and their zone cannot be found out.
        """
        schema, batch_rows = wanted.schema, wanted.batch_rows
        present = [name for name in schema.names if name in self._names]
        timed = any(_has_timestamps(self.schema.field(name).type) for name in present)
        zones = stripe_zones(self._file, self._content, self.name) if timed else []
        rows = 0
        for number, stripe in enumerate(self._stripes(present)):
            rows += stripe.num_rows
            zone = zones[number] if number < len(zones) else ""
            for begin in range(0, stripe.num_rows, batch_rows):
                batch = stripe.slice(begin, batch_rows)
                yield self._resolved(batch, schema, zone)
        if rows != self.num_rows:
            raise InputError(f"{self.name}: {rows} rows, but its footer says {self.num_rows}")

    def _stripes(self, present: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not present:  # a count, or columns that the file lacks
            yield batch_of([], pa.schema([]), self.num_rows)
            return
        for number in range(self._file.nstripes):
            try:
                yield self._file.read_stripe(number, columns=list(present))
            except (OSError, pa.ArrowException) as error:
                raise InputError(f"{self.name}: stripe {number} is broken ({error})") from error

    def _resolved(self, batch: pa.RecordBatch, schema: pa.Schema, zone: str) -> pa.RecordBatch:
        if batch.num_columns == 0:
            columns = [pa.nulls(batch.num_rows, field.type) for field in schema]
            return batch_of(columns, schema, batch.num_rows)
        return resolve_batch(
            batch, schema, self._rules, self.name, lambda c, want: _logical(c, want, zone)
        )


def _has_timestamps(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_timestamps(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_timestamp(kind))


def _logical(column: pa.Array, want: pa.DataType, zone: str) -> pa.Array:
    """Values in the type that ORC has no word for; others as they are."""
    have = column.type
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
        # Nanoseconds, which ORC always has; those below the table's unit are cut off.
        walls = pc.cast(column, pa.timestamp(want.unit, have.tz), safe=False)
        if want.tz is None or have.tz is not None:
            return pc.cast(walls, want)
        if zone not in _UTC:
            walls = pc.assume_timezone(walls, zone, ambiguous="earliest", nonexistent="latest")
        return pc.cast(walls, want)
    if pa.types.is_binary(have) and pa.types.is_fixed_size_binary(want):
        return pc.cast(column, want)
    return column


_STRIPES = 3  # of the footer
_OFFSET, _INDEX, _DATA, _FOOTER = 1, 2, 3, 4  # of a stripe
_ZONE = 3  # of a stripe's footer
_CODECS = {"ZLIB": "deflate", "SNAPPY": "snappy", "LZ4": "lz4", "ZSTD": "zstd"}


def stripe_zones(opened: orc.ORCFile, content: pa.NativeFile, name: str) -> list[str]:
    """The writer's zone of each stripe; "" where none is named, which means UTC.

    Args:
        opened: the file, as pyarrow sees it.
        content: its bytes.
        name: what messages call it.

    Raises:
        InputError: a footer is broken.
        RefusedError: footers are compressed in a way that is not known here.
    """
    size = content.size()
    end = size - 1 - opened.file_postscript_length
    footer = _message(content, end - opened.file_footer_length, end, opened, name)
    zones: list[str] = []
    for number, stripe in fields(footer, f"{name}, footer"):
        if number == _STRIPES and isinstance(stripe, memoryview):
            where = f"{name}, stripe {len(zones)}"
            parts = {k: v for k, v in fields(stripe, where) if isinstance(v, int)}
            zones.append(_zone_of(content, parts, opened, where))
    return zones


def _zone_of(
    content: pa.NativeFile, stripe: Mapping[int, int], opened: orc.ORCFile, where: str
) -> str:
    begin = sum(stripe.get(part, 0) for part in (_OFFSET, _INDEX, _DATA))
    message = _message(content, begin, begin + stripe.get(_FOOTER, 0), opened, where)
    for number, value in fields(message, where):
        if number == _ZONE and isinstance(value, memoryview):
            return bytes(value).decode("utf-8", "replace")
    return ""


def _message(
    content: pa.NativeFile, begin: int, end: int, opened: orc.ORCFile, where: str
) -> memoryview:
    if not 0 <= begin <= end <= content.size():
        raise InputError(f"{where}: its footer would lie at bytes {begin} to {end}")
    data = memoryview(read_part(content, begin, end - begin))
    if opened.compression == "UNCOMPRESSED":
        return data
    codec = _CODECS.get(opened.compression)
    if codec is None:
        raise RefusedError(
            f"{where}: the zone of its timestamps stands in a footer compressed with "
            f"{opened.compression}; {', '.join(_CODECS)} and none are read"
        )
    parts, most = [], opened.compression_size
    while data:
        word = int.from_bytes(data[:3], "little")
        chunk, data = data[3 : 3 + (word >> 1)], data[3 + (word >> 1) :]
        try:
            parts.append(bytes(chunk) if word & 1 else unpack(codec, chunk, most))
        except (ValueError, OverflowError) as error:
            raise InputError(f"{where}: its footer is broken ({error})") from error
    return memoryview(b"".join(parts))
