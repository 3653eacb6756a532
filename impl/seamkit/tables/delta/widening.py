"""Types that a column may have had when a file was written (PROTOCOL.md, "Type Widening").

Old files keep the narrow type; their values are cast when they are read. Every value stays what it
is: a float becomes the double that equals it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.promotion import LosslessTypes

_WHOLE = ("byte", "short", "integer", "long")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# The protocol wants ten digits of all but long; some writers take as many as the type needs.
_WHOLE_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}


class DeltaTypes(LosslessTypes):
    """Type rules of a Delta table's data files.

    Args:
        widens: whether the protocol allows that a file's type is narrower than the table's.
    """

    def __init__(self, widens: bool) -> None:
        self._widens = widens

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of a file's type are read as the table's."""
        if _is_text(have) and _is_text(want):
            return True  # writers differ in whether they mark texts as such
        if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
            return bool(have.tz == want.tz)  # of another unit
        return self._widens and super().promotes(have, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """INT96 comes as microseconds without a zone, and is an instant."""
        return bool(have == pa.timestamp("us") and want == pa.timestamp("us", "UTC"))


def check_type_changes(changes: Sequence[Mapping[str, Any]], where: str) -> None:
    """Check the changes of type that a field's metadata lists."""
    for change in changes:
        old, new = change.get("fromType"), change.get("toType")
        if not isinstance(old, str) or not isinstance(new, str):
            raise InputError(f"{where} has an entry of delta.typeChanges without its types")
        if not _is_known(old.replace(" ", ""), new.replace(" ", "")):
            raise RefusedError(
                f"{where} changed its type from {old} to {new}, which is not supported"
            )


def _is_known(old: str, new: str) -> bool:
    if old in _WHOLE and new in _WHOLE:
        return _WHOLE.index(old) <= _WHOLE.index(new)
    if new == "double":
        return old in ("float", "byte", "short", "integer")
    if (old, new) == ("date", "timestamp_ntz"):
        return True
    wide = _DECIMAL.fullmatch(new)
    if wide is None:
        return False
    precision, scale = int(wide[1]), int(wide[2])
    if old in _WHOLE_DIGITS:
        return precision - scale >= _WHOLE_DIGITS[old]
    narrow = _DECIMAL.fullmatch(old)
    if narrow is None:
        return False
    more_digits, more_scale = precision - int(narrow[1]), scale - int(narrow[2])
    return more_digits >= more_scale >= 0


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string)
    return any(test(kind) for test in tests)
