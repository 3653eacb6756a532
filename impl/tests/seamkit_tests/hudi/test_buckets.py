"""Simple bucket indexes: keys lie in the buckets that Hudi put them into, and filters follow."""

import re
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import UsageError
from seamkit.scan.scan import Scan
from seamkit.tables.hudi.indexes.key_filters import bucket_number
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table

VERSIONS = ["buckets/v6", "buckets/v8", "buckets/v9"]
COMPOSITE = "buckets-composite"
K = pc.field("k")


def _bases(table: Path) -> dict[int, list[dict[str, Any]]]:
    """The rows of the base files of each bucket."""
    return {
        int(file.name[:8]): pq.ParquetFile(file).read().to_pylist()
        for file in table.glob("*.parquet")
    }


@pytest.mark.parametrize(
    ("name", "keys", "count"), [*((v, ["k"], 4) for v in VERSIONS), (COMPOSITE, ["a", "b"], 3)]
)
def test_hudi_put_each_key_into_the_bucket_of_its_hash(
    name: str, keys: list[str], count: int, tmp_path: Path
) -> None:
    """Over texts of one to four bytes a letter, negative numbers and keys of two columns."""
    found = _bases(unpack_table(name, tmp_path))
    assert set(found) == set(range(count))
    for number, rows in found.items():
        assert len(rows) > 20
        for row in rows:
            assert bucket_number([str(row[key]) for key in keys], count) == number


def _pruned(scan: Scan) -> int:
    return len(re.findall("^  pruned ", scan.explain(), re.MULTILINE))


def _ruin_others(table: Path, number: int) -> None:
    """Put noise of the same length into the base files of all buckets but one."""
    for file in table.glob("*.parquet"):
        if int(file.name[:8]) != number:
            file.write_bytes(b"\x55" * file.stat().st_size)


@pytest.mark.parametrize("name", VERSIONS)
def test_a_filter_on_the_key_opens_its_bucket_alone(name: str, tmp_path: Path) -> None:
    """Rows of base and log come, whatever lies in the other buckets' files."""
    table = unpack_table(name, tmp_path)
    for key, value in (("k0", "log"), ("k76-", "base"), ("k9😀", "base"), ("k4-", None)):
        scan = HudiTable(str(table)).scan(["v"], filter=key == K, buckets=4)
        assert _pruned(scan) == 3
        assert scan.to_table().column(0).to_pylist() == ([] if value is None else [value])
    _ruin_others(table, bucket_number(["k0"], 4))
    scan = HudiTable(str(table)).scan(["v"], filter="k = 'k0'", buckets=4)
    assert scan.to_table().column(0).to_pylist() == ["log"]


def test_a_key_of_two_columns_is_named_by_both(tmp_path: Path) -> None:
    """One of them alone leaves all buckets; a list leaves those of its keys."""
    table = HudiTable(str(unpack_table(COMPOSITE, tmp_path)))
    a, b = pc.field("a"), pc.field("b")
    both = table.scan(["v"], filter=(a == -7919) & (b == "b1"), buckets=3)
    assert (_pruned(both), both.to_table().column(0).to_pylist()) == (2, ["log"])
    one = table.scan(["v"], filter=a == -7919, buckets=3)
    assert (_pruned(one), one.to_table().num_rows) == (0, 1)
    texts = [["-7919", "b1"], ["-7919", "b2"], ["15838", "b2"], ["15838", "b1"]]
    left = {bucket_number(text, 3) for text in texts}
    some = table.scan(["v"], filter=a.isin([-7919, 15838]) & b.isin(["b1", "b2"]), buckets=3)
    assert (_pruned(some), some.to_table().num_rows) == (3 - len(left), 2)


@pytest.mark.parametrize(
    ("condition", "pruned"),
    [
        (K != "k0", 0),
        (K > "k0", 0),
        ((K == "k0") | (pc.field("v") == "log"), 0),
        (K == "a:b", 0),
        (K == "__null__", 0),
        (K == "", 0),
        (K.is_null(), 0),
        ((K == "k0") & (pc.field("v") == "log"), 3),
        ((K == "k0") & (K == "k6"), 4),
    ],
    ids=str,
)
def test_only_keys_that_a_filter_names_leave_buckets_out(
    condition: pc.Expression, pruned: int, tmp_path: Path
) -> None:
    """Ranges, other columns, and keys whose text is not sure leave all of them."""
    table = HudiTable(str(unpack_table("buckets/v9", tmp_path)))
    assert _pruned(table.scan(filter=condition, buckets=4)) == pruned
    all_rows = table.scan(filter=condition).to_table()
    assert table.scan(filter=condition, buckets=4).to_table().equals(all_rows)


def test_properties_state_the_number_where_they_have_it(tmp_path: Path) -> None:
    """Of a simple index over the whole record key, and of no other."""
    table = unpack_table("buckets/v9", tmp_path)
    file = table / ".hoodie/hoodie.properties"
    own = file.read_text(encoding="utf-8")
    stated = "hoodie.index.type=BUCKET\nhoodie.bucket.index.num.buckets=4\n"
    for further, pruned in (
        ("", 3),
        ("hoodie.index.bucket.engine=CONSISTENT_HASHING\n", 0),
        ("hoodie.bucket.index.hash.field=ts\n", 0),
        ("hoodie.bucket.index.num.buckets=many\n", 0),
    ):
        file.write_text(own + stated + further, encoding="utf-8")
        assert _pruned(HudiTable(str(table)).scan(filter=K == "k0")) == pruned


def test_partitions_with_numbers_of_their_own_are_all_read(tmp_path: Path) -> None:
    """What a key's bucket is in one of them says nothing of the others: Hudi keeps rules for it."""
    table = unpack_table("buckets/v9", tmp_path)
    rules = table / ".hoodie/.bucket_index/partition_bucket_index_meta/configs"
    rules.mkdir(parents=True)
    assert _pruned(HudiTable(str(table)).scan(filter=K == "k0", buckets=4)) == 3
    (rules / "00000000000000000.hashing_config").write_text("{}", encoding="utf-8")
    assert _pruned(HudiTable(str(table)).scan(filter=K == "k0", buckets=4)) == 0


def test_groups_that_are_named_otherwise_are_all_read(tmp_path: Path) -> None:
    """A table with another index has no buckets, whatever is stated."""
    table = HudiTable(str(unpack_table("mor-v9-log-only", tmp_path)))
    scan = table.scan(["v"], filter=K == "a", buckets=4)
    assert (_pruned(scan), scan.to_table().column(0).to_pylist()) == (0, [2])


@pytest.mark.parametrize("buckets", [0, -4, True, "4", 2.0])
def test_a_number_of_buckets_is_a_number_from_one_on(buckets: Any, tmp_path: Path) -> None:
    """Anything else is a usage error."""
    table = HudiTable(str(unpack_table("mor-v9-log-only", tmp_path)))
    with pytest.raises(UsageError, match="buckets is"):
        table.scan(buckets=buckets)
