"""Planned scans as JSON: any process reads from them what the one that planned would have read."""

import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seamkit
from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambench.conformance.load import load_cases
from seambench.seams.scan.check import unpacked
from seambench_impl.scan import AutoReader, ConnectorReader
from seamkit.ranges import codec, hints
from seamkit.ranges.codec import known_words
from seamkit.ranges.plan_file import scan_from_json, scan_to_json
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.outlets import bag

_CHILD = """
import sys
import pyarrow as pa
from seamkit import SeambenchError, scan_from_json
for line in sys.stdin:
    plan = line.rstrip("\\n")
    try:
        rows = scan_from_json(open(plan, encoding="utf-8").read()).to_table()
        with pa.ipc.new_file(plan + ".rows", rows.schema) as sink:
            sink.write_table(rows)
        print("rows", flush=True)
    except SeambenchError as error:
        print(type(error).__name__, flush=True)
"""


def _own(scan: Any) -> Any:
    """The rows, or the name of the error that comes instead."""
    try:
        return scan.to_table()
    except SeambenchError as error:
        return type(error).__name__


def _compare(folder: Path, cases: Sequence[Any]) -> int:
    """Read the tables of cases here and in another process; how many were planned."""
    count, pipe = 0, subprocess.PIPE
    command = [sys.executable, "-c", _CHILD]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child:
        for number, case in enumerate(cases):
            with unpacked(case) as request:
                try:
                    scan: Any = AutoReader().open(replace(request, where=None))
                except SeambenchError:
                    continue  # nothing to plan
                text = scan_to_json(scan)
                plan = folder / f"{number}.json"
                plan.write_text(text, encoding="utf-8")
                assert child.stdin is not None
                assert child.stdout is not None
                child.stdin.write(f"{plan}\n")
                child.stdin.flush()
                answer = child.stdout.readline().strip()
                own = _own(scan)
                if isinstance(own, str):
                    assert answer == own, case.id
                    continue
                assert answer == "rows", case.id
                with pa.ipc.open_file(f"{plan}.rows") as reader:
                    found = reader.read_all()
                assert found.schema.equals(own.schema), case.id
                assert bag(found) == bag(own), case.id
                count += 1
    return count


def test_another_process_reads_the_same(tmp_path: Path) -> None:
    """A sample of the golden tables of every format, read by a process that has plans alone."""
    cases = load_cases("scan")
    sample = [case for case in cases[::90] if case.level == "must"]
    sample += [case for case in cases if case.id.startswith("scan/iceberg/schema/lineage/")]
    assert _compare(tmp_path, sample) > 15


@pytest.mark.slow
def test_another_process_reads_every_golden_table(tmp_path: Path) -> None:
    """Every case of the scan seam, read by a process that has plans alone."""
    assert _compare(tmp_path, load_cases("scan")) > 1100


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with slices that are merged and slices that are not."""
    return unpack_table("mor-v9-mixed", tmp_path_factory.mktemp("plans"))


@pytest.fixture(scope="module")
def plan(table: Path) -> dict[str, Any]:
    """The plan of a snapshot, as JSON says it."""
    document: dict[str, Any] = json.loads(scan_to_json(seamkit.open_table(table).scan()))
    return document


def test_units_together_are_the_scan(table: Path, plan: dict[str, Any]) -> None:
    """A unit alone has its rows, and all of them give the rows of the table, each once."""
    text = json.dumps(plan)
    count = len(plan["units"])
    apart = [scan_from_json(text, units=[n]).to_table() for n in range(count)]
    assert count > 1
    assert bag(pa.concat_tables(apart)) == bag(seamkit.open_table(table).scan().to_table())
    assert {unit["path"] for unit in plan["units"]} == {"native", "merge"}


def test_a_plan_of_one_unit_holds_that_unit(table: Path) -> None:
    """What other units need is left out."""
    scan = seamkit.open_table(table).scan()
    alone = scan_to_json(scan, units=[1])
    assert len(json.loads(alone)["units"]) == 1
    assert len(alone) < len(scan_to_json(scan))
    assert bag(scan_from_json(alone).to_table()) == bag(
        scan_from_json(scan_to_json(scan), units=[1]).to_table()
    )


@pytest.mark.parametrize("condition", ["v IS NOT NULL AND id > 3", pc.field("id") > 3])
def test_a_condition_travels_along(table: Path, condition: Any) -> None:
    """Columns and filters of either kind are part of the plan."""
    scan = seamkit.open_table(table).scan(columns=["v"], filter=condition)
    found = scan_from_json(scan_to_json(scan))
    assert found.schema.equals(scan.schema)
    assert bag(found.to_table()) == bag(scan.to_table())
    assert 0 < found.count_rows() < seamkit.open_table(table).scan().count_rows()


def test_another_reader_travels_along(table: Path) -> None:
    """A plan says which reader its units are for."""
    from seambench.contracts.scan import ScanRequest

    scan: Any = ConnectorReader().open(ScanRequest(str(table)))
    document = json.loads(scan_to_json(scan))
    assert {unit["path"] for unit in document["units"]} == {"connector"}
    found = scan_from_json(json.dumps(document))
    assert found.report().paths == {"connector": len(document["units"])}
    assert bag(found.to_table()) == bag(scan.to_table())


def test_a_moved_table_is_found(table: Path, plan: dict[str, Any], tmp_path: Path) -> None:
    """Where the table lies elsewhere, whoever reads says where."""
    moved = tmp_path / "moved"
    moved.symlink_to(table)
    plan = {**plan, "table": "/not/here/mixed"}
    text = json.dumps(plan).replace(str(table), "/not/here/mixed")
    with pytest.raises(InputError, match="no such folder"):
        scan_from_json(text)
    assert scan_from_json(text, table=str(moved)).count_rows() > 0


def test_no_secrets_are_written() -> None:
    """Options of a storage stay with whoever has them."""
    from seamkit.files.storage import Storage

    encoder = codec.Encoder("memory://there")
    written = encoder.encode(Storage("memory://there", {"token": "hidden"}))
    assert encoder.shared() == []
    assert written == {"$": "Storage", "root": "memory://there"}
    assert encoder.storage_options == {"token": "hidden"}
    with pytest.raises(RefusedError, match="memory://thereby lies outside of memory://there"):
        encoder.encode(Storage("memory://thereby"))


def _with(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda plan: plan.update(changes)


def _unit(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda plan: plan["units"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (_with(format="another"), InputError, "no plan"),
        (_with(version=2), RefusedError, "version 2"),
        (_with(version=True), RefusedError, "version True"),
        (_with(more=1), InputError, "'more' is unknown"),
        (lambda plan: plan.pop("sql"), InputError, "'sql' is missing"),
        (_with(columns=["absent"]), InputError, "columns"),
        (_with(columns="k"), InputError, "columns"),
        (_with(options={}), InputError, "'batch_rows' is missing"),
        (_with(sql="absent > 1"), InputError, "absent"),
        (_with(schema={"$schema": "AAAA"}), InputError, "no schema"),
        (_with(schema={"$type": "AAAA"}), InputError, "no type"),
        (_with(condition={"$condition": "AAAA"}), InputError, "no condition"),
        (_with(heading={"$ref": 9999}), InputError, "no shared object 9999"),
        (_with(shared=[{"$ref": 0}] * 99), InputError, "holds itself"),
        (_with(reader={"path": "x", "read": 1, "only_merged": False}), InputError, "read is 1"),
        (_unit(path="native", changes=None, extra=1), InputError, "'extra' is unknown"),
        (_unit(path="another"), InputError, r"takes? the path 'another'"),
        (_unit(files="none"), InputError, "files of ReadUnit"),
        (_unit(changes={"$": "hudi.Window"}), InputError, "has the keys"),
        (_unit(changes={"$": "os.system"}), InputError, "'os.system' is unknown"),
        (_unit(changes={"$call": "hudi.open_slice_base", "arguments": []}), InputError, "changes"),
        (_unit(changes={"$bytes": "?"}), InputError, r"\$bytes"),
        (_unit(partition={"k": 1}), InputError, "partition of ReadUnit"),
    ],
)
def test_a_broken_plan_is_refused(
    plan: dict[str, Any], change: Callable[[dict[str, Any]], object], kind: Any, says: str
) -> None:
    """Nothing of a plan is believed before it was looked at; the error names the place."""
    broken = json.loads(json.dumps(plan))
    change(broken)
    with pytest.raises(kind, match=says):
        scan_from_json(json.dumps(broken)).to_table()


@pytest.mark.parametrize("root", ["/etc", "{table}x", "{table}/../other", ""])
def test_a_storage_outside_of_the_table_is_refused(plan: dict[str, Any], root: str) -> None:
    """A plan opens no folder that lies elsewhere."""
    broken = json.loads(json.dumps(plan))
    for one in broken["shared"]:
        if one.get("$") == "Storage":
            one["root"] = root.format(table=plan["table"])
    with pytest.raises(InputError, match=r"outside|has a root"):
        scan_from_json(json.dumps(broken))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": NaN}', '{"a": 1, "a": 2}', "[" * 9999])
def test_what_is_no_json_is_refused(text: str) -> None:
    """One sentence, whatever comes."""
    with pytest.raises(InputError, match="the plan: it is no"):
        scan_from_json(text)


@pytest.mark.parametrize("units", [[99], [-1], [True], ["1"]])
def test_a_unit_that_is_not_there_is_refused(plan: dict[str, Any], units: Any) -> None:
    """Units are named by their numbers."""
    with pytest.raises(UsageError, match="there is no unit"):
        scan_from_json(json.dumps(plan), units=units)


def test_units_are_a_list(plan: dict[str, Any]) -> None:
    """A number alone is none, nor is anything else that is no list."""
    scan = scan_from_json(json.dumps(plan))
    for read in (scan_from_json, lambda _, units: scan_to_json(scan, units)):
        with pytest.raises(UsageError, match="units is 0: a list of numbers is meant"):
            read(json.dumps(plan), units=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [99, -1, True, "0", None, 1.0])
@pytest.mark.parametrize("filter_", [None, "true or null"])
def test_a_part_that_is_not_there_is_refused(table: Path, number: Any, filter_: str | None) -> None:
    """Parts are named by their numbers, from 0 on; none is counted from the end."""
    scan = seamkit.open_table(table).scan(filter=filter_)
    for of in (scan, scan.limit(2)):
        with pytest.raises(UsageError, match=f"there is no part {number!r}: the scan"):
            of.part(number, [], None)


def test_scans_without_units_are_refused(table: Path) -> None:
    """What is no list of read units has no such form."""
    with pytest.raises(RefusedError, match="LimitedScan"):
        scan_to_json(seamkit.open_table(table).scan().limit(1))


def test_all_words_have_types_that_are_known() -> None:
    """Each class and function says what it is made of, in annotations that can be checked."""
    for word, one in known_words().items():
        known = hints.arguments(one) if isinstance(one, type) else hints.parameters(one)
        for name, hint in known.items():
            hints.fits(object(), hint)
            hints.fits([], hint)
            hints.fits({}, hint)
            assert isinstance(name, str), word


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_groups_share_all_units_out(table: Path, count: int) -> None:
    """Each unit is in one group, none is empty, and no group has over a unit more than another."""
    scan: Any = seamkit.open_table(table).scan()
    groups, weights = scan.groups(count), scan.part_bytes()
    loads = [sum(weights[part] for part in group) for group in groups]
    assert sorted(part for group in groups for part in group) == list(range(scan.n_parts))
    assert len(groups) == min(count, scan.n_parts)
    assert all(groups)
    assert max(loads) - min(loads) <= max(weights)
    apart = [scan_from_json(scan_to_json(scan, units=group)).to_table() for group in groups]
    assert bag(pa.concat_tables(apart)) == bag(scan.to_table())


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2"])
def test_absurd_numbers_of_groups_are_refused(table: Path, count: Any) -> None:
    """A worker at least."""
    with pytest.raises(UsageError, match="groups"):
        seamkit.open_table(table).scan().groups(count)


def test_collections_of_plans_are_of_their_kinds() -> None:
    """A tuple is no list, and a list no set; of other collections plans have none."""
    assert hints.fits((1,), Sequence[int])
    assert not hints.fits((1,), list[int])
    assert hints.fits(frozenset([1]), frozenset[int])
    assert not hints.fits([1], frozenset[int])
    assert not hints.fits(["a"], Sequence[int])
    with pytest.raises(TypeError, match="no type that plans are made of"):
        hints.fits([1], deque[int])
