"""Tables by their names in a REST catalog: Iceberg's own servlet, on Jetty, in this process.

Behind it stands Iceberg's catalog of a folder, so tables that Spark wrote are there as they lie.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import seamkit
from seambase.errors import InputError, SeambenchError, UnavailableError
from seambench_impl.jni.jars import fetch_jars
from seamkit.jvm.machine import JavaClasses, spark_classes
from seamkit_tests.samples.iceberg_tables import unpack_iceberg
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.pyiceberg_catalogs import configure

pytestmark = pytest.mark.jvm

_ICEBERG, _JETTY = "1.10.0", "11.0.24"
_JARS = (
    *(f"org.apache.iceberg:iceberg-{n}:{_ICEBERG}" for n in ("core", "api", "common")),
    f"org.apache.iceberg:iceberg-bundled-guava:{_ICEBERG}",
    f"org.apache.iceberg:iceberg-core:{_ICEBERG}:tests",  # where the servlet is
    *(
        f"org.eclipse.jetty:jetty-{name}:{_JETTY}"
        for name in ("server", "servlet", "security", "http", "io", "util")
    ),
    "jakarta.servlet:jakarta.servlet-api:5.0.0",
    "org.apache.httpcomponents.core5:httpcore5:5.3.4",
    "com.github.ben-manes.caffeine:caffeine:2.9.3",
)
#: Of which Spark wrote all that deletes can be.
_GOLDEN = ("travel", "equality-and-positions", "equality-and-vectors")


@pytest.fixture(scope="module")
def classes() -> JavaClasses:
    """Iceberg's classes and Jetty's."""
    with OrSkipped():
        jars = fetch_jars(_JARS, "Iceberg's REST catalog")
        return JavaClasses("Iceberg's REST catalog", jars, spark_classes())


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the catalog's tables."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="module")
def servlet(classes: JavaClasses, warehouse: Path) -> Any:
    """The servlet over a catalog of a folder."""
    of = classes.java_class
    with classes.inside():
        properties = classes.jpype.JClass("java.util.HashMap")()
        properties.put("warehouse", str(warehouse))
        catalog = of("org.apache.iceberg.CatalogUtil").loadCatalog(
            "org.apache.iceberg.hadoop.HadoopCatalog",
            "folder",
            properties,
            of("org.apache.hadoop.conf.Configuration")(),
        )
        adapter = of("org.apache.iceberg.rest.RESTCatalogAdapter")(catalog)
        return of("org.apache.iceberg.rest.RESTCatalogServlet")(adapter)


def _serve(classes: JavaClasses, servlet: Any, *, locked: bool) -> Iterator[str]:
    """Jetty with the servlet, on a free port; locked, it lets nobody in."""
    of = classes.java_class
    with classes.inside():
        address = classes.jpype.JClass("java.net.InetSocketAddress")("127.0.0.1", 0)
        server = of("org.eclipse.jetty.server.Server")(address)
        context = of("org.eclipse.jetty.servlet.ServletContextHandler")(0)
        context.setContextPath("/")
        context.addServlet(of("org.eclipse.jetty.servlet.ServletHolder")(servlet), "/*")
        if locked:
            context.setSecurityHandler(_locked(of))
        server.setHandler(context)
        server.start()
    try:
        yield f"http://127.0.0.1:{server.getURI().getPort()}"
    finally:
        server.stop()


def _locked(of: Any) -> Any:
    """Jetty's own guard: basic authentication, with nobody whom it knows."""
    constraint = of("org.eclipse.jetty.util.security.Constraint")("BASIC", "reader")
    constraint.setAuthenticate(True)
    mapping = of("org.eclipse.jetty.security.ConstraintMapping")()
    mapping.setPathSpec("/*")
    mapping.setConstraint(constraint)
    guard = of("org.eclipse.jetty.security.ConstraintSecurityHandler")()
    basic = of("org.eclipse.jetty.security.authentication.BasicAuthenticator")()
    guard.setAuthenticator(basic)
    guard.addConstraintMapping(mapping)
    users = of("org.eclipse.jetty.security.HashLoginService")()
    users.setUserStore(of("org.eclipse.jetty.security.UserStore")())
    guard.setLoginService(users)
    return guard


@pytest.fixture(scope="module")
def server(classes: JavaClasses, servlet: Any) -> Iterator[str]:
    """The address of a server that lets everybody in."""
    yield from _serve(classes, servlet, locked=False)


@pytest.fixture(scope="module")
def locked(classes: JavaClasses, servlet: Any) -> Iterator[str]:
    """The address of one that lets nobody in, and says so in HTML."""
    yield from _serve(classes, servlet, locked=True)


@pytest.fixture(autouse=True)
def configured(server: str, locked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`far` and `shut`, known by the environment; `login` asks for a token first."""
    token = {"CREDENTIAL": "somebody:secret", "OAUTH2_SERVER_URI": f"{server}/v1/oauth/tokens"}
    configure(monkeypatch, "far", {"TYPE": "rest", "URI": server})
    configure(monkeypatch, "login", {"TYPE": "rest", "URI": server, **token})
    configure(monkeypatch, "shut", {"TYPE": "rest", "URI": locked})


@pytest.fixture(scope="module")
def golden(warehouse: Path) -> Path:
    """The catalog's folder with tables that Spark wrote."""
    for name in _GOLDEN:
        unpack_iceberg(name, warehouse / "golden")
    return warehouse / "golden"


def _rows(table: Any, **how: Any) -> list[str]:
    return sorted(map(repr, table.scan(**how).to_table().to_pylist()))


@pytest.mark.parametrize("name", _GOLDEN)
def test_tables_of_a_server_are_those_of_its_folder(golden: Path, name: str) -> None:
    """With equality deletes, position deletes and vectors; at every branch and tag."""
    own = seamkit.IcebergTable(str(golden / name))
    found: Any = seamkit.open_table(f"iceberg://far/golden.{name}")
    assert isinstance(found, seamkit.IcebergTable)
    assert found.metadata_file == own.metadata_file
    assert _rows(found) == _rows(own)
    assert found.references == own.references
    for reference in own.references:
        assert _rows(found, as_of=reference) == _rows(own, as_of=reference)


def test_what_is_committed_through_a_server_is_read() -> None:
    """Rows as pyiceberg reads them, after a login, too; older snapshots and tags stay."""
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog("login")
    catalog.create_namespace("made")
    rows = pa.table({"k": [1, 2, 3], "v": ["a", "b", None]})
    table = catalog.create_table("made.t", rows.schema)
    table.append(rows)
    first = table.current_snapshot()
    assert first is not None
    table.manage_snapshots().create_tag(first.snapshot_id, "first").commit()
    table.append(rows.take([0]))
    table.delete("k = 2")
    found: Any = seamkit.open_table("iceberg://login/made.t")
    assert found.snapshot_id == table.metadata.current_snapshot_id
    assert _rows(found) == sorted(map(repr, table.scan().to_arrow().to_pylist()))
    for as_of in (first.snapshot_id, "first"):
        assert _rows(found, as_of=as_of) == sorted(map(repr, rows.to_pylist()))
    table.append(rows)
    assert len(_rows(seamkit.open_table("iceberg://far/made.t"))) == len(_rows(found)) + 3


@pytest.mark.parametrize(
    ("address", "error", "says"),
    [
        ("iceberg://far/golden.none", InputError, "no such table"),
        ("iceberg://far/none.t", InputError, "no such table"),
        ("iceberg://shut/golden.travel", UnavailableError, "Unauthorized"),
    ],
)
def test_what_a_server_refuses_is_told(
    golden: Path, address: str, error: type[SeambenchError], says: str
) -> None:
    """A table that is not there, and a server that lets nobody in: one sentence each."""
    del golden
    with pytest.raises(error, match=says) as raised:
        seamkit.open_table(address)
    assert str(raised.value).startswith(address)
    assert "\n" not in str(raised.value)


def test_a_server_that_fails_is_unavailable(golden: Path) -> None:
    """It cannot read the table's metadata, and answers 500 with its own error."""
    shutil.copytree(golden / "travel", golden / "broken")
    for file in (golden / "broken" / "metadata").glob("*.metadata.json"):
        file.write_text("{", encoding="utf-8")
    with pytest.raises(UnavailableError, match=r"iceberg://far/golden.broken: .*Failed") as raised:
        seamkit.open_table("iceberg://far/golden.broken")
    assert "\n" not in str(raised.value)
