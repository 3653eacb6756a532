"""Functions of sketches and bitmaps in bytes: the union of two, as Java's libraries write it.

Sketches are united by Apache DataSketches in C++, which writes the format of the Java library, but
for fields that mean nothing there. Where both would count otherwise, it is refused.

A HyperLogLog sketch is checked before the library in C++ believes it. Eight bytes tell the form,
with lg2 of the number of registers in the fourth. A small sketch lists its values, each an address
in 26 bits below six bits of a rank; a large one has registers of 4, 6 or 8 bits behind 32 bytes of
sums over them. Registers of 4 bits count from a common minimum, and those that are too large for
them follow as pairs of rank and address.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.extras import needs
from seambase.wording import counted
from seamkit.files.roaring import united_32
from seamkit.tables.paimon.merge_engines.functions import Computing, FieldOptions

_LIST, _SET, _REGISTERS = range(3)
_PREAMBLES = (2, 3, 10)  # in ints, by the form
_EMPTY, _COMPACT = 4, 8
_FAMILY = 7
_LARGEST_RANK = 63
_ADDRESS = (1 << 26) - 1
_Ranks = npt.NDArray[np.int64]


def has_registers(data: bytes) -> bool:
    """Whether a sketch that was checked is a large one."""
    return data[7] & 3 == _REGISTERS


def check_hll(data: bytes) -> None:
    """Check that a sketch is whole, and that its sums are those of its registers."""
    if len(data) < 8:
        raise ValueError("it is cut")
    ints, version, family, lg_k, lg_size, flags, count, form = data[:8]
    if version != 1 or family != _FAMILY or not 4 <= lg_k <= 21 or form & 3 > _REGISTERS:
        raise ValueError("its preamble is none of a HyperLogLog sketch")
    if form >> 2 > 2 or ints != _PREAMBLES[form & 3]:
        raise ValueError("its preamble contradicts itself")
    is_compact = bool(flags & _COMPACT)
    if form & 3 == _REGISTERS:
        _check_registers(data, form >> 2, is_compact)
        return
    begin = 4 * ints
    if form & 3 == _SET:
        count = int.from_bytes(data[8:12], "little")
    if bool(flags & _EMPTY) != (count == 0):
        raise ValueError("it is empty and has values, or the other way round")
    if count > 1 << 20 or not 2 <= lg_size <= 21:
        raise ValueError("it lists too many values")
    size = count if is_compact else 1 << lg_size
    _check_pairs(_pairs(data, begin, size), count)


def _pairs(data: bytes, begin: int, size: int) -> _Ranks:
    if len(data) != begin + 4 * size:
        raise ValueError(f"it has {counted(len(data), 'byte')}, and should have {begin + 4 * size}")
    return np.frombuffer(data, "<u4", size, begin).astype(np.int64)


def _check_pairs(pairs: _Ranks, count: int) -> _Ranks:
    """Pairs that are not empty."""
    found: _Ranks = pairs[pairs != 0]
    if len(found) != count or len(np.unique(found)) != count or (found >> 26 == 0).any():
        raise ValueError("its values are not as many as it says, or none")
    return found


def _check_registers(data: bytes, width: int, is_compact: bool) -> None:
    lg_k, lg_size, _, minimum = data[3:7]
    registers = 1 << lg_k
    body = (registers // 2, registers // 4 * 3 + 1, registers)[width]
    if len(data) < 40 + body:
        raise ValueError("it is cut")
    estimate, small, large = struct.unpack_from("<3d", data, 8)
    at_minimum, more = struct.unpack_from("<2I", data, 32)
    octets = np.frombuffer(data, np.uint8, body, 40)
    if width == 0:
        ranks = _four_bits(data, octets, minimum, more, lg_size, is_compact)
    else:
        if len(data) != 40 + body or more or minimum:
            raise ValueError("bytes follow its registers")
        ranks = octets.astype(np.int64) if width == 2 else _six_bits(octets, registers)
    if ranks.max() > _LARGEST_RANK or (ranks == minimum).sum() != at_minimum:
        raise ValueError("its registers are not as it says")
    powers = np.ldexp(1.0, -ranks)
    sums = powers[ranks < 32].sum(), powers[ranks >= 32].sum()
    if (small, large) != sums or not 0 <= estimate < float("inf"):
        raise ValueError("its sums are not those of its registers")


def _four_bits(
    data: bytes, octets: npt.NDArray[np.uint8], minimum: int, more: int, lg_size: int, compact: bool
) -> _Ranks:
    registers = 2 * len(octets)
    if more > registers or lg_size > 21:
        raise ValueError("it has more registers that are too large than registers")
    ranks = np.stack([octets & 15, octets >> 4], axis=1).reshape(-1).astype(np.int64) + minimum
    size = more if compact or not more else 1 << lg_size
    end = 40 + len(octets)
    pairs = _check_pairs(_pairs(data[: end + 4 * size], end, size), more)
    if len(data) != end + 4 * size and any(data[end:]):
        raise ValueError("bytes follow its registers")
    slots = pairs & _ADDRESS & registers - 1
    if not np.array_equal(np.sort(slots), np.flatnonzero(ranks == minimum + 15)):
        raise ValueError("other registers are too large than it says")
    ranks[slots] = pairs >> 26
    if (ranks[slots] < minimum + 15).any():
        raise ValueError("a register is said to be too large and is not")
    return ranks


def _six_bits(octets: npt.NDArray[np.uint8], registers: int) -> _Ranks:
    bits = np.unpackbits(octets, bitorder="little")[: 6 * registers].reshape(-1, 6)
    found: _Ranks = bits.astype(np.int64) @ (1 << np.arange(6))
    return found


_EMPTY, _SINGLE = 0x04, 0x20
_ONE = b"\x00\x00\x80\x3f"


class _Bytes(Computing):
    """A set in bytes."""

    @staticmethod
    def takes(kind: pa.DataType) -> bool:
        """Bytes."""
        return bool(pa.types.is_binary(kind))

    def together(self, kept: Any, value: Any) -> Any:
        """The union."""
        try:
            return self.union(kept, value)
        except (ValueError, IndexError, RuntimeError, MemoryError) as error:
            raise InputError(f"{self.where}: no values of {self.name}: {error}") from error

    @abstractmethod
    def union(self, kept: bytes, value: bytes) -> bytes:
        """The union of two sets; a ValueError, IndexError or RuntimeError if one is broken."""


class Bitmap32(_Bytes):
    """The union of portable 32-bit roaring bitmaps."""

    name = "rbm32"

    def union(self, kept: bytes, value: bytes) -> bytes:
        """See `united_32`."""
        return united_32(kept, value)


class _Sketch(_Bytes):
    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        with needs("seamkit[sketches]", f"the aggregate function {self.name}"):
            import datasketches
        self._library: ModuleType = datasketches


class ThetaSketch(_Sketch):
    """The union of theta sketches, of 4096 entries at most."""

    name = "theta_sketch"

    def union(self, kept: bytes, value: bytes) -> bytes:
        """A compact, ordered sketch."""
        both = self._library.theta_union()
        for one in (kept, value):
            both.update(self._library.compact_theta_sketch.deserialize(one))
        sketch = bytearray(both.get_result().serialize())
        longs, flags = sketch[0], sketch[5]
        if longs > 1:
            sketch[12:16] = _ONE  # the probability of sampling, which C++ leaves out
        elif flags & _EMPTY:
            sketch[6:8] = bytes(2)  # the hash of the seed
        else:
            sketch[5] |= _SINGLE
        return bytes(sketch)


class HllSketch(_Sketch):
    """The union of HyperLogLog sketches, as wide as the newer one."""

    name = "hll_sketch"

    def union(self, kept: bytes, value: bytes) -> bytes:
        """A compact sketch of four bits a register."""
        check_hll(kept)
        check_hll(value)
        read = self._library.hll_sketch.deserialize
        older, newer = read(kept), read(value)
        is_wider = older.lg_config_k > newer.lg_config_k and has_registers(kept)
        if is_wider and not has_registers(value) and not newer.is_empty():
            raise RefusedError(
                f"{self.where}: a sketch of 2^{older.lg_config_k} registers meets a small one of "
                f"2^{newer.lg_config_k}, and Java estimates their union in a way of its own"
            )
        both = self._library.hll_union(newer.lg_config_k)
        both.update(newer)
        both.update(older)
        kind = self._library.tgt_hll_type.HLL_4
        return bytes(both.get_result(kind).serialize_compact())
