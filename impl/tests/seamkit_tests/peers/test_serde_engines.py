"""Our pages and rows against the engines' own classes, over random columns."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from seambase.serde import SerdeField, SerdeRequest
from seambase.types import Language
from seambench.contracts.serde import Serde
from seambench.seams.serde.values import plain_values
from seambench_impl.peers.presto.pages import PrestoJvmSerde
from seambench_impl.peers.spark.rows import SparkJvmSerde
from seambench_impl.serde import SeambenchSerde
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.random_columns import random_batch, random_types

pytestmark = pytest.mark.jvm

_CODECS = ("lz4", "zstd", "snappy", "gzip", "zlib")


def engine(language: Language) -> Serde:
    """The engine's own serde; without a Java or the jars the test is skipped by name."""
    with OrSkipped():
        return PrestoJvmSerde() if language == "presto" else SparkJvmSerde()


def request(language: Language, types: list[str], **options: Any) -> SerdeRequest:
    """Columns c0, c1, ... of the types."""
    fields = [SerdeField(f"c{index}", text) for index, text in enumerate(types)]
    return SerdeRequest("presto" if language == "presto" else "unsaferow", fields, options)


def values(batches: list[pa.RecordBatch]) -> list[list[list[Any]]]:
    """Plain values of each column of each batch."""
    return [[plain_values(column) for column in batch.columns] for batch in batches]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("language", ["presto", "spark"])
def test_both_write_the_same_bytes_and_read_each_other(language: Language, seed: int) -> None:
    """Flat columns of any nesting have one spelling; each reads what either wrote.

    The 16 bytes of a null interval in a row hold whatever Spark left there: they are not compared.
    """
    draw = random.Random(f"{language} {seed}")
    types = random_types(draw, language)
    batch = random_batch(draw, language, types)
    asked = request(language, types)
    ours, theirs = SeambenchSerde(), engine(language)
    written = {ours: ours.serialize(asked, [batch]), theirs: theirs.serialize(asked, [batch])}
    if "interval" not in " ".join(types).replace("interval ", ""):
        assert written[ours] == written[theirs]
    for data in written.values():
        for reader in (ours, theirs):
            assert values(reader.deserialize(asked, data)) == values([batch])


@pytest.mark.parametrize("codec", _CODECS)
@pytest.mark.parametrize("seed", range(4))
def test_compressed_pages_cross(codec: str, seed: int) -> None:
    """Two compressors of one codec need not agree on bytes, but each reads the other's."""
    draw = random.Random(f"{codec} {seed}")
    types = random_types(draw, "presto")
    batch = random_batch(draw, "presto", types)
    asked = request("presto", types, codec=codec, checksum=True)
    ours, theirs = SeambenchSerde(), engine("presto")
    for writer, reader in ((ours, theirs), (theirs, ours)):
        found = reader.deserialize(asked, writer.serialize(asked, [batch]))
        assert values(found) == values([batch])
