"""Data and delete files, opened by their format and held to what their manifest says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seambase.errors import InputError
from seamkit.avro.data_file import AvroReader
from seamkit.files.columns import FoundReader
from seamkit.files.orc import OrcReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader
from seamkit.files.variants.reader import with_whole_variants
from seamkit.tables.iceberg.content.columns import NameMapping, avro_columns, file_columns
from seamkit.tables.iceberg.content.reader import Column, FileRows, IcebergFinder
from seamkit.tables.iceberg.content.types import AVRO_TYPES, ICEBERG_TYPES
from seamkit.tables.iceberg.metadata.location import TableFiles
from seamkit.tables.iceberg.metadata.manifests import Entry

__all__ = ["FileOpener"]


@dataclass(frozen=True)
class FileOpener:
    """Opens files of one table.

    Attributes:
        files: of the table.
        mapping: names of columns in files without ids; None if the table has none.
    """

    files: TableFiles
    mapping: NameMapping | None

    def open(self, entry: Entry, columns: Mapping[str, Column], rows: FileRows) -> FoundReader:
        """Open a file.

        Args:
            entry: the file.
            columns: what may be asked of it, by name.
            rows: what is known of its rows.

        Raises:
            InputError: it is missing, not of its format, or not what the manifest says.
            RefusedError: its columns have no ids, and the table no name mapping.
        """
        reader = self.checked(entry)
        own = None
        if isinstance(reader, AvroReader):
            own = avro_columns(reader.writer_schema, reader.name)
        if own is None:
            own = file_columns(reader.schema, self.mapping, reader.name)
        roots = [root for column in columns.values() for root in column[:1]]
        whole = with_whole_variants(reader, roots, own)
        return FoundReader(whole, IcebergFinder(own, columns, rows, reader.name))

    def checked(self, entry: Entry) -> FileReader:
        """A file that is as long, and has as many rows, as its manifest says.

        Raises:
            InputError: it is missing, not of its format, or not what the manifest says.
        """
        storage, plain = self.files.locate(entry.path)
        reader = self._reader(entry)
        with storage.open(plain) as content:
            size = content.size()
        if size != entry.size_bytes:
            raise InputError(f"{reader.name}: {size} bytes, its manifest says {entry.size_bytes}")
        if reader.num_rows != entry.records:
            raise InputError(
                f"{reader.name}: {reader.num_rows} rows, its manifest says {entry.records}"
            )
        return reader

    def _reader(self, entry: Entry) -> FileReader:
        storage, plain = self.files.locate(entry.path)
        if entry.format == "ORC":
            return OrcReader(storage, plain, ICEBERG_TYPES)
        if entry.format == "AVRO":
            return AvroReader(storage, plain, AVRO_TYPES)
        return ParquetReader(storage, plain, ICEBERG_TYPES, int96_unit="us")
