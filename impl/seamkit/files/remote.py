"""Files that are not on this machine, through fsspec, with patience for passing failures."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import random
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from seambase.errors import UnavailableError, UsageError, without_secrets
from seambase.extras import how_to_install
from seambase.wording import counted
from seamkit.files.ranges import FarFile, Ranges

_T = TypeVar("_T")
_FINAL = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)

#: What storages call a mark that changes with every write of an object, the surest first.
_MARKS = ("generation", "versionId", "ETag", "etag")
#: What storages without marks call the time of the last write.
_TIMES = ("mtime", "LastModified", "last_modified", "updated")
# The clock of a storage may go otherwise than ours, and its times may be whole seconds.
_SETTLED_SECONDS = 600.0
#: Bytes in a second, of the slowest storage that is waited for.
_LEAST_RATE = 64 << 10
#: What a whole file of unknown size is waited for as.
_UNKNOWN_BYTES = 64 << 20


_SECRET = re.compile("secret|pass|token|key|auth|sas|credential|signature|cookie|header|connection")
_LEAST_SECRET = 4
_PROCESS = os.urandom(16)


@dataclass(frozen=True)
class Retry:
    """How often a request is made, and how long to wait between."""

    attempts: int = 5  # requests at most, the first included
    # the wait before the second; each is twice the one before, and up to half of it is left to
    # chance, so that many readers do not come back at once
    first_wait_seconds: float = 0.1
    sleep: Callable[[float], None] = time.sleep  # called with the seconds to wait
    # how long one request may take, and for how long another is made; those for much data have a
    # second more for each `_LEAST_RATE` bytes
    most_seconds: float = 60.0

    def call(self, request: Callable[[], _T], size_bytes: int = 0) -> _T:
        """The answer of a request for so many bytes at most.

        It is called in a thread of its own, which is left alone if no answer comes.
        """
        wait = self.first_wait_seconds
        most_seconds = self.most_seconds + size_bytes / _LEAST_RATE
        begun = time.monotonic()
        for attempt in range(1, self.attempts + 1):
            try:
                return _within(most_seconds, request)
            except _FINAL:
                raise
            except OSError as error:
                if attempt == self.attempts or time.monotonic() - begun >= most_seconds:
                    raise OSError(f"{_text(error)} ({counted(attempt, 'attempt')})") from error
            except Exception as error:  # libraries of storages raise what they like
                raise OSError(_text(error)) from error
            self.sleep(wait * random.uniform(0.5, 1))
            wait *= 2
        raise AssertionError("unreachable")


def _within(seconds: float, request: Callable[[], _T]) -> _T:
    """The answer of a request, unless it takes longer: libraries of storages may wait for ever."""
    answer: Future[_T] = Future()

    def ask() -> None:
        try:
            answer.set_result(request())
        except BaseException as error:  # whoever waits raises it
            answer.set_exception(error)

    threading.Thread(target=ask, name="seambench-request", daemon=True).start()
    try:
        return answer.result(seconds)
    except TimeoutError as error:
        if answer.done():
            raise
        raise TimeoutError(f"no answer within {seconds:.0f} seconds") from error


#: What brings a kind of storage, where fsspec does not know it or an extra of ours does.
_PACKAGES = {
    "abfss": "adlfs",
    "adl": "adlfs",
    "gcs": "seamkit[gcs]",
    "gs": "seamkit[gcs]",
    "http": "aiohttp",
    "https": "aiohttp",
    "s3": "seamkit[s3]",
    "s3a": "seamkit[s3]",
}


class RemoteFiles:
    """The files of one fsspec file system; `ranges` says what is one request."""

    parallel = 32

    def __init__(
        self, root: str, options: Mapping[str, Any], retry: Retry, ranges: Ranges | None = None
    ) -> None:
        import fsspec  # a tenth of a second that local tables need not wait

        self._retry = retry
        self._ranges = ranges or Ranges()
        self._sizes: dict[str, int] = {}
        self._tags: dict[str, Hashable] = {}
        # Another user's table may be another one. Secrets themselves are not kept.
        whose = repr((root.partition("://")[0], sorted(options.items()))).encode()
        if b" at 0x" in whose:  # an object without words of its own is another in another process
            whose += _PROCESS
        secrets = {*_texts(options), *re.findall(r"://[^/@]*:([^/@]+)@", root)}
        self._secrets = sorted(secrets, key=len, reverse=True)
        self._store = hashlib.sha256(whose).hexdigest()
        self._read_ahead: dict[str, Future[bytes]] = {}
        self._listed_ahead: dict[str, Future[list[dict[str, Any]]]] = {}
        self._threads: ThreadPoolExecutor | None = None
        # A table changes while it is read: a listing that was kept is a wrong one.
        fixed = {"use_listings_cache": False, "skip_instance_cache": True}
        try:
            made = partial(fsspec.url_to_fs, root, **{**fixed, **options})
            self._fs, _ = _within(self._retry.most_seconds, made)
        except ImportError as error:
            raise UnavailableError(f"{root}: {error}{_advice(root)}") from error
        except (ValueError, TypeError) as error:
            reason = self._plain(error)
            if reason.startswith("Protocol not known") and _advice(root):
                raise UnavailableError(f"{root}: {reason}{_advice(root)}") from None
            raise UsageError(f"{root}: {reason}") from None
        except Exception as error:  # a file system may connect when it is made
            reason = self._plain(OSError(_text(error).partition("\n")[0]))
            raise UnavailableError(f"{root}: {reason}{_advice(root)}") from None

    def ahead(self, files: Iterable[str], folders: Iterable[str]) -> None:
        """Ask at once for files and listings that will be read soon, each by one call."""
        for path in map(self._path, files):
            if path not in self._read_ahead:
                self._read_ahead[path] = self._pool.submit(self._whole, path)
        for path in map(self._path, folders):
            if path not in self._listed_ahead:
                self._listed_ahead[path] = self._pool.submit(self._list, path)

    def _ask(self, request: Callable[[], _T], size_bytes: int = 0) -> _T:
        """As `Retry.call`; errors do not show the secrets of the options."""
        try:
            return self._retry.call(request, size_bytes)
        except FileNotFoundError as error:
            raise FileNotFoundError(self._plain(error)) from None
        except OSError as error:
            raise OSError(self._plain(error)) from None

    def _plain(self, error: BaseException) -> str:
        text = without_secrets(str(error))
        for secret in self._secrets:
            text = text.replace(secret, "...")
        return text

    def _list(self, path: str) -> list[dict[str, Any]]:
        return list(self._ask(lambda: self._fs.ls(path, detail=True)))

    def _whole(self, path: str) -> bytes:
        """A range of an empty object would be an error on some storages."""
        size = self._sizes.get(path.strip("/"), _UNKNOWN_BYTES)
        return bytes(self._ask(lambda: self._fs.cat_file(path), size))

    def _listed(self, path: str) -> list[dict[str, Any]]:
        future = self._listed_ahead.pop(path, None)
        if future is not None:
            # What was not there before may have been made since.
            with suppress(FileNotFoundError):
                return future.result()
        return self._list(path)

    def entries(self, folder: str) -> list[tuple[str, int | None]]:
        """Names and sizes (None for a folder) in one folder."""
        own = self._path(folder).strip("/")
        found = []
        for info in self._listed(self._path(folder)):
            path = str(info["name"]).strip("/")
            if path != own:  # object stores list a folder's marker within it
                size = None if info["type"] == "directory" else int(info["size"] or 0)
                found.append((path.rsplit("/", 1)[-1], size))
                if size is not None:
                    self._sizes[path] = size
                    self._tags[path] = _tag(info)
        return found

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder: a failure is no answer, as it is for fsspec's own."""
        try:
            self._ask(lambda: self._fs.info(self._path(path)))
        except FileNotFoundError:
            return False
        return True

    def identity(self, _folder: str) -> object:
        """None: no folder has two names."""
        return None

    def file_identity(self, path: str) -> Hashable | None:
        """What the last listing of its folder said of a file, and how the storage was reached.

        That is a mark that changes with every write (`ETag`, a generation), or size and time of the
        last write. Nobody is asked anew: a file that is written after its folder was listed keeps
        its identity here until the next listing, as its size is kept for `open`. None for a file
        that was not listed, whose storage tells neither, or which was written a few minutes ago and
        may be again, unnoticed, where a time is all there is.
        """
        plain = self._path(path).strip("/")
        tag = self._tags.get(plain)
        return None if tag is None else (self._store, plain, self._sizes[plain], tag)

    def read(self, path: str, _up_to: int | None = None) -> bytes:
        """The whole file."""
        plain = self._path(path)
        future = self._read_ahead.pop(plain, None)
        if future is not None:
            with suppress(FileNotFoundError):
                return future.result()
        return self._whole(plain)

    def map(self, path: str) -> pa.Buffer:
        """The whole file, in memory."""
        return pa.py_buffer(self.read(path))

    def open(self, path: str) -> pa.NativeFile:
        """The file for random access.

        Where its size is known, from a listing or an earlier call, nobody is asked again: data
        files do not change. One that has another size by now comes out as broken, or lacks bytes
        that are asked for; a new listing of its folder mends that.
        """
        plain = self._path(path)
        size = self._sizes.get(plain.strip("/"))
        if size is None:
            size = int(self._ask(lambda: self._fs.info(plain))["size"])
            self._sizes[plain.strip("/")] = size

        def fetch(begin: int, end: int) -> bytes:
            return self._ask(lambda: self._range(plain, begin, end), end - begin)

        return FarFile.of(fetch, size, self._ranges, self._pool)

    def _range(self, path: str, begin: int, end: int) -> bytes:
        data = bytes(self._fs.cat_file(path, start=begin, end=end))
        if len(data) != end - begin:
            raise OSError(f"{counted(len(data), 'byte')} came where {end - begin:,} were asked for")
        return data

    @property
    def _pool(self) -> ThreadPoolExecutor:
        """Where bytes are fetched ahead; made when first needed, so never pickled unmade."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.parallel, thread_name_prefix="seambench-fetch")
        return self._threads

    def __getstate__(self) -> dict[str, Any]:
        """All but the threads, what was submitted to them, and what listings said."""
        none: dict[str, Any] = {"_read_ahead": {}, "_listed_ahead": {}, "_tags": {}}
        return {**self.__dict__, "_threads": None, **none}

    def modified_millis(self, path: str) -> int:
        """When the file was last changed, in milliseconds since 1970."""
        moment = self._ask(lambda: self._fs.modified(self._path(path)))
        return int(moment.replace(tzinfo=moment.tzinfo or dt.UTC).timestamp() * 1000)

    def _path(self, full: str) -> str:
        return str(self._fs._strip_protocol(full))


def _advice(root: str) -> str:
    """What a kind of storage needs, as the end of a sentence; empty where nobody knows."""
    from fsspec.registry import known_implementations

    scheme = root.partition("://")[0]
    if scheme in ("hdfs", "viewfs"):
        return (
            ": it takes a Java (JAVA_HOME) and Hadoop's jars (CLASSPATH) and libhdfs "
            "(ARROW_LIBHDFS_DIR), where webhdfs://HOST:PORT/ takes none of them"
        )
    package = known_implementations.get(scheme, {}).get("class", "fsspec").partition(".")[0]
    needed = _PACKAGES.get(scheme, package)
    return "" if needed == "fsspec" else f": {how_to_install(needed)}"


def _tag(info: Mapping[str, Any]) -> Hashable | None:
    """What a listing says of one state of a file; see `RemoteFiles.file_identity`."""
    for name in _MARKS:
        if info.get(name):
            return name, str(info[name])
    written = next((info[name] for name in _TIMES if info.get(name)), None)
    if isinstance(written, dt.datetime):
        written = written.replace(tzinfo=written.tzinfo or dt.UTC).timestamp()
    if not isinstance(written, int | float) or time.time() - written < _SETTLED_SECONDS:
        return None
    return "written", written


def _texts(value: Any, name: str = "") -> Iterator[str]:
    """Texts among options that no message may have: those whose names sound like it."""
    if isinstance(value, Mapping):
        for key, own in value.items():
            yield from _texts(own, f"{name}.{key}".lower())
    elif isinstance(value, str) and len(value) >= _LEAST_SECRET and _SECRET.search(name):
        yield value


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
