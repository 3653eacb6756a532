"""Records of logs that are passed over by their keys, on tables that Spark and Hudi wrote."""

import operator
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError
from seamkit.avro.decoder import AvroDecoder, whole_block
from seamkit.tables.hudi.merge import records
from seamkit.tables.hudi.merge.records import RecordReader
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.avro_schemas import record
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_log_bytes import avro_content
from seamkit_tests.samples.outlets import bag

_TABLES = [
    "mor-v6-commit",
    "mor-v9-added-column",
    "mor-v9-composite-key",
    "mor-v9-event",
    "mor-v9-int-ordering",
    "mor-v9-log-only",
    "mor-v9-parquet-blocks",
    "mor-v9-typed-delete",
]
_SCHEMA = record("r", k="long", v="string")


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were passed over, a number for each piece; small logs count, too."""
    counts: list[int] = []
    original = RecordReader.wanted

    def counting(self: RecordReader, *arguments: Any) -> Any:
        wanted = original(self, *arguments)
        counts.append(0 if wanted is None else int((~wanted).sum()))
        return wanted

    monkeypatch.setattr(RecordReader, "wanted", counting)
    monkeypatch.setattr(records, "_MOST_WANTED", 1.0)
    return counts


@pytest.mark.parametrize("name", _TABLES)
def test_a_look_up_finds_what_a_whole_read_has(
    name: str, tmp_path: Path, left_out: list[int]
) -> None:
    """By values of the key's columns, by its text, and beside another condition."""
    table = HudiTable(str(unpack_table(name, tmp_path)))
    names = [
        n for n in table.schema.names if n in ("_hoodie_record_key", *table.config.record_keys)
    ]
    columns = [n for n in table.schema.names if n != "_hoodie_file_name"]
    whole = table.scan(columns).to_table()
    keys = whole.select(names).to_pylist()
    left_out.clear()
    for key in [keys[0], keys[-1]]:
        for some in ([names[0]], names[1:], names):
            tests = [pc.field(n) == pa.scalar(key[n], whole.schema.field(n).type) for n in some]
            condition = reduce(operator.and_, tests)
            assert bag(table.scan(columns, filter=condition).to_table()) == bag(
                whole.filter(condition)
            )
    assert sum(left_out) > 0 or "parquet" in name


def test_events_in_part_are_not_kept(tmp_path: Path, left_out: list[int]) -> None:
    """A dataset that was asked for one key knows all others the next time."""
    table = HudiTable(str(unpack_table("mor-v9-event", tmp_path)))
    (key,) = table.config.record_keys
    whole = table.scan().to_table()
    dataset = table.scan().dataset()
    for value in whole[key].to_pylist():
        condition = pc.field(key) == value
        assert dataset.to_table(filter=condition).num_rows == whole.filter(condition).num_rows
    assert sum(left_out) > 0
    assert bag(dataset.to_table()) == bag(whole)


def test_strict_reads_pass_over_nothing(tmp_path: Path, left_out: list[int]) -> None:
    """They look at every byte."""
    table = HudiTable(str(unpack_table("mor-v9-event", tmp_path)))
    (key,) = table.config.record_keys
    table.scan(filter=pc.field(key) == "a", strict=True).to_table()
    assert not any(left_out)


@pytest.mark.parametrize(
    ("decode", "is_refused"),
    [
        (lambda d, piece: d.decode_piece(piece, np.array([False, True])), False),
        (lambda d, piece: d.decode_piece(piece, np.array([True, False])), True),
        (lambda d, piece: d.decode_piece(piece), True),
    ],
)
@pytest.mark.parametrize("jumps", [False, True])
def test_damage_is_found_where_it_is_looked_at(
    decode: Callable[[AvroDecoder, Any], None], is_refused: bool, jumps: bool
) -> None:
    """A broken field harms nobody who passes over its record, or over all behind the last field."""
    content = bytearray(avro_content(_SCHEMA, [{"k": 1, "v": "one"}, {"k": 2, "v": "two"}]))
    content[content.index(b"one") - 1] = 0x55  # a length beyond the record
    piece = whole_block(bytes(content), "block")
    for columns, refused in (
        ({"k": pa.int64(), "v": pa.string()}, is_refused),
        ({"k": pa.int64()}, is_refused and not jumps),
    ):
        decoder = AvroDecoder(_SCHEMA, pa.schema(columns), jumps=jumps)
        if refused:
            with pytest.raises(InputError, match="record 0"):
                decode(decoder, piece)
        else:
            decode(decoder, piece)
            assert decoder.finish()["k"].to_pylist()[-1] in (1, 2)
