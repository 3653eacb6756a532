"""What a table's own metadata may make a reader do: whom to ask, with which secrets, for how long.

A log or manifest is written by whoever wrote the table. It may name files by whole addresses, as
shallow clones and bootstraps do; it must not send a reader, and its credentials, to any host.
"""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError, UnavailableError, UsageError, without_secrets
from seamkit.files.remote import Retry
from seamkit.files.storage import Storage
from seamkit.tables.opening import open_table
from seamkit_tests.samples import made_delta

ROWS = pa.table({"k": [1, 2, 3]})


def _delta(folder: Path, path: str, size: int = 1) -> Path:
    """A Delta table with one file, which lies anywhere."""
    return made_delta.make(folder, [made_delta.field("k")], made_delta.add(path, size))


@pytest.fixture
def peer() -> Iterator[tuple[int, list[bytes]]]:
    """A port of this machine that takes connections, notes what comes, and never answers."""
    heard: list[bytes] = []
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def listen() -> None:
            while len(kept) < 20:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                kept.append(connection)
                heard.append(b"someone")

        threading.Thread(target=listen, daemon=True).start()
        yield server.getsockname()[1], heard
    for connection in kept:
        connection.close()


@pytest.mark.parametrize(
    "address",
    [
        "webhdfs://127.0.0.1:{}/x.parquet",
        "ftp://127.0.0.1:{}/x.parquet",
        "http://127.0.0.1:{}/x.parquet",
        "s3://127.0.0.1:{}/x.parquet",
    ],
)
def test_no_other_host_is_asked(
    address: str, tmp_path: Path, peer: tuple[int, list[bytes]]
) -> None:
    """A host that only a log names is not connected to, and the sentence says how to allow it."""
    port, heard = peer
    table = open_table(str(_delta(tmp_path / "t", address.format(port))))
    begun = time.monotonic()
    with pytest.raises(RefusedError, match=r"on another host or storage.*allow="):
        table.scan().to_table()
    assert heard == []
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    ("home", "other"),
    [
        ("memory://a", "file:///etc"),
        ("memory://a", "/etc"),
        ("memory://a", "file:/etc"),
        ("memory://a", "memory://b::file:///etc"),
        ("memory://a", "ftp://memory"),
        ("memory://a", "simplecache::memory://b"),
    ],
)
def test_a_far_table_names_no_files_of_this_machine(home: str, other: str) -> None:
    """Nor other schemes, nor one address within another."""
    with pytest.raises(RefusedError, match="allow="):
        Storage(home).elsewhere(other)
    with pytest.raises(RefusedError, match="allow="):
        Storage(home, allow=["file:///tmp", "ftp://memory.org"]).elsewhere(other)


def test_a_local_table_names_local_files(tmp_path: Path) -> None:
    """Shallow clones and bootstraps do; the clone's files are those of another folder."""
    pq.write_table(ROWS, tmp_path / "x.parquet")
    size = (tmp_path / "x.parquet").stat().st_size
    table = open_table(str(_delta(tmp_path / "t", f"file://{tmp_path}/x.parquet", size)))
    assert table.scan().to_table() == ROWS


def test_what_is_allowed_is_read(tmp_path: Path) -> None:
    """A folder, or one above it; one beside it with a longer name is another."""
    files = fsspec.filesystem("memory")
    pq.write_table(ROWS, tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    files.pipe_file("/outsiders/data/x.parquet", content)
    try:
        folder = _delta(tmp_path / "t", "memory://outsiders/data/x.parquet", len(content))
        for allow in (["memory://outsiders/data"], ["memory://"], ["memory://outsiders/"]):
            assert open_table(str(folder), allow=allow).scan().to_table() == ROWS
        for allow in ([], ["memory://outsiders/dat"], ["s3://"]):
            with pytest.raises(RefusedError, match="allow="):
                open_table(str(folder), allow=allow).scan().to_table()
    finally:
        files.rm("/outsiders", recursive=True)
    others: list[Any] = ["memory://", None, 1, b"x", [""], [None]]
    for other in others:
        with pytest.raises(UsageError, match="a list of addresses"):
            open_table(str(folder), allow=other)


@pytest.mark.parametrize(
    ("command", "code"),
    [("scan", 2), ("inspect --statistics", 2), ("audit --no-peers --seconds=9", 3)],
)
def test_commands_take_what_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, code: int
) -> None:
    """`--allow` is `allow=`: it may be given again; without it, it is a refusal, or damage."""
    files = fsspec.filesystem("memory")
    pq.write_table(ROWS, tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    folder = str(_delta(tmp_path / "t", "memory://outsiders/data/x.parquet", len(content)))
    files.pipe_file("/outsiders/data/x.parquet", content)
    allowed = ["--allow", "s3://", "--allow", "memory://outsiders/data"]
    try:
        assert _ended([*command.split(), folder, *allowed]) == 0
        capsys.readouterr()
        assert _ended([*command.split(), folder, *allowed[:2]]) == code
    finally:
        files.rm("/outsiders", recursive=True)
    told = capsys.readouterr()
    assert "--allow" in told.out + told.err


def test_inspect_hands_on_what_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files of a Delta table are listed without a look at them, so a wrong word shows it."""
    folder = str(_delta(tmp_path / "t", "memory://outsiders/data/x.parquet"))
    assert _ended(["inspect", folder, "--allow", ""]) == 2
    assert "a list of addresses" in capsys.readouterr().err


def _ended(arguments: list[str]) -> object:
    """The exit code of a command."""
    from seambench.cli import main
    from seamkit.command import main as seamkit_main

    with pytest.raises(SystemExit) as ended:
        (main if arguments[0] == "audit" else seamkit_main)(arguments)
    return ended.value.code


def _no_sleep(seconds: float) -> None:
    del seconds


class _Recording(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """Files of a host, as it was reached; every request fails with the secret in its text."""

    protocol = ("seamhost", "seamhosts")
    made: tuple[dict[str, object], ...] = ()
    cachable = False

    def __init__(self, **options: object) -> None:
        super().__init__()
        self.token = options.get("token", "")
        type(self).made += (options,)

    def info(self, path: str, **kwargs: object) -> dict[str, object]:
        del kwargs
        raise ConnectionError(f"GET seamhost://u:pw@{path}?delegation={self.token}")

    def ls(self, path: str, detail: bool = True, **kwargs: object) -> list[object]:
        del detail, kwargs
        raise ConnectionError(f"401 for {path}, bearer {self.token}")


@pytest.fixture
def hosts() -> type[_Recording]:
    """Hosts that note with which options they were reached."""
    for scheme in _Recording.protocol:
        fsspec.register_implementation(scheme, _Recording, clobber=True)
    _Recording.made = ()
    return _Recording


@pytest.mark.parametrize(
    "other",
    [
        "seamhost://bad:1/x",
        "seamhosts://good:1/x",
        "seamhost://good:1@bad:1/x",
        "seamhost://GOOD/x",
    ],
)
def test_credentials_stay_at_home(other: str, hosts: type[_Recording]) -> None:
    """Options are given to the table's own host and port alone, even where another is allowed."""
    home = Storage("seamhost://good:1/t", {"token": "SECRET-TOKEN"}, allow=[other])
    assert home.elsewhere("seamhost://Good:1/clone").options == {"token": "SECRET-TOKEN"}
    assert home.elsewhere(other).options == {}
    assert "token" not in hosts.made[-1]
    # Where a folder that is allowed names others, the table's own host is still at home.
    assert home.elsewhere(other).elsewhere("seamhost://good:1/t2").options == {}


@pytest.mark.usefixtures("hosts")
def test_no_message_has_secrets() -> None:
    """Tokens of options, passwords and queries of addresses are cut out of what goes wrong."""
    patience = Retry(attempts=2, sleep=_no_sleep)
    home = Storage("seamhost://u:hush@good/t", {"token": "SECRET-TOKEN"}, retry=patience)
    for ask in (home.list, lambda: home.exists("x"), lambda: home.open("x")):
        with pytest.raises(InputError) as caught:
            ask()
        for word in ("SECRET-TOKEN", "hush", "pw"):
            assert word not in str(caught.value)
            assert word not in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ftp://me:pass@h/x: no", "ftp://me:...@h/x: no"),
        ("https://TOKEN@h/x", "https://...@h/x"),
        ("s3://b/x?X-Amz-Signature=1 came", "s3://b/x?... came"),
        ("abfs://box@account.net/x", "abfs://box@account.net/x"),
        ("a?b: no address", "a?b: no address"),
    ],
)
def test_addresses_lose_their_secrets(text: str, plain: str) -> None:
    """Passwords, tokens in place of users, queries; containers of accounts stay."""
    assert without_secrets(text) == plain


def test_a_silent_peer_ends_in_an_error(peer: tuple[int, list[bytes]]) -> None:
    """A host that takes the connection and says nothing is given up, in the end."""
    port, heard = peer
    begun = time.monotonic()
    with pytest.raises(UnavailableError, match="no answer within 1 seconds"):
        Storage(f"ftp://127.0.0.1:{port}/t", retry=Retry(most_seconds=1))
    assert heard
    assert time.monotonic() - begun < 15


def test_a_request_without_an_answer_is_given_up() -> None:
    """Whatever the library does: one that hangs is left alone, and is not asked again."""
    asked = []

    def hang() -> None:
        asked.append(1)
        time.sleep(5)

    begun = time.monotonic()
    with pytest.raises(OSError, match="no answer within"):
        Retry(most_seconds=0.2, sleep=_no_sleep).call(hang)
    assert len(asked) == 1
    assert time.monotonic() - begun < 4
