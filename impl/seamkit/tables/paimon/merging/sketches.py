"""Functions of sketches and bitmaps in bytes: the union of two, as Java's libraries write it.

Sketches are united by Apache DataSketches in C++, which writes the format of the Java library, but
for fields that mean nothing there. Where both would count otherwise, it is refused.
"""

from __future__ import annotations

from abc import abstractmethod
from types import ModuleType
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.extras import needs
from seamkit.files.roaring import united_32
from seamkit.tables.paimon.merging.choosing import FieldOptions
from seamkit.tables.paimon.merging.computing import Computing
from seamkit.tables.paimon.merging.hll_bytes import check_hll, has_registers

__all__ = ["Bitmap32", "HllSketch", "ThetaSketch"]

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
        found = bytearray(both.get_result().serialize())
        longs, flags = found[0], found[5]
        if longs > 1:
            found[12:16] = _ONE  # the probability of sampling, which C++ leaves out
        elif flags & _EMPTY:
            found[6:8] = bytes(2)  # the hash of the seed
        else:
            found[5] |= _SINGLE
        return bytes(found)


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
