"""Options of a table that change what its rows are, and the features that are not supported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seambase.errors import InputError, RefusedError
from seamkit.tables.paimon.metadata.schemas import TableSchema
from seamkit.tables.spelling import check_names

REMOVES_RECORD = "remove-record-on-delete"
REMOVES_GROUP = "partial-update.remove-record-on-sequence-group"
_ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")
#: Options of features that change what is read; any other value than the one here is refused.
_NOT_SUPPORTED = {
    "data-evolution.enabled": "false",
    "type": "table",
    "query-auth.enabled": "false",
    "deletion-vectors.merge-on-read": "false",
}
#: What is read of options beside these, here and by the rules of merging.
_READ = (
    "merge-engine",
    "sequence.field",
    "sequence.field.sort-order",
    "ignore-delete",
    "deletion-vectors.enabled",
    "num-levels",
    "num-sorted-run.compaction-trigger",
    "fields.default-aggregate-function",
    *(f"{engine}.{word}" for engine in _ENGINES for word in ("ignore-delete", REMOVES_RECORD)),
    REMOVES_GROUP,
)
_OF_FIELDS = (
    "aggregate-function",
    "ignore-retract",
    "sequence-group",
    "distinct",
    "list-agg-delimiter",
    "nested-key",
    "count-limit",
    "ts-field",
)
_NAMED_SCANS = ("scan.fallback-branch", "scan.snapshot-id", "scan.tag-name", "scan.version")


@dataclass(frozen=True)
class ReadOptions:
    """What a table's options say of its rows.

    Attributes:
        engine: the merge engine of a table with a primary key.
        sequence_fields: columns that order rows of one key, before their sequence numbers.
        descending: whether rows with smaller values of them are later.
        ignores_deletes: whether retracts are passed over.
        removes_records: whether a retract removes a record that is otherwise put together.
        has_vectors: whether deletion vectors are written.
        highest_level: the level that full compactions write.
    """

    engine: str
    sequence_fields: tuple[str, ...]
    descending: bool
    ignores_deletes: bool
    removes_records: bool
    has_vectors: bool
    highest_level: int

    @property
    def skips_level_0(self) -> bool:
        """Whether rows are seen once a compaction has met them, and not before."""
        return self.has_vectors or self.engine == "first-row"


def read_options(schema: TableSchema) -> ReadOptions:
    """The options of a schema."""
    options, where = schema.options, schema.where
    _check_names(options, where)
    for name, supported in _NOT_SUPPORTED.items():
        if options.get(name, supported).lower() != supported:
            raise RefusedError(f"{where}: the option {name}={options[name]} is not supported")
    for name in _NAMED_SCANS:
        if name in options:
            raise RefusedError(f"{where}: the option {name} is not supported")
    engine = options.get("merge-engine", "deduplicate").lower().replace("_", "-")
    if engine not in _ENGINES:
        raise RefusedError(f"{where}: the merge engine {engine!r} is not supported")
    fields = tuple(n.strip() for n in options.get("sequence.field", "").split(",") if n.strip())
    for name in fields:
        if name not in schema.arrow.names:
            raise InputError(f"{where}: there is no column {name!r}, which is a sequence field")
    order = options.get("sequence.field.sort-order", "ascending").lower()
    if order not in ("ascending", "descending"):
        raise InputError(f"{where}: the option sequence.field.sort-order is {order!r}")
    removes = _flag(options, f"{engine}.{REMOVES_RECORD}", where)
    return ReadOptions(
        engine=engine,
        sequence_fields=fields,
        descending=order == "descending",
        ignores_deletes=_flag(options, "ignore-delete", where)
        or _flag(options, f"{engine}.ignore-delete", where),
        removes_records=removes,
        has_vectors=_flag(options, "deletion-vectors.enabled", where),
        highest_level=_highest_level(options, where),
    )


def _highest_level(options: Mapping[str, str], where: str) -> int:
    """One below the number of levels, which is one above that of runs that are left alone."""
    name, less = "num-levels", 1
    if name not in options:
        name, less = "num-sorted-run.compaction-trigger", 0
    text = options.get(name, "5")
    if not text.isdigit():
        raise InputError(f"{where}: the option {name} is {text!r}, no number")
    return int(text) - less


def _flag(options: Mapping[str, str], name: str, where: str) -> bool:
    text = options.get(name, "false").lower()
    if text not in ("true", "false"):
        raise InputError(f"{where}: the option {name} is {text!r}, neither true nor false")
    return text == "true"


def _check_names(options: Mapping[str, str], where: str) -> None:
    """Refuse names that are one letter away from one that is read: a schema has no checksum."""
    known = {*_READ, *_NOT_SUPPORTED}
    for name in options:
        near = known | {
            f"fields.{name[7 : -len(word) - 1]}.{word}"
            for word in _OF_FIELDS
            if len(name) > len(word) + 8
        }
        check_names([name], near, where, "option")
