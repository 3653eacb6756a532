"""From the live files of a snapshot to read units.

Each file of level 0 is a sorted run, each higher level is one. Files whose ranges of keys overlap,
directly or through others, make up a section; sections are merged independently of each other
(IntervalPartition, MergeTreeSplitGenerator of paimon-core).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Any, Literal

import pyarrow as pa

from seambase.description import StoredFile
from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seambase.wording import counted
from seamkit.files.storage import Storage
from seamkit.scan.units import DataFile, Mask, ReadUnit, Runs
from seamkit.tables.paimon.change_rows import INSERTED, retracts_of, with_kinds
from seamkit.tables.paimon.data_files import (
    bucket_folder,
    data_identity,
    file_statistics,
    open_data_file,
    read_vector,
    vector_identity,
)
from seamkit.tables.paimon.evolution import (
    open_parts,
    parts_identity,
    parts_of,
    parts_statistics,
    same_rows,
)
from seamkit.tables.paimon.merge_engines.engines import merge_rule
from seamkit.tables.paimon.metadata.manifests import (
    FileEntry,
    VectorKey,
    VectorRange,
    live_vectors,
    row_values,
)
from seamkit.tables.paimon.metadata.schemas import (
    KIND,
    ROW_KIND,
    SEQUENCE,
    SYSTEM,
    ReadOptions,
    Schemas,
    TableSchema,
    read_options,
)
from seamkit.tables.paimon.metadata.snapshots import Snapshot, SnapshotFolder

#: Of merge engines that leave one row of a key as it is, which one.
_ROW_LEFT: Mapping[str, Literal["last", "first"]] = {"deduplicate": "last", "first-row": "first"}


@dataclass(frozen=True)
class Section:
    """Files that are merged together."""

    # each a sorted run, its files in the order of their keys; the oldest rows first where `ordered`
    runs: Sequence[Sequence[FileEntry]]
    ordered: bool  # whether all rows of a run are older than those of the next

    @property
    def files(self) -> Sequence[FileEntry]:
        """All files, run by run."""
        return [file for run in self.runs for file in run]


def sections(files: Sequence[FileEntry], key_types: Sequence[pa.DataType]) -> Sequence[Section]:
    """Cut the files of a bucket, at least one, into sections."""
    if len(files) == 1:
        return [_section(files)]
    bounds = {file.identity: _bounds(file, key_types) for file in files}
    ordered = sorted(files, key=lambda file: bounds[file.identity][0])
    groups: list[list[FileEntry]] = []
    top: _Key | None = None
    for file in ordered:
        low, high = bounds[file.identity]
        if top is None or top < low:
            groups.append([])
            top = high
        groups[-1].append(file)
        top = max(top, high)
    return [_section(own) for own in groups]


def _section(files: Sequence[FileEntry]) -> Section:
    """The runs of a section; `files` are in the order of their smallest keys."""
    runs: dict[object, list[FileEntry]] = {}
    for file in files:
        runs.setdefault(file.identity if file.level == 0 else file.level, []).append(file)
    spans = {name: _span(run) for name, run in runs.items()}
    names = sorted(runs, key=lambda name: spans[name])
    apart = all(spans[one][1] < spans[other][0] for one, other in itertools.pairwise(names))
    return Section([runs[name] for name in names], apart)


def _span(run: Sequence[FileEntry]) -> tuple[int, int]:
    """The smallest sequence number of a run, and the largest."""
    return min(file.min_sequence for file in run), max(file.max_sequence for file in run)


_Key = tuple[Any, ...]
"""A key in the order of its table: numbers by value, texts by their bytes.

Both zeros are one: Paimon's comparators ask for `>`, then for `<`, and the rest is equal."""


def _bounds(file: FileEntry, types: Sequence[pa.DataType]) -> tuple[_Key, _Key]:
    where = f"{file.where}: {file.name}"
    low, high = (
        tuple(_comparable(value, where) for value in row_values(data, types, where))
        for data in (file.min_key, file.max_key)
    )
    if high < low:
        raise InputError(f"{where}: its largest key is below its smallest")
    return low, high


def _comparable(value: pa.Scalar, where: str) -> Any:
    if not value.is_valid:
        raise InputError(f"{where}: its smallest or largest key has a null")
    kind = value.type
    if pa.types.is_string(kind):
        return value.as_py().encode("utf-8")
    if pa.types.is_timestamp(kind) or pa.types.is_time32(kind) or pa.types.is_date32(kind):
        numbers = pa.int32() if kind.bit_width == 32 else pa.int64()
        return value.cast(numbers).as_py()
    found: bool | int | float | bytes | Decimal = value.as_py()
    if isinstance(found, float) and math.isnan(found):
        raise RefusedError(
            f"{where}: its smallest or largest key has NaN, and the bucket has other files; to "
            "Paimon NaN equals every key, so what becomes of their rows is not specified"
        )
    return found


def by_bucket(files: Sequence[FileEntry]) -> Mapping[tuple[bytes, int], list[FileEntry]]:
    """The files of each bucket of each partition."""
    buckets: dict[tuple[bytes, int], list[FileEntry]] = {}
    for file in files:
        buckets.setdefault((file.partition, file.bucket), []).append(file)
    return buckets


_WAITING = -2


@dataclass(frozen=True)
class Planner:
    """Plans the buckets of one snapshot, with its vectors; without one, files as written."""

    storage: Storage
    schemas: Schemas
    schema: TableSchema
    options: ReadOptions
    snapshot: Snapshot | None
    history: SnapshotFolder  # the snapshots that are left, against which those vectors are held
    # what the units planned so far show that Paimon does not specify
    warnings: list[ScanWarning] = field(default_factory=list)

    @cached_property
    def _vectors(self) -> Mapping[VectorKey, VectorRange]:
        if self.snapshot is None:
            return {}
        return live_vectors(self.storage, self.snapshot, self.history)

    @cached_property
    def _partition_types(self) -> Sequence[pa.DataType]:
        return [self.schema.arrow.field(name).type for name in self.schema.partition_keys]

    def units(
        self, files: Sequence[FileEntry], *, read_optimized: bool
    ) -> tuple[list[ReadUnit], list[str]]:
        """The units of all files, and notes on what was left out."""
        self._check_vectors(files)
        units: list[ReadUnit] = []
        unseen = 0
        for (_, bucket), own in by_bucket(files).items():
            seen = [file for file in own if self.sees(file, read_optimized=read_optimized)]
            unseen += len(own) - len(seen)
            if seen:
                units += self._bucket(bucket, seen)
        notes = [f"not seen before a compaction: {counted(unseen, 'file')}"] if unseen else []
        return units, notes

    def as_written(self, files: Sequence[FileEntry], *, row_kinds: bool = False) -> list[ReadUnit]:
        """A unit for each file, whose rows stand as they were written.

        They are of appends, or of changelogs. With `row_kinds` rows have their kinds in words;
        otherwise retracts are left out. Rows that wait for their bucket are not there yet.
        """
        units = []
        for file in (one for one in files if one.bucket != _WAITING):
            known = self._partition(file)
            folder = bucket_folder(known, file.bucket, self.schema)
            unit = self._native(file, folder, known)
            data = self._data_file(file, folder)
            if row_kinds and self.schema.primary_keys:
                unit = replace(unit, files=[replace(data, open=partial(with_kinds, data.open))])
            elif row_kinds:
                unit = replace(unit, partition={**known, ROW_KIND: pa.scalar(INSERTED)})
            elif self.schema.primary_keys and self._may_retract(file):
                mask = Mask(partial(retracts_of, data.open))
                unit = replace(unit, changes=mask, reason="retracts are left out")
            units.append(unit)
        return units

    def units_by_partition(self, files: Sequence[FileEntry]) -> Mapping[bytes, list[ReadUnit]]:
        """The units of the files of each partition, by its values as a binary row."""
        self._check_vectors(files)
        found: dict[bytes, list[ReadUnit]] = {}
        for (partition, bucket), own in by_bucket(files).items():
            if seen := [file for file in own if self.sees(file)]:
                found.setdefault(partition, []).extend(self._bucket(bucket, seen))
        return found

    def _check_vectors(self, files: Sequence[FileEntry]) -> None:
        """Warn of vectors that are of none of the live files."""
        # Paimon 1.3 and 1.4 leave some behind where a full compaction rewrites files for theirs.
        live = {(file.partition, file.bucket, file.name) for file in files}
        if left := sorted(self._vectors.keys() - live):
            _, bucket, name = left[0]
            reason = (
                f"{counted(len(left), 'deletion vector')} of files that are not live, the first "
                f"of {name} in bucket {bucket}"
            )
            self.warnings.append(ScanWarning(self.storage.root, -1, reason))

    def _partition(self, file: FileEntry) -> Mapping[str, pa.Scalar]:
        where = f"{file.where}: a partition"
        values = row_values(file.partition, self._partition_types, where)
        return dict(zip(self.schema.partition_keys, values, strict=True))

    def sees(self, file: FileEntry, *, read_optimized: bool = False) -> bool:
        """Whether a query takes the rows of a file."""
        if not self.schema.primary_keys:
            return True
        if read_optimized:
            return file.level > 0 and file.level == self.options.highest_level
        if file.bucket == _WAITING:
            return False
        return not (self.options.skips_level_0 and file.level == 0)

    def _bucket(self, bucket: int, files: Sequence[FileEntry]) -> list[ReadUnit]:
        known = self._partition(files[0])
        folder = bucket_folder(known, bucket, self.schema)
        if not self.schema.primary_keys:
            _check_keyless(files, self.schema.where)
            if self.options.evolves:
                rows = same_rows(files, self.schema.where)
                return [self._evolved(own, folder, known) for own in rows]
        if not self.schema.primary_keys or self._is_raw(files):
            return [self._native(file, folder, known) for file in files]
        key_types = [self.schema.arrow.field(name).type for name in self.schema.merge_keys]
        units = []
        for number, section in enumerate(sections(files, key_types)):
            only = section.files[0] if len(section.runs) == 1 else None
            if only is not None and not any(map(self._may_retract, section.files)):
                units += [self._native(file, folder, known) for file in section.files]
            else:
                units.append(self._merged(section, number, folder, known))
        return units

    def _is_raw(self, files: Sequence[FileEntry]) -> bool:
        """Whether the rows of a bucket's files are those of the table as they stand."""
        # Paimon's rule: nothing of level 0, no row that deletes another, and one level, or vectors
        # or a first-row engine that keep rows of one key from being live twice. It says so of runs,
        # too, that were written before these were enabled, and then reads rows twice; those are
        # merged.
        if any(file.level == 0 or file.deleted_rows != 0 for file in files):
            return False
        if len({file.level for file in files}) == 1:
            return True
        return self.options.skips_level_0 and all(one.skips_level_0 for one in self._then(files))

    def _then(self, files: Sequence[FileEntry]) -> list[ReadOptions]:
        """The options of the schemas by which files were written."""
        return [read_options(self.schemas.load(n)) for n in sorted({f.schema_id for f in files})]

    def _looked_up(self, section: Section) -> Sequence[int]:
        """The runs that were made of rows of level 0 and of what deeper runs had of their keys."""
        # Paimon's `LookupMergeFunction` goes by the newest options, whatever wrote the files.
        if self.options.engine in _ROW_LEFT:
            return ()
        return [number for number, run in enumerate(section.runs) if self._is_looked_up(run)]

    def _is_looked_up(self, run: Sequence[FileEntry]) -> bool:
        return run[0].level > 0 and all(one.looks_up for one in self._then(run))

    def _is_of_one_age(self, section: Section) -> bool:
        """Whether runs bear the same numbers, but for rows that a compaction looked up."""
        # Where a row of a deeper run wins over those of level 0, it is written once more as it is.
        by_level = sorted(section.runs, key=lambda run: run[0].level)
        return not section.ordered and any(
            max(_span(one)[0], _span(deeper)[0]) <= min(_span(one)[1], _span(deeper)[1])
            and not self._is_looked_up(one)
            for one, deeper in itertools.combinations(by_level, 2)
        )

    def _may_retract(self, file: FileEntry) -> bool:
        """Whether a file may have retracts, as far as its manifest can be believed."""
        # pypaimon states none of every file that it writes, also where a field tells kinds of rows.
        if file.deleted_rows == 0 and file.level == 0:
            return "rowkind.field" in self.schemas.load(file.schema_id).options
        return file.deleted_rows != 0

    def _native(self, file: FileEntry, folder: str, known: Mapping[str, pa.Scalar]) -> ReadUnit:
        """A file whose rows are the table's but for those that its vector takes out."""
        mask = self._mask(file)
        return ReadUnit(
            name=f"{folder}/{file.name}",
            files=[self._data_file(file, folder)],
            partition=known,
            changes=mask,
            reason="" if mask is None else "a deletion vector",
            changed_by=self._stored_vectors([file]),
            group=folder,
        )

    def _evolved(
        self, files: Sequence[FileEntry], folder: str, known: Mapping[str, pa.Scalar]
    ) -> ReadUnit:
        """Files that have the same rows, the newest first, of which each has some columns."""
        oldest = min(files, key=lambda file: (file.max_sequence, file.name))
        unit = self._native(oldest, folder, known)
        if len(files) == 1:
            return unit
        later = [file for file in files if file is not oldest]
        for file in later:
            if self._vector(file) is not None:
                raise RefusedError(
                    f"{self.schema.where}: {file.name} has a deletion vector, and {oldest.name} is "
                    "the oldest file with its rows, of which Paimon takes it"
                )
        parts = parts_of(files, self.schema, self.schemas)
        data = replace(
            self._data_file(oldest, folder),
            open=partial(open_parts, self.storage, folder, parts, self.schemas, self.schema),
            statistics=partial(parts_statistics, parts, self.schema, self.schemas),
            has_footer=False,
            identity=partial(parts_identity, self.storage, folder, parts, self.schema),
        )
        others = [
            StoredFile("columns", self._data_file(file, folder).name, file.size_bytes, file.rows)
            for file in later
        ]
        reason = ", ".join(filter(None, (unit.reason, "columns lie in several files")))
        changed_by = [*unit.changed_by, *others]
        return replace(unit, files=[data], reason=reason, changed_by=changed_by)

    def _merged(
        self, section: Section, number: int, folder: str, known: Mapping[str, pa.Scalar]
    ) -> ReadUnit:
        """Files whose rows of one key are merged."""
        options = self.options
        if self._is_of_one_age(section):
            self.warnings.append(_of_one_age(section, f"{self.storage.root}/{folder}"))
        runs = [[self._data_file(file, folder) for file in run] for run in section.runs]
        masks = {
            data.name: mask
            for run, entries in zip(runs, section.runs, strict=True)
            for data, entry in zip(run, entries, strict=True)
            if (mask := self._mask(entry)) is not None
        }
        order = list(options.sequence_fields)
        if not section.ordered or order:
            order.append(SEQUENCE)
        retracts = any(map(self._may_retract, section.files))
        changes = Runs(
            runs=runs,
            keys=self.schema.merge_keys,
            order=order,
            descending=len(options.sequence_fields) if options.descending else 0,
            kinds=KIND if retracts else None,
            system=SYSTEM,
            ignores_retracts=options.ignores_deletes,
            rule=_ROW_LEFT.get(options.engine) or merge_rule(self.schema, options),
            masks=masks,
            whole=self._looked_up(section),
            depths=[run[0].level for run in section.runs],
        )
        return ReadUnit(
            name=f"{folder}, section {number}",
            files=[file for run in runs for file in run],
            partition=known,
            changes=changes,
            reason="sorted runs are merged",
            changed_by=self._stored_vectors(section.files),
            group=folder,
        )

    def _data_file(self, file: FileEntry, folder: str) -> DataFile:
        opened = partial(
            open_data_file,
            self.storage,
            folder,
            file,
            self.schemas,
            self.schema,
            self.snapshot is not None,
        )
        return DataFile(
            self.storage.place(file.external_path or f"{folder}/{file.name}"),
            file.size_bytes,
            opened,
            rows=file.rows,
            statistics=partial(file_statistics, file, self.schema, self.schemas),
            has_footer=file.has_footer,
            identity=partial(data_identity, self.storage, folder, file, self.schema),
        )

    def _stored_vectors(self, files: Sequence[FileEntry]) -> list[StoredFile]:
        found = map(self._vector, files)
        return [
            StoredFile(
                "deletion vector",
                self.storage.place(one.external_path or f"{one.folder}/{one.index_file}"),
                one.length,
                one.cardinality,
                one.offset,
            )
            for one in found
            if one is not None
        ]

    def _vector(self, file: FileEntry) -> VectorRange | None:
        found = self._vectors.get((file.partition, file.bucket, file.name))
        if found is None or not self.options.vectors_beside_data:
            return found
        folder = bucket_folder(self._partition(file), file.bucket, self.schema)
        return replace(found, folder=folder)

    def _mask(self, file: FileEntry) -> Mask | None:
        vector = self._vector(file)
        if vector is None:
            return None
        load = partial(read_vector, self.storage, vector)
        return Mask(load, vector.cardinality, partial(vector_identity, self.storage, vector))


def _of_one_age(section: Section, where: str) -> ScanWarning:
    """That runs may have rows of a key with one sequence number."""
    # Paimon's core hands such rows on as its tree of runs has them, by how many runs meet.
    reason = (
        f"of {counted(len(section.runs), 'sorted run')} some bear the same sequence numbers, as "
        "two writers give that begin with one snapshot; where they have a row of one key and "
        "number each, Paimon does not specify which is the newer"
    )
    return ScanWarning(where, -1, reason)


def _check_keyless(files: Sequence[FileEntry], where: str) -> None:
    """Refuse files of a table with a primary key where the schema has none."""
    # In front of a binary row stands its number of fields, none where there is no key. Levels tell
    # nothing: incremental clustering of append tables has some, too.
    for file in files:
        if any(file.min_key[:4]) or file.deleted_rows:
            raise InputError(
                f"{file.where}: {file.name} is a file of a table with a primary key, and {where} "
                "has none"
            )
