"""The pure function that decides what happens to each row."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, UsageError
from seambench.contracts.tables import Ordering
from seambench.data.tpch import TABLES, generate_single_process
from seambench.data.updates import BASE_TS, LATE_TS, UPDATE_TS, Updates, split_mix
from seambench.data.values import CHANGED_COLUMNS
from seambench.formats.hudi.writer import groups, string_hash_codes

_GOLDEN = json.loads((Path(__file__).parent / "golden_buckets.json").read_text(encoding="utf-8"))
_SCALE = 0.01


def _updates(table: str, seed: int, ratio: float, share: float, slices: int) -> Updates:
    return Updates(table, seed, ratio, share, slices, groups)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.RecordBatch]:
    """The generator's rows at a small scale, one batch per table."""
    folder = tmp_path_factory.mktemp("rows")
    generate_single_process(_SCALE, folder, tuple(TABLES))
    return {
        table: pq.read_table(folder / f"{table}.parquet")
        .cast(own.schema)
        .combine_chunks()
        .to_batches()[0]
        for table, own in TABLES.items()
    }


def _keyed(table: str, batch: pa.RecordBatch) -> dict[tuple[int, ...], dict[str, object]]:
    keys = TABLES[table].keys
    return {tuple(row[key] for key in keys): row for row in batch.to_pylist()}


def _key_set(table: str, batch: pa.RecordBatch) -> set[tuple[int, ...]]:
    columns = [batch.column(key).to_pylist() for key in TABLES[table].keys]
    return set(zip(*columns, strict=True))


def test_split_mix_published_sequence() -> None:
    """SplitMix64 seeded with 1234567 yields the sequence published with the algorithm."""
    wanted = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    golden = 0x9E3779B97F4A7C15
    states = np.array([(1234567 + i * golden) % 2**64 for i in range(3)], dtype=np.uint64)
    assert split_mix(states).tolist() == wanted


@pytest.mark.parametrize("value", [0, 1, 9, 10, 100, 999999, 2**31, 2**63 - 1])
def test_string_hash_code(value: int) -> None:
    """Java's String.hashCode is s[0]*31^(n-1) + ... + s[n-1] in 32 bits."""
    wanted = 0
    for character in str(value):
        wanted = (31 * wanted + ord(character)) % 2**32
    assert string_hash_codes(np.array([value], dtype=np.int64)).tolist() == [wanted]


@pytest.mark.parametrize("case", _GOLDEN["cases"], ids=lambda c: f"{c['table']}-{c['buckets']}")
def test_bucket_is_the_one_hudi_wrote(case: dict[str, object]) -> None:
    """The bucket of a key equals the one in the name of the file into which Hudi wrote it."""
    pairs = case["rows"]
    assert isinstance(pairs, list)
    keys = [np.array(column, dtype=np.int64) for column in zip(*(k for k, _ in pairs), strict=True)]
    assert isinstance(case["buckets"], int)
    assert groups(keys, case["buckets"]).tolist() == [bucket for _, bucket in pairs]


def test_negative_key_is_refused() -> None:
    """The bucket hash is written for keys as TPC-H has them; another is refused, not guessed."""
    with pytest.raises(UsageError, match="negative key"):
        groups([np.array([-1], dtype=np.int64)], 4)


@pytest.mark.parametrize("table", TABLES)
def test_fate_does_not_depend_on_batches_or_order(
    table: str, rows: dict[str, pa.RecordBatch]
) -> None:
    """What happens to a row depends on its key and the seed, not on what comes with it."""
    updates = _updates(table, 7, 50, 100, 3)
    whole = rows[table].slice(0, 1500)
    backwards = whole.take(pa.array(range(whole.num_rows - 1, -1, -1)))
    parts = [
        updates.expected_rows(backwards.slice(at, 700), "event")
        for at in range(0, backwards.num_rows, 700)
    ]
    wanted = _keyed(table, updates.expected_rows(whole, "event"))
    assert _keyed(table, pa.concat_batches(parts)) == wanted


@pytest.mark.parametrize("ordering", ["event", "commit"])
@pytest.mark.parametrize("table", TABLES)
def test_expected_rows_follow_from_the_writes(
    table: str, ordering: Ordering, rows: dict[str, pa.RecordBatch]
) -> None:
    """Applying the writes one by one, by the rules of the ordering mode, gives the expected rows.

    Event time: a written row replaces one whose ordering value is not higher. Commit time: always.
    The delete is the last write and carries the highest ordering value.
    """
    updates, batch = _updates(table, 42, 50, 60, 5), rows[table].slice(0, 3000)
    state = _keyed(table, updates.base_rows(batch))
    for key, row in _keyed(table, updates.log_rows(batch)).items():
        if ordering == "commit" or key not in state or row["ts"] >= state[key]["ts"]:  # type: ignore[operator]
            state[key] = row
    for key in _key_set(table, updates.delete_rows(batch)):
        assert state.pop(key) is not None
    assert _keyed(table, updates.expected_rows(batch, ordering)) == state


@pytest.mark.parametrize("share", [0, 100])
def test_ratio_zero_changes_nothing(share: float, rows: dict[str, pa.RecordBatch]) -> None:
    """At ratio 0 base and expected rows are the generator's, all with the base's `ts`."""
    updates = _updates("lineitem", 42, 0, share, 5)
    batch = rows["lineitem"]
    ts = pa.array([BASE_TS] * batch.num_rows, pa.int64())
    assert updates.base_rows(batch) == batch.append_column("ts", ts)
    assert updates.expected_rows(batch, "event") == batch.append_column("ts", ts)
    assert updates.log_rows(batch).num_rows == updates.delete_rows(batch).num_rows == 0
    assert updates.changed_slices == ()


@pytest.mark.parametrize("ordering", ["event", "commit"])
def test_all_parts_of_the_mix_occur(ordering: Ordering, rows: dict[str, pa.RecordBatch]) -> None:
    """Late updates, deletes (updated before or not) and inserts each are about 2 in 100."""
    updates = _updates("lineitem", 42, 100, 100, 4)
    batch = rows["lineitem"]
    total = batch.num_rows
    fate = updates.fate(batch)
    assert fate.late.sum() == pytest.approx(0.02 * total, rel=0.15)
    assert fate.deleted.sum() == pytest.approx(0.02 * total, rel=0.15)
    assert fate.held_back.sum() == pytest.approx(0.02 * total, rel=0.15)
    assert (fate.deleted & fate.logged).sum() == pytest.approx(0.01 * total, rel=0.2)
    assert updates.expected_rows(batch, ordering).num_rows == total - fate.deleted.sum()


@pytest.mark.parametrize("ratio", [5, 20, 50, 100])
def test_touched_share_is_the_ratio(ratio: float, rows: dict[str, pa.RecordBatch]) -> None:
    """In a slice with logs, the share of touched rows is near the ratio; elsewhere none is."""
    updates = _updates("lineitem", 42, ratio, 40, 5)
    batch = rows["lineitem"]
    fate, buckets = updates.fate(batch), updates.slice_of(batch)
    touched = fate.logged | fate.deleted
    with_logs = np.isin(buckets, updates.changed_slices)
    assert len(updates.changed_slices) == 2
    assert not touched[~with_logs].any()
    assert touched[with_logs].mean() == pytest.approx(ratio / 100, rel=0.1)


def test_touched_sets_are_nested(rows: dict[str, pa.RecordBatch]) -> None:
    """A row touched at one ratio is touched, with the same new values, at each higher one."""
    batch = rows["orders"]
    before: dict[tuple[int, ...], dict[str, object]] = {}
    for ratio in (0.05, 1, 5, 20, 50, 100):
        logged = _keyed("orders", _updates("orders", 42, ratio, 100, 5).log_rows(batch))
        assert before.items() <= logged.items()
        assert len(before) < len(logged)
        before = logged


def test_changed_slices_are_nested() -> None:
    """A larger share of slices includes the slices of a smaller one, up to all."""
    before: set[int] = set()
    for share, count in ((5, 1), (20, 2), (50, 5), (100, 10)):
        chosen = set(_updates("orders", 42, 20, share, 10).changed_slices)
        assert before <= chosen <= set(range(10))
        assert len(chosen) == count
        before = chosen


def test_base_is_the_same_for_all_ratios(rows: dict[str, pa.RecordBatch]) -> None:
    """The base holds back the same rows at each ratio above 0, so that it can be shared."""
    batch = rows["orders"]
    bases = [_updates("orders", 42, r, s, 5).base_rows(batch) for r, s in ((5, 100), (100, 20))]
    assert bases[0] == bases[1]


def test_seed_chooses_other_rows(rows: dict[str, pa.RecordBatch]) -> None:
    """Two seeds touch different rows."""
    first, second = (
        _key_set("orders", _updates("orders", seed, 20, 100, 5).log_rows(rows["orders"]))
        for seed in (1, 2)
    )
    assert len(first & second) < 0.4 * len(first)


@pytest.mark.parametrize("table", TABLES)
def test_new_values_change_only_their_columns(table: str, rows: dict[str, pa.RecordBatch]) -> None:
    """Keys and the columns not listed stay; types stay; listed columns do change."""
    updates, batch = _updates(table, 3, 100, 100, 1), rows[table].slice(0, 3000)
    old, new = _keyed(table, batch), updates.log_rows(batch)
    assert new.schema == TABLES[table].schema.append(pa.field("ts", pa.int64()))
    new.validate(full=True)
    changed = set()
    for key, row in _keyed(table, new).items():
        assert row["ts"] in (UPDATE_TS, LATE_TS)
        changed |= {name for name, value in old[key].items() if row[name] != value}
    assert changed == set(CHANGED_COLUMNS[table])


def test_texts_are_short_long_empty_and_not_only_ascii(rows: dict[str, pa.RecordBatch]) -> None:
    """Readers meet empty texts, texts over 200 characters, and UTF-8 of one to four bytes."""
    texts = _updates("orders", 42, 100, 100, 1).log_rows(rows["orders"]).column("o_comment")
    values = texts.to_pylist()
    assert "" in values
    assert max(map(len, values)) > 200
    assert {len(c.encode()) for c in set("".join(values))} == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("table", "ratio", "share", "slices"),
    [("nope", 1, 1, 1), ("orders", 101, 1, 1), ("orders", 1, -1, 1), ("orders", 1, 1, 0)],
)
def test_impossible_updates_are_refused(
    table: str, ratio: float, share: float, slices: int
) -> None:
    """An unknown table, or a knob out of its range, is refused when it is set."""
    with pytest.raises(UsageError):
        _updates(table, 1, ratio, share, slices)


def test_null_key_is_refused() -> None:
    """A row without a key has no fate."""
    schema = TABLES["region"].schema
    batch = pa.RecordBatch.from_pylist([{"r_regionkey": None}], schema=schema)
    with pytest.raises(InputError, match="r_regionkey holds a null"):
        _updates("region", 1, 20, 100, 1).base_rows(batch)
