"""Scanners that extend no class of ours: StarRocks' package, bound by the names of its methods.

Their classes are made here: what a scanner is built on, under the name of StarRocks' package, with
its blocks from the natives that StarRocks' classes ask for. So they share a layout with ours, and
no class.
"""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seambase.errors import InputError, RefusedError, UsageError
from seambench.cli.app import app
from seambench.contracts import registry
from seambench.contracts.column import ColumnRequest
from seambench.contracts.scan import ScanRequest
from seambench_impl import column_java
from seambench_impl.column import KINDS, OffHeapColumns
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.machine import spark_jars
from seamkit.offheap.jni import scanner
from seamkit.offheap.jni.scanner import JniLoader, JniScanner
from seamkit_tests.samples.hive_tables import unpack_hive
from seamkit_tests.samples.lacking import OrSkipped

pytestmark = pytest.mark.jvm

_OURS = Path(scanner.__file__).parents[1] / "java"
_CASES = Path(column_java.__file__).parent / "jni" / "java" / "cases"
#: What only our own host needs.
_NOT_THEIRS = {"Host", "BoundScanner", "ChunkSource"}
_HELPER = """
package com.starrocks.utils;

public final class NativeMethodHelper {
    public static native long memoryTrackerMalloc(long bytes);
    public static native void memoryTrackerFree(long address);
}
"""
_TYPES = """
package com.starrocks.cases;

import com.starrocks.jni.connector.ColumnType;

final class Types {
    static ColumnType[] of(Object[] types) {
        ColumnType[] out = new ColumnType[types.length];
        for (int i = 0; i < types.length; i++) {
            boolean missing = types[i] == seamkit.offheap.ColumnType.UNKNOWN;
            out[i] = missing ? ColumnType.UNKNOWN : new ColumnType(types[i].toString());
        }
        return out;
    }
}
"""
_FACTORY = """
package com.starrocks.cases;

public class {name} {{
    public Class getScannerClass({takes}) throws ClassNotFoundException {{
        return Class.forName("com.starrocks.cases.CaseScanner");
    }}
}}
"""
_BAD = """
package com.starrocks.cases;

public class {name} {{
    public {name}(int fetchSize, java.util.Map<String, String> parameters) {{}}
    public void open() throws Exception {{ {open} }}
    public {result} getNextOffHeapChunk() {{ return 0; }}
    public void releaseOffHeapColumnVector(int index) {{}}
    public void releaseOffHeapTable() {{}}
    public void close() {{}}
}}
"""


def _theirs(text: str) -> str:
    """A source of ours under StarRocks' name, as classes that know no host of ours."""
    text = text.replace("seamkit.offheap", "com.starrocks.jni.connector")
    text = text.replace(" implements ChunkSource", "").replace("allocator == 0", "false")
    text = re.sub(r"private static native .*;", "", text)
    text = text.replace("allocate0(allocator, size)", f"{_NATIVES}.memoryTrackerMalloc(size)")
    text = text.replace("free0(block)", f"{_NATIVES}.memoryTrackerFree(block)")
    final = r"@Override\n(    public final|    public abstract)"
    return re.sub(final, r"\1", text)


_NATIVES = "com.starrocks.utils.NativeMethodHelper"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sources of StarRocks' package, of a scanner over it, and of factories."""
    folder = tmp_path_factory.mktemp("theirs")
    package = folder / "com" / "starrocks" / "jni" / "connector"
    cases = folder / "com" / "starrocks" / "cases"
    utils = folder / "com" / "starrocks" / "utils"
    for made in (package, cases, utils):
        made.mkdir(parents=True)
    for source in _OURS.glob("*.java"):
        if source.stem not in _NOT_THEIRS:
            (package / source.name).write_text(_theirs(source.read_text()))
    for name in ("CaseScanner", "CaseValue"):
        text = _theirs((_CASES / f"{name}.java").read_text())
        text = text.replace("package seambench;", "package com.starrocks.cases;")
        text = text.replace("private Case given", "private seambench.Case given")
        text = text.replace("Case.of(parameters)", "seambench.Case.of(parameters)")
        text = text.replace("given.types,", "Types.of(given.types),")
        text = text.replace("given.sources[column]", "Types.of(given.sources)[column]")
        (cases / f"{name}.java").write_text(text)
        if name == "CaseScanner":  # as those for StarRocks before 2024
            text = text.replace("CaseScanner", "TextScanner")
            text = text.replace("this.fetchSize =", "useTextForm();\n        this.fetchSize =")
            (cases / "TextScanner.java").write_text(text)
    (utils / "NativeMethodHelper.java").write_text(_HELPER)
    (cases / "Types.java").write_text(_TYPES)
    for name, takes in (("Factory", ""), ("TypedFactory", "String scannerType")):
        (cases / f"{name}.java").write_text(_FACTORY.format(name=name, takes=takes))
    for name, result, opens in (
        ("Narrow", "int", ""),
        ("Null", "long", ""),
        ("Throws", "long", 'throw new Exception("the disk is gone");'),
    ):
        bad = _BAD.format(name=name, result=result, open=opens)
        (cases / f"{name}.java").write_text(bad)
    return folder


@pytest.fixture
def foreign(sources: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Names a class of theirs, on the class path."""
    with OrSkipped():
        column_java.case_classes()
    monkeypatch.setenv("CLASSPATH", str(sources))
    return lambda name: f"java:com.starrocks.cases.{name}"


_CASES_ASKED = ("column/fixed/*", "column/nested/*", "column/growth/*")
_REQUESTS = [
    ColumnRequest(["n"], ["bigint"], [[1], [None], [-3]], ["n"], None, 2, [2, 1]),
    ColumnRequest(["s", "d"], ["string", "date"], [["ü", "2020-02-29"]], ["d", "s"], None, 0, [1]),
    ColumnRequest(["a"], ["array<map<int,string>>"], [[[[[1, "x"]], None]]], ["a"], None, 4, [1]),
    ColumnRequest(["n"], ["int"], [[7]], ["gone", "n"], None, 4, [1]),
]


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        *(("CaseScanner", request) for request in _REQUESTS),
        *((name, _REQUESTS[0]) for name in ("Factory", "TypedFactory")),
    ],
)
def test_a_class_of_another_package_is_driven(
    foreign: Callable[[str], str], name: str, request_: ColumnRequest
) -> None:
    """A scanner, or what names its class, hands over the chains that our own table makes."""
    theirs = registry.resolve("column", foreign(name))
    found, expected = theirs.chunks(request_), OffHeapColumns().chunks(request_)
    assert [chunk.num_rows for chunk in found] == [chunk.num_rows for chunk in expected]
    assert [[(s.kind, s.content) for s in c.slots] for c in found] == [
        [(s.kind, s.content) for s in c.slots] for c in expected
    ]
    assert theirs.live_blocks() == 0


@pytest.mark.parametrize(
    "types", [["date"], ["timestamp-millis", "int"], ["array<struct<a:date,b:decimal(9,2)>>"]]
)
def test_texts_of_another_package_are_followed(
    foreign: Callable[[str], str], types: list[str]
) -> None:
    """Dates, datetimes and decimals as texts, by a scanner that tells nobody: its caller knows."""
    values = {"date": "2020-02-29", "timestamp-millis": "1969-12-31 23:59:59.999", "int": 7}
    row = [values.get(one, [["2020-02-29", "-1.50"], None]) for one in types]
    names = [f"c{i}" for i in range(len(types))]
    asked = ColumnRequest(names, types, [row, [None] * len(types)], names, None, 1, [2], (), "text")
    theirs = registry.resolve("column", foreign("TextScanner"))
    assert theirs.chunks(asked) == column_java.JavaColumns().chunks(asked)
    assert theirs.live_blocks() == 0


def test_blocks_of_another_package_count_as_ours(foreign: Callable[[str], str]) -> None:
    """Its natives take from the allocator of the scan: a limit holds, and nothing stays."""
    columns = registry.resolve("column", foreign("CaseScanner"))
    columns._allocator = TrackedAllocator(64)
    request = ColumnRequest(["n"], ["bigint"], [[1]] * 100, ["n"], None, 100, [100])
    with pytest.raises(InputError, match="no block of"):
        columns.chunks(request)
    assert columns.live_blocks() == 0
    columns._allocator = TrackedAllocator()
    columns.chunks(request)
    assert columns._allocator.counters().total_blocks > 0


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("Narrow", RefusedError, r"has no method getNextOffHeapChunk\(\)J"),
        ("Null", InputError, "a chunk without an address"),
        ("Throws", InputError, "java.lang.Exception: the disk is gone"),
    ],
)
def test_what_another_package_does_wrong_is_told(
    foreign: Callable[[str], str], name: str, error: type[Exception], says: str
) -> None:
    """A method of another kind, no chunk, an exception: an error by name, no crash."""
    theirs = registry.resolve("column", foreign(name))
    with pytest.raises(error, match=says):
        theirs.chunks(_REQUESTS[0])


def test_cases_judge_a_class_of_another_package(
    foreign: Callable[[str], str], sources: Path
) -> None:
    """The column seam's cases are put to it as to any other, by what it states."""
    name = foreign("Factory")
    words = [f"kinds.{kind}" for kind in KINDS]
    stated = {"version": "1", "capabilities": dict.fromkeys([*words, "missing-columns"], True)}
    facts = sources / f"{name.removeprefix('java:')}.seambench.json"
    facts.write_text(json.dumps({"name": "theirs", **stated}))
    asked = ["check", "--seam", "column", "--impl", name, "--json"]
    done = CliRunner().invoke(app, [*asked, *(w for c in _CASES_ASKED for w in ("--case", c))])
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    counted = Counter(one["outcome"] for one in outcomes)
    assert done.exit_code == 0, [one for one in outcomes if one["outcome"] == "fail"]
    assert counted["pass"] > 100


@pytest.mark.parametrize("table", ["text-nested", "orc-written"])
def test_tables_are_read_by_a_class_of_another_package(
    table: str, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our plan, in StarRocks' words, to a reader of Hive's files: the rows that our own gives."""
    folder = tmp_path / "com" / "starrocks" / "hive"
    shutil.copytree(sources / "com", tmp_path / "com")
    folder.mkdir()
    for source in (_CASES.parent / "hive").glob("*.java"):
        text = _theirs(source.read_text())
        (folder / source.name).write_text(
            text.replace("package seambench.", "package com.starrocks.")
        )
    path = os.pathsep.join([str(tmp_path), *map(str, spark_jars())])
    monkeypatch.setenv("CLASSPATH", path)
    theirs = registry.resolve("scan", "java:com.starrocks.hive.HiveScanner")
    asked = ScanRequest(str(unpack_hive(table, tmp_path / "table")))
    found, expected = (
        reader.open(asked).to_reader().read_all()
        for reader in (theirs, registry.resolve("scan", "auto"))
    )
    assert found.schema == expected.schema
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_columns_that_it_does_not_tell_are_asked_for(foreign: Callable[[str], str]) -> None:
    """StarRocks' scanners name no columns: whoever drives one states them."""
    theirs = registry.resolve("column", foreign("Null"))
    loader: JniLoader = theirs._loader
    with JniScanner(loader, "com.starrocks.cases.Null", 4, {}, TrackedAllocator()) as scanner:
        scanner.open()
        with pytest.raises(UsageError, match="names no columns"):
            scanner.schema()
