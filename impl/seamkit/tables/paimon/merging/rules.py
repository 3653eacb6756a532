"""The merge engine of a table as a rule of the scan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from seambase.errors import InputError, RefusedError
from seamkit.scan.units import Combine
from seamkit.tables.paimon.merging.engines import KEY, Aggregation, FieldRule, PartialUpdate
from seamkit.tables.paimon.merging.functions import FUNCTIONS
from seamkit.tables.paimon.metadata.options import REMOVES_GROUP, REMOVES_RECORD, ReadOptions
from seamkit.tables.paimon.metadata.schemas import TableSchema

__all__ = ["merge_rule"]

_FUNCTION = "aggregate-function"
_DEFAULT = "fields.default-aggregate-function"
_GROUP = ".sequence-group"


def merge_rule(schema: TableSchema, options: ReadOptions) -> Literal["last", "first"] | Combine:
    """What becomes of rows of one key.

    Raises:
        RefusedError: a merge engine or function that is not supported.
        InputError: options that name columns which are not there.
    """
    if options.engine == "deduplicate":
        return "last"
    if options.engine == "first-row":
        return "first"
    if options.engine == "aggregation":
        return Aggregation(_aggregated(schema, options), options.removes_records, schema.where)
    groups = _sequence_groups(schema)
    removing = _removing(schema, options, groups)
    rules = _in_groups(schema, groups)
    return PartialUpdate(groups, rules, options.removes_records, removing, schema.where)


def _aggregated(schema: TableSchema, options: ReadOptions) -> Mapping[str, FieldRule]:
    """The function of each field; keys and sequence fields have the newest value."""
    default = schema.options.get(_DEFAULT, "last_non_null_value")
    rules = {}
    for own in schema.fields:
        if own.name in schema.primary_keys:
            rules[own.name] = KEY
        elif own.name in options.sequence_fields:
            rules[own.name] = FieldRule("last_value")
        else:
            rules[own.name] = _field_rule(schema, own.name, default)
    return rules


def _field_rule(schema: TableSchema, name: str, default: str) -> FieldRule:
    prefix = f"fields.{name}."
    own = {
        key.removeprefix(prefix): value
        for key, value in schema.options.items()
        if key.startswith(prefix)
    }
    function = own.get(_FUNCTION, default)
    if function not in FUNCTIONS:
        raise RefusedError(
            f"{schema.where}: the aggregate function {function!r} of the field {name!r} is not "
            f"supported; there are {', '.join(FUNCTIONS)}"
        )
    for word in ("distinct", "ignore-retract"):
        if own.get(word, "false").lower() not in ("true", "false"):
            raise InputError(
                f"{schema.where}: the option {prefix}{word} is {own[word]!r}, neither true nor "
                "false"
            )
    return FieldRule(function, own, own.get("ignore-retract", "false").lower() == "true")


def _sequence_groups(schema: TableSchema) -> Mapping[Sequence[str], Sequence[str]]:
    groups: dict[Sequence[str], Sequence[str]] = {}
    for key, value in schema.options.items():
        if key.startswith("fields.") and key.endswith(_GROUP):
            seq = _names(key.removeprefix("fields.").removesuffix(_GROUP), schema)
            groups[seq] = _names(value, schema)
    return groups


def _removing(
    schema: TableSchema, options: ReadOptions, groups: Iterable[Sequence[str]]
) -> frozenset[str]:
    """Sequence fields of the groups in which a delete removes the whole record."""
    if options.removes_records and groups:
        raise InputError(f"{schema.where}: it has sequence groups and {REMOVES_RECORD}")
    if REMOVES_GROUP not in schema.options:
        return frozenset()
    if options.ignores_deletes:
        raise InputError(f"{schema.where}: it has {REMOVES_GROUP} and ignores deletes")
    names = _names(schema.options[REMOVES_GROUP], schema)
    for name in names:
        if not any(name in seq for seq in groups):
            raise InputError(
                f"{schema.where}: {REMOVES_GROUP} names {name!r}, by which no sequence group goes"
            )
    return frozenset(names)


def _names(text: str, schema: TableSchema) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in schema.arrow.names:
            raise InputError(
                f"{schema.where}: there is no column {name!r}, which a sequence group names"
            )
    return names


def _in_groups(
    schema: TableSchema, groups: Mapping[Sequence[str], Sequence[str]]
) -> Mapping[str, FieldRule]:
    """Functions of fields of sequence groups."""
    default = schema.options.get(_DEFAULT)
    rules = {}
    for name in (name for names in groups.values() for name in names):
        if default is not None or f"fields.{name}.{_FUNCTION}" in schema.options:
            rules[name] = _field_rule(schema, name, default or "")
    return rules
