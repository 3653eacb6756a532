"""Damaged Iceberg tables: the same rows or a typed error; never other rows in silence."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench.formats.forms.footer import Struct
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.damage import in_each_others_place, schema_elements_changed
from seamkit_tests.samples.iceberg_tables import unpack_iceberg

TABLES = (
    "vectors-upgraded",
    "positions-partitioned",
    "equality-and-vectors",
    "equality-global",
    "evolution",
)


def _answer(table: Path) -> Counter[str] | None:
    """The rows as a multiset; None for a typed error."""
    try:
        rows = IcebergTable(str(table)).scan(threads=1).to_table().to_pylist()
    except (InputError, RefusedError, UsageError):
        return None
    return Counter(map(repr, rows))


def _flip(content: bytes, chance: random.Random) -> bytes:
    """The content with one bit changed."""
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]


def _mutations(table: Path, seed: int, count: int) -> Iterator[tuple[str, Path, bytes | None]]:
    """Descriptions, files, and new contents (None: the file is gone)."""
    chance = random.Random(seed)
    newest = max(table.glob("metadata/v*.json"), key=lambda file: int(file.name.split(".")[0][1:]))
    for file in sorted(path for path in table.rglob("*") if path.is_file()):
        content, name = file.read_bytes(), file.relative_to(table).as_posix()
        if file == newest or file.name == "version-hint.text":
            # An older version is as good a table, where it is the newest that is left.
            yield f"{name} emptied", file, b""
        else:
            yield f"{name} removed", file, None
            yield f"{name} emptied", file, b""
        for length in sorted(chance.sample(range(1, len(content)), min(count, len(content) - 1))):
            yield f"{name} cut at {length}", file, content[:length]
        # All others have no checksum: a flip may turn a value into another that is as good.
        if file.suffix == ".puffin":
            for number in range(count * 4):
                yield f"{name} flipped, {number}", file, _flip(content, chance)


def _run(name: str, folder: Path, seed: int, count: int) -> tuple[dict[str, str], int]:
    """What came of each mutation that changed the rows, and how many there were."""
    table = unpack_iceberg(name, folder)
    whole = _answer(table)
    assert whole
    silent, tried = {}, 0
    for what, file, content in list(_mutations(table, seed, count)):
        intact = file.read_bytes()
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        found = _answer(table)
        tried += 1
        if found is not None and found != whole:
            silent[what] = f"{found - whole} more, {whole - found} fewer"
        file.write_bytes(intact)
    assert _answer(table) == whole
    return silent, tried


@pytest.mark.parametrize("name", TABLES)
def test_no_damage_changes_rows_in_silence(name: str, tmp_path: Path) -> None:
    """Every file removed, emptied and cut, vectors flipped, a few times each."""
    assert _run(name, tmp_path, seed=7, count=1)[0] == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TABLES)
def test_no_damage_changes_rows_in_silence_at_length(name: str, seed: int, tmp_path: Path) -> None:
    """As above, with more luck."""
    silent, tried = _run(name, tmp_path, seed=100 + seed, count=20)
    assert silent == {}
    assert tried > 150


@pytest.mark.parametrize(
    "name",
    ["overwrite", "equality-partitioned", "positions-compacted", "pyiceberg-replaced", "travel"],
)
def test_files_in_each_others_place_are_told(name: str, tmp_path: Path) -> None:
    """By the bounds and counts that manifests state, of equality deletes as well."""
    found = in_each_others_place(unpack_iceberg(name, tmp_path), "data/**/*.parquet", _answer)
    assert found["told"]
    assert not found["silent"]


@pytest.mark.parametrize("name", ["types-nested", "iceberg-go-types", "pyiceberg-types"])
def test_a_column_with_values_is_missed(name: str, tmp_path: Path) -> None:
    """Within a struct as well: under another field id it would be null, as if dropped and added."""
    table = unpack_iceberg(name, tmp_path)
    found = schema_elements_changed(table, "data/**/*.parquet", _renumbered, _answer)
    assert found["told"] > 1


def _renumbered(element: Struct) -> None:
    if 9 in element:
        element[9].value = 60 + element[9].value % 4


@pytest.mark.parametrize("name", ["equality-avro", "vectors-upgraded"])
def test_a_column_that_lost_its_id_is_no_column_of_nulls(name: str, tmp_path: Path) -> None:
    """In Avro a word of the schema is changed, in Parquet the head of the id in the footer."""
    table = unpack_iceberg(name, tmp_path)
    for file in (table / "data").rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        if file.suffix == ".avro" and "deletes" not in file.name:
            file.write_bytes(content.replace(b"field-id", b"fielt-id", 1))
        elif file.suffix == ".parquet" and "deletes" not in file.name:
            file.write_bytes(content.replace(b"\x18\x01v%\x005\x04", b"\x18\x01v%\x004\x04"))
    with pytest.raises(InputError, match="has no field id, others have"):
        IcebergTable(str(table)).scan(threads=1).to_table()
