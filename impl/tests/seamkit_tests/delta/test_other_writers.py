"""Logs as other writers spell them, and logs whose own words tell that they are damaged."""

import contextlib
import copy
import datetime as dt
import json
import random
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambase.statistics import Figure
from seamkit.tables.delta.table import DeltaTable
from seamkit.tables.delta.vectors import decode_z85
from seamkit_tests.samples import made_delta
from seamkit_tests.samples.made_delta import commit as _commit
from seamkit_tests.samples.made_delta import metadata as _metadata
from seamkit_tests.samples.made_delta import protocol as _protocol

_ID = made_delta.field("id")
_STRUCT = {"type": "struct", "fields": [_ID]}
_LIST = {"type": "array", "elementType": "long", "containsNull": True}
_MAP = {"type": "map", "keyType": "long", "valueType": "long", "valueContainsNull": True}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Where a table is made."""
    return tmp_path / "t"


def _data(table: Path, name: str, *ids: int, path: str | None = None) -> dict[str, Any]:
    """A data file of some ids, and its add under some spelling of its path."""
    table.mkdir(exist_ok=True)
    rows = pa.table({"id": pa.array(ids, pa.int64())})
    return made_delta.add_rows(table / name, rows, path)


def _remove(path: str) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True}}


def _ids(table: Path, **how: Any) -> list[int]:
    found = DeltaTable(str(table), **how).scan(threads=1).to_table()
    return sorted(found["id"].to_pylist())


_SPELLINGS = ("{}", "file:{}", "file://{}")


@pytest.mark.parametrize("added", _SPELLINGS)
@pytest.mark.parametrize("removed", _SPELLINGS)
@pytest.mark.parametrize("form", ["commits", "compaction"])
def test_all_spellings_of_an_absolute_path_are_one_file(
    added: str, removed: str, form: str, tmp_path: Path
) -> None:
    """Delta's DeltaLogSuite, "paths should be canonicalized": the removal takes the file out."""
    table = tmp_path / "t"
    place = f"{tmp_path}/t/a b.parquet".replace(" ", "%20")
    gone = _data(table, "a b.parquet", 1, path=added.format(place))
    actions = [[_protocol(), _metadata(), gone], [_remove(removed.format(place))]]
    for version, one in enumerate([*actions, [_data(table, "b", 2)]]):
        _commit(table, version, *one)
    if form == "compaction":
        _commit(table, f"{1:020}.{2:020}.compacted.json", *actions[1], _data(table, "b", 2))
    assert _ids(table) == [2]


@pytest.mark.parametrize("form", ["commits", "checkpoint"])
@pytest.mark.parametrize(("listed", "mapped"), [(["columnMapping"], True), ([], False)])
def test_a_mapping_that_only_writers_are_told_of_counts(
    listed: list[str], mapped: bool, form: str, table: Path
) -> None:
    """Delta 3.1 upgraded mapped tables to reader version 3 without the reader feature.

    DAT's `iceberg_compat_v1` is one, and Spark reads its values. A mode without the feature in
    either list does not count.
    """
    told = {"minReaderVersion": 3, "minWriterVersion": 7}
    protocol = {"protocol": told | {"readerFeatures": [], "writerFeatures": listed}}
    mapping = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
    field = {**_ID, "name": "shown", "metadata": mapping}
    metadata = _metadata(field, configuration={"delta.columnMapping.mode": "name"})
    actions = [protocol, metadata, _data(table, "a", 7)]
    if form == "commits":
        _commit(table, 0, *actions)
    else:
        _checkpoint(table, actions[2], protocol=protocol, metadata=metadata)
    found = DeltaTable(str(table)).scan(threads=1).to_table()
    assert found.to_pylist() == [{"shown": 7 if mapped else None}]


def test_a_file_in_two_spellings_with_two_vectors_is_refused(table: Path) -> None:
    """One file is live once, however its path is spelt."""
    one, other = (
        _data(table, "a", 1, path=spelling.format(table / "a")) for spelling in _SPELLINGS[:2]
    )
    vector = {"storageType": "i", "pathOrInlineDv": "00000", "sizeInBytes": 4, "cardinality": 1}
    other["add"]["deletionVector"] = vector
    _commit(table, 0, _protocol("deletionVectors"), _metadata(), one, other)
    with pytest.raises(InputError, match="live twice"):
        DeltaTable(str(table)).scan()


def test_an_unknown_action_beside_a_known_one_says_nothing(table: Path) -> None:
    """PROTOCOL.md, "Protocol Evolution": readers ignore actions that they do not know."""
    add = _data(table, "a", 1)
    _commit(
        table, 0, _protocol(), _metadata(), {**add, "some_action": 3}, {"another": [1]},
        {"remove": None, **_data(table, "b", 2)},
    )  # fmt: skip
    assert _ids(table) == [1, 2]
    _commit(table, 1, {**_data(table, "c", 3), **_remove("a")})
    with pytest.raises(InputError, match="2 actions: add, remove"):
        DeltaTable(str(table)).scan()


def test_metadata_that_is_replaced_need_not_have_a_schema(table: Path) -> None:
    """Delta Live Tables write a first one without, and replace it in the next commit."""
    _commit(table, 0, _protocol(), _metadata(schemaString=None))
    with pytest.raises(InputError, match="schemaString is None"):
        DeltaTable(str(table)).scan()
    _commit(table, 1, _metadata(), _data(table, "a", 1))
    assert _ids(table) == [1]


@pytest.mark.parametrize(
    "feature", ["timestampWithoutTimezone", "variantShredding", "variantShredding-preview"]
)
def test_features_that_change_nothing_of_these_files_are_known(feature: str, table: Path) -> None:
    """An old name of timestampNtz; and variants of which no file here has pieces."""
    _commit(table, 0, _protocol(feature), _metadata(), _data(table, "a", 1))
    assert _ids(table) == [1]


def test_void_columns_are_null(table: Path) -> None:
    """PROTOCOL.md, "Void Type": files may lack such a column; readers give nulls, at any depth."""
    inner = {**_ID, "name": "v", "type": "void"}
    struct = {**_ID, "name": "s", "type": {"type": "struct", "fields": [_ID, inner]}}
    add = _data(table, "a", 1, 2)
    add["add"]["partitionValues"] = {"p": None}
    fields = (_ID, inner, struct, {**inner, "name": "p"})
    _commit(table, 0, _protocol(), _metadata(*fields, partitionColumns=["p"]), add)
    found = DeltaTable(str(table))
    rows = [{"id": n, "v": None, "s": None, "p": None} for n in (1, 2)]
    assert found.scan().to_table().to_pylist() == rows
    assert found.scan().dataset().to_table().to_pylist() == rows
    assert found.scan().lazy().collect().to_dicts() == rows
    assert found.scan(["v"], filter="id > 1").to_table().to_pylist() == [{"v": None}]
    assert found.scan(filter="v IS NULL").count_rows() == 2


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ltz"])
def test_instants_have_two_names(kind: str, table: Path) -> None:
    """Spark's `DataType.fromJson` takes both; a partition of them is read alike."""
    table.mkdir()
    instants = pa.array([0, 1_704_067_200_000_001], pa.timestamp("us", "UTC"))
    add = made_delta.add_rows(table / "a.parquet", pa.table({"t": instants}))
    add["add"]["partitionValues"] = {"p": "2024-01-01T00:00:00.000000Z"}
    fields = [{**_ID, "name": name, "type": kind} for name in ("t", "p")]
    _commit(table, 0, _protocol(), _metadata(*fields, partitionColumns=["p"]), add)
    found = DeltaTable(str(table))
    assert found.schema.types == [instants.type] * 2
    assert found.scan().to_table()["t"].to_pylist() == instants.to_pylist()
    later = pc.field("t") > pc.field("p")
    assert found.scan(filter=later).to_table()["t"].to_pylist() == instants[1:].to_pylist()


@pytest.mark.parametrize(("name", "rows"), [("ID", {"id": 1}), ("s", {"s": {"ID": 1}})])
def test_a_file_with_a_column_in_other_letters_is_refused(
    name: str, rows: Any, table: Path
) -> None:
    """CONVERT TO DELTA takes files as they are; without statistics nothing else tells of values."""
    table.mkdir()
    fields = [{**_ID, "name": name, "type": _STRUCT if name == "s" else "long"}]
    add = made_delta.add_rows(table / "f.parquet", pa.Table.from_pylist([rows]))
    found = DeltaTable(str(made_delta.make(table, fields, add)))
    with pytest.raises(RefusedError, match=r"f\.parquet: it has the column '(id|ID)' in other let"):
        found.to_arrow()


@pytest.mark.parametrize("kind", ["long", _STRUCT, _LIST, _MAP])
def test_changes_of_a_void_column_are_nulls_where_it_has_another_type_now(
    kind: Any, table: Path
) -> None:
    """PROTOCOL.md, "Void Type": it may become of any type, and no feature is asked."""

    def meta(kind: Any) -> dict[str, Any]:
        inner = {**_ID, "name": "v", "type": kind}
        struct = {"type": "struct", "fields": [_ID, inner]}
        fields = (_ID, inner, {**_ID, "name": "s", "type": struct})
        return _metadata(*fields, configuration={"delta.enableChangeDataFeed": "true"})

    _commit(table, 0, _protocol(), meta("void"), _data(table, "a", 1))
    _commit(table, 1, meta(kind), _data(table, "b", 2))
    for query in ("cdc", "snapshot"):
        rows = DeltaTable(str(table)).scan(["id", "v"], query=query).to_table()
        assert rows.to_pylist() == [{"id": n, "v": None} for n in (1, 2)]


@pytest.mark.parametrize("suffix", ["", "-preview"])
def test_a_coordinators_commits_that_may_count_are_not_passed_over(
    suffix: str, table: Path
) -> None:
    """RFC on coordinated commits: in `_commits` lie those that are not published, or turned down.

    One that is published may lie there, too; a table that has no coordinator any more keeps what
    was turned down.
    """
    named = {f"delta.coordinatedCommits.commitCoordinator{suffix}": "dynamodb"}
    named |= {"delta.enableChangeDataFeed": "true"}

    def waiting(version: int) -> None:
        _commit(table, f"_commits/{version:020}.{uuid.uuid4()}.json", _data(table, "w", 9))

    _commit(table, 0, _protocol(), _metadata(configuration=named), _data(table, "a", 1))
    assert _ids(table) == [1]
    waiting(1)
    opened = DeltaTable(str(table))
    late = dt.datetime(2999, 1, 1, tzinfo=dt.UTC)
    ways: list[dict[str, Any]] = [{}, {"query": "cdc"}, {"as_of": late}, {"filter": "id = 9"}]
    for how in ways:
        with pytest.raises(RefusedError, match=r"up to version 1: .* as_of=0 reads the newest"):
            opened.scan(**how)
    with pytest.raises(RefusedError, match="up to version 1: "):
        opened.describe()
    assert opened.scan(as_of=0).to_table()["id"].to_pylist() == [1]
    assert _ids(table, version=0) == [1]
    _commit(table, 1, _data(table, "w", 9))
    assert _ids(table) == [1, 9]
    assert opened.scan().to_table()["id"].to_pylist() == [1]  # as it was listed
    waiting(3)
    _commit(table, 2, _metadata())
    assert _ids(table) == [1, 9]


@pytest.mark.parametrize("feature", ["catalogManaged", "catalogOwned-preview"])
def test_a_catalogs_table_is_read_with_what_the_catalog_tells(feature: str, table: Path) -> None:
    """PROTOCOL.md, "Catalog-managed tables": staged commits count where the catalog names them."""
    _commit(table, 0, _protocol(feature), _metadata(), _data(table, "a", 1))
    staged = [
        _commit(table, f"_staged_commits/{version:020}.{uuid.uuid4()}.json", add).name
        for version, add in ((1, _data(table, "b", 2)), (2, _data(table, "c", 3)))
    ]
    assert _ids(table, version=0) == [1]
    assert _ids(table, staged_commits=staged[:1], version=1) == [1, 2]
    assert _ids(table, staged_commits=staged, version=2) == [1, 2, 3]
    with pytest.raises(RefusedError, match=r"staged_commits=\[\.\.\.\], version="):
        DeltaTable(str(table)).scan()
    with pytest.raises(InputError, match="the commit of version 2 is missing"):
        _ids(table, staged_commits=staged[:1], version=2)
    for names, version in ((staged, None), (["x.json"], 1), (["../1.json"], 1)):
        with pytest.raises(UsageError, match="no staged commit"):
            DeltaTable(str(table), staged_commits=names, version=version)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("gone", [(), (1,), (2,), (1, 2)])
def test_commits_count_before_their_compaction(
    gone: tuple[int, ...], table: Path, *, strict: bool
) -> None:
    """Spark before delta#4894 left removals without a time out of it, Kernel such as are old."""
    remove = {"remove": {"path": "a", "dataChange": True}}
    start = [_protocol(), _metadata(), _data(table, "a", 1)]
    for version, one in enumerate(
        [start, [remove], [_data(table, "b", 2)], [_data(table, "c", 3)]]
    ):
        if version not in gone:
            _commit(table, version, *one)
    _commit(table, f"{1:020}.{2:020}.compacted.json", _data(table, "b", 2))
    found = DeltaTable(str(table)).scan(strict=strict).to_table()["id"].to_pylist()
    assert sorted(found) == ([1, 2, 3] if gone else [2, 3])
    _commit(table, 4, _data(table, "d", 4))
    assert _ids(table) == ([1, 2, 3, 4] if gone else [2, 3, 4])


def test_a_compaction_keeps_removals_of_files_that_it_does_not_add(table: Path) -> None:
    """One that a commit of it added as well is no sign of a lost line."""
    _commit(table, 0, _protocol(), _metadata(), _data(table, "a", 1))
    _commit(table, f"{1:020}.{2:020}.compacted.json", _remove("b"), _data(table, "c", 3))
    found = DeltaTable(str(table)).scan(strict=True).to_table()["id"].to_pylist()
    assert sorted(found) == [1, 3]


def test_a_compaction_that_is_not_reconciled_gives_way_to_its_commits(table: Path) -> None:
    """PROTOCOL.md, "Log Compaction Files": one action a file; others cannot be put in order.

    It is refused where these are gone.
    """
    add = _data(table, "a", 1)
    for version, one in enumerate([[_protocol(), _metadata()], [add], [_remove("a")]]):
        _commit(table, version, *one)
    name = f"{1:020}.{2:020}.compacted.json"
    _commit(table, name, _remove("a"), add)
    assert _ids(table) == []
    (table / f"_delta_log/{2:020}.json").unlink()
    for actions in ((_remove("a"), add), (add, add), (_remove("a"), _remove("a"))):
        (table / "_delta_log" / name).unlink()
        _commit(table, name, *actions)
        with pytest.raises(InputError, match=rf"{name}, line 2: .* a second action of a, and not"):
            DeltaTable(str(table)).scan()


def test_a_compaction_without_a_byte_counts_as_absent(table: Path) -> None:
    """Its writer has died (delta-kernel-rs#2336)."""
    _commit(table, 0, _protocol(), _metadata(), _data(table, "a", 1))
    for version, name in ((1, "b"), (2, "c")):
        _commit(table, version, _data(table, name, version + 1))
    for first, last in ((1, 2), (2, 5)):
        (table / f"_delta_log/{first:020}.{last:020}.compacted.json").touch()
    assert _ids(table) == [1, 2, 3]


@pytest.mark.parametrize("what", ["protocol", "metaData"])
def test_a_compaction_that_says_twice_what_the_table_is_gives_way_to_its_commits(
    what: str, table: Path
) -> None:
    """PROTOCOL.md, "Log Compaction Files": one of each; without commits it is refused."""
    other = made_delta.field("more")
    first, later = {
        "protocol": (_protocol(), _protocol("timestampNtz")),
        "metaData": (_metadata(_ID), _metadata(_ID, other)),
    }[what]
    start = [_protocol(), _metadata(), _data(table, "a", 1)]
    for version, actions in enumerate([start, [first], [later]]):
        _commit(table, version, *actions)
    _commit(table, f"{1:020}.{2:020}.compacted.json", first, later)
    found = DeltaTable(str(table))
    assert found.schema.names == (["id", "more"] if what == "metaData" else ["id"])
    assert _ids(table) == [1]
    for version in (1, 2):
        (table / f"_delta_log/{version:020}.json").unlink()
    with pytest.raises(InputError, match=f"2 actions {what}"):
        DeltaTable(str(table)).scan()


def test_a_byte_becomes_a_decimal_that_holds_it(table: Path) -> None:
    """The protocol wants ten digits before the point, and delta-kernel-rs writes fewer."""
    pq.write_table(pa.table({"id": pa.array([-128, 127], pa.int8())}), _mkdir(table) / "a")
    add = _data(table, "b", 1)
    add["add"].update(path="a", size=(table / "a").stat().st_size)
    changes = [{"fromType": "byte", "toType": "decimal(4,1)"}]
    field = {**_ID, "type": "decimal(4,1)", "metadata": {"delta.typeChanges": changes}}
    _commit(table, 0, _protocol("typeWidening"), _metadata(field), add)
    assert [float(one) for one in _ids(table)] == [-128.0, 127.0]


@pytest.mark.parametrize("within", ["flat", "struct"])
@pytest.mark.parametrize(
    ("narrow", "wide", "is_read"),
    [
        (pa.int8(), "short", True),
        (pa.int8(), "integer", True),
        (pa.int16(), "integer", True),
        (pa.int8(), "long", False),
        (pa.int16(), "long", False),
        (pa.int32(), "long", False),
        (pa.int32(), "short", True),
        (pa.int16(), "byte", False),
        (pa.int16(), "double", False),
    ],
)
def test_bytes_and_shorts_grow_without_type_widening(
    narrow: pa.DataType, wide: str, is_read: bool, within: str, tmp_path: Path
) -> None:
    """Spark's `mergeSchema` makes them integers: Parquet files have all three as INT32."""
    table, numbers = tmp_path / "t", pa.array([-128, None, 127], narrow)
    column: pa.Array = numbers
    kind: Any = wide
    if within == "struct":
        column = pa.StructArray.from_arrays([numbers], ["n"])
        kind = {"type": "struct", "fields": [{**made_delta.field("n"), "type": wide}]}
    add = made_delta.add_rows(_mkdir(table) / "a", pa.table({"id": column}))
    _commit(table, 0, _protocol(), _metadata({**_ID, "type": kind}), add)
    opened = DeltaTable(str(table))
    if not is_read:
        with pytest.raises(InputError, match="does not promote to the table's"):
            opened.scan().to_table()
        return
    found = opened.scan().to_table()
    assert found["id"].to_pylist() == column.to_pylist()
    test = "id = 127" if within == "flat" else "id.n = 127"
    assert opened.scan(filter=test).to_table().num_rows == 1


def _mkdir(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("##093", b"\x03\x00"),
        ("###01", b"\x01"),
        ("HelloWorld#0093", bytes.fromhex("864fd26fb559f75b000300")),
    ],
)
def test_a_last_group_of_fewer_bytes_is_read(text: str, data: bytes) -> None:
    """Crate z85: `#` for each byte that is missing. The first groups are of ZeroMQ's RFC 32."""
    assert decode_z85(text) == data


@pytest.mark.parametrize("text", ["#####", "####1", "###~~", "#" + "$" * 4])
def test_other_last_groups_are_refused(text: str) -> None:
    """No byte, or more than the bytes can hold."""
    with pytest.raises(ValueError, match="Z85"):
        decode_z85(text)


def _checkpoint(
    table: Path,
    *adds: dict[str, Any],
    protocol: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """A checkpoint of version 1, as Parquet."""
    log = _mkdir(_mkdir(table) / "_delta_log")
    first = copy.deepcopy([protocol or _protocol(), metadata or _metadata()])
    told: list[dict[str, Any]] = [*first, *adds]
    if not told[1]["metaData"]["configuration"]:
        told[1]["metaData"].pop("configuration")
    told[1]["metaData"]["format"].pop("options")
    rows = [{**dict.fromkeys(("protocol", "metaData", "add")), **one} for one in told]
    for row in rows:
        if row["add"]:
            row["add"] = {k: v for k, v in row["add"].items() if k != "partitionValues"}
    pq.write_table(pa.Table.from_pylist(rows), log / f"{1:020}.checkpoint.parquet")


def test_a_checkpoint_is_held_to_its_last_checkpoint(table: Path) -> None:
    """`numOfAddFiles` counts where it is of the same version; one file twice cannot be."""
    adds = [_data(table, name, number) for number, name in enumerate("ab")]
    _checkpoint(table, *adds)
    _commit(table, 2, _data(table, "c", 9))
    hint = table / "_delta_log" / "_last_checkpoint"
    right, stale = '{"version":1,"numOfAddFiles":2}', '{"version":0,"numOfAddFiles":7}'
    for text in (right, stale, "x", "[]"):
        hint.write_text(text, encoding="utf-8")
        assert _ids(table) == [0, 1, 9]
    hint.write_text('{"version":1,"size":4,"numOfAddFiles":3}', encoding="utf-8")
    _checkpoint(table, *adds)
    with pytest.raises(InputError, match="adds 3 files, and 2 stand in it"):
        _ids(table)
    hint.unlink()
    _checkpoint(table, adds[0], adds[0])
    with pytest.raises(InputError, match="adds a file twice"):
        _ids(table)


@pytest.mark.parametrize(
    "name",
    [
        *("numAddedFiles", "numTargetFilesAdded", "numRestoredFiles", "numRestoredFile"),
        *("num_added_files", "num_target_files_added"),
    ],
)
def test_a_commit_that_lost_the_files_that_it_counts_is_doubted(name: str, table: Path) -> None:
    """Each operation has its own word for files that it added: a commit cut behind it is told."""
    _commit(table, 0, _protocol(), _metadata(), _data(table, "a", 1))
    for count, warned in ((1, 1), ("1", 1), (0, 0), ("0", 0), ("none", 0)):
        info = {"operation": "ANY", "readVersion": 0, "operationMetrics": {name: count}}
        _commit(table, 1, {"commitInfo": info})
        assert len(DeltaTable(str(table)).scan().report().warnings) == warned, count
    _commit(table, 1, {"commitInfo": {**info, "operationMetrics": {name: 1}}}, _data(table, "b", 2))
    assert not DeltaTable(str(table)).scan().report().warnings


@pytest.mark.parametrize(
    ("name", "warned"),
    [("numAddedFiles", 1), ("num_added_files", 0), ("num_target_files_added", 0)],
)
def test_files_of_changes_are_among_those_that_delta_rs_counts(
    name: str, warned: int, table: Path
) -> None:
    """It deletes all rows of a table with a change feed, or merges them away, and says so."""
    _commit(table, 0, _protocol(), _metadata(), _data(table, "a", 1))
    info = {"operation": "DELETE", "readVersion": 0, "operationMetrics": {name: 2}}
    changes = {"path": "c", "partitionValues": {}, "size": 1, "dataChange": False}
    _commit(table, 1, {"commitInfo": info}, {"cdc": changes})
    assert len(DeltaTable(str(table)).scan().report().warnings) == warned


@pytest.mark.parametrize("least", [-(2**63) - 1, 2**64, "1", [1], {"id": 1}, None, 1.5])
def test_bounds_that_no_value_can_have_say_nothing(least: Any, table: Path) -> None:
    """Statistics are optional: such as cannot be read rule out no file, and end no read."""
    add = _data(table, "a", 1, 2)
    add["add"]["stats"] = json.dumps({"numRecords": 2, "minValues": {"id": least}})
    _commit(table, 0, _protocol(), _metadata(), add)
    assert _ids(table) == [1, 2]
    assert DeltaTable(str(table)).scan(filter=pc.field("id") == 2).to_table().num_rows == 1


def test_commits_stand_where_they_say(table: Path) -> None:
    """A commit has read an older version; one that wrote files adds some."""
    _commit(table, 0, _protocol(), _metadata(), _data(table, "a", 1))
    info: dict[str, Any] = {"operation": "WRITE", "readVersion": 0, "txnId": "x"}
    _commit(table, 1, {"commitInfo": info}, _data(table, "b", 2))
    assert not DeltaTable(str(table)).scan().report().warnings
    _commit(table, 1, {"commitInfo": {**info, "readVersion": 1}}, _data(table, "b", 2))
    with pytest.raises(InputError, match="has read version 1, so it is none of 1"):
        DeltaTable(str(table)).scan()
    for rows, count in (("1", 1), ("0", 0)):
        metrics = {"numFiles": "1", "numOutputRows": rows}
        _commit(table, 1, {"commitInfo": {**info, "operationMetrics": metrics}})
        assert len(DeltaTable(str(table)).scan().report().warnings) == count
    _commit(table, 1, {"commitInfo": info}, _data(table, "b", 2))
    _commit(table, 2, {"commitInfo": {**info, "readVersion": 1}}, _data(table, "c", 3))
    [warning] = DeltaTable(str(table)).scan().report().warnings
    assert "txnId is that of" in warning.reason


_ODD: list[Any] = [None, True, 1, -1, 1.5, "", "x", [], [{}], ["a"], [["a", "b"]], {}, {"a": 1}]
_ODD += [2**63, -(2**63), 2**99]


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_no_value_of_a_field_is_an_error_of_another_kind(table: Path) -> None:
    """Each field of each action as anything that JSON has: read, or refused with one sentence."""
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 1}
    add = _data(table, "a", 1)
    add["add"].update(stats="{}", baseRowId=1, deletionVector={**vector, "cardinality": 1})
    info = {"operation": "WRITE", "readVersion": 0, "txnId": "x", "operationMetrics": {}}
    actions = [_protocol("deletionVectors"), _metadata(), add, {"commitInfo": info}]
    actions.append({"remove": {"path": "b", "dataChange": True, "deletionVector": None}})
    for number, action in enumerate(actions):
        [(name, content)] = action.items()
        for field in content:
            for odd in _ODD:
                edited = [*actions]
                edited[number] = {name: {**content, field: odd}}
                _commit(table, 0, *edited)
                with contextlib.suppress(SeambenchError):
                    DeltaTable(str(table)).scan().to_table()


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, -(2**63), 2**99])
@pytest.mark.parametrize(
    "field",
    ["baseRowId", "defaultRowCommitVersion", "size", "inCommitTimestamp", "readVersion"],
)
@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_numbers_beyond_64_bits_are_refused_as_such(
    field: str, number: int, tmp_path: Path
) -> None:
    """Where they are asked for, too: ids of rows, times of commits, changes."""
    table, tracking = tmp_path / "t", "delta.rowTracking.materializedRow"
    configuration = {
        **{f"delta.enable{name}": "true" for name in ("RowTracking", "ChangeDataFeed")},
        "delta.enableInCommitTimestamps": "true",
        f"{tracking}IdColumnName": "_i",
        f"{tracking}CommitVersionColumnName": "_v",
    }
    add = _data(table, "a", 1)
    info = {"operation": "WRITE", "inCommitTimestamp": 1, "readVersion": -1}
    add["add"].update(baseRowId=1, defaultRowCommitVersion=1)
    told = _protocol("rowTracking", "inCommitTimestamp")
    told["protocol"]["readerFeatures"] = []
    actions = [{"commitInfo": info}, told, _metadata(configuration=configuration), add]
    for action in actions:
        [content] = action.values()
        if field in content:
            content[field] = number
    _commit(table, 0, *actions)
    ways: list[dict[str, Any]] = [
        {"columns": ["id", "_row_id", "_row_commit_version"]},
        {"as_of": "2200-01-01"},
        {"query": "cdc"},
    ]
    for how in ways:
        with contextlib.suppress(SeambenchError):
            DeltaTable(str(table)).scan(**how).to_table()
    with contextlib.suppress(SeambenchError):
        DeltaTable(str(table)).history()


@pytest.mark.parametrize(
    ("digits", "scale"), [(15, 3), (16, 0), (18, 4), (20, 0), (38, 0), (38, 10), (38, 38)]
)
def test_decimals_lie_within_the_bounds_that_delta_rs_makes_of_doubles(
    digits: int, scale: int, tmp_path: Path
) -> None:
    """Each value is a file's least and greatest, and is found; what is far off is left out."""
    import deltalake

    chance, kind = random.Random(digits), pa.decimal128(digits, scale)
    for folder in map(str, range(10)):
        number = chance.randrange(10 ** chance.randint(1, digits - 1), 10**digits)
        value = Decimal(chance.choice([-1, 1]) * number).scaleb(-scale)
        where = tmp_path / folder
        deltalake.write_deltalake(where, pa.table({"n": pa.array([value], kind)}))
        scan = DeltaTable(where).scan()

        assert scan.filter(pc.field("n") <= pa.scalar(value, kind)).to_table().num_rows == 1, value
        assert scan.filter(pc.field("n") >= pa.scalar(value, kind)).to_table().num_rows == 1, value
        far = scan.filter(pc.field("n") == pa.scalar(-value, kind))
        beyond = abs(value) >= 2**63 - 1 and scale == 0
        assert beyond or far.statistics().rows == Figure(0, "at most")
        least = scan.statistics().columns["n"].least
        assert least is not None
        assert least == Figure(pa.scalar(value, kind)) or not least.is_exact
