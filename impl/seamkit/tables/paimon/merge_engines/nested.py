"""Functions of arrays and maps: items and entries of several rows in one.

Of the items of an array with a key, and of the entries of a map, Paimon keeps no order: here the
first occurrence decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.tables.paimon.merge_engines.functions import Computing, FieldOptions


class Collect(Computing):
    """The items of arrays in one array, each once if they are to be distinct.

    Numbers with a floating point are told apart as Java's `equals` does: NaN equals itself, and
    zero has two signs. Within rows it is the other way round.
    """

    name = "collect"

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        self._distinct = options.get("distinct", "false").lower() == "true"
        self._items = column.type.value_type

    @staticmethod
    def takes(kind: pa.DataType) -> bool:
        """Arrays."""
        return bool(pa.types.is_list(kind))

    def agg(self, kept: Any, row: int) -> Any:
        """Both; of one array, too, each item once if they are to be distinct."""
        items = super().agg(kept, row)
        if not self._distinct or items is None:
            return items
        told = self._told(items)
        return [item for at, item in enumerate(items) if told[at] not in told[:at]]

    def reverse(self, kept: Any, row: int) -> Any:
        """Likewise: items of a row that comes late stand behind the others, as in Paimon."""
        return self.agg(kept, row)

    def together(self, kept: Any, value: Any) -> Any:
        """One behind the other."""
        return [*kept, *value]

    def retract(self, kept: Any, row: int) -> Any:
        """Each item that is taken back is removed once."""
        value = self.values[row]
        if kept is None or value is None:
            return kept
        left, told = list(kept), self._told(kept)
        for item in self._told(value):
            if item in told:
                at = told.index(item)
                del left[at], told[at]
        return left

    def _told(self, items: Sequence[Any]) -> list[Any]:
        """What tells items apart."""
        if pa.types.is_binary(self._items):
            raise RefusedError(
                f"{self.where}: the function {self.name} takes no bytes that are to be distinct or "
                "taken back: in Java none equal others"
            )
        if not pa.types.is_floating(self._items):
            return list(items)
        return [None if item is None else item.hex() for item in items]


class MergeMap(Computing):
    """The entries of maps in one map; of a key the newest."""

    name = "merge_map"

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        kind = column.type.key_type
        # Java holds two equal byte arrays apart, and zeros of both signs; Python does neither.
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_floating(kind):
            raise RefusedError(f"{where}: the function {self.name} takes no keys of {kind}")

    @staticmethod
    def takes(kind: pa.DataType) -> bool:
        """Maps."""
        return bool(pa.types.is_map(kind))

    def together(self, kept: Any, value: Any) -> Any:
        """The entries of both."""
        return list((dict(kept) | dict(value)).items())

    def retract(self, kept: Any, row: int) -> Any:
        """Without the keys that are taken back."""
        value = self.values[row]
        if kept is None or value is None:
            return kept
        gone = dict(value)
        return [(key, item) for key, item in kept if key not in gone]


class MergeMapWithKeyTime(MergeMap):
    """The entries of maps of rows in one map; of a key the row with the latest time, a text.

    A null in place of a row removes its key; a row without a time changes nothing. Of the first
    map all entries are taken as they are.
    """

    name = "merge_map_with_keytime"
    retract = Computing.retract

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        kind = column.type.item_type
        if not pa.types.is_struct(kind) or kind.num_fields < 2:
            raise RefusedError(
                f"{where}: the function {self.name} takes maps of rows of two fields or more, and "
                f"no {kind}"
            )
        time = options.get("ts-field", kind.field(kind.num_fields - 1).name)
        _check_names(kind, [time], "ts-field", where)
        if not pa.types.is_string(kind.field(time).type):
            raise RefusedError(
                f"{where}: the function {self.name} compares times as texts, and {time!r} is "
                f"{kind.field(time).type}"
            )
        self._time = time

    def together(self, kept: Any, value: Any) -> Any:
        """The entries of both."""
        merged = dict(kept)
        for key, item in value:
            if item is None:
                merged.pop(key, None)
            elif item[self._time] is not None and self._is_newer(item, merged.get(key)):
                merged[key] = item
        return list(merged.items())

    def _is_newer(self, item: Any, other: Any) -> bool:
        if other is None or other[self._time] is None:
            return True
        # As Java compares texts: by units of UTF-16.
        new, old = (str(one[self._time]).encode("utf-16-be") for one in (item, other))
        return new > old


class _NestedRows(Computing):
    """Rows in an array, by a key of their own; nulls among them are left out."""

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        keys = options.get("nested-key", "")
        self._keys = [name.strip() for name in keys.split(",") if name.strip()]
        _check_names(column.type.value_type, self._keys, "nested-key", where)

    @staticmethod
    def takes(kind: pa.DataType) -> bool:
        """Arrays of rows."""
        return bool(pa.types.is_list(kind) and pa.types.is_struct(kind.value_type))

    def _key(self, item: Any) -> Any:
        return repr([item[name] for name in self._keys])


class NestedUpdate(_NestedRows):
    """Rows in an array; with a key of their own, of each key the newest.

    With a limit, no more rows are taken in than fit at first; those that replace a row of the same
    key are counted as well, as Paimon counts them.
    """

    name = "nested_update"

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        limit = options.get("count-limit")
        try:
            self._limit = None if limit is None else int(limit)
        except ValueError:
            raise InputError(f"{where}: its count-limit is {limit!r}") from None

    def together(self, kept: Any, value: Any) -> Any:
        """One behind the other."""
        if self._limit is not None and len(kept) >= self._limit:
            return kept
        more = _rows(value)
        if self._limit is not None:
            more = more[: self._limit - len(kept)]
        return self._newest([*_rows(kept), *more]) if self._keys else [*_rows(kept), *more]

    def reverse(self, kept: Any, row: int) -> Any:
        """Both together, the row's in front."""
        value = self.values[row]
        if self._limit is not None and self._keys and kept is not None and value is not None:
            room = self._limit - len(value)
            if 0 < room < len(_rows(kept)):
                raise RefusedError(
                    f"{self.where}: a row that came late would cut rows by count-limit in an order "
                    "that is not specified"
                )
        return super().reverse(kept, row)

    def _newest(self, items: Sequence[Any]) -> list[Any]:
        return list({self._key(item): item for item in items}.values())

    def retract(self, kept: Any, row: int) -> Any:
        """Without the rows that are taken back."""
        value = self.values[row]
        if kept is None or value is None:
            return kept
        others = _rows(value)
        if not self._keys:  # by `==` of Java, in which NaN equals nothing and zero has one sign
            return [item for item in _rows(kept) if item not in others]
        gone = {self._key(item) for item in others}
        return [item for item in self._newest(_rows(kept)) if self._key(item) not in gone]


class NestedPartialUpdate(_NestedRows):
    """Rows in an array by a key of their own; rows of a key fill each other's gaps."""

    name = "nested_partial_update"

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        if not self._keys:
            raise InputError(f"{where}: nested_partial_update has no nested-key")

    def together(self, kept: Any, value: Any) -> Any:
        """Of each key, of each field the newest value that is not null."""
        found: dict[Any, dict[str, Any]] = {}
        for item in (*_rows(kept), *_rows(value)):
            whole = found.setdefault(self._key(item), dict.fromkeys(item))
            whole |= {name: part for name, part in item.items() if part is not None}
        return list(found.values())


def _rows(items: Iterable[Any]) -> list[Any]:
    return [item for item in items if item is not None]


def _check_names(kind: pa.DataType, names: Sequence[str], option: str, where: str) -> None:
    for name in names:
        if kind.get_field_index(name) < 0:
            raise InputError(f"{where}: its {option} names {name!r}, which {kind} does not have")
