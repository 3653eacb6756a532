"""Commands and libraries give rows, refusals and failures as the contract says."""

import ctypes
import gc
import io
import json
import shlex
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench.contracts import registry
from seambench.contracts.outcomes import CrashError, ProtocolError, TimedOutError
from seambench.contracts.scan import ScanRequest
from seambench.seams.scan.doors import CommandScanner, LibraryScanner, _Output
from seambench_tests import SAMPLES
from seambench_tests.samples.compiled import compiled

HERE = SAMPLES
COMMAND = shlex.join([sys.executable, str(HERE / "reader_command.py")])


def read(scanner: CommandScanner | LibraryScanner, table: str, **more: object) -> pa.Table:
    """All rows of one read."""
    with scanner.open(ScanRequest(table=table, **more)).to_reader() as reader:  # type: ignore[arg-type]
        return reader.read_all()


def test_command_gets_the_whole_request() -> None:
    """The JSON holds the members of the contract, absent ones meaning null."""
    table = read(
        CommandScanner(COMMAND),
        "t",
        query="incremental",
        begin="20240101000000000",
        columns=["request"],
        batch_rows=7,
        threads=2,
        strict=True,
    )
    assert json.loads(table["request"][0].as_py()) == {
        "version": 1,
        "seam": "scan",
        "table": "t",
        "query": {"type": "incremental", "begin": "20240101000000000"},
        "columns": ["request"],
        "batch_size": 7,
        "threads": 2,
        "strict": True,
    }


def test_schema_and_rows_come_from_one_run() -> None:
    """Asking for the schema first does not lose rows, and a scan can be read again."""
    scan = CommandScanner(COMMAND).open(ScanRequest(table="t", columns=["id"]))
    assert scan.schema == pa.schema([("id", pa.int64())])
    for _ in range(2):
        assert scan.to_reader().read_all()["id"].to_pylist() == list(range(10))
        assert scan.report().rows == 10


@pytest.mark.parametrize(
    ("behaviour", "kind", "reason"),
    [
        ("refuse properly", RefusedError, "table version 3 is not supported"),
        ("refuse", CrashError, "exit code 1; it said: 2 is refused"),
        ("panic", CrashError, "without a last line `refused: SENTENCE`; it said: panic"),
        ("refuse silently", CrashError, "without a last line"),
        ("refuse too early", CrashError, "without a last line"),
        ("garbage", ProtocolError, "no Arrow IPC stream"),
        ("unsound", ProtocolError, "column 'id' is not sound"),
        ("nothing", ProtocolError, "no Arrow IPC stream"),
        ("crash half way", CrashError, "killed by signal 11"),
        ("fail half way", CrashError, "exit code 7; it said: disk gone"),
        ("without the end mark", ProtocolError, "its stream has no end"),
        ("half of the end mark", ProtocolError, "is no whole Arrow stream"),
        ("junk behind the end", ProtocolError, "more bytes follow the end"),
        ("much behind the end", ProtocolError, "more bytes follow the end"),
        ("a second stream", ProtocolError, "more bytes follow the end"),
        ("other columns", ProtocolError, r"asked for columns \['id'\], a stream of \['other'\]"),
    ],
)
def test_failures_of_a_command(behaviour: str, kind: type[Exception], reason: str) -> None:
    """Refusal, crash and nonsense are told apart, even after rows have come."""
    with pytest.raises(kind, match=reason):
        read(CommandScanner(COMMAND), behaviour, columns=["id"])


def test_a_stream_ends_where_less_comes_than_was_asked_for() -> None:
    """Nothing that was asked for is no end; whoever asks for all there is has come to it."""
    for sizes, ended in (([0, 2], False), ([2, 2], True), ([-1], True)):
        output = _Output(io.BytesIO(b"abc"))
        for size in sizes:
            output.read(size)
        assert output.ended == ended, sizes


def test_a_command_that_hangs_is_killed() -> None:
    """After its time is up the command is killed, and that is what the error says."""
    with pytest.raises(TimedOutError, match=r"not finished after 0\.3 s"):
        read(CommandScanner(COMMAND, timeout=0.3), "hang")


def test_what_a_command_started_is_killed_with_it() -> None:
    """A child that holds the output open does not prolong the time of its parent."""
    begin = time.monotonic()
    with pytest.raises(TimedOutError):
        read(CommandScanner("sh -c 'sleep 30 & wait'", timeout=0.3), "t")
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    ("asked", "says"), [({"where": "id > 3"}, "where"), ({"row_kinds": True}, "kinds of rows")]
)
def test_what_is_optional_is_sent_only_to_readers_that_state_it(
    asked: dict[str, object], says: str
) -> None:
    """A reader that does not claim it would ignore it: refused instead."""
    with pytest.raises(RefusedError, match=says):
        read(CommandScanner(COMMAND), "t", **asked)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The command as an executable file of its own, so that facts can lie beside it."""
    file = tmp_path / "reader"
    file.write_text(f"#!/bin/sh\nexec {COMMAND}\n")
    file.chmod(0o755)
    return file


def test_facts_lie_beside_the_command(script: Path) -> None:
    """Name, version and capabilities come from the JSON file beside the reader."""
    assert CommandScanner(str(script)).capabilities == {}
    stated = {"where": True, "strict": False, "row-kinds": True}
    facts = {"name": "mine", "version": "3", "capabilities": stated}
    script.with_name("reader.seambench.json").write_text(json.dumps(facts))
    scanner = registry.resolve("scan", f"cmd:{script}")
    assert (scanner.name, scanner.version) == ("mine", "3")
    assert scanner.capabilities == stated
    assert read(scanner, "t", where="id > 3").num_rows == 10
    sent = read(scanner, "t", query="incremental", row_kinds=True, columns=["request"])
    query = json.loads(sent["request"][0].as_py())["query"]
    assert query == {"type": "incremental", "row_kinds": True}


def test_a_capability_that_does_not_exist_is_refused(script: Path) -> None:
    """A word with a slip of the pen would silently leave cases out: the nearest one is told."""
    facts = {"name": "mine", "capabilities": {"query.snapshoot": True}}
    script.with_name("reader.seambench.json").write_text(json.dumps(facts))
    with pytest.raises(UsageError, match=r"'query\.snapshoot'.*did you mean 'query\.snapshot'"):
        registry.resolve("scan", f"cmd:{script}")


@pytest.mark.parametrize("text", ["[]", "{", '{"capability": {}}', '{"capabilities": {"a": 1}}'])
def test_wrong_facts_are_told(script: Path, text: str) -> None:
    """A file of facts that is not as documented is an error, not ignored."""
    script.with_name("reader.seambench.json").write_text(text)
    with pytest.raises(UsageError, match=r"reader\.seambench\.json"):
        CommandScanner(str(script))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C reader, compiled."""
    return compiled(HERE / "reader_library.c", tmp_path_factory.mktemp("library") / "reader.so")


def test_library_gives_rows_and_its_stream_back(library: Path) -> None:
    """Rows come through the C stream, and every stream is released, read or not."""
    scanner = registry.resolve("scan", f"lib:{library}")
    scan = scanner.open(ScanRequest(table="t", columns=["id"]))
    assert scan.schema == pa.schema([("id", pa.int64())])
    assert scan.to_reader().read_all()["id"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert scan.report().rows == 6
    scan.to_reader().close()
    del scan
    gc.collect()
    assert ctypes.CDLL(str(library)).reader_open_streams() == 0


@pytest.mark.parametrize(
    ("behaviour", "kind", "reason"),
    [
        ("refuse", RefusedError, "table version 3 is not supported"),
        ("refuse silently", CrashError, "returned 2: no reason given"),
        ("fail", CrashError, "disk gone"),
        ("nothing", ProtocolError, "handed out no stream"),
        ("break", InputError, "block 2 is torn"),
    ],
)
def test_failures_of_a_library(
    library: Path, behaviour: str, kind: type[Exception], reason: str
) -> None:
    """Refusal, failure, an empty hand and a stream that breaks off are told apart."""
    with pytest.raises(kind, match=reason):
        read(LibraryScanner(str(library)), behaviour)


def test_a_library_without_the_function_is_told(tmp_path: Path, library: Path) -> None:
    """A shared library that lacks `seambench_scan` is no reader."""
    source = tmp_path / "none.c"
    source.write_text("int other(void) { return 0; }\n")
    target = compiled(source, tmp_path / "none.so")
    with pytest.raises(UsageError, match="seambench_scan"):
        LibraryScanner(str(target))
    assert library.exists()
