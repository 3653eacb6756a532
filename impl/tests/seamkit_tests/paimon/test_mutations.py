"""Damaged Paimon tables: the same rows, a warning, or a typed error; never other rows unseen."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, RefusedError
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.damage import answers, in_each_others_place, replace_in
from seamkit_tests.samples.paimon_tables import (
    edit_schema,
    files_as,
    rewrite_manifests,
    unpack_paimon,
)

_answer = answers(PaimonTable, strict=True)


@pytest.mark.parametrize("ending", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("name", ["core-partition-names", "pk-partitions", "append-partitions"])
def test_files_in_each_others_place_are_told(name: str, ending: str, tmp_path: Path) -> None:
    """By partition, keys or other values, in whatever a file is written, and however long it is."""
    table = unpack_paimon(name, tmp_path)
    rows = _answer(table)
    if ending != "parquet":
        files_as(table, ending)
    assert _answer(table) == rows
    found = in_each_others_place(table, f"**/data-*.{ending}", _answer)
    assert found["told"]
    assert not found["silent"]


@pytest.mark.parametrize("ending", ["parquet", "orc", "avro"])
def test_a_files_partition_is_named_where_it_is_another_ones(ending: str, tmp_path: Path) -> None:
    """The message says what the file has, and which partition its manifest speaks of."""
    table = unpack_paimon("core-partition-names", tmp_path)
    pairs = itertools.combinations(sorted(table.glob("**/data-*.parquet")), 2)
    one, other = next(two for two in pairs if len({file.stat().st_size for file in two}) == 1)
    if ending != "parquet":
        files_as(table, ending)
        one, other = (file.with_suffix(f".{ending}") for file in (one, other))
    other.write_bytes(one.read_bytes())
    with pytest.raises(InputError, match="its manifest says that they are those of the partition"):
        PaimonTable(str(table)).scan().to_table()


def _stated(name: str, value: Any, within: str = "") -> Callable[[dict[str, Any]], None]:
    """Gives a field of an entry, or of its file, another value."""

    def change(entry: dict[str, Any]) -> None:
        (entry[within] if within else entry)[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_stated("_KIND", 2), "an entry of the unknown kind 2"),
        (_stated("_VERSION", 9), "version 9 of such manifests"),
        (_stated("_ROW_COUNT", -1, "_FILE"), "a file has -1 rows"),
        (_stated("_DELETE_ROW_COUNT", 10**6, "_FILE"), "of which 1000000 delete others"),
        (_stated("_DELETE_ROW_COUNT", -1, "_FILE"), "of which -1 delete others"),
    ],
)
def test_entries_that_say_what_cannot_be_are_refused(
    change: Callable[[dict[str, Any]], None], said: str, tmp_path: Path
) -> None:
    """Kinds and versions that nobody knows, and counts of rows that no file has."""
    table = unpack_paimon("pk-partitions", tmp_path)
    rewrite_manifests(table, change)
    with pytest.raises((InputError, RefusedError), match=said):
        PaimonTable(str(table)).scan()


@pytest.mark.parametrize(
    ("name", "within"),
    [
        ("_VERSION", ""),
        ("_FILE", ""),
        ("_BUCKET", ""),
        ("_FILE_NAME", "_FILE"),
        ("_ROW_COUNT", "_FILE"),
        ("_EXTRA_FILES", "_FILE"),
        ("_VALUE_STATS", "_FILE"),
    ],
)
@pytest.mark.parametrize("form", ["missing", "another type", "null"])
def test_a_field_that_entries_must_have_is_not_done_without(
    form: str, name: str, within: str, tmp_path: Path
) -> None:
    """Whether its writer leaves it out, writes another type, or lets it be null."""
    table = unpack_paimon("pk-partitions", tmp_path)

    def written_by(schema: Any) -> None:
        fields = schema["fields"]
        if within:
            (outer,) = (field for field in fields if field["name"] == within)
            kind = outer["type"]
            kind = next(t for t in kind if t != "null") if isinstance(kind, list) else kind
            fields = kind["fields"]
        (own,) = (field for field in fields if field["name"] == name)
        if form == "missing":
            fields.remove(own)
        else:
            own["type"] = "boolean" if form == "another type" else ["null", own["type"]]
            own.pop("default", None)

    rewrite_manifests(table, _stated(name, form == "another type" or None, within), written_by)
    with pytest.raises(InputError, match=f"manifest-.*: the field {name} of an entry is "):
        PaimonTable(str(table)).scan()


def _cut_behind_header(file: Path, lost: int = 0) -> None:
    content = file.read_bytes()
    marker = content[-16:]  # of each block, and of the header
    file.write_bytes(content[: content.index(marker) + 16 - lost])


def _index_manifest(table: Path, snapshot: int) -> Path:
    said = json.loads((table / f"snapshot/snapshot-{snapshot}").read_text(encoding="utf-8"))
    return table / "manifest" / str(said["indexManifest"])


@pytest.mark.parametrize("lost", range(17))
def test_a_manifest_of_vectors_that_ends_with_its_header_is_refused(
    lost: int, tmp_path: Path
) -> None:
    """Cut behind the header or within its marker, it would bring deleted rows back."""
    table = unpack_paimon("append-vectors", tmp_path)
    for file in table.glob("manifest/index-manifest-*"):
        _cut_behind_header(file, lost)

    with pytest.raises(InputError, match="index-manifest"):
        PaimonTable(str(table)).scan().to_table()


def test_a_list_of_manifests_that_ends_with_its_header_is_refused(tmp_path: Path) -> None:
    """A list of another length than its snapshot says is no list of nothing (1.x)."""
    table = unpack_paimon("core-vectors-64", tmp_path)
    snapshot = json.loads((table / "snapshot" / "snapshot-2").read_text("utf-8"))
    file = table / "manifest" / snapshot["deltaManifestList"]
    stated = f"{file.name}: .* bytes where {file.stat().st_size:,} are stated"
    _cut_behind_header(file)
    with pytest.raises(InputError, match=stated):
        PaimonTable(str(table)).scan(as_of="2").to_table()


@pytest.mark.parametrize(
    ("name", "cut", "newest"),
    [
        ("append-vectors", 2, 2),  # nothing was there to empty
        ("append-vectors", 4, 4),  # files that had vectors are live
        ("append-vectors", 4, 5),  # nor is that of a later snapshot read
        ("append-vectors-emptied", 6, 6),  # the one before it is empty, too
    ],
)
def test_an_empty_manifest_of_vectors_is_held_against_the_one_before(
    name: str, cut: int, newest: int, tmp_path: Path
) -> None:
    """Only a commit that takes the last files with vectors away leaves one without entries."""
    table = unpack_paimon(name, tmp_path)
    _cut_behind_header(_index_manifest(table, cut))
    rows = [PaimonTable(str(table)).scan(as_of=n).count_rows() for n in range(1, cut)]
    assert all(rows)
    with pytest.raises(InputError, match="without any entry"):
        PaimonTable(str(table)).scan(as_of=newest).to_table()


@pytest.mark.parametrize("gone", [3, 4])
def test_an_empty_manifest_is_believed_where_what_was_before_it_has_expired(
    gone: int, tmp_path: Path
) -> None:
    """Nothing is left that would tell; its snapshot or a later one may be the first."""
    table = unpack_paimon("append-vectors-emptied", tmp_path)
    for number in range(1, gone + 1):
        (table / f"snapshot/snapshot-{number}").unlink()
    assert PaimonTable(str(table)).scan(as_of=5).to_table().num_rows == 5


@pytest.mark.parametrize(
    ("option", "damaged"),
    [
        ("merge-engine", "merge-enginE"),
        ("fields.a.distinct", "fields.a.distinat"),
        ("fields.a.aggregate-function", "fields,a.aggregate-function"),
        ('fields.a.distinct" : "true', 'fields.a.distinct" : "tru%'),
    ],
)
def test_an_option_with_one_wrong_letter_is_refused(
    option: str, damaged: str, tmp_path: Path
) -> None:
    """A schema has no checksum, and an option that nobody knows would change rows in silence."""
    table = unpack_paimon("core-listagg-distinct", tmp_path)
    replace_in(table / "schema" / "schema-0", option, damaged)
    with pytest.raises(InputError, match=r"one letter away|neither true nor false"):
        PaimonTable(str(table)).scan()


def test_options_that_nobody_reads_may_have_any_name(tmp_path: Path) -> None:
    """Engines keep words of their own beside a table's."""
    table = unpack_paimon("core-listagg-distinct", tmp_path)
    more = '"fields.z.distinct" : "true", "fields." : "x", "merge-engines" : "y", "" : "z", '
    replace_in(table / "schema" / "schema-0", '"merge-engine"', more + '"merge-engine"')
    assert PaimonTable(str(table)).scan().to_table().num_rows


@pytest.mark.parametrize("name", ["pk-life", "pk-orc", "pk-avro", "core-thin", "pk-kinds"])
def test_a_key_that_is_gone_is_missed(name: str, tmp_path: Path) -> None:
    """Without its key a table's retracts and old versions would be rows."""
    table = unpack_paimon(name, tmp_path)
    for file in (table / "schema").iterdir():
        edit_schema(table, lambda found: found.update(primaryKeys=[]), int(file.name[7:]))
    with pytest.raises(InputError, match="primary key"):
        PaimonTable(str(table)).scan().count_rows()


@pytest.mark.parametrize("id_", [-1, 99, 2**31, 2**63 - 1])
def test_ids_are_those_that_writers_assign(id_: int, tmp_path: Path) -> None:
    """A column of an id that no file can have would be null."""
    table = unpack_paimon("pk-life", tmp_path)

    def edit(found: dict[str, Any]) -> None:
        found["fields"][-1]["id"] = id_

    edit_schema(table, edit)
    with pytest.raises(InputError, match="highestFieldId"):
        PaimonTable(str(table))


@pytest.mark.parametrize("name", ["pk-life", "append-partitions"])
def test_a_field_that_is_gone_is_missed(name: str, tmp_path: Path) -> None:
    """The first schema of a table has lost nothing, as its highest id tells."""
    table = unpack_paimon(name, tmp_path)
    edit_schema(table, lambda found: found["fields"].pop())
    with pytest.raises(InputError, match="highestFieldId"):
        PaimonTable(str(table))


@pytest.mark.parametrize("name", ["pk-life", "pk-orc"])
def test_columns_of_files_are_those_of_their_schema(name: str, tmp_path: Path) -> None:
    """Where the highest id was lowered, too, files with a key still have the column."""
    table = unpack_paimon(name, tmp_path)

    def edit(found: dict[str, Any]) -> None:
        found["fields"].pop()
        found["highestFieldId"] -= 1

    edit_schema(table, edit)
    with pytest.raises(InputError, match="its schema does not know the column"):
        PaimonTable(str(table)).scan().to_table()


def test_a_files_content_is_what_its_manifest_describes(tmp_path: Path) -> None:
    """Another file of as many bytes and rows tells itself by its keys or sequence numbers."""
    told = 0
    for name in ("pk-levels", "pk-sequence", "pk-write-only", "core-listagg", "pk-kinds"):
        table = unpack_paimon(name, tmp_path)
        before = _answer(table)
        files = sorted(table.glob("**/bucket-*/data-*.parquet"))
        for one, other in itertools.permutations(files, 2):
            content = one.read_bytes()
            if len(content) == other.stat().st_size:
                one.write_bytes(other.read_bytes())
                told += _answer(table) is None
                assert _answer(table) in (None, before)
                one.write_bytes(content)
    assert told


def test_a_writers_name_may_be_any_bytes(tmp_path: Path) -> None:
    """The footer's name of its program decides nothing that rows depend on."""
    table = unpack_paimon("pk-sequence", tmp_path)
    before = _answer(table)
    assert before
    for file in table.glob("**/bucket-*/data-*.parquet"):
        file.write_bytes(file.read_bytes().replace(b"parquet-mr", b"parquet\xe2mr"))
    assert _answer(table) == before


def test_a_field_of_a_snapshot_with_one_wrong_letter_is_refused(tmp_path: Path) -> None:
    """Without the name of its index manifest a snapshot's deleted rows would be back.

    A field that nobody knows may have any other name: later writers add some.
    """
    table = unpack_paimon("vectors", tmp_path)
    file = max(table.glob("snapshot/snapshot-*"), key=lambda path: int(path.name[9:]))
    text = file.read_text("utf-8")
    rows = _answer(table)
    assert '"indexManifest"' in text
    file.write_text(text.replace('"commitUser"', '"aUser" : "", "commitUser"'), "utf-8")
    assert _answer(table) == rows
    file.write_text(text.replace('"indexManifest"', '"indexMan)fest"'), "utf-8")
    with pytest.raises(
        InputError, match=r"'indexMan.fest' is one letter away from 'indexManifest'"
    ):
        PaimonTable(str(table)).scan().to_table()


@pytest.mark.parametrize(("first", "warned"), [(0, True), (None, False)])
def test_rows_of_one_age_by_two_writers_are_told(
    first: int | None, warned: bool, tmp_path: Path
) -> None:
    """Paimon says not which of two rows of a key and number is the newer: strictly, none is."""
    table = unpack_paimon("pk-levels", tmp_path)
    if first is not None:
        rewrite_manifests(table, _stated("_MIN_SEQUENCE_NUMBER", first, "_FILE"))
    said = [one.reason for one in PaimonTable(str(table)).scan().report().warnings]
    windows = PaimonTable(str(table)).scan(query="incremental", begin=1, mode="diff").report()
    assert [one.reason for one in windows.warnings] == said
    assert any("bear the same sequence numbers" in one for one in said) is warned
    if warned:
        with pytest.raises(InputError, match="does not specify which is the newer"):
            PaimonTable(str(table)).scan(strict=True)
    else:
        PaimonTable(str(table)).scan(strict=True)


@pytest.mark.parametrize(
    ("level", "first", "looks_up", "warned"),
    [
        (4, 2, "true", False),
        (4, 0, "true", False),
        (4, 2, "false", True),
        (4, 3, "false", False),
        (0, 0, "true", True),
    ],
)
def test_rows_that_a_compaction_looked_up_are_of_one_age_by_right(
    level: int, first: int, looks_up: str, warned: bool, tmp_path: Path
) -> None:
    """What it finds in a deeper run it may write once more as it is, whoever else writes."""

    def older(entry: dict[str, Any]) -> None:
        if entry["_FILE"]["_LEVEL"] == level:
            entry["_FILE"]["_MIN_SEQUENCE_NUMBER"] = first

    table = unpack_paimon("core-lookup-sum", tmp_path)
    rewrite_manifests(table, older)
    replace_in(table / "schema" / "schema-0", '"true"', f'"{looks_up}"')
    scan = PaimonTable(str(table)).scan()
    said = any("the same sequence numbers" in one.reason for one in scan.report().warnings)
    assert said is warned
    if not warned:
        assert PaimonTable(str(table)).scan(strict=True).count_rows() == 4


def test_a_snapshot_of_a_schema_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """The newest one that is left may lack columns, though all files be of it."""
    table = unpack_paimon("core-append", tmp_path)
    path = max(table.glob("snapshot/snapshot-*"))
    snapshot = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(snapshot | {"schemaId": snapshot["schemaId"] + 1}), "utf-8")
    with pytest.raises(InputError, match="has the schema 1, and the newest that is there is 0"):
        PaimonTable(str(table)).scan()
