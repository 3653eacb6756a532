"""Tables by their names in a catalog: of SQL, and one that speaks as much of REST as is asked.

Real servers, which need Java, are met in `seamkit_tests/catalogs`.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seamkit
from seamkit_tests.samples.pyiceberg_catalogs import configure, sql_catalog


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A catalog in SQLite, configured by the environment, with a table of a few commits."""
    found = sql_catalog(monkeypatch, tmp_path)
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
    assert ("knows no catalog 'nowhere'" in str(raised.value)) == ("nowhere" in address)


def test_a_folder_that_a_catalog_writes_has_no_newest_file(catalog: Any) -> None:
    """Only the catalog knows; the path of a metadata file says which is meant."""
    location = catalog.load_table("ns.t").location()
    file = catalog.load_table("ns.t").metadata_location
    with pytest.raises(seamkit.UsageError, match="only the catalog knows") as raised:
        seamkit.open_table(location)
    assert "iceberg://CATALOG/NAMESPACE.TABLE" in str(raised.value)
    assert str(raised.value).endswith(f"such as {file.removeprefix('file://')}")
    assert seamkit.open_table(file).scan().count_rows() == 3


class _RestCatalog(BaseHTTPRequestHandler):
    """A double of a REST catalog: `config` and `loadTable` over the tables of its server.

    Paths and answers are those of Iceberg's `rest-catalog-open-api.yaml`.
    """

    tables: Mapping[str, str]
    config: Mapping[str, str] = {}
    metadata: Mapping[str, Any] | None = None
    token = "secret"  # noqa: S105 - a word of this test

    def do_GET(self) -> None:
        """Answer a request; who shows no token is turned away."""
        if self.headers.get("Authorization") != f"Bearer {self.token}":
            return self._send(401, _error(401, "NotAuthorizedException", "no token"))
        if self.path.startswith("/v1/config"):
            return self._send(200, {"defaults": {}, "overrides": {"prefix": "there"}})
        location = self.tables.get(self.path.removeprefix("/v1/there/namespaces/"))
        if location is None:
            return self._send(404, _error(404, "NoSuchTableException", "no such table"))
        metadata = self.metadata
        if metadata is None:
            text = Path(location.removeprefix("file://")).read_text(encoding="utf-8")
            metadata = json.loads(text)
        answer = {"metadata-location": location, "metadata": metadata, "config": self.config}
        return self._send(200, answer)

    def _send(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: Any) -> None:
        """Nothing."""


def _error(code: int, kind: str, message: str) -> Mapping[str, Any]:
    return {"error": {"code": code, "type": kind, "message": message}}


@pytest.fixture
def rest(catalog: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_RestCatalog]]:
    """The table of `catalog`, handed out over HTTP by the catalog `far`; `shut` has no token."""
    location = catalog.load_table("ns.t").metadata_location
    handler = type("Handler", (_RestCatalog,), {"tables": {"ns/tables/t": location}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    address = {"TYPE": "rest", "URI": f"http://127.0.0.1:{server.server_port}"}
    configure(monkeypatch, "far", {**address, "TOKEN": _RestCatalog.token})
    configure(monkeypatch, "shut", {**address, "TOKEN": "another"})
    try:
        yield handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_rest_catalog_tells_the_newest_metadata(catalog: Any, rest: type[_RestCatalog]) -> None:
    """Each time anew: after a commit its answer is another file."""
    assert seamkit.open_table("iceberg://far/ns.t").scan().count_rows() == 3
    own = catalog.load_table("ns.t")
    own.append(pa.table({"k": [9], "v": ["z"]}))
    rest.tables = {"ns/tables/t": own.metadata_location}
    table = seamkit.open_table("iceberg://far/ns.t")
    assert isinstance(table, seamkit.IcebergTable)
    assert table.metadata_file == own.metadata_location.removeprefix("file://")
    assert table.scan().count_rows() == 4


@pytest.mark.parametrize(
    ("address", "error"),
    [("iceberg://far/ns.none", "InputError"), ("iceberg://shut/ns.t", "UnavailableError")],
)
def test_what_a_rest_catalog_refuses_is_told(
    rest: type[_RestCatalog], address: str, error: str
) -> None:
    """A table that is not there, and who may not ask, in one sentence with the address."""
    del rest
    with pytest.raises(seamkit.SeambenchError, match=address) as raised:
        seamkit.open_table(address)
    assert type(raised.value).__name__ == error


@pytest.mark.storage
def test_a_server_hands_out_how_a_store_is_reached(
    catalog: Any,
    rest: type[_RestCatalog],
    object_store: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keys, endpoint and region come with the table; options of the user's own go before them."""
    import s3fs

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    own = catalog.load_table("ns.t")
    here, there = own.location(), "s3://lake/vended"
    folder = Path(here.removeprefix("file://"))
    file = Path(own.metadata_location.removeprefix("file://"))
    # Manifests name files by where they were written: below that place they are found elsewhere.
    s3fs.S3FileSystem(**object_store).put(f"{folder}/", "lake/vended/", recursive=True)
    rest.tables = {"ns/tables/t": f"{there}/metadata/{file.name}"}
    rest.metadata = json.loads(file.read_text(encoding="utf-8"))
    with pytest.raises(seamkit.SeambenchError):
        seamkit.open_table("iceberg://far/ns.t")

    rest.config = {
        "s3.access-key-id": object_store["key"],
        "s3.secret-access-key": object_store["secret"],
        "s3.endpoint": object_store["endpoint_url"],
        "client.region": "us-east-1",
    }
    assert seamkit.open_table("iceberg://far/ns.t").scan().count_rows() == 3
    rest.config = {**rest.config, "s3.endpoint": "http://127.0.0.1:9"}
    own_options = seamkit.open_table("iceberg://far/ns.t", storage_options=object_store)
    assert own_options.scan().count_rows() == 3
