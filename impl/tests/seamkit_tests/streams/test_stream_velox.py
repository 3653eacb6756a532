"""What Velox made of single columns, and read of pages one behind the other."""

import json
from typing import Any

import pyarrow as pa
import pytest

from seambase.serde import SerdeField
from seambase.types import arrow_type, parse_presto
from seambench.seams.serde.values import arrow_array, from_golden, plain_values
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.stream.byte_stream import ByteInputStream
from seamkit.serde.stream.presto import PrestoVectorSerde
from seamkit.serde.stream.result import VectorResult
from seamkit_tests import GOLDEN

_VELOX = json.loads((GOLDEN / "velox-streams.json").read_text())
_OPTIONS = {"dialect": "velox"}


def _array(case: dict[str, Any]) -> pa.Array:
    type_ = parse_presto(case["type"])
    return arrow_array([from_golden(v, type_) for v in case["values"]], arrow_type(type_))


@pytest.mark.parametrize(
    "case", _VELOX["columns"], ids=lambda case: f"{case['type']}-{case['dress']}"
)
def test_a_column_alone_is_as_velox_writes_it(
    allocator: TrackedAllocator, case: dict[str, Any]
) -> None:
    """Byte for byte, whatever dress it came in, and read back to the last byte."""
    serde, field = PrestoVectorSerde(allocator), SerdeField("c0", case["type"])
    column = _array(case)
    assert serde.serialize_column(field, _OPTIONS, column).hex() == case["bytes"]
    source = ByteInputStream([bytes.fromhex(case["bytes"]), b"behind"], allocator)
    read = serde.deserialize_column(source, field, _OPTIONS)
    assert plain_values(read) == plain_values(column)
    assert source.remaining() == 6


@pytest.mark.parametrize("case", _VELOX["appended"], ids=lambda case: case["type"])
def test_pages_continue_a_result_as_velox_reads_them(
    allocator: TrackedAllocator, case: dict[str, Any]
) -> None:
    """Of any encodings, one behind the other in one source."""
    pages = b"".join(bytes.fromhex(page) for page in case["pages"])
    source, result = ByteInputStream([pages], allocator), VectorResult(allocator)
    for _ in case["pages"]:
        fields = [SerdeField("c0", case["type"])]
        PrestoVectorSerde(allocator).deserialize(source, fields, _OPTIONS, result)
    assert source.remaining() == 0
    assert plain_values(result.batch()["c0"]) == plain_values(_array(case))
