"""Column chunks whose size statistics do not fit their column are a typed error, not an abort."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# Of the last row group's column of texts: the bytes of its texts, no histogram of repetition
# levels, one of two definition levels (2 zero, 1 one).
_WHOLE = b"\x16\x04\x19\x06\x19\x26\x02\x04\x00"
# Two repetition levels and one definition level, in as many bytes.
_DAMAGED = b"\x16\x04\x19\x16\x02\x19\x16\x04\x00"

_LOOK = """
import sys
import pyarrow.parquet as pq
from seambase.errors import InputError
from seamkit.files.parquet import open_parquet
try:
    file = open_parquet(sys.argv[1], "the file")
    for group in range(file.num_row_groups):
        for column in range(file.metadata.num_columns):
            file.metadata.row_group(group).column(column).statistics
except InputError as error:
    print("refused:", error)
else:
    print("looked at")
"""


@pytest.mark.parametrize("group", [None, 2])
def test_histograms_of_another_length_are_refused(tmp_path: Path, group: int | None) -> None:
    """A damaged histogram, even in the last row group, is an InputError; a whole file is read."""
    path = tmp_path / "a.parquet"
    rows = {"id": list(range(9)), "name": ["a", "b", None] * 3}
    pq.write_table(pa.table(rows), path, row_group_size=3)
    data = path.read_bytes()
    pieces = data.split(_WHOLE)
    assert len(pieces) == 4
    if group is not None:
        ends = [_DAMAGED if number == group else _WHOLE for number in range(3)]
        path.write_bytes(b"".join(a + b for a, b in zip(pieces, [*ends, b""], strict=True)))
    found = subprocess.run(
        [sys.executable, "-c", _LOOK, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    if group is None:
        assert found.stdout == "looked at\n"
    else:
        assert found.stdout.startswith("refused: the file: not readable as Parquet (")
        assert "histogram size mismatch" in found.stdout
