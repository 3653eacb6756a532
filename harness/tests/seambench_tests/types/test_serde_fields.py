"""Types of both languages from Arrow types."""

from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import RefusedError
from seambase.type_fields import fields_of, type_text
from seambase.types import FLAT_TYPES, Language, arrow_type, parse_type

_NESTED = [
    pa.list_(pa.int32()),
    pa.map_(pa.string(), pa.list_(pa.float64())),
    pa.struct([("a", pa.int64()), ('quo"te`d', pa.decimal128(20, 3)), ("with space", pa.string())]),
]


@pytest.mark.parametrize("language", ["presto", "spark"])
def test_every_type_comes_back(language: Language) -> None:
    """The Arrow type of the text is the Arrow type it was made of, nesting included."""
    flat = [t for t in FLAT_TYPES[language].values() if t != pa.json_(pa.string())]
    for data_type in (*flat, pa.decimal128(38, 10), *_NESTED):
        text = type_text(data_type, language)
        assert arrow_type(parse_type(text, language)) == data_type, text


@pytest.mark.parametrize("encoded", [pa.dictionary(pa.int32(), pa.string()), pa.large_string()])
def test_encodings_are_what_they_stand_for(encoded: Any) -> None:
    """A dictionary of strings, or strings with 64-bit offsets, are strings."""
    assert type_text(encoded, "presto") == "varchar"
    assert type_text(encoded, "spark") == "string"


def test_a_column_without_a_type_is_named() -> None:
    """Presto has no unsigned numbers; the error says which column has one."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("bad", pa.uint8())])
    with pytest.raises(RefusedError, match="column 'bad': no type of Presto holds Arrow's uint8"):
        fields_of(schema, "presto")
    [field] = fields_of(schema.remove(1), "spark")
    assert (field.name, field.type, field.nullable) == ("id", "bigint", False)
