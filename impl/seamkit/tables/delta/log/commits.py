"""One commit: what it did to the table, as a reader of changes sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamkit.files.storage import Storage
from seamkit.tables.delta.log.actions import (
    AddFile,
    Metadata,
    Protocol,
    add_file,
    changed_file,
    changes_data,
    metadata,
    protocol,
)
from seamkit.tables.delta.log.checkpoint import json_actions

_COUNTS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


@dataclass
class Commit:
    """The actions of one commit that a change feed is made of.

    Attributes:
        version: its number.
        adds: files that it added, those aside that it merely wrote anew.
        removes: files that it removed, those aside likewise.
        feed: files of changes, whose rows say themselves what happened to them.
        metadata: schema and properties, if it changes them.
        protocol: what is asked of readers, if it changes that.
        is_void: whether it says that it changed no row (a merge that met none).
    """

    version: int
    adds: list[AddFile] = field(default_factory=list)
    removes: list[AddFile] = field(default_factory=list)
    feed: list[AddFile] = field(default_factory=list)
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    is_void: bool = False


def load_commit(storage: Storage, path: str, version: int) -> Commit:
    """Read a commit."""
    commit = Commit(version)
    removes: list[tuple[Mapping[str, Any], str]] = []
    for name, content, where in json_actions(storage, path):
        if name == "add" and changes_data(content, where):
            commit.adds.append(add_file(content, where))
        elif name == "remove" and changes_data(content, where):
            removes.append((content, where))
        elif name == "cdc":
            commit.feed.append(changed_file(content, where))
        elif name == "metaData":
            commit.metadata = metadata(content, where)
        elif name == "protocol":
            commit.protocol = protocol(content, where)
        elif name == "commitInfo":
            commit.is_void = _is_void(content)
    if not commit.feed and not commit.is_void:
        commit.removes = [changed_file(content, where) for content, where in removes]
    return commit


def _is_void(info: Mapping[str, Any]) -> bool:
    """Whether a commit is a merge that counts no changed row: its files hold the rows they held."""
    counts = info.get("operationMetrics")
    counted: Sequence[Any] = (
        [counts.get(n) for n in _COUNTS] if isinstance(counts, dict) else [None]
    )
    return info.get("operation") == "MERGE" and all(n == "0" for n in counted)
