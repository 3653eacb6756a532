"""Aggregate functions of Paimon's fields, one value after the other.

Written from Paimon's documentation ("Aggregation") and what its core 1.4 was seen to do, beside
those of `seamkit.tables.paimon.merge_engines`, which work on whole columns. Sets in bytes are not
read here: their union is a library's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.connector.plain_values import alike

Options = Mapping[str, str]


class Function:
    """What becomes of a field's value as rows of one key come; made anew for each key."""

    #: Types of values, by tests of `pyarrow.types`; none for all.
    takes: Sequence[str] = ()

    def __init__(self, name: str, kind: pa.DataType, options: Options, where: str) -> None:
        self.name, self.kind, self.options, self.where = name, kind, options, where
        self._ignores = options.get("ignore-retract", "").lower() == "true"
        if self.takes and not any(getattr(pa.types, f"is_{one}")(kind) for one in self.takes):
            raise RefusedError(f"{where}: the function {name} takes no {kind}")

    def add(self, kept: Any, value: Any) -> Any:
        """A row has come: of two values both count, of one that and a null the value."""
        return (value if kept is None else kept) if None in (kept, value) else self.of(kept, value)

    def of(self, kept: Any, value: Any) -> Any:
        """What an older and a newer value become."""
        raise NotImplementedError

    def late(self, kept: Any, value: Any) -> Any:
        """A row has come that is older than what is kept."""
        return self.add(value, kept)

    def retract(self, kept: Any, value: Any) -> Any:
        """A row is taken back, unless that is nothing to the field."""
        return kept if self._ignores else self.take_back(kept, value)

    def whole(self, kept: Any) -> Any:
        """The value of the field once all rows have come."""
        return kept

    def take_back(self, kept: Any, value: Any) -> Any:
        """A row is taken back."""
        del kept, value
        raise RefusedError(
            f"{self.where}: the function {self.name} takes no retracts; Paimon refuses them, too, "
            "unless ignore-retract is set"
        )


class _LastValue(Function):
    def add(self, kept: Any, value: Any) -> Any:
        del kept
        return value

    def take_back(self, kept: Any, value: Any) -> Any:
        del kept, value


class _LastNonNull(Function):
    def of(self, kept: Any, value: Any) -> Any:
        del kept
        return value

    def take_back(self, kept: Any, value: Any) -> Any:
        return kept if value is None else None


class _FirstValue(Function):
    _nulls = True
    _begun = False

    def add(self, kept: Any, value: Any) -> Any:
        if self._begun or (value is None and not self._nulls):
            return kept
        self._begun = True
        return value


class _FirstNonNull(_FirstValue):
    _nulls = False


class _Max(Function):
    def of(self, kept: Any, value: Any) -> Any:
        return value if self._rank(value) > self._rank(kept) else kept

    def _rank(self, value: Any) -> Any:
        """Floats as Java compares them: -0.0 below 0.0, NaN above all."""
        if pa.types.is_nested(self.kind):
            raise RefusedError(f"{self.where}: values of {self.kind} have no order")
        if isinstance(value, float):
            nan = math.isnan(value)
            return (nan, 0.0 if nan else value, math.copysign(1.0, value) if not nan else 1.0)
        return value


class _Min(_Max):
    def of(self, kept: Any, value: Any) -> Any:
        return value if self._rank(value) < self._rank(kept) else kept


class _Numbers(Function):
    takes = ("integer", "floating", "decimal")

    def fit(self, value: Any) -> Any:
        """A result as the field holds it: integers wrap, a decimal without room is null."""
        kind = self.kind
        if pa.types.is_integer(kind):
            return (value + (1 << kind.bit_width - 1)) % (1 << kind.bit_width) - (
                1 << kind.bit_width - 1
            )
        if pa.types.is_float32(kind):
            with np.errstate(over="ignore"):
                return float(np.float32(value))
        if not pa.types.is_decimal(kind):
            return value
        whole = math.floor(abs(value) * 10**kind.scale + Fraction(1, 2))  # half up
        if whole >= 10**kind.precision:
            return None
        return Decimal((int(value < 0), tuple(map(int, str(whole))), -kind.scale))

    def exact(self, value: Any) -> Any:
        """A number to compute with."""
        return Fraction(value) if isinstance(value, Decimal) else value


class _Sum(_Numbers):
    def fit(self, value: Any) -> Any:
        """Decimals of up to 18 digits are numbers of 64 bits to Paimon, and may be too large."""
        if not pa.types.is_decimal(self.kind) or self.kind.precision > 18:
            return super().fit(value)
        unit = 10**self.kind.scale
        return Fraction((int(value * unit) + (1 << 63)) % (1 << 64) - (1 << 63), unit)

    def whole(self, kept: Any) -> Any:
        """A sum; one without room in its type is refused, which Paimon hands out."""
        if kept is None or not pa.types.is_decimal(self.kind):
            return kept
        found = super().fit(Fraction(kept))
        if found is None:
            raise RefusedError(
                f"{self.where}: the sum {float(kept)} does not fit {self.kind}; Paimon hands it "
                "out with more digits than its type has"
            )
        return found

    def of(self, kept: Any, value: Any) -> Any:
        return self.fit(self.exact(kept) + self.exact(value))

    def take_back(self, kept: Any, value: Any) -> Any:
        if value is None:
            return kept
        return self.fit(
            -self.exact(value) if kept is None else self.exact(kept) - self.exact(value)
        )


class _Product(_Numbers):
    def of(self, kept: Any, value: Any) -> Any:
        return self.fit(self.exact(kept) * self.exact(value))

    def take_back(self, kept: Any, value: Any) -> Any:
        if kept is None or value is None:
            return kept
        if isinstance(value, float):
            with np.errstate(all="ignore"):
                return self.fit(float(np.float64(kept) / np.float64(value)))
        if value == 0:
            raise RefusedError(f"{self.where}: product takes back a 0, which Paimon fails at")
        if isinstance(value, int):
            return self.fit(math.trunc(Fraction(kept, value)))
        quotient = Fraction(kept) / Fraction(value)
        left = quotient.denominator
        for prime in (2, 5):
            while left % prime == 0:
                left //= prime
        if left != 1:
            raise RefusedError(
                f"{self.where}: product takes back {value} of {kept}, which has no end of digits; "
                "Paimon fails at it"
            )
        return self.fit(quotient)


class _BoolAnd(Function):
    takes = ("boolean",)

    def of(self, kept: Any, value: Any) -> Any:
        return kept and value


class _BoolOr(_BoolAnd):
    def of(self, kept: Any, value: Any) -> Any:
        return kept or value


class _ListAgg(Function):
    takes = ("string",)

    def of(self, kept: Any, value: Any) -> Any:
        if "" in (kept, value):
            return kept or value
        delimiter = self.options.get("list-agg-delimiter", ",")
        if self.options.get("distinct", "").lower() != "true":
            return kept + delimiter + value
        if not delimiter:
            raise RefusedError(f"{self.where}: listagg of distinct texts has no delimiter")
        texts = kept.split(delimiter)
        for text in value.split(delimiter):
            if text and text not in texts:
                texts.append(text)
        return delimiter.join(texts)


class _Collect(Function):
    takes = ("list",)

    def add(self, kept: Any, value: Any) -> Any:
        if kept is None and value is None:
            return None
        items = [*(kept or ()), *(value or ())]
        if self.options.get("distinct", "").lower() != "true":
            return items
        told = [self._told(item) for item in items]
        return [item for at, item in enumerate(items) if told.index(told[at]) == at]

    def late(self, kept: Any, value: Any) -> Any:
        """Behind what is kept, as in Paimon."""
        return self.add(kept, value)

    def take_back(self, kept: Any, value: Any) -> Any:
        if kept is None or value is None:
            return kept
        gone, left = [self._told(item) for item in value], []
        for item in kept:
            if self._told(item) in gone:
                gone.remove(self._told(item))
            else:
                left.append(item)
        return left

    def _told(self, item: Any) -> Any:
        """What tells items apart: Java's `equals`, within others its `==`, as Python's is."""
        if pa.types.is_binary(self.kind.value_type):
            raise RefusedError(f"{self.where}: {self.name} compares bytes, which Java does not")
        return item if pa.types.is_nested(self.kind.value_type) else alike(item)


class _MergeMap(Function):
    takes = ("map",)

    def __init__(self, name: str, kind: pa.DataType, options: Options, where: str) -> None:
        super().__init__(name, kind, options, where)
        key = kind.key_type
        if pa.types.is_nested(key) or pa.types.is_binary(key) or pa.types.is_floating(key):
            raise RefusedError(f"{where}: the function {name} takes no keys of {key}")

    def of(self, kept: Any, value: Any) -> Any:
        return list({**dict(kept), **dict(value)}.items())

    def take_back(self, kept: Any, value: Any) -> Any:
        if kept is None or value is None:
            return kept
        gone = dict(value)
        return [pair for pair in kept if pair[0] not in gone]


class _MergeMapByTime(_MergeMap):
    """Of a key the row with the latest time, a text; a null removes its key."""

    take_back = Function.take_back

    def __init__(self, name: str, kind: pa.DataType, options: Options, where: str) -> None:
        super().__init__(name, kind, options, where)
        row = kind.item_type
        if not pa.types.is_struct(row) or row.num_fields < 2:
            raise RefusedError(f"{where}: the function {name} takes no rows of {row}")
        self._time = options.get("ts-field", row.field(row.num_fields - 1).name)
        _known(row, [self._time], "ts-field", where)
        if not pa.types.is_string(row.field(self._time).type):
            raise RefusedError(f"{where}: the function {name} compares no {self._time!r}, no text")

    def of(self, kept: Any, value: Any) -> Any:
        merged = dict(kept)
        for key, row in value:
            if row is None:
                merged.pop(key, None)
            elif self._rank(row) > self._rank(merged.get(key)):
                merged[key] = row
        return list(merged.items())

    def _rank(self, row: Any) -> bytes:
        """As Java compares texts, by units of UTF-16; nothing is below all texts."""
        time = None if row is None else row[self._time]
        return b"" if time is None else b"t" + str(time).encode("utf-16-be")


class _NestedUpdate(Function):
    """Rows in an array; with a key of their own, of each key the newest."""

    takes = ("list",)
    _needs_key = False

    def __init__(self, name: str, kind: pa.DataType, options: Options, where: str) -> None:
        super().__init__(name, kind, options, where)
        if not pa.types.is_struct(kind.value_type):
            raise RefusedError(f"{where}: the function {name} takes no {kind}")
        texts = options.get("nested-key", "").split(",")
        self._keys = [text.strip() for text in texts if text.strip()]
        _known(kind.value_type, self._keys, "nested-key", where)
        if self._needs_key and not self._keys:
            raise InputError(f"{where}: {name} has no nested-key")
        limit = options.get("count-limit", "-1")
        if not limit.removeprefix("-").isdigit():
            raise InputError(f"{where}: its count-limit is {limit!r}")
        self._limit = int(limit) if "count-limit" in options else math.inf

    def of(self, kept: Any, value: Any) -> Any:
        room = self._limit - len(kept)
        if room <= 0:
            return kept
        more = _there(value)
        more = more if room == math.inf else more[: int(room)]
        return list(self._by_key([*_there(kept), *more]).values())

    def late(self, kept: Any, value: Any) -> Any:
        """Of keys that are cut by the limit, which are left depends on an order nobody states."""
        if None not in (kept, value) and self._keys:
            room = self._limit - len(value)
            if 0 < room < len(_there(kept)):
                raise RefusedError(
                    f"{self.where}: a row that came late would cut rows by count-limit in an order "
                    "that is not specified"
                )
        return super().late(kept, value)

    def take_back(self, kept: Any, value: Any) -> Any:
        if kept is None or value is None:
            return kept
        if not self._keys:  # as `==` of Java has it
            return [row for row in _there(kept) if row not in _there(value)]
        gone = {self._key(row) for row in _there(value)}
        left = self._by_key(_there(kept))
        return [row for row in left.values() if self._key(row) not in gone]

    def _key(self, row: Any) -> Any:
        return alike([row[name] for name in self._keys])

    def _by_key(self, rows: Sequence[Any]) -> Mapping[Any, Any]:
        """Rows by their key; without one each is its own."""
        return {self._key(row) if self._keys else at: row for at, row in enumerate(rows)}


class _NestedPartialUpdate(_NestedUpdate):
    """Rows in an array by a key of their own; rows of a key fill each other's gaps."""

    _needs_key = True
    take_back = Function.take_back
    late = Function.late

    def of(self, kept: Any, value: Any) -> Any:
        found: dict[Any, dict[str, Any]] = {}
        for row in (*_there(kept), *_there(value)):
            whole = found.setdefault(self._key(row), dict(row))
            whole.update((name, part) for name, part in row.items() if part is not None)
        return list(found.values())


def _there(rows: Sequence[Any]) -> list[Any]:
    return [row for row in rows if row is not None]


def _known(row: pa.DataType, names: Sequence[str], option: str, where: str) -> None:
    for name in names:
        if row.get_field_index(name) < 0:
            raise InputError(f"{where}: its {option} names {name!r}, which {row} does not have")


FUNCTIONS: Mapping[str, type[Function]] = {
    "last_value": _LastValue,
    "last_non_null_value": _LastNonNull,
    "first_value": _FirstValue,
    "first_non_null_value": _FirstNonNull,
    "first_not_null_value": _FirstNonNull,
    "max": _Max,
    "min": _Min,
    "sum": _Sum,
    "product": _Product,
    "bool_and": _BoolAnd,
    "bool_or": _BoolOr,
    "listagg": _ListAgg,
    "collect": _Collect,
    "merge_map": _MergeMap,
    "merge_map_with_keytime": _MergeMapByTime,
    "nested_update": _NestedUpdate,
    "nested_partial_update": _NestedPartialUpdate,
}
