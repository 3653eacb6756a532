"""Engines' own classes by the cases of their formats, and against ours over random columns."""

import random
from typing import Any

import pyarrow as pa
import pytest

from seambase.serde import SerdeField, SerdeRequest
from seambase.types import Language, arrow_type, parse_type
from seambench.conformance.run import Run
from seambench.contracts.serde import Serde
from seambench.seams.serde.values import plain_values
from seambench_impl.peers.presto.pages import PrestoJvmSerde
from seambench_impl.peers.spark.rows import SparkJvmSerde
from seambench_impl.serde import SeambenchSerde
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.stream_samples import PRESTO_FLAT, SPARK_FLAT, random_batch, random_type

pytestmark = pytest.mark.jvm

_CODECS = ("lz4", "zstd", "snappy", "gzip", "zlib")


def engine(language: Language) -> Serde:
    """The engine's own serde; without a Java or the jars the test is skipped by name."""
    with OrSkipped():
        return PrestoJvmSerde() if language == "presto" else SparkJvmSerde()


def drawn(language: Language, seed: str, **options: Any) -> tuple[SerdeRequest, pa.RecordBatch]:
    """One to four columns of random types and as many rows as come."""
    draw = random.Random(f"{language} {seed}")
    flat = PRESTO_FLAT if language == "presto" else SPARK_FLAT
    types = [random_type(draw, flat, draw.randint(1, 5)) for _ in range(draw.randint(1, 4))]
    fields = [SerdeField(f"c{index}", text) for index, text in enumerate(types)]
    schema = pa.schema([(one.name, arrow_type(parse_type(one.type, language))) for one in fields])
    batch = random_batch(draw, schema, draw.choice((0, 1, 2, 7, 8, 9, 64, 65)), encodings=False)
    asked = SerdeRequest("presto" if language == "presto" else "unsaferow", fields, options)
    return asked, batch


def values(batches: list[pa.RecordBatch]) -> list[list[list[Any]]]:
    """Plain values of each column of each batch."""
    return [[plain_values(column) for column in batch.columns] for batch in batches]


@pytest.mark.parametrize(
    ("language", "name", "cases"),
    [
        ("presto", "presto-jvm", ["presto/*/decode", "presto/*/encode", "presto/bigint_*/*"]),
        ("spark", "spark-jvm", ["unsaferow/*/decode", "unsaferow/*/encode", "unsaferow/*_int/*"]),
    ],
)
def test_cases_of_a_format_pass(language: Language, name: str, cases: list[str]) -> None:
    """Golden bytes in and out, in all types, codecs and encodings; broken ones are refused."""
    engine(language)
    patterns = [f"serde/{case}" for case in cases]
    outcomes = list(Run("serde", [name], patterns=patterns).check())
    assert {one.case: one.reason for one in outcomes if one.failed} == {}
    assert sum(one.outcome == "pass" for one in outcomes) > 100


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("language", ["presto", "spark"])
def test_both_write_the_same_bytes_and_read_each_other(language: Language, seed: int) -> None:
    """Flat columns of any nesting have one spelling; each reads what either wrote."""
    asked, batch = drawn(language, str(seed))
    ours, theirs = SeambenchSerde(), engine(language)
    written = [one.serialize(asked, [batch]) for one in (ours, theirs)]
    assert written[0] == written[1]
    for reader in (ours, theirs):
        assert values(reader.deserialize(asked, written[0])) == values([batch])


@pytest.mark.parametrize("codec", _CODECS)
@pytest.mark.parametrize("seed", range(4))
def test_compressed_pages_cross(codec: str, seed: int) -> None:
    """Two compressors of one codec need not agree on bytes, but each reads the other's."""
    asked, batch = drawn("presto", f"{codec} {seed}", codec=codec, checksum=True)
    ours, theirs = SeambenchSerde(), engine("presto")
    for writer, reader in ((ours, theirs), (theirs, ours)):
        found = reader.deserialize(asked, writer.serialize(asked, [batch]))
        assert values(found) == values([batch])
