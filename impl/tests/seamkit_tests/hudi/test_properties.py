"""Properties that were cut, changed or are none: the backup, a named error, never other rows."""

import itertools
import zlib
from pathlib import Path

import pytest

from seambase.errors import InputError, SeambenchError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import load_config
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_files import Table, at, base, properties_text

#: Every version, both merge modes, several orderings, and layouts that properties alone tell.
_TABLES = (
    "mor-v6-event",
    "mor-v6-commit",
    "mor-v9-event",
    "mor-v9-commit",
    "mor-v9-int-ordering",
    "mor-v9-composite-key",
    "mor-v9-partitioned",
    "mor-v9-parquet-blocks",
    "cow-v9",
)


def _properties(table: Path) -> Path:
    return table / ".hoodie" / "hoodie.properties"


def _answer(table: Path) -> tuple[list[str], list[str], int]:
    """Rows, schema, and how many warnings there are."""
    scan = HudiTable(str(table)).scan(threads=1)
    rows = scan.to_table()
    return (
        sorted(map(repr, rows.to_pylist())),
        list(map(str, rows.schema)),
        len(scan.report().warnings),
    )


@pytest.mark.parametrize("everywhere", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", _TABLES)
@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_properties_that_were_cut_change_no_row_in_silence(
    name: str, everywhere: bool, tmp_path: Path
) -> None:
    """Between lines, or at every length: what is missing is missed, or was of no importance."""
    table = unpack_table(name, tmp_path)
    file = _properties(table)
    content, whole = file.read_bytes(), _answer(table)
    ends = list(itertools.accumulate(map(len, content.splitlines(keepends=True))))[:-1]
    for length in range(len(content)) if everywhere else ends:
        file.write_bytes(content[:length])
        try:
            answer = _answer(table)
        except SeambenchError as error:
            assert str(error)  # noqa: PT017 - either outcome is right
        else:
            assert answer[:2] == whole[:2] or answer[2] > whole[2], f"cut to {length} bytes"


def _load(folder: Path, text: str, backup: str | None = None) -> str:
    (folder / ".hoodie").mkdir(exist_ok=True)
    _properties(folder).write_text(text)
    if backup is not None:
        _properties(folder).with_name("hoodie.properties.backup").write_text(backup)
    return load_config(Storage(str(folder))).name


@pytest.mark.parametrize(
    ("written", "name"), [(r"\ud83d\ude00 t", "😀 t"), (r"\u00e4", "ä"), (r"\ud83d", "\ud83d")]
)
def test_names_may_have_any_letters(written: str, name: str, tmp_path: Path) -> None:
    """Java writes each half of a letter beyond the first 65,536 apart, and a lone one is a `?`."""
    checksum = zlib.crc32(f".{name}".encode("utf-8", "replace"))
    own = {"hoodie.table.name": written, "hoodie.table.checksum": str(checksum)}
    assert _load(tmp_path, properties_text(9, **own)) == name


@pytest.mark.parametrize("version", [3, 4, 5, 6, 8, 9])
def test_what_hudi_writes_into_every_table_must_be_there(version: int, tmp_path: Path) -> None:
    """Each line of `properties_text` is wanted by name: Hudi writes no table without it.

    Whether partition columns are dropped it writes since 0.11, and no upgrade adds it; a checksum
    since then, too.
    """
    lines = properties_text(version).splitlines(keepends=True)
    optional: tuple[str, ...] = ("hoodie.datasource",)
    optional += ("hoodie.archivelog",) if version < 6 else ()
    optional += ("hoodie.table.checksum",) if version < 4 else ()
    for i, line in enumerate(lines):
        rest = "".join(lines[:i] + lines[i + 1 :])
        if line.startswith(optional):
            assert _load(tmp_path, rest) == "sample"
            continue
        with pytest.raises(InputError, match=line.partition("=")[0]):
            _load(tmp_path, rest)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (properties_text(9)[:-1], "ends within a line"),
        ("", "ends within a line"),
        (properties_text(9) + "a=\0\n", "NUL"),
        (properties_text(9, **{"hoodie.timeline.path": ""}), "hoodie.timeline.path is missing"),
        (properties_text(9, **{"hoodie.table.checksum": "1"}), "checksum is 1"),
        (properties_text(9, **{"hoodie.database.name": "d"}), "checksum"),
        (properties_text(9, **{"hoodie.table.version": "9" * 6000}), "not a number"),
    ],
)
def test_properties_that_are_not_whole_are_refused_or_the_backup_is_read(
    text: str, reason: str, tmp_path: Path
) -> None:
    """Hudi's own rule: a file that is not what its checksum says gives way to the backup."""
    with pytest.raises(InputError, match=reason) as refused:
        _load(tmp_path, text)
    assert len(str(refused.value)) < 1000
    if reason != "not a number":
        assert _load(tmp_path, text, properties_text(9)) == "sample"


def test_the_checksum_covers_database_and_name(tmp_path: Path) -> None:
    """CRC32 of `database.table`: so it is in tables that Hudi made through a catalogue."""
    checksum = {"hoodie.database.name": "d", "hoodie.table.checksum": str(zlib.crc32(b"d.sample"))}
    assert _load(tmp_path, properties_text(9, **checksum)) == "sample"


@pytest.mark.parametrize("path", ["../other", "a/../../b"])
def test_a_timeline_outside_the_table_is_refused(path: str, tmp_path: Path) -> None:
    """Whoever hands over a table does not say where else to read."""
    table = Table(tmp_path, 9, hoodie__timeline__path=path)
    with pytest.raises(InputError, match="leads out of the table's folder"):
        table.load()


def test_files_under_a_timeline_without_instants_are_refused(tmp_path: Path) -> None:
    """No table looks like this: a write leaves an instant before it leaves a file."""
    table = Table(tmp_path, 9)
    table.files(base(10))
    with pytest.raises(InputError, match="no instants"):
        table.slices()
    table.instant(at(10), "commit", "inflight")
    assert table.slices() == []


@pytest.mark.parametrize("kind", ["UIMESTAMP", "CVSTOM"])
def test_a_key_generator_one_letter_away_is_refused(kind: str, tmp_path: Path) -> None:
    """By its type partitions are read; one that is unknown altogether is the user's own."""
    table = unpack_table("mor-v9-event", tmp_path)
    file = _properties(table)
    whole = file.read_text()
    file.write_text(f"{whole}\nhoodie.table.keygenerator.type=USER_PROVIDED\n")
    assert HudiTable(str(table)).scan().to_table().num_rows
    file.write_text(f"{whole}\nhoodie.table.keygenerator.type={kind}\n")
    with pytest.raises(InputError, match=f"'{kind}' is one letter away"):
        HudiTable(str(table))


@pytest.mark.parametrize("name", ["_hoodie_record_key", "_hoodie_file_name"])
def test_a_meta_column_one_letter_away_is_refused(name: str, tmp_path: Path) -> None:
    """Where a commit's schema has Hudi's own columns it has them under their names."""
    table = unpack_table("delete-partition/v6", tmp_path)
    assert HudiTable(str(table)).scan().to_table().num_rows
    changed = 0
    for file in (table / ".hoodie").glob("*commit"):
        text = file.read_bytes()
        changed += text.count(name.encode())
        file.write_bytes(text.replace(name.encode(), b"O" + name.encode()[1:]))
    assert changed
    with pytest.raises(InputError, match=f"one letter away from '{name}'"):
        HudiTable(str(table)).scan()
