"""The digest tells rows apart and nothing else."""

import datetime as dt
import decimal
import random
from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pytest

from seambase.errors import RefusedError, UsageError
from seambench.engines import digest

SCHEMA = pa.schema(
    [("k", pa.int64()), ("q", pa.decimal128(15, 2)), ("d", pa.date32()), ("s", pa.string())]
)
ROWS = [
    (1, decimal.Decimal("1.50"), dt.date(1995, 1, 1), "a"),
    (2, None, None, None),
    (2, None, None, None),
    (3, decimal.Decimal("-0.01"), dt.date(1970, 1, 1), ""),
]


def table(rows: Sequence[tuple[object, ...]], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows as an Arrow table."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def test_order_of_rows_is_free() -> None:
    """Any order of the same rows, in any batches, has the same digest."""
    expected = digest.digest_reader(table(ROWS))
    shuffled = list(ROWS)
    random.Random(1).shuffle(shuffled)
    for size in (1, 2, 100):
        reader = pa.RecordBatchReader.from_batches(
            SCHEMA, table(shuffled).to_batches(max_chunksize=size)
        )
        assert digest.digest_reader(reader) == expected


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(ROWS[:-1], id="a row is missing"),
        pytest.param([*ROWS, ROWS[0]], id="a row is doubled"),
        pytest.param([ROWS[0], ROWS[3]], id="a pair of equal rows is missing"),
        pytest.param([(1, *ROWS[0][1:3], None), *ROWS[1:]], id="a value became NULL"),
        pytest.param([*ROWS[:3], (3, *ROWS[3][1:3], None)], id="empty string became NULL"),
        pytest.param([(4, *ROWS[0][1:]), *ROWS[1:]], id="a key changed"),
        pytest.param(
            [(1, decimal.Decimal("1.51"), *ROWS[0][2:]), *ROWS[1:]], id="a decimal changed"
        ),
        pytest.param(
            [(1, *ROWS[3][1:]), *ROWS[1:3], (3, *ROWS[0][1:])], id="values changed their rows"
        ),
    ],
)
def test_changed_rows_change_the_digest(changed: list[tuple[object, ...]]) -> None:
    """A lost, doubled or changed row gives another digest."""
    assert digest.digest_reader(table(changed)) != digest.digest_reader(table(ROWS))


def test_swapped_columns_change_the_digest() -> None:
    """The order of the columns counts: (a, b) and (b, a) are different rows."""
    pairs = pa.schema([("x", pa.int64()), ("y", pa.int64())])
    there, back = table([(1, 2), (5, 7)], pairs), table([(2, 1), (7, 5)], pairs)
    assert digest.digest_reader(there) != digest.digest_reader(back)


@pytest.mark.parametrize(
    "kind", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_encodings_do_not_count(kind: pa.DataType) -> None:
    """A string is the same value as large string, view or dictionary entry."""
    values = ["a", None, "b", "a", "a much longer string than twelve bytes"]
    plain = pa.table({"s": pa.array(values)})
    encoded = pa.table({"s": pa.array(values).cast(kind)})
    assert digest.digest_reader(encoded) == digest.digest_reader(plain)


def test_reader_and_relation_agree() -> None:
    """The same rows have one digest, whether Arrow or DuckDB holds them."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES "
            "(1::BIGINT, 1.50::DECIMAL(15,2), DATE '1995-01-01', 'a'), (2, NULL, NULL, NULL), "
            "(2, NULL, NULL, NULL), (3, -0.01, DATE '1970-01-01', '')) AS v(k, q, d, s)"
        )
        expected = digest.digest_table(con, "t")
        assert digest.digest_reader(table(ROWS)) == expected
        assert digest.digest_table(con, "(SELECT * FROM t ORDER BY k DESC)", SCHEMA) == expected


def test_columns_are_taken_by_name_in_the_order_of_the_schema() -> None:
    """A reference schema picks and orders columns, and casts them to its types."""
    wide = pa.table({"s": ["a"], "unused": [1], "q": [decimal.Decimal("1.5")], "k": [1]})
    wanted = pa.schema([("k", pa.int32()), ("q", pa.decimal128(15, 2)), ("s", pa.string())])
    expected = digest.digest_reader(table([(1, decimal.Decimal("1.50"), "a")], wanted))
    assert digest.digest_reader(wide.to_reader(), wanted) == expected


def test_number_of_rows_is_in_the_digest() -> None:
    """The digest starts with its scheme and the number of rows."""
    value = digest.digest_reader(table(ROWS))
    assert value.startswith("duckdb2:4:")
    assert digest.rows_of(value) == 4
    assert digest.rows_of(digest.digest_reader(table([]))) == 0


def test_rows_without_columns_are_counted() -> None:
    """A stream without columns, as a bare count asks for, still has a number of rows."""
    batch = pa.table({"a": [1, 2, 3]}).select([])
    assert digest.rows_of(digest.digest_reader(batch)) == 3


def test_missing_column_is_named() -> None:
    """A column that the rows lack is an error that names it."""
    with pytest.raises(UsageError, match="'absent'"):
        digest.digest_reader(table(ROWS), pa.schema([("absent", pa.int64())]))


def test_foreign_text_is_no_digest() -> None:
    """Only the documented form is read."""
    with pytest.raises(UsageError, match="no digest"):
        digest.rows_of("sha256:00")


def test_other_hash_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A DuckDB that hashes differently is refused, since its digests match nothing on record."""
    monkeypatch.setattr(digest, "_WITNESS", 0)
    monkeypatch.setattr(digest._state, "checked", False, raising=False)
    with pytest.raises(RefusedError, match=r"duckdb==2\.0\.0"):
        digest.digest_reader(table(ROWS))


def test_one_other_kind_of_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hashes one value of all differently is no release whose digests are on record."""
    other = digest._WITNESS_SQL.replace("'nan'::DOUBLE", "'inf'::DOUBLE")
    monkeypatch.setattr(digest, "_WITNESS_SQL", other)
    monkeypatch.setattr(digest._state, "checked", False, raising=False)
    with pytest.raises(RefusedError, match="hashes rows differently"):
        digest.digest_reader(table(ROWS))
