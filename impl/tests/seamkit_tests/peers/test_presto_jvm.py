"""Presto's own classes as a serde: bytes that the format fixes, values that come back, refusals."""

import threading
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench_impl.peers.presto.pages import PrestoJvmSerde
from seamkit_tests.samples import serde_columns
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.serde_columns import batch

pytestmark = pytest.mark.jvm

# Presto 0.296, SerializedPage: rows, marker, uncompressed size, size, checksum, columns; then
# LONG_ARRAY of one row without nulls.
ONE_BIGINT = bytes.fromhex(
    "01000000 00 1f000000 1f000000 0000000000000000 01000000"
    "0a000000 4c4f4e475f4152524159 01000000 00 6146e308e98e280c"
)


@pytest.fixture(scope="module")
def serde() -> Iterator[PrestoJvmSerde]:
    """Presto in this process; without a Java or the jars the tests are skipped by name."""
    with OrSkipped():
        yield PrestoJvmSerde()


request = partial(serde_columns.request, "presto")


def test_rows_that_are_null_take_no_place(serde: PrestoJvmSerde) -> None:
    """Ten rows, null at 1, 4, 6, 7, 9: eleven offsets that grow with the rows that are there."""
    column = pa.array([None if i in (1, 4, 6, 7, 9) else {"a": i} for i in range(10)])
    kept = column.cast(pa.struct([("a", pa.int32())]))
    page = serde.serialize(request("row(a integer)"), [batch(kept)])
    offsets = np.array([0, 1, 1, 2, 3, 3, 4, 4, 4, 5, 5], "<i4").tobytes()
    assert page.endswith(b"\x0a\0\0\0" + offsets + b"\x01\x4b\x40")


@pytest.mark.parametrize(
    ("lengths", "values"), [([2, 5], [1, None]), ([3], [None]), ([1, 2, 3, 4], [1, 2, 3, 4])]
)
def test_runs_of_any_number_are_written(
    serde: PrestoJvmSerde, lengths: list[int], values: list[int | None]
) -> None:
    """Presto's RLE has one run: several are written flat, also from within a slice."""
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array(lengths, pa.int32()), pa.array(values, pa.int64())
    ).slice(1)
    asked = request("bigint")
    found = serde.deserialize(asked, serde.serialize(asked, [batch(runs)]))[0].column(0)
    assert found.to_pylist() == runs.to_pylist()


@pytest.mark.parametrize("cut", [1, 20, 21, 30, 51])
def test_a_cut_page_is_refused_by_its_offset(serde: PrestoJvmSerde, cut: int) -> None:
    """The message names the page that Presto could not read, here the second."""
    with pytest.raises(InputError, match="page at offset 52"):
        serde.deserialize(request("bigint"), ONE_BIGINT + ONE_BIGINT[:cut])


def test_a_checksum_is_verified(serde: PrestoJvmSerde) -> None:
    """A flipped byte under a checksum is an error; so is a checksum without its marker."""
    asked = request("bigint", checksum=True)
    page = bytearray(serde.serialize(asked, [batch(pa.array([1, 2, 3]))]))
    page[-1] ^= 1
    with pytest.raises(InputError, match="checksum"):
        serde.deserialize(asked, page)
    unmarked = bytearray(ONE_BIGINT)
    unmarked[13] = 1
    with pytest.raises(InputError, match="checksum"):
        serde.deserialize(request("bigint"), unmarked)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"dialect": "velox"}, RefusedError),
        ({"timestamps": "micros"}, RefusedError),
        ({"nulls_first": True}, RefusedError),
        ({"depth_limit": 3}, RefusedError),
        ({"codec": "brotli"}, UsageError),
    ],
)
def test_options_that_presto_lacks_are_refused(
    serde: PrestoJvmSerde, options: dict[str, object], error: type[Exception]
) -> None:
    """An option is never passed over."""
    with pytest.raises(error, match=next(iter(options))[:8]):
        serde.serialize(request("bigint", **options), [])


def test_a_batch_must_fit_the_request(serde: PrestoJvmSerde) -> None:
    """Wrong columns are named."""
    with pytest.raises(UsageError, match="1 column does not fit 2 fields"):
        serde.serialize(request("bigint", "bigint"), [batch(pa.array([1]))])
    with pytest.raises(UsageError, match="'c0'"):
        serde.serialize(request("bigint"), [batch(pa.array(["a"]))])
    with pytest.raises(InputError, match="1 column"):
        serde.deserialize(request("bigint", "bigint"), ONE_BIGINT)


def test_threads_of_python_may_call_presto(serde: PrestoJvmSerde) -> None:
    """A thread that the JVM does not know yet is made known to it."""
    found: list[bytes] = []
    rows = batch(pa.array([876107259051198049], pa.int64()))
    thread = threading.Thread(
        target=lambda: found.append(serde.serialize(request("bigint"), [rows]))
    )
    thread.start()
    thread.join()
    assert found == [ONE_BIGINT]


def test_timed_pages_say_what_they_move(serde: PrestoJvmSerde) -> None:
    """Each pass gives one time; the bytes are those of the pages."""
    timed = serde.timed_pages(request("bigint"), [batch(pa.array([5], pa.int64()))] * 3)
    assert timed.payload_bytes == 3 * 31
    assert timed.wire_bytes == 3 * 52
    assert len(timed.time("serialize", 2)) == 2
    assert len(timed.time("deserialize", 2)) == 2
    assert len(timed.time("deserialize and touch", 2)) == 2
