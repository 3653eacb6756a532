"""Files of a table: listing, reading and mapping, relative to the table's folder.

Nothing outside the table's folder is read through its storage: a path with `..` in it, as names in
manifests and properties may have it, is refused; links are followed, as the owner of the folder
made them. What metadata names by a whole address is `elsewhere`: on the table's own host, which
alone is given the caller's credentials, on this machine if the table is, or where the caller
allows. Only regular files are opened. A file that changes under a read comes out as a wrong length
or broken bytes, and is refused as such. But those that are asked for as a whole, such as logs, are
mapped beyond `LARGE_BYTES`, which spares a tenth of the work: whoever cuts one of these while it is
read ends the process (SIGBUS). Hudi never does: it writes new files, and adds to the end of others.
"""

from __future__ import annotations

import copy
import errno
import io
import json
import os
import re
import stat
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.values import value_class
from seambase.wording import counted
from seamkit.core.unpack import Bound
from seamkit.files.file_cache import KEPT, file_identity
from seamkit.files.ranges import Ranges
from seamkit.files.remote import RemoteFiles, Retry

_T = TypeVar("_T")

MOST_BYTES = 256 << 20
"""What a file that is read at once may have, where nothing less is known of its kind."""

LARGE_BYTES = 4 << 20
"""Local files of up to so many bytes are read at once; of longer ones parts, or they are mapped."""


WHOLE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)?/")
"""How a path begins that is not below a folder, an address among them."""


def table_address(path: str | os.PathLike[str]) -> str:
    """The path or address of a table as text; `~` is the user's home."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"path is {path!r}: a folder or an address is meant")
    text = os.fspath(path)
    if not isinstance(text, str) or not text:
        raise UsageError(f"path is {text!r}: a folder or an address is meant")
    if text.startswith("~"):
        # Of somebody unknown, `Path.expanduser` dies where this leaves `~` as it is.
        return os.path.expanduser(text)  # noqa: PTH111
    scheme, separator, rest = text.partition(":/")
    is_address = rest.startswith("/") or scheme.lower() == "file"
    # Of an address letters of the scheme may be large or small.
    return f"{scheme.lower()}:/{rest}" if separator and is_address else text


def is_far(root: str) -> bool:
    """Whether a folder's path is an address elsewhere than on this machine."""
    scheme, separator, _ = root.partition("://")
    return bool(separator) and scheme != "file"


#: Schemes whose authority is a bucket: the host is the service's, set by options or known.
_SERVICES = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "oss": "oss"}
#: Schemes that are written `container@account`; of the container alone the account is an option.
_ACCOUNTS = frozenset(("abfs", "abfss", "wasb", "wasbs", "adl", "az"))


def _host(root: str) -> tuple[str, str]:
    """Which host has the files of a folder, and how; of this machine `("file", "")`."""
    if not is_far(root):
        return "file", ""
    scheme, _, rest = root.lower().partition("://")
    if "::" in root:  # one address within another
        return scheme, root
    authority = rest.partition("/")[0]
    if scheme in _SERVICES or scheme == "memory":
        return _SERVICES.get(scheme, scheme), ""
    if scheme in _ACCOUNTS and "@" not in authority:
        return scheme, ""
    return scheme, authority.rpartition("@")[2]


def _checked_allow(allow: Sequence[str]) -> tuple[str, ...]:
    """Folders that metadata may name, those of this machine as paths."""
    named = [*allow] if isinstance(allow, Iterable) else [""]
    if isinstance(allow, str) or not all(isinstance(one, str) and one for one in named):
        raise UsageError(f"allow is {allow!r}: a list of addresses is meant, such as s3://bucket")
    return tuple(one if is_far(one) else _local_path(one) for one in named)


def json_object(content: str | bytes, where: str) -> dict[str, Any]:
    """The object that a file, or a line of one, is to hold."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: no JSON ({error})") from error
    if not isinstance(found, dict):
        raise InputError(f"{where}: no object of JSON, but {found!r:.60}")
    return found


def read_part(file: pa.NativeFile, offset: int, length: int) -> bytes:
    """Bytes of a file from an offset on, fewer where it ends before.

    Others state both numbers, so room is made only for what the file has.
    """
    left = file.size() - offset
    if offset < 0 or length <= 0 or left <= 0:
        return b""
    file.seek(offset)
    return bytes(file.read(min(length, left)))


@value_class
class FileStatus:
    """One entry of a folder: its name, its path below the table, its size (None: a folder)."""

    name: str
    path: str
    size_bytes: int | None


class Storage:
    """The folder of a table, local or wherever fsspec reaches.

    Listings are never cached; one that was asked for ahead serves the next call alone. Elsewhere
    than on this machine each read asks for just the bytes it needs, and what may be a passing
    failure is tried again with growing waits.

    Args:
        root: path of the folder, or an address: `file://` (`file:/`, too, as Hadoop writes it),
            `s3://`, `gs://`, `hdfs://`, `memory://`, any that fsspec knows.
        options: arguments of the fsspec file system (`key`, `secret`, `endpoint_url`, ...); a
            local folder has none.
        retry: how often to try again.
        ranges: which parts of files elsewhere are one request; of no meaning for a local folder.
        allow: addresses of folders that the table's metadata may name beside its own host; see
            `elsewhere`.

    Attributes:
        root: the folder, or its address.
        bound: what one compressed piece of a file may become; readers of files hold to it.
        is_strict: whether readers look for damage where that costs more than some hundredths.
    """

    def __init__(
        self,
        root: str,
        options: Mapping[str, Any] | None = None,
        *,
        retry: Retry | None = None,
        ranges: Ranges | None = None,
        allow: Sequence[str] = (),
    ) -> None:
        self._files: _LocalFiles | RemoteFiles
        self.bound, self.is_strict = Bound(), False
        self._options, self._retry, self._ranges = dict(options or {}), retry, ranges
        self._allow, self._home = _checked_allow(allow), _host(root)
        self._others: dict[str, Storage] = {}
        if is_far(root):
            self.root = root.rstrip("/")
            self._files = RemoteFiles(self.root, options or {}, retry or Retry(), ranges)
            return
        if not root:
            raise UsageError("the path of the table is empty")
        self.root = _whole_path(_local_path(root)).rstrip("/") or "/"
        if options:
            raise UsageError(f"{self.root}: a local folder has no options ({', '.join(options)})")
        if not Path(self.root).is_dir():
            raise InputError(f"{self.root}: no such folder")
        self._files = _LocalFiles()

    def below(self, folder: str) -> Storage:
        """The same storage, seen from a folder below."""
        child = copy.copy(self)
        child.root = self.full(folder)
        return child

    def within(self, limit_bytes: int | None, *, strict: bool) -> Storage:
        """The same storage for a read with a limit of memory, or a strict one; see `bound`."""
        child = copy.copy(self)
        child.bound, child.is_strict, child._others = Bound.of(limit_bytes), strict, {}
        return child

    def elsewhere(self, root: str) -> Storage:
        """Another folder that the table's metadata names, with the same options if it is at home.

        At home is what the table's own host has: any bucket of the same service, any path of the
        same host and port, any folder of this machine if the table lies on it. Other hosts get
        none of the options, and are asked only if they lie in a folder that is allowed.
        """
        at_home = _host(root) == self._home
        if not at_home and not self._is_allowed(root):
            raise RefusedError(
                f"{self.root}: its metadata names {root!r}, which is on another host or storage "
                "than the table; if that is meant, give its address, or one above it, in allow= "
                "(--allow)"
            )
        options = self._options if at_home else None
        found = Storage(root, options, retry=self._retry, ranges=self._ranges, allow=self._allow)
        found._home, found.bound, found.is_strict = self._home, self.bound, self.is_strict
        return found

    def beside(self, path: str) -> tuple[Storage, str]:
        """The storage of the folder in which a file elsewhere lies, one for all, and its name."""
        folder, _, name = path.rpartition("/")
        if folder not in self._others:
            self._others[folder] = self.elsewhere(folder)
        return self._others[folder], name

    def _is_allowed(self, root: str) -> bool:
        plain = root if is_far(root) else _local_path(root)
        if ".." in plain.split("/") or "::" in plain:
            return False
        return any(f"{plain}/".startswith(f"{one.rstrip('/')}/") for one in self._allow)

    @property
    def options(self) -> Mapping[str, Any]:
        """Arguments of the file system, keys and secrets among them; none of a local folder."""
        return self._options

    @property
    def is_local(self) -> bool:
        """Whether files are on this machine, where looking at one costs next to nothing."""
        return isinstance(self._files, _LocalFiles)

    @property
    def parallel(self) -> int:
        """How many requests at once make sense."""
        return self._files.parallel

    def full(self, path: str) -> str:
        """The path as messages and other libraries want it."""
        return f"{self.root}/{path}" if path else self.root

    def place(self, path: str) -> str:
        """Where a file lies that metadata names: below this folder, or by a whole address."""
        if not WHOLE.match(path):
            return self.full(path)
        return path if is_far(path) else _local_path(path)

    def _inside(self, path: str) -> str:
        """The full path of something that lies in the table's folder."""
        full = f"{self.root}/{path}" if path else self.root
        if "\0" in path or path.startswith("/") or ".." in path.split("/"):
            raise InputError(f"{full!r}: the path leads out of the table's folder")
        return full

    def identity(self, folder: str) -> object:
        """What two paths have in common that lead to one folder; None where there are no links."""
        return self._ask(self._files.identity, folder)

    def ahead(self, files: Iterable[str] = (), folders: Iterable[str] = ()) -> None:
        """Say what will soon be read whole, and listed, once each.

        A storage far away is asked for all of it at once, in the background; nothing is done for a
        local folder. What goes wrong is raised by the call that reads or lists.
        """
        if isinstance(self._files, RemoteFiles):
            self._files.ahead(map(self._inside, files), map(self._inside, folders))

    def list(self, folder: str = "") -> list[FileStatus]:
        """Entries of one folder, by name; an absent folder has none."""
        prefix = f"{folder}/" if folder else ""
        full = self._inside(folder)
        try:
            entries = self._files.entries(full)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{full}: {error.strerror or error}") from error
        for name, _ in entries:
            if not name.isascii() and "\udc80" <= max(name) <= "\udcff":
                raise InputError(f"{self.full(folder)}: the name {name!a} in it is not UTF-8")
        return [FileStatus(name, prefix + name, size) for name, size in sorted(entries)]

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name."""
        return self._ask(self._files.exists, path)

    def read(self, path: str, *, most_bytes: int = MOST_BYTES) -> bytes:
        """The whole file, for the small ones; none of its kind is longer than `most_bytes`."""
        content = self._ask(self._files.read, path, most_bytes + 1)
        if len(content) > most_bytes:
            raise InputError(
                f"{self.full(path)}: longer than "
                f"{counted(most_bytes, 'byte')}, more than such a file can have"
            )
        return content

    def read_if_there(self, path: str, *, most_bytes: int = MOST_BYTES) -> bytes | None:
        """As `read`; None if there is no such file."""
        try:
            return self.read(path, most_bytes=most_bytes)
        except InputError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise

    def map(self, path: str) -> pa.Buffer:
        """The whole file, mapped if it is local and large; the buffer keeps the mapping alive."""
        return self._ask(self._files.map, path)

    def open(self, path: str) -> pa.NativeFile:
        """The file for random access."""
        return self._ask(self._files.open, path)

    def file_identity(self, path: str) -> Hashable | None:
        """What tells a file from any other, and from itself once it is written anew.

        See `seamkit.files.file_cache.file_identity`; elsewhere than on this machine a file has one
        as its folder's last listing stated it, see `RemoteFiles.file_identity`. None for a file of
        which nothing may be kept.
        """
        return self._files.file_identity(self._inside(path))

    def identities(self, paths: Sequence[str]) -> tuple[Hashable, ...] | None:
        """The identity of each of some files; None if one of them has none."""
        found = tuple(map(self.file_identity, paths))
        return None if None in found else found

    def kept(
        self,
        paths: Sequence[str],
        make: Callable[[], _T],
        bytes_of: Callable[[_T], int],
        *what: Hashable,
    ) -> _T:
        """What is made of some files: by an earlier call, if the files are the same as then.

        What was made must not be changed afterwards; `bytes_of` tells about what it takes in
        memory. `what` is what it is, and all else that it depends on.
        """
        return kept_of_each([(self, paths)], lambda _: [make()], bytes_of, [what])[0]

    def has_kept(self, paths: Sequence[str], *what: Hashable) -> bool:
        """Whether `kept` would find what an earlier call made."""
        before = self.identities(paths)
        return before is not None and KEPT.get((*what, before)) is not None

    def modified_millis(self, path: str) -> int:
        """When the file was last changed, in milliseconds since 1970."""
        return self._ask(self._files.modified_millis, path)

    def _ask(self, ask: Callable[..., _T], path: str, *how: int) -> _T:
        """Ask for something in the table's folder; what goes wrong tells the path, and why."""
        full = self._inside(path)
        try:
            return ask(full, *how)
        except FileNotFoundError as error:
            raise InputError(
                f"{full}: no such file; if a cleaner or a compaction removed it since the scan was "
                "planned, plan the scan again"
            ) from error
        except OSError as error:
            raise InputError(f"{full}: {error.strerror or error}") from error


def kept_of_each(
    places: Sequence[tuple[Storage, Sequence[str]]],
    make: Callable[[Sequence[int]], Iterable[_T]],
    bytes_of: Callable[[_T], int],
    whats: Sequence[tuple[Hashable, ...]],
) -> list[_T]:
    """The same of many files, or groups of files: those that are not kept are made at once.

    `make` gets the numbers of these.
    """
    before = [storage.identities(paths) for storage, paths in places]
    keys = [None if own is None else (*what, own) for what, own in zip(whats, before, strict=True)]
    found: list[Any] = [None if key is None else KEPT.get(key) for key in keys]
    missing = [number for number, known in enumerate(found) if known is None]
    for number, made in zip(missing, make(missing) if missing else (), strict=True):
        found[number] = (made,)
        storage, paths = places[number]
        if keys[number] is not None and storage.identities(paths) == before[number]:
            KEPT.put(keys[number], (made,), bytes_of(made))
    return [known[0] for known in found]


class _LocalFiles:
    """Files of this machine, asked as `RemoteFiles` are; one that is not there is no such file."""

    parallel = 4

    def entries(self, folder: str) -> list[tuple[str, int | None]]:
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    size = None if entry.is_dir() else entry.stat().st_size
                except FileNotFoundError:  # a cleaner took it, or its link leads nowhere
                    continue
                found.append((entry.name, size))
        return found

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def identity(self, _folder: str) -> object:
        status = Path(_folder).stat()
        return status.st_dev, status.st_ino

    file_identity = staticmethod(file_identity)

    def read(self, path: str, _up_to: int) -> bytes:
        with _opened(path) as file:
            return file.read(min(_up_to, os.fstat(file.fileno()).st_size))

    def map(self, path: str) -> pa.Buffer:
        with pa.memory_map(os.fsencode(path)) if _is_large(path) else self.open(path) as file:
            return file.read_buffer()

    def open(self, path: str) -> pa.NativeFile:
        if _is_large(path):
            return pa.OSFile(os.fsencode(path))
        # The bytes are Arrow's: freeing Python's needs the interpreter, and readers that threads of
        # a query engine keep are freed when that is gone from the thread.
        with pa.OSFile(os.fsencode(path)) as whole:
            return pa.BufferReader(whole.read_buffer())

    def modified_millis(self, path: str) -> int:
        return Path(path).stat().st_mtime_ns // 1_000_000


def _is_large(path: str) -> bool:
    with _opened(path) as file:
        return os.fstat(file.fileno()).st_size > LARGE_BYTES


def _opened(path: str) -> io.BufferedReader:
    """A regular file; anything else might never end, or never begin."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "no regular file")
    return os.fdopen(file, "rb")


def _local_path(root: str) -> str:
    """The path in an address of a local folder."""
    # Hadoop writes `file:/a` for `file:///a`; `file://localhost/a` is the same (RFC 8089).
    if root.startswith("file:/") and not root.startswith("file://"):
        return root.removeprefix("file:")
    return re.sub("^file://(localhost(?=/))?", "", root)


def _whole_path(path: str) -> str:
    """A path from the root on, so that it leads to the same folder wherever the process goes."""
    try:
        return path if path.startswith("/") else str(Path(path).absolute())
    except FileNotFoundError:  # of where the process is
        return path
