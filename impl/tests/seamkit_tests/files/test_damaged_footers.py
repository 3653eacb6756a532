"""Damaged footers of Parquet files are typed errors: none of them ends the process."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# Of a row group's column of texts: the bytes of its texts, no histogram of repetition levels, one
# of two definition levels (2 zero, 1 one).
_WHOLE = b"\x16\x04\x19\x06\x19\x26\x02\x04\x00"
_DAMAGED = {
    "repetition levels": b"\x16\x04\x19\x26\x02\x04\x19\x06\x00",
    "definition levels": b"\x16\x04\x19\x16\x02\x19\x16\x04\x00",
}

_LOOK = """
import sys
import pyarrow as pa
from seambase.errors import SeambenchError
from seamkit.files.parquet import open_parquet

def look(data):
    try:
        file = open_parquet(pa.BufferReader(data), "the file")
    except SeambenchError as error:
        return f"refused: {error}"
    for group in range(file.num_row_groups):
        for column in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(column)
            try:
                chunk.encodings, chunk.compression, chunk.statistics and chunk.statistics.min
            except (OSError, ValueError, OverflowError, pa.ArrowException):
                pass  # an exception, which readers catch
    return "looked at"

def scan(path):
    from seamkit.offheap.connector.factory import connector_scanner
    columns = {"required_fields": "id,name"}
    try:
        with connector_scanner("parquet", 9, {"data_file_path": path, **columns}) as scanner:
            scanner.open()
            scanner.get_next_off_heap_chunk()
            return "read"
    except SeambenchError as error:
        return f"refused: {error}"

def explain(path):
    from pathlib import Path
    from seambench_impl.parquet_file import explain_parquet
    try:
        return f"{[*explain_parquet(Path(path))][0].what}"
    except SeambenchError as error:
        return f"refused: {error}"

whole = open(sys.argv[1], "rb").read()
if sys.argv[2] != "flipped":
    by = {"file": lambda _: look(whole), "scanner": scan, "explanation": explain}
    print(by[sys.argv[2]](sys.argv[1]))
    sys.exit()
begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
found = {"refused": 0, "looked at": 0}
for at in range(begin, len(whole) - 8):
    for flipped in (1 << at % 8, 0x10, 0xFF):
        damaged = bytearray(whole)
        damaged[at] ^= flipped
        found[look(bytes(damaged)).split(":")[0]] += 1
print(*found.values())
"""


def _look(path: Path, how: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", _LOOK, str(path), how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


_READ = {"file": "looked at\n", "scanner": "read\n", "explanation": "Parquet file\n"}


@pytest.mark.parametrize("by", _READ)
@pytest.mark.parametrize("levels", [None, *_DAMAGED])
def test_histograms_of_another_length_are_refused(
    tmp_path: Path, levels: str | None, by: str
) -> None:
    """A damaged histogram, even in the last row group, is an InputError; a whole file is read."""
    path = tmp_path / "a.parquet"
    rows = {"id": list(range(9)), "name": ["a", "b", None] * 3}
    pq.write_table(pa.table(rows), path, row_group_size=3)
    head, whole, tail = path.read_bytes().rpartition(_WHOLE)
    assert whole
    if levels is not None:
        path.write_bytes(head + _DAMAGED[levels] + tail)
    found = _look(path, by)
    if levels is None:
        assert found == _READ[by]
    else:
        name = "the file" if by == "file" else path
        assert found.startswith(f"refused: {name}: footer: row group 2, column 1: its histogram")
        assert levels in found


def test_flipped_bits_end_no_process(tmp_path: Path) -> None:
    """Bits flipped in each byte of a footer are refused or passed over, in one process."""
    path = tmp_path / "a.parquet"
    rows = {"id": [1, None], "name": ["a", None], "list": [[1], []], "flag": [True, False]}
    pq.write_table(pa.table(rows), path, store_schema=False, write_page_index=True)
    refused, looked_at = (int(count) for count in _look(path, "flipped").split())
    assert refused
    assert looked_at
