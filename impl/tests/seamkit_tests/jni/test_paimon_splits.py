"""Which sections Paimon's own core is handed in a JVM, by which columns, filters and zones."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError, RefusedError
from seambench.contracts.scan import ScanRequest
from seambench_impl.jni.paimon import VERSIONS, PaimonSplits, paimon_loader
from seambench_impl.scan import AutoReader
from seambench_impl.scan_jni import JniReader, NativeJniReader, Paimon09JniReader
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.jni.scanner import JniScanner
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.paimon_tables import unpack_paimon

pytestmark = pytest.mark.jvm

SCANNER = "seambench.paimon.PaimonSplitScanner"
READERS = [JniReader, NativeJniReader, Paimon09JniReader]


@pytest.fixture(scope="module", autouse=True)
def _cores() -> None:
    with OrSkipped():
        for version in VERSIONS:
            paimon_loader(version)


def test_units_that_need_no_merge_stay_native(tmp_path: Path) -> None:
    """`native+jni` leaves to Java what is merged alone; `jni` leaves it all."""
    request = ScanRequest(str(unpack_paimon("pk-levels", tmp_path)))
    ways = dict(AutoReader().open(request).report().paths)
    expected = {"native": ways.get("native", 0), "jni": ways["merge"]}
    mixed = dict(NativeJniReader().open(request).report().paths)
    assert mixed == {path: n for path, n in expected.items() if n}
    scan = JniReader().open(request)
    assert dict(scan.report().paths) == {"jni": sum(ways.values())}
    scan.to_reader().read_all()
    assert all(scan.report().seconds[word] > 0 for word in ("open", "read", "fill"))


class _Split:
    """All files of a table in one split, and a predicate, as scanner parameters."""

    def __init__(self, table: Path) -> None:
        classes = paimon_loader().classes
        texts = classes.jpype.JArray(classes.jpype.JString)
        point = ["scan.snapshot-id", str(PaimonTable(str(table)).snapshot_id)]
        with classes.inside():
            planner = classes.java_class("seambench.paimon.PaimonSplits")
            splits = planner(str(table), "", texts(point), False)
            names = texts([path.name for path in table.glob("bucket-0/data-*")])
            self.parameters = {
                "native_table": str(splits.table()),
                "split_info": str(splits.split(names, True)),
            }
            types = classes.java_class("org.apache.paimon.types.DataTypes")
            rows = classes.java_class("org.apache.paimon.types.RowType").builder()
            row = rows.field("b", types.BOOLEAN()).build()
            builder = classes.java_class("org.apache.paimon.predicate.PredicateBuilder")(row)
            equal = builder.equal(0, classes.jpype.java.lang.Boolean(True))
            serialised = classes.java_class("org.apache.paimon.utils.InstantiationUtil")
            block = bytes(serialised.serializeObject(classes.list([equal])))
            self.predicate = urlsafe_b64encode(block).decode()


@pytest.fixture
def split(tmp_path: Path) -> _Split:
    """That of `append-types-avro`."""
    return _Split(unpack_paimon("append-types-avro", tmp_path))


def scanned(parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the scanner gives for its parameters; no block is left behind."""
    allocator = TrackedAllocator()
    try:
        with JniScanner(paimon_loader(), SCANNER, 2, parameters, allocator) as scanner:
            scanner.open()
            batches = scanner.batches(scanner.schema())
            return [row for batch in batches for row in batch.to_pylist()]
    finally:
        assert allocator.counters().live_blocks == 0


def test_predicates_reach_the_core(split: _Split) -> None:
    """`predicate_info` leaves out every row for which it is not true."""
    whole = scanned({**split.parameters, "required_fields": "b,i"})
    some = scanned(
        {**split.parameters, "required_fields": "b,i", "predicate_info": split.predicate}
    )
    assert some == [row for row in whole if row["b"]] != whole


def test_a_filter_reaches_the_core_by_keys_alone_where_rows_are_merged(tmp_path: Path) -> None:
    """Of the key 4 a file has the row `1-11`, and a later one `6-0`: the former is no row at all.

    To rule rows out by their values before they are merged brings it back; by their keys it does
    not, and the core leaves all others out.
    """
    table = unpack_paimon("pk-levels", tmp_path)
    scan = AutoReader().open(ScanRequest(str(table)))
    assert isinstance(scan, UnitScan)
    [unit] = scan.plan.units
    point = ("scan.snapshot-id", str(PaimonTable(str(table)).snapshot_id))
    splits = PaimonSplits(str(table), "", point, travels=False)
    value, key = pc.field("v") == "1-11", pc.field("k") == 4
    unmerged = splits.parameters(replace(unit, changes=None), scan.schema, value)
    assert scanned(unmerged) == [{"k": 4, "v": "1-11"}]
    assert splits.parameters(unit, scan.schema, value)["predicate_info"] == ""
    for condition in (key, key & (value | pc.field("v").is_valid())):
        found = scanned(splits.parameters(unit, scan.schema, condition))
        assert found == [{"k": 4, "v": "6-0"}]


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (pc.field("v") == "1-11", []),
        (pc.field("v") == "6-0", [4]),
        ((pc.field("k") < 3) | (pc.field("v") == "6-0"), [0, 1, 2, 4]),
        ((pc.field("k") < 3) & (pc.field("v") != "2-8"), [1, 2]),
    ],
)
def test_filters_are_exact(
    condition: pc.Expression, expected: list[int], kind: type[JniReader], tmp_path: Path
) -> None:
    """Whatever of a filter reaches the core, rows are those that meet it."""
    request = ScanRequest(str(unpack_paimon("pk-levels", tmp_path)))
    found = kind().open(request).dataset().to_table(filter=condition)
    assert sorted(found["k"].to_pylist()) == expected


def _parameters(version: str, table: Path, condition: pc.Expression) -> dict[str, str]:
    """What a core is handed for the first unit of a table."""
    scan = AutoReader().open(ScanRequest(str(table)))
    assert isinstance(scan, UnitScan)
    point = ("scan.snapshot-id", str(PaimonTable(str(table)).snapshot_id))
    splits = PaimonSplits(str(table), "", point, travels=False, version=version)
    return splits.parameters(scan.plan.units[0], scan.schema, condition)


@pytest.mark.parametrize("column", ["b", "i", "l", "m", "n", "vc", "da"])
def test_a_filter_reaches_the_core_0_9(column: str, tmp_path: Path) -> None:
    """Whole numbers, decimals, texts, dates and booleans do, and rows are exact."""
    table = unpack_paimon("append-types-avro", tmp_path)
    values = AutoReader().open(ScanRequest(str(table))).to_reader().read_all()[column]
    one = next(value for value in values if value.is_valid)
    condition = pc.field(column) == one
    assert _parameters("0.9.0", table, condition)["predicate_info"]
    found = Paimon09JniReader().open(ScanRequest(str(table))).dataset()
    expected = AutoReader().open(ScanRequest(str(table))).dataset()
    rows_ = [
        sorted(map(repr, one.to_table(filter=condition).to_pylist())) for one in (found, expected)
    ]
    assert rows_[0] == rows_[1]
    assert rows_[0]


def test_filters_that_the_core_0_9_fails_over_stay_with_the_scan(tmp_path: Path) -> None:
    """Tinyint and smallint, which it compares as other classes of Java's."""
    table = unpack_paimon("append-types-avro", tmp_path)
    names = [
        field.name
        for field in AutoReader().open(ScanRequest(str(table))).schema
        if field.type in (pa.int8(), pa.int16())
    ]
    assert len(names) == 2
    for name in names:
        assert _parameters("0.9.0", table, pc.field(name) == 1)["predicate_info"] == ""
        assert _parameters("1.4.2", table, pc.field(name) == 1)["predicate_info"]


def test_clocks_show_the_zone_that_is_named(split: _Split) -> None:
    """`time_zone` moves timestamps with a zone, and no others; fractions stay."""
    names = {"required_fields": "ts,tn"}
    at_utc = scanned({**split.parameters, **names})
    moved = scanned({**split.parameters, **names, "time_zone": "+05:30"})
    offset = [
        (one["ts"] - other["ts"]).total_seconds()
        for one, other in zip(moved, at_utc, strict=True)
        if other["ts"] is not None
    ]
    assert set(offset) == {5.5 * 3600}
    assert [row["tn"] for row in moved] == [row["tn"] for row in at_utc]


@pytest.mark.parametrize(
    ("wrong", "says", "error"),
    [
        ({"split_info": "%%"}, "'split_info' is no Base64", InputError),
        ({"split_info": "AAAA"}, "no object of this version of Paimon", InputError),
        ({"native_table": "@split_info"}, "is no org.apache.paimon.table.Table", InputError),
        ({"required_fields": "nobody"}, "no column 'nobody'", RefusedError),
        ({"time_zone": "Nowhere/At_All"}, "no zone 'Nowhere/At_All'", RefusedError),
    ],
)
def test_bad_parameters_are_named(
    wrong: Mapping[str, str], says: str, error: type[Exception], split: _Split
) -> None:
    """What is no object of Paimon, no column or no zone is refused by name."""
    wrong = {
        name: split.parameters[value[1:]] if value.startswith("@") else value
        for name, value in wrong.items()
    }
    with pytest.raises(error, match=says):
        scanned({**split.parameters, "required_fields": "i", **wrong})
