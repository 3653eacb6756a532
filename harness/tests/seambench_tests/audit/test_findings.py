"""What an audit concludes from a description: layout, advice, and words for it."""

from typing import Any

import pytest

from seambase.description import StoredFile, TableDescription, UnitDescription
from seambench.seams.scan.audit.layout import layout_of
from seambench.seams.scan.audit.model import Cost, Range, UnitCost
from seambench.seams.scan.audit.run import advise

MIB = 1 << 20
FLAT = Range(median=1.0, low=1.0, high=1.0)


def data(name: str, size: int, rows: int | None = None) -> StoredFile:
    """A data file."""
    return StoredFile("data file", name, size, rows)


def described(*units: UnitDescription) -> TableDescription:
    """A table of these units."""
    return TableDescription("t", "toy", "1", "2", (), units)


def cost(**units: tuple[float, float]) -> Cost:
    """What was measured of units: seconds of a snapshot and of the files alone."""
    return Cost(
        sampled_units=len(units),
        sampled_changed_units=len(units),
        share=1.0,
        repeats=3,
        ratio=FLAT,
        snapshot_seconds=FLAT,
        files_alone_seconds=FLAT,
        extra_seconds=1.0,
        units=[
            UnitCost(unit=name, snapshot_seconds=a, files_alone_seconds=b)
            for name, (a, b) in units.items()
        ],
    )


def test_deletes_of_several_files_count_once() -> None:
    """A delete file that applies to two data files is one file; parts of one file are several."""
    shared = StoredFile("position deletes", "d", 10, 3)
    parts = [StoredFile("deletion vector", "v", 5, 1, at) for at in (4, 20)]
    found = layout_of(
        described(
            UnitDescription("a", "p=1", [data("a", 100, 10)], [shared, parts[0]]),
            UnitDescription("b", "p=1", [data("b", 300, 20)], [shared, parts[1]]),
            UnitDescription("c", "p=2", [data("c", 200, 30)]),
        )
    )
    told = [(kind.kind, kind.files, kind.bytes, kind.units, kind.rows) for kind in found.kinds]
    assert told == [("deletion vector", 2, 10, 2, 2), ("position deletes", 1, 10, 2, 3)]
    assert (found.units, found.changed_units, found.change_bytes) == (3, 2, 20)
    assert (found.data_bytes, found.median_bytes, found.data_rows) == (600, 200, 60)
    assert [(group.name, group.data_bytes) for group in found.groups] == [
        ("p=1", 400),
        ("p=2", 200),
    ]
    assert found.skew == pytest.approx(420 / 310)


def test_rows_that_the_metadata_does_not_tell_are_not_made_up() -> None:
    """One file without a count leaves the whole without one; an empty table has none."""
    unit = UnitDescription("a", "", [data("a", 1, 5), data("b", 1)])
    assert layout_of(described(unit)).data_rows is None
    assert layout_of(described()).data_rows == 0
    assert advise(described(), None) == []


def test_what_gains_most_comes_first() -> None:
    """Measured units by their time, others by their bytes at the price of the measured ones."""
    log = [StoredFile("log", "l", 100)]
    table = described(
        *(UnitDescription(name, "", [data(name, 200 * MIB)], log) for name in ("slow", "quick")),
        UnitDescription("large", "", [data("large", 200 * MIB)], [StoredFile("log", "m", 1000)]),
        UnitDescription("clean", "", [data("clean", 200 * MIB)]),
    )
    found = advise(table, cost(slow=(0.5, 0.1), quick=(0.2, 0.2)))
    # 0.4 s over 200 bytes of logs is 2 ms a byte, so 1000 bytes are 2 s; quick gains nothing.
    told: list[tuple[Any, ...]] = [(o.target, o.gain_seconds, o.measured) for o in found]
    assert told == [("large", pytest.approx(2.0), False), ("slow", pytest.approx(0.4), True)]


def test_without_a_measurement_bytes_decide() -> None:
    """And no time is told."""
    units = [
        UnitDescription(str(n), "", [data(str(n), 200 * MIB)], [StoredFile("log", str(n), n)])
        for n in range(1, 15)
    ]
    found = advise(described(*units), None)
    assert [one.target for one in found] == [str(n) for n in range(14, 4, -1)]
    assert {one.gain_seconds for one in found} == {None}


@pytest.mark.parametrize(("deleted", "advised"), [(29, False), (30, True), (100, True)])
def test_files_that_are_deleted_in_large_part_are_to_be_rewritten(
    deleted: int, advised: bool
) -> None:
    """From three rows of ten on, where both numbers are known."""
    for at in (1, None):  # in a file of vectors, and in the log
        vector = StoredFile("deletion vector", "v", 5, deleted, at)
        table = described(UnitDescription("a", "", [data("a", 100 * MIB, 100)], [vector]))
        assert ("rewrite" in [one.what for one in advise(table, None)]) == advised


def test_small_files_are_to_be_combined() -> None:
    """Where at least two files are saved in a partition; large files are left alone."""
    units = [UnitDescription(f"s{n}", "p=1", [data(f"s{n}", 10 * MIB)]) for n in range(30)]
    units += [UnitDescription(f"l{n}", "p=2", [data(f"l{n}", 100 * MIB)]) for n in range(30)]
    units += [UnitDescription(f"t{n}", "p=3", [data(f"t{n}", 10 * MIB)]) for n in range(2)]
    [one] = advise(described(*units), None)
    # 300 MiB fit into three files of 128 MiB.
    assert (one.what, one.target) == ("combine files", "p=1")
    assert "30 files" in one.detail
    assert one.detail.endswith("would fit into 3")
