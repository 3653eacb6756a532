"""Spark's own classes as a serde: bytes that the format fixes, values that come back, refusals."""

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench_impl.peers.spark.rows import SparkJvmSerde
from seamkit_tests.samples import serde_columns
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.serde_columns import batch, column
from seamkit_tests.samples.spark_samples import SAMPLES

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def serde() -> Iterator[SparkJvmSerde]:
    """Spark in this process; without a Java the tests are skipped by name."""
    with OrSkipped():
        yield SparkJvmSerde()


request = partial(serde_columns.request, "unsaferow")


def sample(type_text: str, nulls: bool = True) -> pa.Array:
    """The column of a type, with or without its null rows."""
    return column("spark", type_text, SAMPLES[type_text], nulls)


def test_rows_of_all_types_side_by_side(serde: SparkJvmSerde) -> None:
    """More than 64 fields: the null bits take two words."""
    types = [text for text in SAMPLES for _ in range(3)]
    arrays = [sample(text).slice(0, 2) for text in types]
    rows = batch(*arrays)
    assert len(types) > 64
    asked = request(*types)
    assert serde.deserialize(asked, serde.serialize(asked, [rows])) == [rows]


def test_packed_rows_are_found_by_lengths_and_offsets(serde: SparkJvmSerde) -> None:
    """A buffer of rows end to end comes with two arrays; offsets follow from lengths."""
    rows = batch(pa.array(["a", None, "long enough for two words"]))
    data = serde.serialize(request("string", framing="packed"), [rows])
    lengths = [24, 16, 48]
    assert len(data) == sum(lengths)
    asked = request("string", framing="packed", lengths=lengths)
    assert serde.deserialize(asked, data) == [rows]
    moved = request("string", framing="packed", lengths=lengths[:1], offsets=[40 - 40])
    assert serde.deserialize(moved, data) == [rows.slice(0, 1)]
    with pytest.raises(UsageError, match="lengths"):
        serde.deserialize(request("string", framing="packed"), data)
    with pytest.raises(InputError, match="row 1 at 24 of 99 bytes"):
        serde.deserialize(request("string", framing="packed", lengths=[24, 99]), data)


@pytest.mark.parametrize(
    ("type_text", "values"),
    [
        ("string", ["some text"]),
        ("decimal(38,0)", [Decimal(5)]),
        ("array<int>", [[1, 2, 3]]),
        ("array<string>", [["a", None, "bcd"]]),
        ("map<int,string>", [[(1, "x"), (2, None)]]),
        ("struct<a:int,b:array<string>>", [{"a": 1, "b": ["q", "r"]}]),
    ],
)
def test_broken_rows_never_leave_their_bytes(
    serde: SparkJvmSerde, type_text: str, values: list[Any]
) -> None:
    """Any byte set to 0x7f, any cut: an error, or other values; never memory behind the row."""
    asked = request(type_text)
    whole = serde.serialize(asked, [batch(pa.array(values, sample(type_text, False).type))])
    for at in range(4, len(whole)):
        broken = bytearray(whole)
        broken[at] = 0x7F
        try:
            found = serde.deserialize(asked, broken)
        except InputError:
            continue
        assert [rows.num_rows for rows in found] == [1]
    for cut in range(1, len(whole)):
        with pytest.raises(InputError):
            serde.deserialize(asked, whole[:cut])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"writer": "velox"}, "Spark writes its own rows"),
        ({"framing": "velox-group"}, "no framing 'velox-group'"),
        ({"lengths": [8]}, "no option lengths"),
        ({"size_limit": 3}, "no option size_limit"),
    ],
)
def test_options_that_spark_lacks_are_refused(
    serde: SparkJvmSerde, options: dict[str, object], said: str
) -> None:
    """An option is never passed over."""
    with pytest.raises(RefusedError, match=said):
        serde.serialize(request("bigint", **options), [])


def test_a_batch_must_fit_the_request(serde: SparkJvmSerde) -> None:
    """Wrong columns are named."""
    with pytest.raises(UsageError, match="1 column does not fit 2 fields"):
        serde.serialize(request("bigint", "bigint"), [batch(pa.array([1]))])
    with pytest.raises(UsageError, match="'c0'"):
        serde.serialize(request("bigint"), [batch(pa.array(["a"]))])


def test_timed_rows_say_what_they_move(serde: SparkJvmSerde) -> None:
    """Each pass gives one time; the bytes are those of the rows."""
    rows = batch(pa.array([1, None, 3]), pa.array(["a", "b", None]))
    timed = serde.timed_rows(request("bigint", "string"), rows)
    assert timed.num_rows == 3
    assert timed.row_bytes == 32 + 32 + 24
    assert len(timed.time("project", 2)) == 2
    assert len(timed.time("touch", 2)) == 2
    with pytest.raises(UsageError, match="array<int>"):
        serde.timed_rows(request("array<int>"), batch(pa.array([[1]], pa.list_(pa.int32()))))
