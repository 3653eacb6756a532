"""The same table by other readers: counts, sums of keys, sums of rows, and rows that differ.

Each reads in a process of its own, which may hang or die. A refusal is no disagreement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec.structs import replace as replaced

from seambase.description import TableDescription
from seambase.errors import SeambenchError, UsageError
from seambase.wording import counted
from seambench.conformance.isolate import Isolated, Limits
from seambench.contracts import registry
from seambench.contracts.peers.catalogue import AT, catalogue, numbers, peer_of
from seambench.contracts.peers.environments import environment, made_environments
from seambench.contracts.scan import Parted, Scan, Scanner, ScanRequest
from seambench.engines.digest import rows_of
from seambench.seams.scan.audit.model import Budget, DifferentRow, PeerAnswer
from seambench.seams.scan.audit.rows import condition_for, differences, digest, write_rows
from seambench.seams.scan.audit.worker import packed

_WORKER = "seambench.seams.scan.audit.worker"
_LEAST_SECONDS = 1.0
#: Characters of a value that are shown of a row that differs.
_TEXT = 200
#: Rows up to which readers that differ are compared row by row.
_MOST_ROWS = 5_000_000


def present_peers(format_name: str) -> list[str]:
    """Readers of a format that can be asked at once: installed here, or in made environments.

    Of those that are not installed here the newest version that has an environment counts.
    """
    here = registry.names("scan", without=("native", "reference", "variant", None))
    found = [n for n in here if _reads(registry.resolve("scan", n).capabilities, format_name)]
    for (seam, name), peer in sorted(catalogue().items()):
        if seam != "scan" or name in found:
            continue
        made = [
            version
            for version, folders in made_environments(peer).items()
            if environment(peer, version) in folders
            and _reads(peer.capabilities(version), format_name)
        ]
        if made:
            found.append(f"{name}{AT}{max(made, key=numbers)}")
    return found


def _reads(capabilities: Mapping[str, bool], format_name: str) -> bool:
    return all(capabilities.get(word) for word in (f"formats.{format_name}", "query.snapshot"))


@dataclass(frozen=True)
class Ours:
    """The reader whose rows the others' are compared with."""

    scanner: Scanner
    request: ScanRequest  # a snapshot of the table, all columns
    table: TableDescription  # as it describes it
    key: Sequence[str]  # columns that tell rows apart; none where nobody said

    def scan(self, columns: Sequence[str] | None = None) -> Scan:
        """Plan a read of some columns, or all."""
        return self.scanner.open(replace(self.request, columns=columns))


def ask_peers(
    ours: Ours, names: Sequence[str], budget: Budget, tell: Callable[[str], None]
) -> list[PeerAnswer]:
    """What each of some readers says of a table; those for which no time is left are named."""
    if not names:
        return []
    answers = []
    with _Questions(ours, tell) as questions:
        for at, name in enumerate(names):
            if budget.seconds_left < _LEAST_SECONDS:
                budget.reach(f"no time was left to ask {', '.join(names[at:])}")
                break
            tell(f"asking {name}")
            answers.append(questions.put_to(name, budget))
    return answers


class _Questions:
    """What peers are asked, with our own answers, each worked out when it is first needed."""

    def __init__(self, ours: Ours, tell: Callable[[str], None]) -> None:
        self._ours, self._tell = ours, tell
        whole = ours.scan().schema
        self._whole = whole
        self._key = pa.schema([whole.field(name) for name in ours.key])
        self._digests: dict[tuple[str, ...], str] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="seambench-audit-")

    def __enter__(self) -> _Questions:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def put_to(self, name: str, budget: Budget) -> PeerAnswer:
        """Ask one reader; a peer's version that states no such format is not installed for it."""
        format_name = self._ours.table.format
        if versioned := peer_of("scan", name):
            stated_by, version = versioned
            if not _reads(stated_by.capabilities(version), format_name):
                reason = f"it does not state formats.{format_name} with query.snapshot"
                return PeerAnswer(name=name, version=version, outcome="refused", reason=reason)
        # A third each to start and to answer: one that hangs leaves time for others.
        timeout = max(_LEAST_SECONDS, budget.seconds_left / 3)
        limits = Limits(timeout, start_seconds=timeout)
        with Isolated("scan", name, limits, _WORKER) as peer:
            try:
                return self._ask(peer, name, budget)
            except UsageError:  # a name that stands for nothing
                raise
            except SeambenchError as error:
                reason = str(error)
                return PeerAnswer(name=name, version=peer.version, outcome="error", reason=reason)

    def _ask(self, peer: Isolated, name: str, budget: Budget) -> PeerAnswer:
        found = PeerAnswer(name=name, version=peer.version, outcome="agrees", values=True)
        for schema in (self._key, self._whole):
            if not schema.names:
                continue
            answer = peer.ask(self._request(schema) | {"schema": packed(schema)})
            if (outcome := answer["outcome"]) != "pass":
                reason = answer.get("reason", "")
                return replaced(found, outcome=outcome, reason=reason, values=None)
            found = replaced(found, rows=rows_of(answer["digest"]))
            same = answer["digest"] == self._own(schema)
            if schema is not self._whole:
                found = replaced(found, keys=same)
            if not same:
                values = False if schema is self._whole else None
                return self._explained(peer, replaced(found, values=values), budget)
        return found

    def _explained(self, peer: Isolated, first: PeerAnswer, budget: Budget) -> PeerAnswer:
        """A reader that differs: in which rows, where that is known."""
        rows, ours = first.rows or 0, rows_of(self._own(self._whole))
        reason = f"{counted(rows, 'row')}, ours are {ours:,}" if rows != ours else "other values"
        outcome = replaced(first, outcome="differs", reason=reason)
        if max(rows, ours) > _MOST_ROWS:
            skipped = f"the rows in which {first.name} differs were not looked for: too many rows"
            budget.reach(skipped)
            return outcome
        own, theirs = (Path(self._folder.name) / word for word in ("ours.arrow", "theirs.arrow"))
        answer = peer.ask(self._request(self._whole) | {"out": str(theirs)})
        if answer["outcome"] != "pass":
            return outcome
        if not own.exists():
            write_rows(self._ours.scan(), own)
        try:
            differ = differences(own, theirs, self._whole)
        finally:
            theirs.unlink()
        some = [self._row(row, "ours", budget) for row in differ.some_missing]
        some += [self._row(row, "peer", budget) for row in differ.some_added]
        return replaced(outcome, missing=differ.missing, added=differ.added, different=some)

    def _row(self, row: Mapping[str, Any], only: Any, budget: Budget) -> DifferentRow:
        texts = {name: None if value is None else str(value)[:_TEXT] for name, value in row.items()}
        return DifferentRow(row=texts, only=only, unit=self._unit_of(row, only, budget))

    def _unit_of(self, row: Mapping[str, Any], only: str, budget: Budget) -> str:
        """The unit in which a row lies; one that we do not have may lie in its data files."""
        schema = self._key if self._key.names else self._whole
        condition = condition_for(row, schema)
        if condition is None:
            return ""
        scan = self._ours.scan()
        bare = getattr(scan, "files_alone", None)
        if only == "peer" and bare is not None:
            scan = bare()
        if not isinstance(scan, Parted):
            return ""
        for i, unit in enumerate(self._ours.table.units):
            if budget.seconds_left <= 0:
                budget.reach("not for every row that differs its unit was looked for")
                return ""
            with scan.part(i, schema.names, condition).to_reader() as stream:
                if any(batch.num_rows for batch in stream):
                    return unit.name
        return ""

    def _own(self, schema: pa.Schema) -> str:
        names = tuple(schema.names)
        if names not in self._digests:
            self._tell("reading the table for comparison")
            self._digests[names] = digest(self._ours.scan(names), schema)
        return self._digests[names]

    def _request(self, schema: pa.Schema) -> dict[str, Any]:
        request = self._ours.request
        return {
            "table": request.table,
            "columns": list(schema.names),
            "storage_options": dict(request.storage_options),
            "allow": list(request.allow),
        }
