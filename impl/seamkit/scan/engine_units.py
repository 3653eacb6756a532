"""Which files of a plan go to an engine's own reader, and why the others stay."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import filter_columns
from seamkit.engines.files import CHUNK_ROWS, EngineFiles, why_not
from seamkit.files.kept import KEPT
from seamkit.files.reader import FileReader
from seamkit.scan.engine_masks import ChangedRows, MaskedFiles, UnitMatches, gone_rows
from seamkit.scan.events_cache import EventsCache
from seamkit.scan.pruning import rules_some_out
from seamkit.scan.units import KeyMask, Mask, ReadContext, ReadPlan, ReadUnit, Runs

__all__ = ["EngineShare", "engine_share", "masked_unit"]

#: Reads of their own that an engine is given at most: one for each set of values of partitions.
_MOST_READS = 64

#: Bits of one read's mask at most: an engine counts them in 32 bits.
_MOST_BITS = 1 << 31

#: What engines call the place of a row; a file's own column of that name would hide it.
_PLACES = frozenset(("file_index", "file_row_number", "_tmp_metadata_row_index"))


@dataclass(frozen=True)
class EngineShare:
    """A plan, split between an engine's own reader and ours.

    Attributes:
        files: what the engine's reader reads as it stands.
        changed: what it reads under a mask, with the units whose rows are gone.
        rest: what stays.
        reasons: for each unit of the plan, why it stays; None for those that go as they stand.
        matches: what keyed events do to their files.
    """

    files: Sequence[EngineFiles]
    changed: Sequence[tuple[EngineFiles, Sequence[ReadUnit]]]
    rest: ReadPlan
    reasons: Sequence[str | None]
    matches: UnitMatches | None

    def masked(self, context: ReadContext, threads: int) -> Iterator[EngineFiles]:
        """What the engine's reader reads under masks, which it asks for when it reads.

        Args:
            context: what reads lend.
            threads: units at once.
        """
        for files, units in self.changed:
            assert self.matches is not None
            masks = MaskedFiles(units, files.stride, self.matches, context, threads)
            yield replace(files, gone=masks.dataset())


def engine_share(
    plan: ReadPlan, columns: Sequence[str], matches: UnitMatches | None = None
) -> EngineShare:
    """Split a plan. Every unit without changes has its files' footers read.

    Args:
        plan: the units.
        columns: those that the scan hands out.
        matches: what keyed events do to their files, for an engine that can leave out rows which
            are gone; None for one that cannot. The footers of units with changes are read, too.

    Raises:
        InputError: a file is missing or broken.
    """
    schema = pa.schema([plan.schema.field(name) for name in columns])
    reads: dict[object, tuple[EngineFiles, list[ReadUnit]]] = {}
    reasons: list[str | None] = []
    rest: list[ReadUnit] = []
    for unit in plan.units:
        found = _files_of(unit, schema, masks=matches is not None)
        why = unit.reason or "it has changes"
        if isinstance(found, str):
            reasons.append(found)
            rest.append(unit)
            continue
        key = [_key(files) for files in found]
        if len({*reads, *key}) > _MOST_READS or not all(map(_fits, found, map(reads.get, key))):
            reasons.append(f"an engine would have to read {_MOST_READS} partitions apart")
            rest.append(unit)
            continue
        reasons.append(None if unit.changes is None else f"{why}; DuckDB and Spark mask its file")
        if matches is not None and not isinstance(unit.changes, Mask | KeyMask | None):
            unit = _without_file(unit, matches)
            # Only what its file does not hold.
            rest.append(unit)
        for files in found:
            known, units = reads.get(_key(files), (replace(files, paths=[], stride=0), []))
            joined = replace(
                known,
                paths=[*known.paths, *files.paths],
                stride=max(known.stride, files.stride),
            )
            reads[_key(files)] = joined, [*units, unit]
    clean = [files for files, _ in reads.values() if not files.stride]
    changed = [pair for pair in reads.values() if pair[0].stride]
    return EngineShare(clean, changed, replace(plan, units=rest), reasons, matches)


def _without_file(unit: ReadUnit, matches: UnitMatches) -> ReadUnit:
    """A unit with events, of which only the rows are read that its file does not hold."""
    (file,), changes = unit.files, unit.changes
    assert not isinstance(changes, Mask | KeyMask | Runs | None)
    return replace(unit, changes=ChangedRows(file, changes, matches))


def masked_unit(
    unit: ReadUnit,
    schema: pa.Schema,
    shown: pa.Schema,
    condition: pc.Expression | None,
    context: ReadContext,
) -> tuple[EngineFiles, npt.NDArray[np.bool_], ReadUnit | None] | None:
    """Split one unit: a file for an engine's reader, which of its rows are gone, and what is left.

    All of it stays with us where a filter leaves it out, or leaves out row groups by their keys: an
    engine would have us look at all keys of the file.

    Args:
        unit: of any kind.
        schema: all columns of the table.
        shown: the columns that are handed out.
        condition: of rows; None for all.
        context: what the read lends.

    Returns:
        None where all stays with us. The unit that is left has the rows that the file does not
        hold; None where the file holds all.

    Raises:
        SeambenchError: what is wrong with the file or its changes.
    """
    found = _files_of(unit, shown, masks=True)
    tested = filter_columns(condition, schema)
    if isinstance(found, str) or len(found) != 1 or rules_some_out(unit, condition, schema, tested):
        return None
    (file,), none = found, np.empty(0, np.bool_)
    # Its events are asked for twice: where nothing is kept, this cache ends with the unit.
    matches = UnitMatches(schema, EventsCache(shared=KEPT if KEPT.most_bytes else None))
    matches.columns = list(dict.fromkeys([*shown.names, *tested]))
    if unit.changes is None:
        return file, none, None
    keyed = not isinstance(unit.changes, Mask | KeyMask)
    changed = _without_file(unit, matches) if keyed else unit
    gone = gone_rows(changed, matches, context)
    return None if gone is None else (file, gone, changed if keyed else None)


def _fits(files: EngineFiles, read: tuple[EngineFiles, Sequence[ReadUnit]] | None) -> bool:
    """Whether the mask of a read has room for the rows of one more file."""
    stride = max(files.stride, 0 if read is None else read[0].stride)
    return stride * (1 + (0 if read is None else len(read[1]))) <= _MOST_BITS


def _files_of(unit: ReadUnit, schema: pa.Schema, *, masks: bool) -> list[EngineFiles] | str:
    """A unit's files, each a read of its own; or why it stays."""
    changed = unit.changes is not None
    if changed and (not masks or isinstance(unit.changes, Runs) or len(unit.files) != 1):
        return unit.reason or "it has changes"
    values = {name: value for name, value in unit.partition.items() if name in schema.names}
    wanted = pa.schema([field for field in schema if field.name not in values])
    found = []
    for file in unit.files:
        reader: FileReader = file.open()
        why = why_not(reader, wanted)
        if why is None and changed and _PLACES.intersection(map(str.lower, reader.schema.names)):
            why = "a column of its file hides the places of rows"
        if why is not None:
            return why
        absent = frozenset(wanted.names).difference(reader.schema.names)
        chunks = max(math.ceil(reader.num_rows / CHUNK_ROWS), 1) if changed else 0
        found.append(EngineFiles([reader.name], schema, values, absent, None, chunks * CHUNK_ROWS))
    return found


def _key(files: EngineFiles) -> object:
    """What files that are read together have in common."""
    values = tuple((name, value.type, value.as_py()) for name, value in files.values.items())
    return values, files.absent, bool(files.stride)
