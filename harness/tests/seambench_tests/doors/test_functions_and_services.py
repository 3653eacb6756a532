"""Functions and services give rows, refusals and failures as programs do."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UnavailableError, UsageError
from seambench.conformance.doors.facts import read_facts
from seambench.contracts import registry
from seambench.contracts.outcomes import CrashError, ProtocolError, TimedOutError
from seambench.contracts.scan import ScanRequest
from seambench.seams.scan.function import FunctionScanner
from seambench.seams.scan.service import ServiceScanner

ROWS = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})


FRAME = pd.DataFrame({"id": [1, 2, 3], "name": pd.array(["a", None, "c"], "string")})
#: The same rows, with an index as filters, sorting and joins leave it, or as its users set it.
INDEXED: dict[str, Callable[[], pd.DataFrame]] = {
    "filtered": lambda: pd.concat([FRAME.assign(id=9)[:1], FRAME]).query("id < 9"),
    "sorted": lambda: FRAME[::-1].sort_values("id"),
    "concatenated": lambda: pd.concat([FRAME[:2], FRAME[2:].set_index(pd.Index([0]))]),
    "named": lambda: FRAME.set_index("id"),
    "named range": lambda: FRAME[["name"]].set_index(pd.RangeIndex(1, 4, name="id")),
    "named as a column": lambda: FRAME.set_index("id", drop=False),
    "levels": lambda: FRAME.set_index(["id", pd.Index([7, 8, 9])]),
}


def read(scanner: Any, table: str = "t", **more: Any) -> pa.Table:
    """All rows of one read."""
    with scanner.open(ScanRequest(table=table, **more)).to_reader() as reader:
        return reader.read_all()


@pytest.mark.parametrize(
    "frame",
    [
        lambda: ROWS,
        lambda: ROWS.to_reader(),
        lambda: pl.DataFrame(ROWS),
        lambda: FRAME,
        lambda: duckdb.connect().from_arrow(ROWS),
        *INDEXED.values(),
    ],
    ids=["table", "reader", "polars", "pandas", "duckdb", *INDEXED],
)
@pytest.mark.parametrize("columns", [None, ["name", "id"], ["name"], []])
@pytest.mark.parametrize("batch_rows", [None, 1, 2])
def test_whatever_gives_an_arrow_stream_is_read(
    frame: Callable[[], Any], columns: list[str] | None, batch_rows: int | None
) -> None:
    """Columns are chosen, batches are cut and rows are counted for a function that does neither."""
    scan = FunctionScanner(lambda _: frame(), "m:read").open(
        ScanRequest(table="t", columns=columns, batch_rows=batch_rows)
    )
    batches = list(scan.to_reader())
    wanted = ROWS if columns is None else ROWS.select(columns)
    assert scan.schema.names == wanted.schema.names
    assert [row for batch in batches for row in batch.to_pylist()] == wanted.to_pylist()
    assert sum(batch.num_rows for batch in batches) == scan.report().rows == 3
    assert batch_rows is None or all(batch.num_rows <= batch_rows for batch in batches)


def test_a_function_is_told_what_is_asked_by_name() -> None:
    """The folder comes first; absent members are left out, and a snapshot need not be named."""
    told: list[Any] = []

    def all_of_it(path: str, **asked: Any) -> pa.Table:
        told.append((path, asked))
        return ROWS.select(asked["columns"])

    scanner = FunctionScanner(all_of_it, "m:read")
    scanner.facts = read_facts(Path("nothing"))
    read(scanner, "a", columns=["id"], threads=2)
    read(scanner, "b", columns=["id"], query="incremental", begin="1", end="2", batch_rows=7)

    assert told == [
        ("a", {"columns": ["id"], "threads": 2}),
        (
            "b",
            {"columns": ["id"], "query": "incremental", "begin": "1", "end": "2", "batch_size": 7},
        ),
    ]


@pytest.mark.parametrize(
    ("asked", "member"),
    [
        ({"as_of": "3"}, "as_of"),
        ({"query": "incremental", "begin": "1"}, "query"),
        ({"strict": True}, "strict"),
        ({"memory_limit_bytes": 5}, "memory_limit"),
        ({"storage_options": {"a": 1}}, "storage_options"),
    ],
)
def test_what_a_function_has_no_parameter_for_is_refused(
    asked: dict[str, Any], member: str
) -> None:
    """Nothing that is asked is passed over."""

    def mine(path: str, columns: list[str] | None = None) -> pa.Table:  # noqa: ARG001
        raise AssertionError("it must not be called")

    with pytest.raises(RefusedError, match=f"no parameter for '{member}'"):
        read(FunctionScanner(mine, "m:read"), **asked)


def _broken_half_way() -> Iterator[pa.RecordBatch]:
    yield ROWS.to_batches()[0]
    raise OSError("disk gone")


def _raise(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (lambda: _raise(NotImplementedError("no version 3")), RefusedError, "no version 3"),
        (lambda: _raise(NotImplementedError()), ProtocolError, "refuses without a sentence"),
        (lambda: _raise(ValueError("slip")), ValueError, "slip"),
        (lambda: [1, 2], ProtocolError, "returned a list, which has no `__arrow_c_stream__`"),
        (lambda: None, ProtocolError, "returned a NoneType"),
        (lambda: ROWS.select(["name"]), ProtocolError, r"asked for columns \['id'\]"),
        (lambda: pa.table([[1], [2]], ["id", "id"]), ProtocolError, "asked for columns"),
        (
            lambda: pa.RecordBatchReader.from_batches(ROWS.schema, _broken_half_way()),
            InputError,
            "broke off.*disk gone",
        ),
    ],
)
def test_failures_of_a_function(
    answer: Callable[[], Any], kind: type[Exception], reason: str
) -> None:
    """A refusal is `NotImplementedError` with a sentence; everything else is a failure."""
    with pytest.raises(kind, match=reason):
        read(FunctionScanner(lambda _: answer(), "m:read"), columns=["id"])


_MODULE = """
import pyarrow as pa
from functools import partial
def read(path, columns=None, filter=None):
    return pa.table({"filter": [filter]})
def make():
    raise RuntimeError("this one makes something")
bound = partial(read, columns=None)
"""


def test_a_function_is_named_as_a_class_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`module:function`; what it states lies beside the module, a filter goes to who states it."""
    (tmp_path / "own_reader.py").write_text(_MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    assert registry.resolve("scan", "own_reader:bound").name == "own_reader:bound"
    facts = {"name": "mine", "version": "2", "capabilities": {"where": True}}
    (tmp_path / "own_reader.seambench.json").write_text(json.dumps(facts))
    scanner = registry.resolve("scan", "own_reader:read")
    assert (scanner.name, scanner.version, scanner.kind) == ("mine", "2", "peer")
    assert read(scanner, where="id > 1")["filter"].to_pylist() == ["id > 1"]
    with pytest.raises(UsageError, match="this one makes something"):
        registry.resolve("scan", "own_reader:make")
    with pytest.raises(RefusedError, match="the serde seam takes Python classes"):
        registry.resolve("serde", "own_reader:read")


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("python reader.py", "reader.seambench.json"),
        ("python reader.py", "reader.py.seambench.json"),
        ("java -jar target/reader.jar", "target/reader.seambench.json"),
        ("java -cp . com.example.Reader --fast", "com.example.Reader.seambench.json"),
        ("docker run --rm -i -v /tmp:/tmp:ro reader", "reader.seambench.json"),
        ("node / . reader.mjs", "reader.seambench.json"),
        (f"sh -c {'x' * 5000} reader", "reader.seambench.json"),
    ],
)
def test_facts_lie_beside_what_a_command_names(
    command: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interpreter has none; the script, jar, class or image behind it has."""
    monkeypatch.chdir(tmp_path)
    first, *others = command.split()
    assert read_facts(tmp_path / first, *others).capabilities == {}
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text('{"capabilities": {"where": true}}')
    assert read_facts(tmp_path / first, *others).capabilities == {"where": True}


#: Status and body of answers that are no stream.
_STATUS = {
    "refuse": (422, b"table version 3 is not supported"),
    "silent": (422, b" "),
    "fail": (500, b"disk gone"),
    "garbage": (200, b"no stream"),
}
#: What is written of a stream, and how many bytes are announced.
_BODIES: dict[str, Callable[[bytes], tuple[bytes, int]]] = {
    "no end mark": lambda stream: (stream[:-8], len(stream) - 8),
    "behind": lambda stream: (stream + b"junk", len(stream) + 4),
    "break off": lambda stream: (stream[: len(stream) // 2], len(stream)),
    "break off behind": lambda stream: (stream, len(stream) + 9),
    "hang": lambda stream: (stream[:10], len(stream)),
}


class _Handler(http.server.BaseHTTPRequestHandler):
    """Behaves as the table's name says."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._say(200, json.dumps({"name": "service", "capabilities": {"where": True}}).encode())

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        behaviour = asked["table"]
        if behaviour in _STATUS:
            self._say(*_STATUS[behaviour])
            return
        answer = ROWS
        if behaviour != "other columns":
            answer = answer.select(asked.get("columns", answer.schema.names))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, answer.schema) as writer:
            writer.write_table(answer)
        stream = sink.getvalue().to_pybytes()
        if behaviour == "chunked":
            self._say_in_chunks(stream)
        else:
            make = _BODIES.get(behaviour)
            body, announced = make(stream) if make else (stream, len(stream))
            self._say(200, body, announced, stay=behaviour == "hang")

    def _say_in_chunks(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(body), 50):
            piece = body[at : at + 50]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def _say(self, status: int, body: bytes, length: int | None = None, stay: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        if stay:
            self.rfile.read(1)
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Tests are silent."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A service on this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("table", ["t", "chunked"])
def test_a_service_answers_with_a_stream(address: str, table: str) -> None:
    """It says what it states; schema and rows come from one answer, and can be asked for again."""
    scanner = registry.resolve("scan", address)
    assert (scanner.name, scanner.capabilities) == ("service", {"where": True})
    scan = scanner.open(ScanRequest(table=table))
    assert scan.schema == ROWS.schema
    for _ in range(2):
        assert scan.to_reader().read_all() == ROWS
        assert scan.report().rows == 3
    with duckdb.connect() as con:
        con.register("t", scan.dataset())
        assert con.execute("SELECT name FROM t WHERE id > 2").fetchall() == [("c",)]


@pytest.mark.parametrize(
    ("behaviour", "kind", "reason"),
    [
        ("refuse", RefusedError, "service: table version 3 is not supported"),
        ("silent", CrashError, "status 422: no reason given"),
        ("fail", CrashError, "status 500: disk gone"),
        ("garbage", ProtocolError, "its answer is no Arrow IPC stream"),
        ("no end mark", ProtocolError, "its stream has no end"),
        ("behind", ProtocolError, "more bytes follow"),
        ("break off", CrashError, "its answer broke off"),
        ("break off behind", CrashError, "its answer broke off"),
        ("other columns", ProtocolError, "asked for columns"),
    ],
)
def test_failures_of_a_service(
    address: str, behaviour: str, kind: type[Exception], reason: str
) -> None:
    """A refusal is status 422 with a sentence; half an answer is no answer."""
    with pytest.raises(kind, match=reason):
        read(registry.resolve("scan", address), behaviour, columns=["id"])


def test_a_service_that_hangs_is_left(address: str) -> None:
    """After its time is up, that is what the error says."""
    with pytest.raises(TimedOutError, match=r"nothing came in 0\.3 s"):
        read(ServiceScanner("http", address.partition(":")[2], timeout=0.3), "hang")


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("http://127.0.0.1:1", UnavailableError, "no service answers"),
        ("http://127.0.0.1:x", UsageError, "http://127.0.0.1:x"),
        ("http:nowhere", UsageError, "HOST:PORT"),
        ("http://u:p@127.0.0.1:1", UsageError, "HOST:PORT"),
    ],
)
def test_addresses_that_are_none(name: str, kind: type[Exception], reason: str) -> None:
    """One sentence says what is wrong, or that nobody is there."""
    with pytest.raises(kind, match=reason):
        registry.resolve("scan", name)
    with pytest.raises(RefusedError, match="no door `http`"):
        registry.resolve("serde", name)
