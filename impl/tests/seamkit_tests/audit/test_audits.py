"""`seambench audit` over tables of every format that real engines wrote."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

import seamkit
from seambench.cli import main
from seambench.seams.scan.audit.model import json_schema
from seambench.seams.scan.audit.run import advise
from seamkit_tests.audit.tables import ROWS, unpacked
from seamkit_tests.samples.delta_tables import unpack_delta

WRONG = "seamkit_tests.audit.tables:"
FORMATS = sorted(ROWS)
Audited = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def audited(capsys: pytest.CaptureFixture[str]) -> Audited:
    """Run the command: its exit code, and its JSON."""

    def run(*arguments: object) -> tuple[int, dict[str, Any]]:
        with pytest.raises(SystemExit) as ended:
            main(["audit", "--json", *map(str, arguments)])
        out, err = capsys.readouterr()
        found = json.loads(out.splitlines()[-1]) if out else {"err": err}
        return int(ended.value.code or 0), found

    return run


@pytest.fixture(params=FORMATS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A table of each format: its format, and its folder."""
    return request.param, unpacked(request.param, tmp_path / "lake")


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Sizes and times of all files of a folder."""
    found = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


def test_a_sound_table_is_fine(tmp_path: Path, table: tuple[str, Path], audited: Audited) -> None:
    """Its rows are those of its writer, a page in one file says the same, nothing is written."""
    name, folder = table
    before = contents(folder)
    page = tmp_path / "page.html"
    code, found = audited(folder, "--no-peers", "--page", page)
    jsonschema.validate(found, json_schema())
    assert code == 0
    assert (found["format"], found["rows"], found["damage"]) == (name, ROWS[name], [])
    assert found["checked_units"] == found["layout"]["units"]
    assert found["cost"]["share"] == 1.0
    assert found["cost"]["repeats"] >= 2
    assert contents(folder) == before
    text = page.read_text()
    assert "No damage was found" in text
    assert "<script" not in text
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", text)


def test_a_description_has_the_files_that_are_there(table: tuple[str, Path]) -> None:
    """Every file lies in the folder, and is as long as the description says; parts lie in files."""
    name, folder = table
    described = seamkit.open_table(folder).describe()
    sizes = {path.name: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    assert described.format == name
    for unit in described.units:
        assert unit.files
        for file in (*unit.files, *unit.changes):
            size = sizes[Path(file.path).name]
            assert file.size_bytes == size if file.offset is None else file.size_bytes < size


def test_a_broken_rule_of_the_format_is_told(
    tmp_path: Path, audited: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bounds by which readers leave rows out, of which none complains; within the bytes allowed."""
    folder = unpack_delta("deltalake-types", tmp_path / "t")
    code, found = audited(folder, "--no-peers")
    jsonschema.validate(found, json_schema())
    assert (code, found["damage"]) == (5, [])
    assert [(one["rule"], one["level"], one["places"]) for one in found["rules"]] == [
        ("delta.stats.min-values", "must", 1)
    ]
    code, found = audited(folder, "--no-peers", "--bytes", "1KiB")
    assert (code, found["rules"]) == (0, [])
    assert any("no rule of the format" in one for one in found["limits"]["reached"])
    with pytest.raises(SystemExit):
        main(["audit", "--no-peers", str(folder)])
    out = capsys.readouterr().out
    assert "Rules of the format" in out
    assert "Not fine: 1 rule of the format is broken." in out


def test_values_that_cannot_be_read_are_damage(tmp_path: Path, audited: Audited) -> None:
    """A page that is none is damage of its unit, and the audit goes on to its end."""
    folder = unpacked("hudi", tmp_path)
    files = sorted(folder.rglob("*.parquet"))
    for file in files:
        metadata = pq.ParquetFile(file).metadata
        column = metadata.row_group(0).column(metadata.num_columns - 1)
        content = bytearray(file.read_bytes())
        content[column.data_page_offset : column.data_page_offset + 8] = b"\xff" * 8
        file.write_bytes(content)
    code, found = audited(folder, "--no-peers")
    assert code == 3
    assert found["damage"]
    assert all(one["stops"] for one in found["damage"])


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("hudi", [("log", 3, 1, None)]),
        ("delta", [("deletion vector", 1, 1, 4)]),
        ("iceberg", [("position deletes", 2, 2, 6)]),
        ("paimon", [("sorted run", 2, 1, 5)]),
    ],
)
def test_what_changes_rows_is_counted(
    tmp_path: Path, audited: Audited, name: str, kinds: list[tuple[Any, ...]]
) -> None:
    """By kind: files, units over which they lie, rows; as the steps of each table made them."""
    _, found = audited(unpacked(name, tmp_path), "--no-peers")
    told = found["layout"]["kinds"]
    assert [(k["kind"], k["files"], k["units"], k["rows"]) for k in told] == kinds


@pytest.mark.parametrize("name", FORMATS)
def test_changes_are_advised_against_unmeasured(tmp_path: Path, name: str) -> None:
    """Without a measurement, which may find no gain, units count by the bytes of their changes."""
    advised = advise(seamkit.open_table(unpacked(name, tmp_path)).describe(), None)
    assert advised[0].what == "compact"
    assert not advised[0].measured


@pytest.mark.parametrize("name", ["hudi", "iceberg"])
def test_a_reader_without_changes_is_found_to_differ(
    name: str, tmp_path: Path, audited: Audited
) -> None:
    """What it has too many are rows of data files, which are named with the file they lie in."""
    folder = unpacked(name, tmp_path / "lake")
    code, found = audited(
        folder, "--peer", "seamkit_tests.samples.base_files_only:BaseFilesOnly", "--seconds", "300"
    )
    [answer] = found["peers"]
    assert (code, answer["outcome"]) == (4, "differs")
    assert False in (answer["keys"], answer["values"])
    assert answer["added"] > 0
    shown = [row for row in answer["different"] if row["only"] == "peer"]
    assert shown
    for row in shown:
        keys = {path.name: pq.read_table(path).to_pylist() for path in folder.rglob("*.parquet")}
        units = [name for name in keys if row["unit"].endswith(name)]
        rows = keys[units[0]] if units else [one for rows in keys.values() for one in rows]
        column = next(iter(row["row"]))
        assert row["unit"]
        assert row["row"][column] in {str(one.get(column)) for one in rows}


def test_readers_that_agree_refuse_or_die_are_told_apart(tmp_path: Path, audited: Audited) -> None:
    """Only an answer can disagree; whoever gives none is told with the reason."""
    names = ["auto", *(f"{WRONG}{word}" for word in ("Refusing", "Dying"))]
    peers = [word for name in names for word in ("--peer", name)]
    code, found = audited(unpacked("delta", tmp_path), *peers, "--seconds", "300")
    assert code == 1
    assert [one["outcome"] for one in found["peers"]] == ["agrees", "refused", "crash"]
    assert "is not for me" in found["peers"][1]["reason"]


@pytest.mark.slow
def test_a_reader_that_hangs_leaves_time_for_others(tmp_path: Path, audited: Audited) -> None:
    """It is ended when a third of what is left is over, and the next one is asked."""
    peers = ["--peer", f"{WRONG}Hanging", "--peer", "auto"]
    code, found = audited(unpacked("delta", tmp_path), *peers, "--seconds", "60")
    assert code == 1
    assert [one["outcome"] for one in found["peers"]] == ["timeout", "agrees"]


def test_a_missing_data_file_is_damage(table: tuple[str, Path], audited: Audited) -> None:
    """It is named, other readers are not asked, and the exit code says so."""
    _, folder = table
    [*_, victim] = (f for u in seamkit.open_table(folder).describe().units for f in u.files)
    [path] = folder.rglob(Path(victim.path).name)
    path.unlink()
    code, found = audited(folder, "--peer", "auto")
    assert code == 3
    assert any(path.name in one["reason"] + one["where"] for one in found["damage"])
    assert found["peers"] == []


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("hudi", ".hoodie/timeline/*.deltacommit"),
        ("delta", "_delta_log/*4.json"),
        ("iceberg", "metadata/snap-*"),
        ("paimon", "snapshot/snapshot-3"),
    ],
)
def test_broken_metadata_is_damage(
    tmp_path: Path, audited: Audited, name: str, pattern: str
) -> None:
    """A table of which nothing more can be known is reported as that, with the sentence."""
    folder = unpacked(name, tmp_path)
    for path in folder.glob(pattern):
        path.write_bytes(b"{")
    code, found = audited(folder, "--no-peers")
    assert code == 3
    assert found["layout"] is None
    assert [one["stops"] for one in found["damage"]] == [True]
    assert found["damage"][0]["reason"]


def test_damaged_deletes_are_found(tmp_path: Path, audited: Audited) -> None:
    """A vector whose checksum is wrong keeps the rows of its file from being read."""
    folder = unpacked("delta", tmp_path)
    for path in folder.glob("deletion_vector_*.bin"):
        content = bytearray(path.read_bytes())
        content[-5] ^= 1
        path.write_bytes(content)
    code, found = audited(folder, "--no-peers")
    assert code == 3
    assert "checksum" in found["damage"][0]["reason"]
    assert found["rows"] is None


def test_a_limit_is_kept_and_said(tmp_path: Path, audited: Audited) -> None:
    """With one byte to read nothing is looked into, and each thing left out is told."""
    code, found = audited(unpacked("delta", tmp_path), "--bytes", "1", "--peer", "auto")
    assert code == 1  # whoever was named was not asked
    assert (found["checked_units"], found["rows"], found["cost"]) == (0, None, None)
    said = " ".join(found["limits"]["reached"])
    for words in ("of 1 unit not looked into", "nothing was measured", "no other reader"):
        assert words in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name the folder of a table"),
        (("absent",), "there is no such folder"),
        ((".",), "looks like no table"),
        (("T", "--key", "nope"), "--key 'nope'"),
        (("T", "--peer", "x", "--no-peers"), "contradict"),
        (("T", "--bytes", "-1"), "is no size"),
        (("T", "--peer", "nobody"), "unknown implementation"),
        (("T", "--reader", "pyarrow"), "does not describe tables"),
    ],
)
def test_what_cannot_be_audited_ends_with_code_2(
    tmp_path: Path, audited: Audited, arguments: tuple[str, ...], says: str
) -> None:
    """Wrong arguments and folders without a table are neither fine nor damage."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a").touch()
    table = unpacked("delta", tmp_path / "lake")
    names = {"T": table, ".": tmp_path / "plain", "absent": tmp_path / "absent"}
    code, found = audited(*(names.get(word, word) for word in arguments))
    assert code == 2
    assert says in found["err"]


def test_tables_show_what_json_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the terminal the same is told in tables, which name what to do first."""
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(unpacked("hudi", tmp_path)), "--no-peers"])
    out = capsys.readouterr().out
    assert not ended.value.code
    for words in ("table version 9", "3, 3.30 KiB, over 1 file slice", "Measured on 1 of 1"):
        assert words in out
    assert out.rstrip().splitlines()[-1].startswith("No damage was found")


@pytest.mark.storage
@pytest.mark.parametrize("name", FORMATS)
def test_a_table_on_an_object_store_is_audited_alike(
    tmp_path: Path, audited: Audited, object_store: dict[str, Any], name: str
) -> None:
    """Rows, units and what changes them are those of the folder it was uploaded from."""
    import s3fs

    local = unpacked(name, tmp_path)
    _, here = audited(local, "--no-peers")
    s3fs.S3FileSystem(**object_store).put(f"{local}/", f"lake/audited-{name}/", recursive=True)
    given = [w for o in object_store.items() for w in ("--storage-option", "=".join(o))]
    shutil.rmtree(local)
    code, there = audited(f"s3://lake/audited-{name}", "--no-peers", *given)
    assert code == 0
    for member in ("format", "version", "state", "rows", "checked_units", "layout"):
        assert there[member] == here[member]
