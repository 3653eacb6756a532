"""Memory of the core: the handle on its tracked allocator, and trees of pools over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

import pyarrow as pa

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call, made


@dataclass(frozen=True)
class MemoryCounters:
    """What an allocator has handed out, in bytes and blocks (`limit_bytes` 0 = no limit)."""

    limit_bytes: int
    current_bytes: int
    peak_bytes: int
    live_blocks: int
    total_blocks: int


@dataclass(frozen=True)
class HostMemory:
    """A host engine's memory, by the addresses of its C functions.

    They must stay valid until the last block of the allocator is free, and be safe to call from any
    thread. Blocks may have any alignment.
    """

    malloc: int  # `void *(*)(void *context, size_t size)`; NULL means that there is no memory
    free: int  # `void (*)(void *context, void *block)`
    context: int = 0  # handed to both as it is


class TrackedAllocator:
    """Owns one `struct seam_allocator`.

    Blocks may outlive this handle (arrays handed to Arrow do): each keeps the allocator alive.
    Thread-safe.

    Args:
        limit_bytes: most bytes alive at once; 0 for no limit.
        host: where blocks come from; the system by default.
        pool: a `struct seam_pool *` that counts the same bytes (`MemoryPool.allocator`).
        keeps_blocks: freed blocks stay with the allocator, which counts them as before, and are
            handed out again; `total_blocks` counts fresh ones alone. Not with a host.

    Raises:
        UsageError: a pool that is no leaf, or a host with a pool or with blocks that are kept.
    """

    def __init__(
        self,
        limit_bytes: int = 0,
        host: HostMemory | None = None,
        *,
        pool: Any = None,
        keeps_blocks: bool = False,
    ) -> None:
        if host is not None and (pool is not None or keeps_blocks):
            raise UsageError("memory of a host is in no pool, and its blocks go back when freed")
        if host is None:
            out = ffi.new("struct seam_allocator **")
            above = ffi.NULL if pool is None else pool
            given = above, limit_bytes, keeps_blocks, out
            call(lib.seam_allocator_new_in, *given, by_caller=True)
            pointer = out[0]
        else:
            backing = ffi.new("struct seam_backing *")
            backing.malloc = ffi.cast("void *(*)(void *, size_t)", host.malloc)
            backing.free = ffi.cast("void (*)(void *, void *)", host.free)
            backing.context = ffi.cast("void *", host.context)
            pointer = lib.seam_allocator_new_backed(limit_bytes, backing)
        if pointer == ffi.NULL:
            raise MemoryError("the system has no memory for an allocator")
        self.pointer: Any = ffi.gc(pointer, lib.seam_allocator_release)

    def counters(self) -> MemoryCounters:
        """A snapshot of the counters."""
        out = ffi.new("struct seam_memory_counters *")
        lib.seam_allocator_counters(self.pointer, out)
        return MemoryCounters(
            int(out.limit_bytes),
            int(out.current_bytes),
            int(out.peak_bytes),
            int(out.live_blocks),
            int(out.total_blocks),
        )

    @contextmanager
    def reserve(self, size_bytes: int) -> Iterator[None]:
        """Count memory that somebody else hands out, such as a library that decodes for us."""
        call(lib.seam_reserve, self.pointer, size_bytes)
        try:
            yield
        finally:
            lib.seam_unreserve(self.pointer, size_bytes)

    def fail_after(self, n: int) -> None:
        """Make the n-th allocation from now on fail once (0 switches it off); a test aid."""
        lib.seam_allocator_fail_after(self.pointer, n)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and (live := self.counters().live_blocks):
            raise AssertionError(
                f"{counted(live, 'block', 'are')} still alive at the end of their allocator"
            )


class Closing:
    """What the end of a `with` closes; where an error ended it, that is the one to see."""

    def close(self) -> None:
        """Give up what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception as closing:
            if error is None:
                raise
            error.add_note(f"and closing failed: {closing}")


class Block:
    """Bytes of an allocator, given back when nothing refers to them any more.

    `view` is a writable view on the bytes, undefined at first; it keeps the block alive.
    """

    def __init__(self, allocator: TrackedAllocator, size_bytes: int) -> None:
        out = ffi.new("void **")
        call(lib.seam_alloc, allocator.pointer, size_bytes, out)
        self.pointer: Any = ffi.gc(ffi.cast("uint8_t *", out[0]), lib.seam_free)
        self.view = memoryview(ffi.buffer(self.pointer, size_bytes)).cast("B")

    def buffer(self, size_bytes: int | None = None) -> pa.Buffer:
        """An Arrow buffer on the first `size_bytes` bytes, which shares them."""
        size = len(self.view) if size_bytes is None else size_bytes
        return pa.foreign_buffer(int(ffi.cast("uintptr_t", self.pointer)), size, base=self)


@dataclass(frozen=True)
class PoolCounters:
    """Bytes of a pool and of all below it (`limit_bytes` 0 = no limit)."""

    limit_bytes: int  # most that may be reserved
    used_bytes: int  # by allocators
    reserved_bytes: int  # by the leaves, in steps of a MiB or more; never less than is used
    peak_bytes: int  # most that was reserved at once


class MemoryPool:
    """A node of a tree: query, task, operator. Thread-safe.

    Leaves hand out memory by allocators; the pools above them count it, each up to its own limit.
    A pool lives as long as anything below it, blocks included.

    Args:
        name: without those above it.
        limit_bytes: most that may be reserved here and below; 0 for no limit.
        parent: the pool above; None for a root.
    """

    def __init__(self, name: str, limit_bytes: int = 0, parent: MemoryPool | None = None) -> None:
        above = ffi.NULL if parent is None else parent._pointer
        out, make, free = ffi.new("struct seam_pool **"), lib.seam_pool_new, lib.seam_pool_release
        given = above, name.encode(), limit_bytes
        self._pointer: Any = made(out, make, free, *given, by_caller=True)
        self._children: WeakSet[MemoryPool] = WeakSet()
        if parent is not None:
            parent._children.add(self)

    @property
    def name(self) -> str:
        """Names from the root on, with dots between."""
        return str(ffi.string(lib.seam_pool_name(self._pointer)).decode())

    def child(self, name: str, limit_bytes: int = 0) -> MemoryPool:
        """A pool below this one; see `MemoryPool`."""
        return MemoryPool(name, limit_bytes, self)

    def allocator(self, limit_bytes: int = 0, *, keeps_blocks: bool = False) -> TrackedAllocator:
        """An allocator whose bytes this leaf counts; see `TrackedAllocator`."""
        return TrackedAllocator(limit_bytes, pool=self._pointer, keeps_blocks=keeps_blocks)

    def reserve(self, size_bytes: int) -> None:
        """Reserve so many bytes more than are used now, until `unreserve`."""
        call(lib.seam_pool_reserve, self._pointer, size_bytes, by_caller=True)

    def unreserve(self) -> None:
        """Give back what is reserved and not used."""
        lib.seam_pool_unreserve(self._pointer)

    def counters(self) -> PoolCounters:
        """A snapshot of the counters."""
        out = ffi.new("struct seam_pool_counters *")
        lib.seam_pool_counters(self._pointer, out)
        used = int(out.used_bytes) + sum(one.counters().used_bytes for one in self._children)
        return PoolCounters(
            int(out.limit_bytes), used, int(out.reserved_bytes), int(out.peak_bytes)
        )

    def tree(self) -> Iterator[tuple[str, PoolCounters]]:
        """This pool and all below it that somebody holds, with their counters."""
        yield self.name, self.counters()
        for child in sorted(self._children, key=lambda one: one.name):
            yield from child.tree()
