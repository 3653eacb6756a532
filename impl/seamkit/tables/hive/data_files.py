"""Data files of a Hive table, opened under the table's names and types."""

from __future__ import annotations

from seamkit.files.reader import FileReader
from seamkit.files.storage import Storage
from seamkit.tables.hive.column_files import open_column_file
from seamkit.tables.hive.descriptor import Description
from seamkit.tables.hive.json_reader import JsonReader
from seamkit.tables.hive.line_reader import LineReader
from seamkit.tables.hive.row_format import RowFormat
from seamkit.tables.hive.sequence_reader import SequenceReader


def open_data_file(
    storage: Storage, path: str, description: Description, rows: RowFormat
) -> FileReader:
    """Open a data file.

    Args:
        storage: the table's folder.
        path: the file below it.
        description: the table.
        rows: how rows are written, where they are text.
    """
    kind = description.format
    if kind in ("text", "csv"):
        return LineReader(storage, path, description.columns, rows)
    if kind == "json":
        return JsonReader(storage, path, description.columns, rows)
    if kind == "sequence":
        return SequenceReader(storage, path, description.columns, rows)
    return open_column_file(storage, path, description)
