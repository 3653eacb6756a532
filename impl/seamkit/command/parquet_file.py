"""What a Parquet file's footer says: its columns, its row groups, and where their bytes lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError
from seambase.walk import Met
from seamkit.files.parquet import open_parquet

MAGIC = b"PAR1"
"""What a Parquet file begins with."""

_TAIL_BYTES = 8  # the footer's length, and the magic again


def explain_parquet(path: Path) -> Iterator[Met]:
    """The footer of a file, then its row groups and their columns."""
    try:
        content = pa.OSFile(str(path))
    except OSError as error:
        raise InputError(f"{path}: not readable ({error})") from error
    with content:
        footer, size = open_parquet(content, str(path)).metadata, content.size()
    begin = size - _TAIL_BYTES - footer.serialized_size
    about = f"{footer.num_rows} rows, version {footer.format_version}"
    yield Met(0, size, 0, "Parquet file", about)
    yield Met(begin, footer.serialized_size, 0, "footer", f"written by {footer.created_by}")
    for field in footer.schema.to_arrow_schema():
        yield Met(begin, 0, 1, field.name, f"{field.type}{'' if field.nullable else ' not null'}")
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        columns = [group.column(i) for i in range(group.num_columns)]
        start = min((_first_byte(column) for column in columns), default=0)
        length = sum(column.total_compressed_size for column in columns)
        yield Met(start, length, 0, f"row group {number}", f"{group.num_rows} rows")
        for column in columns:
            how = f"{column.physical_type}, {column.compression}, "
            how += " ".join(sorted(column.encodings))
            length = column.total_compressed_size
            yield Met(_first_byte(column), length, 1, column.path_in_schema, how)


def _first_byte(column: Any) -> int:
    """A column's dictionary, where there is one, lies before its data."""
    return int(column.dictionary_page_offset or column.data_page_offset)
