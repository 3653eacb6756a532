"""Branches: schemas, snapshots and tags of their own over the manifests and files of one table."""

from __future__ import annotations

import re

from seambase.errors import UsageError
from seamkit.files.storage import Storage

__all__ = ["MAIN", "branch_address", "branch_folder"]

#: The branch whose schemas and snapshots lie in the table's own folder.
MAIN = "main"

_ADDRESS = re.compile(r"(?P<table>.+?)/+branch/+branch-(?P<name>[^/]+)/*")


def branch_address(path: str, branch: str | None) -> tuple[str, str]:
    """The table that an address means, and its branch.

    Args:
        path: of a table, or of a branch: `TABLE/branch/branch-NAME`.
        branch: the branch that is meant; None for the one of the address.

    Raises:
        UsageError: both name a branch, and not the same; or the name is none.
    """
    if branch is not None and (not isinstance(branch, str) or not branch or "/" in branch):
        raise UsageError(f"branch is {branch!r}: the name of a branch is meant")
    match = _ADDRESS.fullmatch(path)
    if match is None:
        return path, branch or MAIN
    if branch not in (None, match["name"]):
        raise UsageError(f"{path} is the branch {match['name']!r}, not {branch!r}")
    return match["table"], match["name"]


def branch_folder(table: Storage, branch: str) -> Storage:
    """Where the schemas, snapshots and tags of a branch lie.

    Raises:
        UsageError: there is no such branch.
    """
    if branch == MAIN:
        return table
    folder = f"branch/branch-{branch}"
    if not table.list(f"{folder}/schema"):
        names = sorted(s.name.removeprefix("branch-") for s in table.list("branch"))
        known = ", ".join(names) or "none"
        raise UsageError(f"{table.root}: there is no branch {branch!r}; branches: {known}")
    return table.below(folder)
