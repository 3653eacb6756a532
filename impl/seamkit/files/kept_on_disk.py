"""What was made of files, in a folder for later processes: the layer below `files.file_cache`.

An entry is a file of its own, named by the SHA-256 of its key: `SEAMKEPT`, the CRC-32 of all that
follows, the layout's number, the name once more, and a stream of Arrow IPC with one batch, which is
mapped when it is read. It is written under another name and renamed when it is whole, so readers
see all of it or nothing; who has it mapped keeps it when it is removed. The key begins with the
versions of this library and of Arrow, since another one may decode otherwise.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import hashlib
import mmap
import os
import re
import stat
import tempfile
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterator
from importlib.metadata import version
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple, Self

import pyarrow as pa

from seambase.errors import UsageError

_MAGIC = b"SEAMKEPT"
_HEAD = Struct("<8sII32s")
_BODY_AT = 64  # Arrow's buffers lie where whole words begin
_LAYOUT = 1

# All of it is looked at at once, for its checksum.
_MAP = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)

_ENTRY = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = ".unfinished-"
_ABANDONED_SECONDS = 3600

# Other processes write there, too: that often the folder is looked through.
_PARTS = 16


class Form(NamedTuple):
    """How values of a kind lie on disk."""

    pack: Callable[[Any], pa.RecordBatch]  # makes a batch of a value
    # the value, and about what it takes in memory. `ValueError` where it is not one
    unpack: Callable[[pa.RecordBatch], tuple[Any, int]]


class KeptOnDisk:
    """Entries in a folder, within a number of bytes; see `at`.

    Threads and processes may share it.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self._writes = True
        # The first write looks through the folder.
        self._written = most_bytes
        self._lock = threading.Lock()

    @classmethod
    def at(cls, folder: str | os.PathLike[str], most_bytes: int) -> Self:
        """A folder, which is made if it is not there.

        Raises:
            UsageError: it cannot be made, or is not this user's alone.
        """
        path = Path(folder).absolute()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = path.stat()
        except OSError as error:
            raise UsageError(f"{path}: nothing can be kept there ({error})") from error
        if status.st_uid != os.geteuid():
            raise UsageError(f"{path}: it belongs to another user, who could put wrong rows there")
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise UsageError(f"{path}: others may look into it; chmod 700 it, or name another")
        return cls(path, most_bytes)

    def get(self, key: Hashable, form: Form) -> tuple[Any, int] | None:
        """What is there under a key; what is broken is removed."""
        name = _name_of(key)
        if name is None:
            return None
        path = self.folder / name
        try:
            mapped = _mapped(path)
            if mapped is None:
                return None
            found = form.unpack(_batch_of(mapped, bytes.fromhex(name)))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, pa.ArrowException):
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):  # another process removed it
            os.utime(path)
        return found

    def put(self, key: Hashable, value: Any, form: Form) -> None:
        """Write it, unless it is there or too large. A failure ends all writing."""
        name = _name_of(key)
        if not self._writes or name is None or (self.folder / name).exists():
            return
        try:
            self._write(name, _content_of(form.pack(value), bytes.fromhex(name)))
        except pa.ArrowNotImplementedError:  # a type that no stream has
            return
        except OSError as error:
            self._writes = False
            said = f"{self.folder}: nothing more is kept there by this process ({error})"
            warnings.warn(said, RuntimeWarning, stacklevel=2)

    def _write(self, name: str, content: list[Any]) -> None:
        size = sum(memoryview(part).nbytes for part in content)
        if size > self.most_bytes:
            return
        self._make_room(size)
        handle, unfinished = tempfile.mkstemp(prefix=_UNFINISHED, dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(content)
            Path(unfinished).replace(self.folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                Path(unfinished).unlink()
            raise

    def _make_room(self, size: int) -> None:
        """Remove what was used longest ago, if that may be needed."""
        with self._lock:
            self._written += size
            if self._written * _PARTS < self.most_bytes:
                return
            self._written = 0
            entries = sorted(self._entries(), reverse=True)
            # What this and others write until it is looked through again fits in, too.
            room = self.most_bytes - self.most_bytes // _PARTS - size
            for _, taken, path in entries:
                room -= taken
                if room < 0:
                    with contextlib.suppress(OSError):
                        Path(path).unlink()

    def _entries(self) -> Iterator[tuple[int, int, str]]:
        """When each was used, its bytes, its path; what was never finished is removed."""
        now = time.time()
        with os.scandir(self.folder) as files:
            for file in files:
                unfinished = file.name.startswith(_UNFINISHED)
                if not unfinished and not _ENTRY.fullmatch(file.name):
                    continue
                with contextlib.suppress(OSError):  # another process took it
                    status = file.stat(follow_symlinks=False)
                    if not unfinished:
                        yield status.st_mtime_ns, status.st_size, file.path
                    elif now - status.st_mtime > _ABANDONED_SECONDS:
                        Path(file.path).unlink()


def _mapped(path: Path) -> mmap.mmap | None:
    """A file's bytes; None of what is none, such as a pipe, on which nobody waits."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        return mmap.mmap(handle, status.st_size, flags=_MAP, prot=mmap.PROT_READ)
    finally:
        os.close(handle)


def _content_of(batch: pa.RecordBatch, name: bytes) -> list[Any]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    body = sink.getvalue()
    head = _HEAD.pack(_MAGIC, 0, _LAYOUT, name).ljust(_BODY_AT, b"\0")
    checksum = zlib.crc32(body, zlib.crc32(head[12:]))
    return [_HEAD.pack(_MAGIC, checksum, _LAYOUT, name).ljust(_BODY_AT, b"\0"), body]


def _batch_of(mapped: mmap.mmap, name: bytes) -> pa.RecordBatch:
    """The batch of an entry; `ValueError` if it is not whole, or another's."""
    content = memoryview(mapped)
    if len(content) < _BODY_AT:
        raise ValueError("it was cut")
    magic, checksum, layout, own = _HEAD.unpack_from(content)
    if (magic, layout, own) != (_MAGIC, _LAYOUT, name) or zlib.crc32(content[12:]) != checksum:
        raise ValueError("it is another's, or broken")
    with pa.ipc.open_stream(pa.py_buffer(mapped)[_BODY_AT:]) as reader:
        return reader.read_next_batch()


def _name_of(key: Hashable) -> str | None:
    """The name of a key's file; None for a key that means nothing to another process."""
    try:
        return _sha256(f"{_versions()} {_text(key)}")
    except ValueError:
        return None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@functools.cache
def _versions() -> str:
    return f"{version('seamkit')} {pa.__version__} "


_PLAIN = (type(None), bool, int, float, str, bytes)
_LONG = 1000
_MOST_LONG = 100
# The texts of long parts, which many keys share; whoever is here keeps its id.
_long: dict[int, tuple[tuple[Any, ...], str]] = {}


def _text(key: Any) -> str:
    """A key as text: alike for those that are alike in any process, and for no others."""
    kind = type(key)
    if kind in _PLAIN:
        word = repr(key)
        if " at 0x" in word:  # the place of something in this process's memory
            raise ValueError(word)
        return word
    if kind is tuple:
        return _text_of_parts(key)
    if kind is frozenset:
        return f"frozenset{sorted(map(_text, key))}"
    if isinstance(key, enum.Enum):
        return f"{kind.__qualname__}.{key.name}"
    if dataclasses.is_dataclass(key):
        values = (getattr(key, one.name) for one in dataclasses.fields(key))
        return f"{kind.__qualname__}({','.join(map(_text, values))})"
    if isinstance(key, tuple):  # with names
        return f"{kind.__qualname__}({','.join(map(_text, key))})"
    raise ValueError(f"a {kind.__qualname__} among what a key is made of")


def _text_of_parts(key: tuple[Any, ...]) -> str:
    known = _long.get(id(key))
    if known is not None and known[0] is key:
        return known[1]
    text = f"({','.join(map(_text, key))})"
    if len(text) > _LONG:
        if len(_long) >= _MOST_LONG:
            _long.clear()
        text = f"#{_sha256(text)}"
        _long[id(key)] = key, text
    return text
