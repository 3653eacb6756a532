"""Tables that pyiceberg wrote into a SQL catalog, by their names in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seamkit


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A catalog in SQLite, configured by the environment, with a table of a few commits."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    settings = {
        "TYPE": "sql",
        "URI": f"sqlite:///{tmp_path}/c.db",
        "WAREHOUSE": f"file://{tmp_path}",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__HERE__{name}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it was read when imported
    found = load_catalog("here")
    found.create_namespace("ns")
    rows = pa.table({"k": [1, 2, 3], "v": ["a", "b", "c"]})
    table = found.create_table("ns.t", rows.schema)
    table.append(rows)
    table.append(rows.take([0]).set_column(0, "k", pa.array([4])))
    table.delete("k = 2")
    return found


def test_a_table_is_found_by_its_name(catalog: Any) -> None:
    """Its newest metadata counts, which pyiceberg reads alike; a later commit is another one."""
    table = seamkit.open_table("iceberg://here/ns.t")
    assert isinstance(table, seamkit.IcebergTable)

    own = catalog.load_table("ns.t")
    expected = own.scan().to_arrow().sort_by("k")
    assert table.metadata_file == own.metadata_location.removeprefix("file://")
    assert table.scan().to_table().sort_by("k").to_pylist() == expected.to_pylist()
    assert table.scan(filter=pc.field("k") > 3).count_rows() == 1

    own.append(pa.table({"k": [9], "v": ["z"]}))
    assert seamkit.open_table("iceberg://here/ns.t").scan().count_rows() == 4


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("iceberg://here", "UsageError"),
        ("iceberg://here/t", "UsageError"),
        ("iceberg://here/ns.none", "InputError"),
        ("iceberg://here/none.t", "InputError"),
        ("iceberg://nowhere/ns.t", "UsageError"),
    ],
)
def test_what_is_no_table_is_told(catalog: Any, address: str, error: str) -> None:
    """In one sentence, which names the address."""
    del catalog
    with pytest.raises(seamkit.SeambenchError, match=address) as raised:
        seamkit.open_table(address)
    assert type(raised.value).__name__ == error


def test_a_folder_that_a_catalog_writes_has_no_newest_file(catalog: Any) -> None:
    """Only the catalog knows; the path of a metadata file says which is meant."""
    location = catalog.load_table("ns.t").location()
    with pytest.raises(seamkit.UsageError, match="only the catalog knows"):
        seamkit.open_table(location)

    file = catalog.load_table("ns.t").metadata_location
    assert seamkit.open_table(file).scan().count_rows() == 3
