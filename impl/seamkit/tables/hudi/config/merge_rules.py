"""How versions of a record are merged beyond their order: delete markers and partial updates.

Both are properties of the table. Version 9 keeps there what payload classes of older tables did:
a column whose value marks a row as a delete (AWS DMS, Debezium), and what value of a new version
leaves the older one as it is. Source: Hudi 1.2.0, HoodieTableConfig, PartialUpdateHandler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.core.arrow_data import numbers

__all__ = ["DeleteMarker", "FillRule", "MergeMode", "MergeRules", "read_merge_rules"]

MergeMode = Literal["commit-time", "event-time", "custom"]

_PREFIX = "hoodie.record.merge.property."
_FIELD = f"{_PREFIX}hoodie.payload.delete.field"
_MARKER = f"{_PREFIX}hoodie.payload.delete.marker"
_UNAVAILABLE = f"{_PREFIX}hoodie.write.partial.update.unavailable.value"
_MODE = "hoodie.table.partial.update.mode"


@dataclass(frozen=True)
class DeleteMarker:
    """A row of a log whose `column` reads `text` is a delete."""

    column: str
    text: str


@dataclass(frozen=True)
class FillRule:
    """Which values of a version leave those of an older one as they are.

    Attributes:
        mode: `ignore-defaults`: the default of the column, which is null in every schema that Spark
            writes; `fill-unavailable`: a text that equals `marker`.
        marker: the text.
    """

    mode: Literal["ignore-defaults", "fill-unavailable"]
    marker: str | None = None

    def present(self, column: pa.Array) -> npt.NDArray[np.bool_] | None:
        """Which values count; None for all of them."""
        if self.mode == "ignore-defaults":
            if column.null_count == 0:
                return None
            return _words(column.is_valid())
        if self.marker is None or not pa.types.is_string(column.type):
            return None
        return _words(pc.fill_null(pc.not_equal(column, self.marker), True))


def _words(flags: pa.Array) -> npt.NDArray[np.bool_]:
    return numbers(flags)


@dataclass(frozen=True)
class MergeRules:
    """How two versions of a record become one.

    Attributes:
        mode: what orders them; `custom` is code of the user's.
        delete_marker: what marks a row of a log as a delete besides Hudi's own columns, or None.
        fill_rule: what values leave an older version's as they are, or None.
        ordered_deletes: False where a delete wins whatever its ordering value is.
    """

    mode: MergeMode
    delete_marker: DeleteMarker | None = None
    fill_rule: FillRule | None = None
    ordered_deletes: bool = True


# Payload classes that come with Hudi and whose merging can be said without running them. Tables of
# version 9 have their rules as properties; in older ones 1.2.0 runs the class.
_PAYLOADS: Mapping[str, MergeRules] = {
    "AWSDmsAvroPayload": MergeRules("commit-time", delete_marker=DeleteMarker("Op", "D")),
    "OverwriteNonDefaultsWithLatestAvroPayload": MergeRules(
        "commit-time", fill_rule=FillRule("ignore-defaults")
    ),
    "PartialUpdateAvroPayload": MergeRules(
        "event-time", fill_rule=FillRule("ignore-defaults"), ordered_deletes=False
    ),
}
_PAYLOAD_PACKAGE = "org.apache.hudi.common.model."
_PAYLOAD_STRATEGY = "00000000-0000-0000-0000-000000000000"


def read_merge_rules(
    raw: Mapping[str, str], version: int, mode: MergeMode, where: str
) -> MergeRules:
    """The rules of a table whose properties are `raw` and whose merge mode is known.

    Raises:
        InputError: a rule is there by half.
        RefusedError: a rule that is not known.
    """
    payload = raw.get("hoodie.compaction.payload.class", "")
    if mode == "custom" and version < 9 and payload.startswith(_PAYLOAD_PACKAGE):
        strategy = raw.get("hoodie.record.merge.strategy.id") or _PAYLOAD_STRATEGY
        known = _PAYLOADS.get(payload.removeprefix(_PAYLOAD_PACKAGE))
        if known is not None and strategy == _PAYLOAD_STRATEGY:
            return known
    return MergeRules(mode, _read_delete_marker(raw, where), _read_fill_rule(raw, version, where))


def _read_delete_marker(raw: Mapping[str, str], where: str) -> DeleteMarker | None:
    """The table's own delete marker, if it has one."""
    column, text = raw.get(_FIELD) or None, raw.get(_MARKER) or None
    if (column is None) != (text is None):
        raise InputError(f"{where}: {_FIELD} and {_MARKER} go together; one is missing")
    return None if column is None or text is None else DeleteMarker(column, text)


def _read_fill_rule(raw: Mapping[str, str], version: int, where: str) -> FillRule | None:
    """What a partial update leaves as it is, if the table says so; version 9 is the first."""
    mode = raw.get(_MODE, "")
    if version < 9 or mode in ("", "NONE"):
        return None
    if mode == "IGNORE_DEFAULTS":
        return FillRule("ignore-defaults")
    if mode == "FILL_UNAVAILABLE":
        return FillRule("fill-unavailable", raw.get(_UNAVAILABLE))
    raise RefusedError(f"{where}: {_MODE}={mode} is not known")
