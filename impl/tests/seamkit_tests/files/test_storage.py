"""Tables on storages that fsspec reaches: the same rows as from a local folder, and patience."""

import pickle
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from seambase.errors import InputError, UnavailableError, UsageError
from seamkit.files.remote import Retry
from seamkit.files.storage import Storage
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_scans import scan_on
from seamkit_tests.samples.outlets import bag

_TABLES = ["mor-v9-event", "mor-v6-event", "mor-v9-partitioned", "mor-v9-parquet-blocks", "cow-v9"]


class _Unsteady(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A storage where the first requests for each path fail: `failures` of them."""

    protocol = "unsteady"
    store: dict[str, Any] = {}  # noqa: RUF012  (shared by all instances, as its base shares its own)

    def __init__(self, failures: int = 0, error: str = "OSError", **options: Any) -> None:
        super().__init__(**options)
        self._failures = failures
        self._error = {"OSError": OSError, "PermissionError": PermissionError}[error]
        self.requests: Counter[str] = Counter()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(path.removeprefix("unsteady://")))

    def _meet(self, path: str) -> None:
        self.requests[path] += 1
        if self.requests[path] <= self._failures:
            raise self._error("the connection was reset")

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        self._meet(f"ls {path}")
        return super().ls(path, detail=detail, **options)

    def cat_file(self, path: str, *args: Any, **options: Any) -> Any:
        self._meet(f"cat {path} {args} {options}")
        return super().cat_file(path, *args, **options)


fsspec.register_implementation("unsteady", _Unsteady, clobber=True)


@pytest.fixture
def local(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A table of the suites, unpacked."""
    return unpack_table(getattr(request, "param", "mor-v9-event"), tmp_path)


@pytest.fixture
def address() -> Iterator[str]:
    """A folder in memory of its own."""
    name = f"/{uuid.uuid4()}"
    yield f"memory:/{name}"
    fsspec.filesystem("memory").rm(name, recursive=True)


def _upload(local: Path, address: str) -> None:
    fs, root = fsspec.url_to_fs(address, skip_instance_cache=True)
    for path in local.rglob("*"):
        if path.is_file():
            fs.pipe_file(f"{root}/{path.relative_to(local)}", path.read_bytes())


@pytest.mark.parametrize("path", ["auto", "connector"])
@pytest.mark.parametrize("local", _TABLES, indirect=True)
def test_a_table_has_the_same_rows_wherever_it_is(local: Path, address: str, path: str) -> None:
    """Timeline, base files and logs are all read through the storage."""
    _upload(local, address)
    scan = scan_on(HudiTable(address), path)
    assert bag(scan_on(HudiTable(str(local)), path).to_table()) == bag(scan.to_table())


@pytest.mark.parametrize("local", _TABLES[:1], indirect=True)
def test_a_new_commit_is_seen_at_once(local: Path, address: str) -> None:
    """Listings of a storage are never kept: a table opened anew shows what was written since."""
    _upload(local, address)
    before = HudiTable(address).slices()
    fs, root = fsspec.url_to_fs(address)
    (newest,) = sorted(fs.glob(f"{root}/.hoodie/timeline/*_*.deltacommit"))[-1:]
    fs.rm(newest)
    assert sum(len(s.logs) for s in HudiTable(address).slices()) < sum(len(s.logs) for s in before)


def _unsteady(local: Path, failures: int, waits: list[float], **options: str) -> Storage:
    root = f"unsteady:///{uuid.uuid4()}"
    _upload(local, root)
    return Storage(root, {"failures": failures, **options}, retry=Retry(5, 0.1, waits.append))


def test_passing_failures_are_tried_again_with_growing_waits(local: Path) -> None:
    """Waits double from 0.1 s on, each shortened by chance to no less than half."""
    waits: list[float] = []
    storage = _unsteady(local, 4, waits)
    assert storage.read(".hoodie/hoodie.properties").startswith(b"#")
    for wait, longest in zip(waits, [0.1, 0.2, 0.4, 0.8], strict=True):
        assert longest / 2 <= wait <= longest


def test_a_lasting_failure_names_the_object_and_the_attempts(local: Path) -> None:
    """After the last attempt the error tells object, reason and attempts."""
    storage = _unsteady(local, 9, [])
    with pytest.raises(InputError, match=r"hoodie\.properties: .*reset \(5 attempts\)"):
        storage.read(".hoodie/hoodie.properties")
    with pytest.raises(InputError, match=r"timeline: .*reset \(5 attempts\)"):
        storage.list(".hoodie/timeline")


@pytest.mark.parametrize("error", ["PermissionError"])
def test_what_no_patience_mends_is_not_tried_again(local: Path, error: str) -> None:
    """A denied access is told at once."""
    waits: list[float] = []
    storage = _unsteady(local, 9, waits, error=error)
    with pytest.raises(InputError, match="reset"):
        storage.read(".hoodie/hoodie.properties")
    assert waits == []


def test_ranged_reads_are_tried_again(local: Path) -> None:
    """Random access through an unsteady storage gives the file's own bytes."""
    storage = _unsteady(local, 1, [])
    name = next(p.name for p in local.glob("*.parquet"))
    with storage.open(name) as file:
        file.seek(4)
        middle = file.read(100)
        file.seek(0)
        whole = file.read()
    assert (local / name).read_bytes() == whole
    assert middle == whole[4:104]


def test_missing_files_are_named(local: Path, address: str) -> None:
    """A file that is gone is an error that says which, and what to do."""
    _upload(local, address)
    with pytest.raises(InputError, match=r"nothing\.parquet: no such file.*plan the scan again"):
        Storage(address).open("nothing.parquet")


@pytest.mark.parametrize(
    "address", ["{}", "{}/", "//{}//", "file://{}", "file:{}", "file://localhost{}"]
)
def test_addresses_of_local_folders(tmp_path: Path, address: str) -> None:
    """A local folder goes by its path, or as RFC 8089 and Hadoop (`file:/path`) spell it."""
    (tmp_path / "table").write_bytes(b"12")
    assert Storage(address.format(tmp_path)).read("table") == b"12"


def test_options_are_checked(local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No path, options of a local folder, unknown kinds and missing libraries are told."""
    with pytest.raises(UsageError, match="the path of the table is empty"):
        Storage("")
    with pytest.raises(UsageError, match="a local folder has no options"):
        Storage(str(local), {"key": "x"})
    with pytest.raises(UsageError, match="Protocol not known: nowhere"):
        Storage("nowhere://bucket/table")
    with pytest.raises(UnavailableError, match="not known: abfss: pip install adlfs"):
        Storage("abfss://container@account/table")

    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("Install s3fs to access S3")

    with monkeypatch.context() as without:
        without.setitem(sys.modules, "aiohttp", None)
        with pytest.raises(UnavailableError, match="pip install aiohttp"):
            Storage("https://host/table")
    monkeypatch.setattr(fsspec, "url_to_fs", missing)
    with pytest.raises(UnavailableError, match=r"Install s3fs to .*: pip install 'seamkit\[s3\]'"):
        Storage("s3://bucket/table")

    def without_java(*_: Any, **__: Any) -> None:
        raise OSError("Unable to load libjvm\ndlopen(/usr/lib/jvm) failed\nanother line")

    monkeypatch.setattr(fsspec, "url_to_fs", without_java)
    with pytest.raises(UnavailableError, match="Unable to load libjvm: it takes a Java") as raised:
        Storage("hdfs://host:8020/table")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_storage_goes_to_other_processes(local: Path, address: str, kind: str) -> None:
    """What a plan holds can be pickled: tasks elsewhere read through it."""
    _upload(local, address)
    storage = Storage(str(local) if kind == "local" else address)
    again = pickle.loads(pickle.dumps(storage))  # noqa: S301  (our own bytes)
    assert again.list() == storage.list()


def test_a_folder_elsewhere_has_the_options_of_its_own_kind_of_storage(tmp_path: Path) -> None:
    """The files of a bootstrapped table lie on the same storage; a local folder has no options."""
    storage = Storage("unsteady:///table", {"failures": 2}, allow=[f"file://{tmp_path}"])
    other = storage.elsewhere("unsteady:///old")
    assert other._options == {"failures": 2}
    assert storage.elsewhere(str(tmp_path)).is_local
