"""Hosts on this machine: network namespaces, and a wire between them that delays, loses and limits.

Each host has one TUN device. What one sends is read here and given to the other after a while, or
never: the kernel needs no traffic shaper for that, but the user must be allowed to make namespaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from seambase.errors import UnavailableError

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_DEVICE = "seam0"
_CLONE_NEWNET = 0x40000000
_MTU = 9000
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Wire:
    """What happens to a packet.

    Attributes:
        delay_seconds: until it arrives.
        loss: share of packets that never do.
        bytes_per_second: of all packets that go to one host; None for no limit.
        queue_bytes: beyond which packets to one host are dropped, as a router drops them.
        seed: of the losses.
    """

    delay_seconds: float = 0.0
    loss: float = 0.0
    bytes_per_second: float | None = None
    queue_bytes: int = 1 << 20
    seed: int = 0


class Hosts:
    """Some hosts that reach each other over a wire. A context manager.

    Args:
        count: how many.
        wire: between them.

    Attributes:
        prefixes: what a command is started with to run on each.
        address: where each listens: a template for `seambench.bench.exchange.cluster.Way`.
        lost: packets that were lost on purpose or for want of room.
    """

    address = "tcp:10.77.{index}.1:0"

    def __init__(self, count: int, wire: Wire) -> None:
        self._wire = wire
        self._draw = random.Random(wire.seed)
        mark = f"seam{os.getpid()}-{next(_NUMBERS)}"
        self._names = [f"{mark}-{index}" for index in range(count)]
        self.prefixes: Sequence[Sequence[str]] = [
            ("ip", "netns", "exec", name) for name in self._names
        ]
        self.lost = 0
        self._files: list[int] = []
        self._free_at = [0.0] * count  # when the wire to a host has sent what it was given
        self._wake = os.eventfd(0)
        self._thread = threading.Thread(target=self._carry, daemon=True)

    def __enter__(self) -> Self:
        if shutil.which("ip") is None:
            raise UnavailableError("network namespaces need the command `ip` (iproute2)")
        try:
            for index, name in enumerate(self._names):
                _ip("netns", "add", name)
                self._files.append(_tun_within(name))
                within = ("-n", name)
                _ip(*within, "addr", "add", f"10.77.{index}.1/16", "dev", _DEVICE)
                _ip(*within, "link", "set", _DEVICE, "mtu", str(_MTU), "up")
                _ip(*within, "link", "set", "lo", "up")
        except BaseException:
            self._remove()
            raise
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._remove()

    def cut(self) -> None:
        """From now on every packet is lost."""
        self._wire = replace(self._wire, loss=1.0)

    def _remove(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []
        for name in self._names:
            with contextlib.suppress(UnavailableError):
                _ip("netns", "del", name)

    def _carry(self) -> None:
        """Take packets from each host and give them to the one they are for, when it is time."""
        due: list[tuple[float, int, int, bytes]] = []
        numbers = itertools.count()
        while True:
            wait = max(0.0, due[0][0] - time.monotonic()) if due else None
            ready = select.select([*self._files, self._wake], [], [], wait)[0]
            if self._wake in ready:
                return
            for file in ready:
                packet = os.read(file, _MTU + 64)
                found = self._arrival(packet)
                if found is not None:
                    heapq.heappush(due, (found[0], next(numbers), found[1], packet))
            now = time.monotonic()
            while due and due[0][0] <= now:
                _, _, host, packet = heapq.heappop(due)
                with contextlib.suppress(OSError):  # a host that is shutting down
                    os.write(self._files[host], packet)

    def _arrival(self, packet: bytes) -> tuple[float, int] | None:
        """When a packet arrives, and at which host; None for one that never does."""
        wire, now = self._wire, time.monotonic()
        if packet[0] >> 4 != 4 or packet[16:18] != b"\x0a\x4d" or packet[18] >= len(self._files):
            return None  # no IPv4 to a host of ours: multicast of the kernel's own
        host, begin = packet[18], now
        if wire.bytes_per_second is not None:
            begin = max(now, self._free_at[host])
            waiting = (begin - now) * wire.bytes_per_second
            if waiting + len(packet) > wire.queue_bytes:
                self.lost += 1
                return None
            begin += len(packet) / wire.bytes_per_second
            self._free_at[host] = begin
        if self._draw.random() < wire.loss:
            self.lost += 1
            return None
        return begin + wire.delay_seconds, host


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UnavailableError(f"`ip {' '.join(arguments)}`: {done.stderr.strip()}")


def _tun_within(name: str) -> int:
    """A TUN device in a namespace: a thread goes there, and what it opened stays open."""
    found: list[int] = []
    problems: list[OSError] = []

    def make() -> None:
        try:
            _enter(name)
            file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            found.append(file)
            fcntl.ioctl(
                file, _TUNSETIFF, struct.pack("16sH22x", _DEVICE.encode(), _IFF_TUN | _IFF_NO_PI)
            )
        except OSError as error:
            problems.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if problems:
        for file in found:
            os.close(file)
        raise UnavailableError(f"no TUN device in a network namespace: {problems[0]}")
    return found[0]


def _enter(name: str) -> None:
    """Move the calling thread into a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    file = os.open(f"/var/run/netns/{name}", os.O_RDONLY)
    try:
        if libc.setns(file, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(file)
