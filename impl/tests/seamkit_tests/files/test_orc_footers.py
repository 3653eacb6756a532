"""Damaged footers of ORC files are typed errors: none of them ends the process."""

import datetime as dt
import io
import resource
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from seambase.errors import SeambenchError
from seamkit.core.unpack import Bound
from seamkit.files.footers.orc_footer import OrcFooter
from seamkit.files.orc import OrcReader
from seamkit.files.reader import RowsWanted
from seamkit.files.storage import Storage, read_part
from seamkit_tests.samples.apart import apart


def flip(path: Path, begin: int) -> dict[str, int]:
    """How often a file is refused, or which rows it has, with bits flipped from a place on."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    whole = path.read_bytes()
    storage = Storage(str(path.parent)).within(1 << 24, strict=False)

    def rows(data: bytes) -> Any:
        path.write_bytes(data)
        reader = OrcReader(storage, path.name)
        batches = reader.read(RowsWanted(reader.schema, 1000, False))
        return pa.Table.from_batches(batches, reader.schema).to_pylist()

    expected = rows(whole)
    found = {"refused": 0, "same": 0, "other": 0}
    for at in range(begin, len(whole)):
        for flipped in (1 << at % 8, 0x10, 0xFF):
            damaged = bytearray(whole)
            damaged[at] ^= flipped
            try:
                found["same" if rows(bytes(damaged)) == expected else "other"] += 1
            except SeambenchError as error:
                found["refused"] += bool(str(error))
    return found


_ROWS = pa.table(
    {
        "number": [1, 2, None],
        "time": [dt.datetime(2020, 1, 1), None, dt.datetime(1900, 1, 1)],
        "list": [["a", None], [], None],
        "map": pa.array([[("k", 1.5)], None, []], pa.map_(pa.string(), pa.float64())),
        "struct": [{"d": b"x"}, {"d": None}, None],
    }
)


@pytest.mark.parametrize(
    "compression", ["uncompressed", "zlib", pytest.param("lz4", marks=pytest.mark.slow)]
)
def test_no_flip_in_the_tail_ends_the_process(compression: str, tmp_path: Path) -> None:
    """Each byte of the stripes' footers and statistics, the footer and the postscript, flipped.

    What still is a footer may tell of other columns, or of fewer rows of a type that has no more.
    """
    path = tmp_path / "a.orc"
    orc.write_table(_ROWS, str(path), compression=compression)
    opened = orc.ORCFile(str(path))
    tail = opened.file_footer_length + opened.stripe_statistics_length
    begin = path.stat().st_size - tail - opened.file_postscript_length - 150
    found = apart(flip, path, max(3, begin))
    assert found["refused"] > 100
    assert found["same"] > 50


class _Sizes(Bound):
    """Notes what stripes are said to become."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "found", {})

    def check(self, size: int, packed: int | None, where: str) -> None:
        del packed
        self.__dict__["found"][where] = size


@pytest.mark.parametrize("compression", ["uncompressed", "zlib"])
@pytest.mark.parametrize("names", [["texts"], ["map"], ["list", "number"], ["bytes", "map"]])
def test_a_stripes_size_is_that_of_its_columns(compression: str, names: list[str]) -> None:
    """Of columns without nulls, what Arrow takes for them but for one offset a nested column."""
    count = 5000
    entries = [("key", {"a": 1, "b": "value" * 9})] * 4
    entry = pa.map_(pa.string(), pa.struct([("a", pa.int64()), ("b", pa.string())]))
    rows = pa.table(
        {
            "map": pa.array([entries] * count, entry),
            "number": list(range(count)),
            "texts": [f"{number:030}" for number in range(count)],
            "list": [[1, 2, 3]] * count,
            "bytes": [b"x" * 100] * count,
        }
    )
    out = io.BytesIO()
    orc.write_table(rows, out, compression=compression)
    content = pa.BufferReader(out.getvalue())
    opened = orc.ORCFile(content)
    bound = _Sizes()
    OrcFooter(opened, partial(read_part, content), "a").check_sizes(names, bound)
    whole = opened.read(columns=names).combine_chunks()
    assert bound.__dict__["found"]["a, stripe 0"] == pytest.approx(whole.nbytes, rel=0.01)
