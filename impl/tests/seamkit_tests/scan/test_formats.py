"""Tables of all formats behind the readers of the scan seam: one list of formats serves all."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from seambase.errors import RefusedError
from seambench.contracts.scan import ScanRequest
from seambench_impl.scan import (
    AutoReader,
    ConnectorReader,
    MergeReader,
    MetadataReader,
    NativeConnectorReader,
    NativeReader,
    PositionsReader,
)
from seamkit.tables.opening import table_formats
from seamkit_tests.samples.delta_tables import delta_table_names, unpack_delta
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hive_tables import hive_table_names, unpack_hive
from seamkit_tests.samples.iceberg_tables import unpack_iceberg
from seamkit_tests.samples.paimon_tables import paimon_table_names, unpack_paimon

UNPACK: dict[str, Callable[[Path], Path]] = {
    "hudi": lambda folder: unpack_table("mor-v9-event", folder),
    "delta": lambda folder: unpack_delta(delta_table_names()[0], folder),
    "iceberg": lambda folder: unpack_iceberg("positions", folder),
    "paimon": lambda folder: unpack_paimon(paimon_table_names()[0], folder),
    "hive": lambda folder: unpack_hive(hive_table_names()[-1], folder),
}
READERS = [
    AutoReader,
    ConnectorReader,
    MergeReader,
    MetadataReader,
    NativeConnectorReader,
    NativeReader,
    PositionsReader,
]


@pytest.mark.parametrize("name", [one.name for one in table_formats()])
@pytest.mark.parametrize("kind", READERS)
def test_a_reader_refuses_by_name_the_formats_that_it_does_not_state(
    tmp_path: Path, kind: type[AutoReader], name: str
) -> None:
    """A table is never taken for one of another format."""
    table = UNPACK[name](tmp_path)
    reader = kind()
    if not reader.capabilities.get(f"formats.{name}"):
        with pytest.raises(
            RefusedError, match=re.escape(f"{reader.name} does not read {name.title()} ")
        ):
            reader.open(ScanRequest(str(table)))
