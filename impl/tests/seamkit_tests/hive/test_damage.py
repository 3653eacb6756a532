"""Damaged files of Hive tables: never fewer rows without a word, where the format can tell."""

import random
from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError, SeambenchError
from seamkit.tables.hive.table import HiveTable
from seamkit_tests.samples.hive_tables import unpack_hive

TABLES = ["text-compressed", "sequence-block", "sequence-record", "sequence-none"]


def _data_files(table: Path) -> list[Path]:
    return sorted(file for file in table.iterdir() if not file.name.startswith(("_", ".")))


def _rows(table: Path) -> list[dict[str, object]]:
    found = HiveTable(str(table)).scan(threads=1).to_table().to_pylist()
    return sorted(found, key=repr)


def _read(table: Path) -> list[dict[str, object]] | None:
    """The rows, or None where the table is refused; anything else fails the test."""
    try:
        return _rows(table)
    except SeambenchError:
        return None


@pytest.mark.parametrize("name", TABLES)
def test_a_file_that_is_cut_is_refused(name: str, tmp_path: Path) -> None:
    """Wherever it is cut; a sequence file may end behind any of its records or blocks."""
    table = unpack_hive(name, tmp_path)
    whole = _rows(table)
    fewer = 0
    for file in _data_files(table):
        content = file.read_bytes()
        for size in range(0, len(content), 3):
            file.write_bytes(content[:size])
            found = _read(table)
            fewer += found is not None and found != whole
        file.write_bytes(content)
    # Behind a sequence file's header, and behind each of its records but the last.
    assert fewer <= (3 * len(_data_files(table)) if name.startswith("sequence") else 0)


@pytest.mark.parametrize("name", TABLES)
def test_a_flipped_bit_costs_no_row(name: str, tmp_path: Path) -> None:
    """Files with checksums are refused or read as before; others end in rows or errors of ours."""
    table = unpack_hive(name, tmp_path)
    whole = _rows(table)
    numbers = random.Random(7)
    for file in _data_files(table):
        content = file.read_bytes()
        for at in range(0, len(content), 7):
            damaged = bytearray(content)
            damaged[at] ^= 1 << numbers.randrange(8)
            file.write_bytes(damaged)
            found = _read(table)
            if file.suffix in (".gz", ".bz2", ".deflate"):
                assert found in (None, whole), f"{file.name}, byte {at}"
            elif name.startswith("sequence"):
                assert found is None or len(found) == len(whole), f"{file.name}, byte {at}"
        file.write_bytes(content)


def test_random_bytes_are_refused(tmp_path: Path) -> None:
    """Whatever lies in a file of a known kind, the error is one of ours."""
    numbers = random.Random(11)
    for kind, ending in (
        ("text", ".gz"),
        ("text", ".bz2"),
        ("text", ".deflate"),
        ("text", ".snappy"),
        ("text", ".lz4"),
        ("text", ".zst"),
        ("sequence", ""),
        ("parquet", ""),
        ("orc", ""),
        ("avro", ""),
        ("json", ""),
    ):
        for turn in range(20):
            folder = tmp_path / f"{kind}{ending}-{turn}"
            folder.mkdir()
            (folder / f"f{ending}").write_bytes(numbers.randbytes(numbers.randrange(1, 200)))
            table = HiveTable(str(folder), columns={"i": "int"}, file_format=kind)
            with pytest.raises((InputError, RefusedError)):
                table.scan(threads=1).to_table()


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".deflate", ".zst", ".snappy", ".lz4"])
def test_an_empty_file_is_no_compressed_one(ending: str, tmp_path: Path) -> None:
    """A codec writes a header or a length even where there is nothing to compress."""
    (tmp_path / f"f{ending}").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        HiveTable(str(tmp_path), columns={"i": "int"}).scan().to_table()


def test_rc_files_are_refused_by_name(tmp_path: Path) -> None:
    """They look like sequence files of another kind."""
    (tmp_path / "f").write_bytes(b"RCF\x01" + bytes(40))
    with pytest.raises(RefusedError, match="RC files"):
        HiveTable(str(tmp_path), columns={"i": "int"}, file_format="sequence").scan().to_table()


def test_unknown_codecs_are_refused_by_name(tmp_path: Path) -> None:
    """A codec's class that the header of a sequence file names."""
    table = unpack_hive("sequence-record", tmp_path)
    for file in _data_files(table):
        content = file.read_bytes()
        file.write_bytes(
            content.replace(b"org.apache.hadoop.io.compress.", b"org.example.xx.io.compressed.x")
        )
    with pytest.raises(RefusedError, match=r"org\.example"):
        _rows(table)
