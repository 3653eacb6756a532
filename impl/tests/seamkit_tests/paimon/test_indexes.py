"""Index files of Paimon: which of them a reader may leave unread."""

import io
from pathlib import Path
from typing import Any

import fastavro
import pytest

from seambase.errors import RefusedError
from seamkit.avro.data_file import read_container
from seamkit_tests.samples.avro_schemas import container, record
from seamkit_tests.samples.paimon_tables import rows_of_table, unpack_paimon


@pytest.mark.parametrize(
    "within", [{"_ROW_RANGE_START": 0, "_ROW_RANGE_END": 2, "_INDEX_FIELD_ID": 1}, None]
)
def test_indexes_of_searches_say_nothing_of_which_rows_there_are(
    within: dict[str, int] | None, tmp_path: Path
) -> None:
    """An index file of a column's values (`_GLOBAL_INDEX`) may be left unread, of any type.

    Paimon reads such tables whole without it; an unknown type that says of no column may be
    anything, as vectors were once.
    """
    table = unpack_paimon("pk-dynamic", tmp_path)
    rows = rows_of_table(table)
    kind = record("record_global", **dict.fromkeys(within or ("_INDEX_FIELD_ID",), "long"))
    for file in table.glob("manifest/index-manifest-*"):
        content = file.read_bytes()
        schema: Any = fastavro.reader(io.BytesIO(content)).writer_schema
        named = [one for one in schema["fields"] if one["name"] != "_GLOBAL_INDEX"]
        schema["fields"] = [*named, {"name": "_GLOBAL_INDEX", "type": ["null", kind]}]
        changed = {"_INDEX_TYPE": "ivf-pq", "_GLOBAL_INDEX": within}
        listed = [one | changed for one in read_container(content, str(file))]
        file.write_bytes(container(schema, listed))
    if within:
        assert rows_of_table(table) == rows
    else:
        with pytest.raises(RefusedError, match="indexes of the type 'ivf-pq'"):
            rows_of_table(table)
