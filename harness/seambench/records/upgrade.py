"""Older versions of a record into the newest. No figure changes; what one lacked stays unknown.

Version 2 kept no rows of wrong answers, and no pairs of implementations.
Version 1 recorded copies and calls that decode nothing with the oracle's own digest, as if they had
an answer: here they become floors and steps, which have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["upgraded"]

_FIGURES = ("cold", "hot", "cpu", "rows", "bytes", "peak_bytes", "growth_bytes")
_DIMENSIONS = (
    "update_ratio",
    "slice_share",
    "table_version",
    "ordering",
    "log_format",
    "slices",
)
#: Ways of the exchange's measurements whose receivers counted bytes, or rows, and no more.
_STEPS = ("exchange-bars/grpc-calls", "exchange-bars/wire+", "exchange-bars/stopped+")


def upgraded(old: Mapping[str, Any]) -> dict[str, Any]:
    """A record of an older version as one of the newest.

    Raises:
        KeyError, TypeError, ValueError: it is none of that version.
    """
    if old["schema"] == 2:
        return {**old, "schema": 3, "run": {"upgraded_from": 2, **old["run"]}}
    if old["schema"] == 1:
        return _of_version_1(old)
    raise ValueError(f"there was never a schema version {old['schema']}")


def _of_version_1(old: Mapping[str, Any]) -> dict[str, Any]:
    if old["outcomes"]:
        raise ValueError("version 1 never wrote outcomes of conformance")
    implementation = {key: value for key, value in old["implementation"].items() if key != "tuned"}
    return _known(
        {
            "schema": 3,
            "run": _known(old["run"]) | {"upgraded_from": 1},
            "machine": old["machine"],
            "versions": _known(old["versions"]),
            "implementation": implementation,
            "dataset": old["dataset"],
            "timings": [_timing(one, implementation["name"]) for one in old["timings"]],
        }
    )


def _timing(old: Mapping[str, Any], implementation: str) -> dict[str, Any]:
    case: str = old["case"]
    if implementation == "memcpy" or "/copy/unix/" in case or case == "exchange-bars/copy":
        kind = "floor"
    else:
        kind = "step" if case.startswith(_STEPS) else "answer"
    new = {
        "kind": kind,
        "case": case,
        "over": _rows(old["dataset"]),
        "outcome": old["outcome"],
        "reason": old["error"],
        **{name: old[name] for name in _FIGURES if old[name] != []},
    }
    if kind == "answer":
        new |= {name: old[name] for name in ("query", "expected", "answer")}
        new |= {name: old[name] for name in ("paths", "warnings") if old[name]}
    return _known(new)


def _rows(old: Mapping[str, Any]) -> dict[str, Any]:
    dimensions = {name: old[name] for name in _DIMENSIONS if old[name] is not None}
    new = {name: old[name] for name in ("name", "scale", "state", "digest")}
    if new["state"] == "base":
        del new["state"]  # it is the default
    # Version 1 knew tables of one format.
    return new | ({"format": "hudi", "dimensions": dimensions} if dimensions else {})


def _known(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
