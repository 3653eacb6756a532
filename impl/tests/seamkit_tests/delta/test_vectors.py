"""Deletion vectors: every storage type, and nothing that is not what the log says."""

import json
import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seambase.errors import InputError, SeambenchError
from seambase.scan import TableWarning
from seamkit.files.roaring import read_bitmap
from seamkit.files.storage import Storage
from seamkit.tables.delta.log.actions import TableFiles, VectorDescriptor
from seamkit.tables.delta.log.folder import list_log
from seamkit.tables.delta.log.snapshot import load_snapshot
from seamkit.tables.delta.table import DeltaTable
from seamkit.tables.delta.vectors import decode_z85, read_vector
from seamkit.tables.table import plan_of
from seamkit_tests.samples.delta_tables import (
    commit_path,
    edit_actions,
    is_file_of,
    rows_of_table,
    unpack_delta,
    vectors_into_log,
    z85,
)

# Positions 2, 5 and 7, with magic number, as Delta 3.3.2 wrote them.
VECTOR = bytes.fromhex(
    "d1d339640100000000000000000000003a300000010000000000020010000000020005000700"
)


def stored(data: bytes) -> bytes:
    """A vector as a file has it, version in front."""
    return b"\x01" + len(data).to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big")


def written(folder: Path, content: bytes, name: str = "v.bin") -> TableFiles:
    """A table's folder with a file in it."""
    (folder / name).write_bytes(content)
    return TableFiles(Storage(str(folder)))


def described(folder: Path, data: bytes = VECTOR, cardinality: int = 3) -> VectorDescriptor:
    """A vector in a file of its own, named by an absolute path."""
    return VectorDescriptor("p", (folder / "v.bin").as_uri(), 1, len(data), cardinality)


def test_z85_of_the_specification() -> None:
    """The example of ZeroMQ's RFC 32."""
    assert decode_z85("HelloWorld") == bytes.fromhex("864fd26fb559f75b")
    for broken in ("Hell", 'Hell"', "#####", "Hellö"):
        with pytest.raises(ValueError, match="Z85"):
            decode_z85(broken)


def test_a_vector_in_a_file(tmp_path: Path) -> None:
    """The bytes of the protocol's example give its positions."""
    files = written(tmp_path, stored(VECTOR))
    assert read_vector(files, described(tmp_path)).tolist() == [2, 5, 7]


def test_an_inline_vector(tmp_path: Path) -> None:
    """38 bytes are padded to 40 in Z85, and cut again."""
    files = written(tmp_path, b"")
    inline = VectorDescriptor("i", z85(VECTOR), None, len(VECTOR), 3)
    assert read_vector(files, inline).tolist() == [2, 5, 7]
    for size in (0, 36, 41, 10**9):
        with pytest.raises(InputError, match="the log says"):
            read_vector(files, VectorDescriptor("i", z85(VECTOR), None, size, 3))


def test_any_flipped_bit_of_a_vector_file_is_refused(tmp_path: Path) -> None:
    """Version, size, checksum, magic number and bitmap all count."""
    content = stored(VECTOR)
    for at in range(len(content)):
        for bit in (1, 0x80):
            broken = bytearray(content)
            broken[at] ^= bit
            files = written(tmp_path, bytes(broken))
            with pytest.raises(InputError):
                read_vector(files, described(tmp_path))


def test_a_vector_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    """No length but the whole one will do."""
    content = stored(VECTOR)
    for length in range(len(content)):
        with pytest.raises(InputError):
            read_vector(written(tmp_path, content[:length]), described(tmp_path))


@pytest.mark.parametrize("cardinality", [0, 2, 4, 2**62])
def test_a_cardinality_that_is_wrong_is_refused(tmp_path: Path, cardinality: int) -> None:
    """The log's number must be the vector's."""
    files = written(tmp_path, stored(VECTOR))
    with pytest.raises(InputError):
        read_vector(files, described(tmp_path, cardinality=cardinality))


def _mutated(data: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, taken out, put in or cut off."""
    broken = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(broken))
        match chance.randrange(4):
            case 0:
                broken[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            case 1:
                del broken[at : at + chance.randint(1, 4)]
            case 2:
                broken[at:at] = chance.randbytes(chance.randint(1, 4))
            case _:
                del broken[at + 1 :]
    return bytes(broken)


def _bitmaps() -> list[bytes]:
    """Bitmaps with arrays, with bits, and with runs."""
    heads = np.array([3, 4999], "<u2").tobytes()  # key 3, 5,000 values
    bits = np.zeros(65536, np.uint8)
    bits[: 5000 * 3 : 3] = 1
    dense = np.packbits(bits, bitorder="little").tobytes()
    with_bits = np.array([12346, 1], "<u4").tobytes() + heads + np.array([16], "<u4").tobytes()
    run = np.array([12347], "<u4").tobytes() + b"\x01" + np.array([0, 999], "<u2").tobytes()
    run += np.array([1, 50, 999], "<u2").tobytes()
    one, high = (1).to_bytes(8, "little"), (0).to_bytes(4, "little")
    return [VECTOR[4:], one + high + with_bits + dense, one + high + run]


def _fuzz(seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    for bitmap in _bitmaps():
        assert len(read_bitmap(bitmap)) in (3, 5000, 1000)
        for _ in range(rounds):
            try:
                found = read_bitmap(_mutated(bitmap, chance), most=10_000)
            except ValueError:
                continue
            assert len(found) <= 10_000
            assert (np.diff(found) > 0).all()
            assert found[0] >= 0 if len(found) else True


def test_broken_bitmaps_are_errors_or_sets() -> None:
    """Whatever the bytes: ascending positions, no more than allowed, or a ValueError."""
    _fuzz(1, 400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_broken_bitmaps_at_length(seed: int) -> None:
    """As above, with more luck."""
    _fuzz(100 + seed, 20_000)


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_a_table_whose_vectors_move_into_the_log(tmp_path: Path) -> None:
    """Inline vectors read as those in files."""
    table = unpack_delta("vectors-several", tmp_path)
    before = rows_of_table(table)
    vectors_into_log(table)
    assert rows_of_table(table).equals(before)


def test_a_clone_reads_files_and_vectors_elsewhere(tmp_path: Path) -> None:
    """Absolute paths: the log lies in another folder than data and vectors."""
    table = unpack_delta("vectors-two-files", tmp_path)
    before = rows_of_table(table)
    clone = tmp_path / "a clone"
    clone.mkdir()
    (table / "_delta_log").rename(clone / "_delta_log")

    def edit(action: dict[str, Any]) -> None:
        for content in action.values():
            if "path" in content:
                content["path"] = f"{table.as_uri()}/{content['path']}"
            if vector := content.get("deletionVector"):
                [file] = [f for f in table.glob("*.bin") if is_file_of(vector, f)]
                vector |= {"storageType": "p", "pathOrInlineDv": file.as_uri()}

    for version in range(6):
        edit_actions(clone, version, edit)
        commit_path(clone, version).with_suffix(".crc").unlink(missing_ok=True)

    assert rows_of_table(clone).equals(before)
    assert DeltaTable(str(clone)).scan().report().warnings == []


def test_a_file_that_is_live_with_two_vectors_is_refused(tmp_path: Path) -> None:
    """A commit that adds a new vector without taking the old one out would show rows twice."""
    table = unpack_delta("vectors-several", tmp_path)
    path = commit_path(table, 4)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith('{"remove"')))
    with pytest.raises(InputError, match="live twice"):
        rows_of_table(table)


@pytest.mark.parametrize("read_before", [False, True])
@pytest.mark.parametrize("name", ["vectors-several", "checkpoint-vectors"])
def test_a_removal_by_another_vector_is_a_warning(
    name: str, read_before: bool, tmp_path: Path
) -> None:
    """By the protocol path and vector make a file: it stays, as in Spark.

    Trino's OPTIMIZE names no vector, so that the rows which it wrote anew are there twice.
    """
    table = unpack_delta(name, tmp_path)
    before = rows_of_table(table)
    snapshot = load_snapshot(list_log(Storage(str(table))))
    file = next(file for file in snapshot.files if file.vector)
    if not read_before:
        table = table.rename(tmp_path / "another place")
    commit = commit_path(table, snapshot.version + 1)
    removed = {"path": file.path, "dataChange": False}
    commit.write_text(json.dumps({"remove": removed}), encoding="utf-8")
    for again in range(2):  # on top of the version that is kept, and kept itself
        [warning] = DeltaTable(str(table)).scan().report().warnings
        assert warning.file.endswith(f"{commit.name}, line 1"), again
        assert f"it removes {file.path} by another deletion vector" in warning.reason
    with pytest.warns(TableWarning, match="another deletion vector"):
        assert rows_of_table(table).equals(before)
    with pytest.raises(InputError, match="another deletion vector"):
        rows_of_table(table, strict=True)


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_damaged_positions_beyond_the_file_are_refused(tmp_path: Path) -> None:
    """A vector of another, longer file does not fit."""
    table = unpack_delta("vectors-several", tmp_path)
    vector = VECTOR.replace(bytes.fromhex("020005000700"), bytes.fromhex("020005000800"))

    def edit(action: dict[str, Any]) -> None:
        if action.get("add", {}).get("deletionVector") is not None:
            action["add"]["deletionVector"] = {
                "storageType": "i",
                "pathOrInlineDv": z85(vector),
                "sizeInBytes": len(vector),
                "cardinality": 3,
            }

    edit_actions(table, 4, edit)
    with pytest.raises(SeambenchError, match="8"):
        rows_of_table(table)
    assert json.loads(commit_path(table, 4).read_text().splitlines()[0])


@pytest.mark.parametrize("inline", [False, True])
def test_parts_have_the_bytes_of_files_and_vectors(tmp_path: Path, inline: bool) -> None:
    """What a part reads is the log's size of its file and of its vector; no unit need be made."""
    root = unpack_delta("vectors-several", tmp_path)
    if inline:
        vectors_into_log(root)
    sizes: dict[str, int] = {}
    for commit in sorted((root / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for gone in (action["remove"] for action in actions if "remove" in action):
            sizes.pop(gone["path"], None)
        for add in (action["add"] for action in actions if "add" in action):
            sizes[add["path"]] = add["size"] + add.get("deletionVector", {}).get("sizeInBytes", 0)
    scan = DeltaTable(root).scan()
    assert scan.part_bytes() == [size for _, size in sorted(sizes.items())]
    assert scan.part_bytes() == [unit.read_bytes for unit in plan_of(scan).units]
