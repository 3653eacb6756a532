"""Base files in another's place: rows name the file that they lie in."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from seambase.errors import InputError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.listing.files import BaseFile


@pytest.mark.parametrize(
    ("named", "is_told"),
    [
        (["a_0-1-1_20240102000000000"], False),  # its own
        (["b_0-1-1_20240102000000000"], True),  # written at the same instant
        (["b_0-1-1_20240103000000000"], True),  # written later
        (["b_0-1-1_20240101000000000"], False),  # from where old writers copied rows
        (["a_0-9-9_20240102000000000"], False),  # the same group, written twice
        (["b_0-1-1_20240102000000000", "c_0-1-1_20240102000000000"], False),
        ([None], False),
        (["no name"], False),
    ],
)
@pytest.mark.parametrize("ending", ["parquet", "orc"])
def test_rows_name_no_file_that_they_cannot_come_from(
    named: list[str | None], is_told: bool, ending: str, tmp_path: Path
) -> None:
    """What writers copied from an older file may name that one."""
    names = [None if one is None else f"{one}.{ending}" for one in named]
    rows = pa.table({"_hoodie_file_name": pa.array(names, pa.string()), "v": range(len(names))})
    path = f"a_0-1-1_20240102000000000.{ending}"
    if ending == "orc":
        orc.write_table(rows, str(tmp_path / path))
    else:
        pq.write_table(rows, tmp_path / path)
    base = BaseFile(path, "", "a", "0-1-1", "20240102000000000", 1)
    if is_told:
        with pytest.raises(InputError, match="its rows say that they lie in b_0-1-1"):
            open_slice_base(Storage(str(tmp_path)), base)
    else:
        assert open_slice_base(Storage(str(tmp_path)), base).num_rows == len(names)
