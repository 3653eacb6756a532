"""Entries of manifests: which files are live, with what is known of each, and what they inherit.

A table may have very many manifests of few entries: those of one schema are decoded into the same
columns, and looked at together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, pairwise, repeat
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.values import value_class
from seambase.wording import counted
from seamkit.avro.data_file import AvroContainer, Pairs, Records
from seamkit.files.storage import Storage, kept_of_each
from seamkit.tables.iceberg.metadata.document import (
    PartitionField,
    PartitionSpec,
    TableFiles,
    TableMetadata,
)
from seamkit.tables.iceberg.metadata.manifests import Manifest, open_file, records_of
from seamkit.tables.iceberg.metadata.schema import Field, partition_value

_T = TypeVar("_T")

DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
"""What a file holds, as entries say it."""

_STATUSES = _EXISTING, _ADDED, _DELETED = 0, 1, 2
_FORMATS = ("PARQUET", "ORC", "AVRO", "PUFFIN")


@dataclass(frozen=True)
class Partition:
    """The partition of files: values by the id of the partition field; see `partition_value`.

    Those of `TableMetadata.dropped_fields` need not be there.
    """

    spec_id: int
    values: Mapping[int, Any]

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What files of one partition have in common: spec and values; null equals null."""
        return (self.spec_id, *((id_, _key(self.values[id_])) for id_ in sorted(self.values)))

    def agrees(self, other: Partition) -> bool:
        """Whether the two may be one: they are alike in all that both tell."""
        both = self.values.keys() & other.values.keys()
        alike = (_key(self.values[id_]) == _key(other.values[id_]) for id_ in both)
        return self.spec_id == other.spec_id and all(alike)

    def told(
        self, spec: PartitionSpec, fields: Sequence[Field]
    ) -> Iterator[tuple[PartitionField, Any, Field]]:
        """Fields of its spec, their values, and their columns where these are among some."""
        for one, source in spec.sources(fields):
            if one.id in self.values:
                yield one, self.values[one.id], source


class Stated:
    """What a manifest says of a file's columns, by field id."""

    __slots__ = ("_made_of", "lower", "null_counts", "upper", "value_counts")
    _made_of: tuple[Mapping[str, Pairs | None], int]

    def __init__(
        self,
        value_counts: Mapping[int, int],
        null_counts: Mapping[int, int],
        lower: Mapping[int, bytes],
        upper: Mapping[int, bytes],
    ) -> None:
        self.value_counts, self.null_counts = value_counts, null_counts
        self.lower, self.upper = lower, upper

    @classmethod
    def of(cls, made_of: tuple[Mapping[str, Pairs | None], int]) -> Stated:
        """That of a record of a manifest, made when it is first asked for: few files are."""
        made = cls.__new__(cls)
        made._made_of = made_of
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "_made_of" or name not in self.__slots__:
            raise AttributeError(name)
        pairs, row = self._made_of
        for each, own in pairs.items():
            setattr(self, each, {} if own is None else own.of(row))
        return getattr(self, name)

    def __reduce__(self) -> Any:
        return Stated, (self.value_counts, self.null_counts, self.lower, self.upper)


@value_class
class Entry:
    """A file of a snapshot."""

    content: int  # `DATA`, `POSITION_DELETES` (or a deletion vector) or `EQUALITY_DELETES`
    path: str  # as the manifest spells it
    format: str  # `PARQUET`, `ORC`, `AVRO` or `PUFFIN`
    partition: Partition
    records: int  # rows in it; of a vector, positions
    size_bytes: int
    sequence_number: int  # of its data, by which deletes are matched
    added_by: int | None  # the snapshot that added it; None where that is not known
    is_new: bool  # whether the manifest's own snapshot added it
    manifest: str  # for messages
    stated: Stated = field(default_factory=lambda: Stated({}, {}, {}, {}))
    equality_ids: Sequence[int] = ()  # the fields that decide, of equality deletes
    # the one data file that a delete file is about; None where it may be about more. offset,
    # length: where in the file a vector lies
    referenced: str | None = None
    offset: int | None = None
    length: int | None = None
    first_row_id: int | None = None  # of its first row (version 3)

    @property
    def where(self) -> str:
        """Manifest and file, for messages."""
        return f"{self.manifest}: {self.path}"


class ManifestFiles(NamedTuple):
    """The files of a manifest that are live, with what they inherit.

    `doubts` are what its list says otherwise of it, in words.
    """

    entries: Sequence[Entry]
    doubts: Sequence[str]


def read_entries(
    files: TableFiles, manifests: Sequence[Manifest], metadata: TableMetadata
) -> list[ManifestFiles]:
    """What each manifest has."""
    kinds = {one.spec_id: metadata.partition_kinds(one.spec_id) for one in manifests}
    located = [(*files.locate(one.path), one) for one in manifests]
    made = kept_of_each(
        [(storage, [path]) for storage, path, _ in located],
        lambda numbers: _made([located[number] for number in numbers], metadata),
        lambda made: made[1],
        [
            ("entries of a manifest of Iceberg", tuple(kinds[one.spec_id].items()), one.stated)
            for one in manifests
        ],
    )
    return [own for own, _ in made]


_BYTES_AN_ENTRY, _BYTES_A_PAIR = 1000, 120  # in memory, about
_BYTES_TOGETHER = 1 << 20  # of manifests
#: What is stated of columns, by the names in `Stated`.
_STATED = (
    ("value_counts", "109", int),
    ("null_counts", "110", int),
    ("lower", "125", bytes),
    ("upper", "128", bytes),
)
_Made = tuple["ManifestFiles", int]  # and what it takes in memory
_Known = dict[tuple[Any, ...], "Partition"]
_Located = tuple[Storage, str, Manifest]  # where a manifest lies


def _made(manifests: Sequence[_Located], metadata: TableMetadata) -> Iterable[_Made]:
    """What each manifest has."""
    known: _Known = {}
    try:
        runs = _runs(manifests)
        return [one for run in runs for one in _entries(run, metadata, known)]
    except (InputError, RefusedError):
        if len(manifests) == 1:
            raise
    # One after the other, for what is wrong with the first that is to be told.
    return chain.from_iterable(_made([manifest], metadata) for manifest in manifests)


@dataclass(frozen=True)
class _Run:
    """Manifests of one schema and spec, their bytes, and the records of all, so many of each."""

    manifests: Sequence[Manifest]
    wheres: Sequence[str]
    lengths: Sequence[int]
    rows: Records
    counts: Sequence[int]

    def spread(self, values: Iterable[_T]) -> list[_T]:
        """What holds for each manifest, for each of its records."""
        return [*chain.from_iterable(map(repeat, values, self.counts))]

    @property
    def spans(self) -> Iterator[tuple[int, int]]:
        """Where the records of each begin and end."""
        return pairwise(accumulate(self.counts, initial=0))


def _runs(manifests: Sequence[_Located]) -> Iterator[_Run]:
    opened: list[tuple[Manifest, AvroContainer, str]] = []
    size, before = 0, None
    for storage, path, manifest in manifests:
        container, where = open_file(storage, path)
        alike = container.schema, manifest.spec_id, manifest.is_deletes
        if opened and (alike != before or size > _BYTES_TOGETHER):
            yield _run(opened)
            opened, size = [], 0
        opened.append((manifest, container, where))
        size, before = size + container.size_bytes, alike
    if opened:
        yield _run(opened)


def _run(opened: Sequence[tuple[Manifest, AvroContainer, str]]) -> _Run:
    manifests, containers, wheres = zip(*opened, strict=True)
    lengths = [one.size_bytes for one in containers]
    return _Run(manifests, wheres, lengths, *records_of(containers, wheres))


def _entries(run: _Run, metadata: TableMetadata, known: _Known) -> Iterator[_Made]:
    """What each manifest of a run has."""
    run, statuses, doubts = _live(run)
    rows, manifests = run.rows, run.manifests
    file = rows.within("2")
    paths = file.values("100", str, needed=True)
    for key, path in zip(file.values("131", bytes), paths, strict=True):
        if key:
            raise RefusedError(f"{rows.where}: {path} is encrypted, which is not supported")
    contents = _or(file.values("134", int), repeat(0))
    records = file.values("103", int, needed=True)
    pairs = {name: file.pairs(id_, kind) for name, id_, kind in _STATED}
    entries = [
        *map(
            Entry,
            contents,
            paths,
            [form.upper() for form in file.values("101", str, needed=True)],
            _partitions(file, paths, manifests[0].spec_id, metadata, known),
            records,
            file.values("104", int, needed=True),
            _sequence_numbers(run, statuses, paths),
            _or(rows.values("1", int), run.spread(one.snapshot_id for one in manifests)),
            [status == _ADDED for status in statuses],
            run.spread(run.wheres),
            map(Stated.of, zip(repeat(pairs), range(len(paths)), strict=False)),
            _equality_ids(file),
            file.values("143", str),
            file.values("144", int),
            file.values("145", int),
            _first_row_ids(run, file, contents, records),
        )
    ]
    firsts = {(one.content, one.format, not one.equality_ids): one for one in reversed(entries)}
    for entry in firsts.values():
        _check_content(entry, manifests[0])
    for entry in entries:
        if entry.records < 0 or entry.size_bytes < 0:
            raise InputError(
                f"{entry.where} has {counted(entry.records, 'row')} in "
                f"{counted(entry.size_bytes, 'byte')}"
            )
    ends = [own.ends for own in pairs.values() if own is not None]
    for (begin, end), doubted in zip(run.spans, doubts, strict=True):
        taken = _BYTES_A_PAIR * sum(own[end] - own[begin] for own in ends)
        taken += _BYTES_AN_ENTRY * (end - begin)
        yield ManifestFiles(entries[begin:end], doubted), taken


def _live(run: _Run) -> tuple[_Run, Sequence[int], Sequence[Sequence[str]]]:
    """The entries of files that are live, their statuses, and what lists say otherwise of each."""
    statuses = run.rows.values("0", int, needed=True)
    doubts = []
    for manifest, where, length, (begin, end) in zip(
        run.manifests, run.wheres, run.lengths, run.spans, strict=True
    ):
        found = Counter(statuses[begin:end])
        for status in found.keys() - {*_STATUSES}:
            raise InputError(f"{where}: an entry has the status {status!r}")
        doubts.append(_otherwise(manifest, length, found, where))
    if _DELETED not in statuses:
        return run, statuses, doubts
    live = [status != _DELETED for status in statuses]
    counts = [sum(live[begin:end]) for begin, end in run.spans]
    rows = Records(run.rows.rows.filter(pa.array(live)), run.rows.where)
    statuses = [status for status in statuses if status != _DELETED]
    return _Run(run.manifests, run.wheres, run.lengths, rows, counts), statuses, doubts


def _otherwise(manifest: Manifest, length: int, found: Counter[int], where: str) -> Sequence[str]:
    """What a list says otherwise of a manifest of so many bytes and entries of each status."""
    # An Avro file that ends at a block would pass for a shorter one, and deleted rows would come
    # back: its length or its counts must be right, of which some writers get one wrong.
    stated = manifest.counts
    wrong = [
        f"{where}: {counted(found[status], 'entry')} of status {status}, its list says {count}"
        for status, count in stated.items()
        if found[status] != count
    ]
    is_counted = len(stated) == len(_STATUSES) and not wrong
    if manifest.length not in (None, length):
        wrong.insert(0, f"{where}: {counted(length, 'byte')}, its list says {manifest.length:,}")
        if not is_counted:
            raise InputError(wrong[0])
    # Iceberg's own readers do not open one of which the list counts no live file, and one that has
    # none of those that are counted has lost them.
    live = found[_EXISTING] + found[_ADDED]
    told = {stated.get(_EXISTING), stated.get(_ADDED)}
    if (live and told == {0}) or (not live and told - {0, None}):
        raise InputError(wrong[0])
    return wrong


def _or(values: Sequence[Any], others: Iterable[Any]) -> list[Any]:
    pairs = zip(values, others, strict=False)  # the others may be without end
    return [other if value is None else value for value, other in pairs]


def _sequence_numbers(run: _Run, statuses: Sequence[int], paths: Sequence[str]) -> Sequence[int]:
    """Those of files, which those that a manifest added may inherit from it."""
    owns = run.spread(one.sequence_number for one in run.manifests)
    numbers = []
    for number, own, status, path in zip(
        run.rows.values("3", int), owns, statuses, paths, strict=True
    ):
        if number is None and own and status != _ADDED:
            raise InputError(
                f"{run.rows.where}: {path} has no sequence number, and was not added by its "
                "manifest"
            )
        numbers.append(own if number is None else number)
    above = [one for one in zip(numbers, paths, owns, strict=True) if one[0] > one[2]]
    if above:
        number, path, own = max(above)
        raise InputError(
            f"{run.rows.where}: {path} has the sequence number {number}, its manifest has {own}"
        )
    return numbers


def _equality_ids(file: Records) -> Sequence[Sequence[int]]:
    found = _or(file.lists("135", int), repeat(()))
    if any(None in ids for ids in {*found}):
        raise InputError(f"{file.where}: an entry has equality ids that are no numbers")
    return found


def _first_row_ids(
    run: _Run, file: Records, contents: Sequence[int], records: Sequence[int]
) -> Sequence[int | None]:
    """Those of files, which data files without one inherit, one after the other."""
    # Where the manifest has none, no file has one, whatever its entry says, as in Iceberg's
    # library.
    ids = file.values("142", int)
    for manifest, (begin, end) in zip(run.manifests, run.spans, strict=True):
        row_id = manifest.first_row_id
        if row_id is None:
            ids[begin:end] = [None] * (end - begin)
            continue
        for at in range(begin, end):
            if contents[at] == DATA and ids[at] is None:
                ids[at] = row_id
                row_id += records[at]
    return ids


def _partitions(
    file: Records, paths: Sequence[str], spec_id: int, metadata: TableMetadata, known: _Known
) -> Sequence[Partition]:
    """The partition of each file: one object for all files of one, those that are known, too."""
    kinds = metadata.partition_kinds(spec_id)
    column = file.column("102", dict)
    fields = [] if column is None or column.null_count else list(column.type)
    named = {int(one.name) for one in fields if one.name.isdigit()}
    lost = kinds.keys() - named
    if named - kinds.keys() or (lost and not lost <= metadata.dropped_fields(spec_id)):
        if not paths:
            return []
        raise InputError(
            f"{file.where}: {paths[0]} has the partition fields {sorted(named)}, its spec "
            f"{spec_id} has {sorted(kinds)}"
        )
    kinds = {id_: kind for id_, kind in kinds.items() if id_ in named}
    if column is None or not kinds:
        return [Partition(spec_id, {})] * len(paths)
    values = [
        _values_of(column.field(str(id_)), kind, f"{file.where}: field {id_}")
        for id_, kind in kinds.items()
    ]
    found = []
    for path, *own in zip(paths, *values, strict=True):
        key = (spec_id, *kinds, *map(_key, own))
        if key not in known:
            where = f"{file.where}: {path}"
            own = [
                partition_value(value, kind, f"{where}, field {id_}")
                for value, (id_, kind) in zip(own, kinds.items(), strict=True)
            ]
            known[key] = Partition(spec_id, dict(zip(kinds, own, strict=True)))
        found.append(known[key])
    return found


def _values_of(column: pa.Array, kind: pa.DataType | None, where: str) -> list[Any]:
    """Values of a partition field; days and moments as numbers, as Python does not know all."""
    have, tests = column.type, pa.types
    if tests.is_nested(have):
        raise InputError(f"{where}: partition values of the type {have} are nested")
    try:
        if kind is not None and tests.is_date32(have) and kind.id in (pa.int32().id, have.id):
            column = column.cast(pa.int32())
        elif kind is not None and tests.is_timestamp(have) and tests.is_timestamp(kind):
            column = column.cast(pa.timestamp(kind.unit, have.tz)).cast(pa.int64())
        return list(column.to_pylist())
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        raise InputError(f"{where}: partition values are not readable ({error})") from error


def _check_content(entry: Entry, manifest: Manifest) -> None:
    """Refuse what no reader of this version can apply, and what contradicts its manifest."""
    if entry.content not in (DATA, POSITION_DELETES, EQUALITY_DELETES):
        raise RefusedError(f"{entry.where} has the unknown content {entry.content!r}")
    if entry.format not in _FORMATS or (entry.format == "PUFFIN") != is_vector(entry):
        raise RefusedError(f"{entry.where} has the format {entry.format!r}, which is not supported")
    if (entry.content != DATA) != manifest.is_deletes:
        raise InputError(
            f"{entry.where} is in a manifest of {'data' if entry.content else 'deletes'}"
        )
    if entry.content == EQUALITY_DELETES and not entry.equality_ids:
        raise InputError(f"{entry.where} has equality deletes without the ids of their fields")


def is_vector(entry: Entry) -> bool:
    """Whether an entry is a deletion vector."""
    return entry.content == POSITION_DELETES and entry.format == "PUFFIN"


def _key(value: Any) -> Any:
    """A value of a partition as it is compared: numbers by every bit, not a number with itself."""
    return value.hex() if isinstance(value, float) else value
