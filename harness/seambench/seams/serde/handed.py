"""The same rows handed over otherwise: as slices, through dictionaries, as runs, at every depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, groupby, pairwise

import pyarrow as pa

from seambench.seams.serde.values import anything, arrow_array, exact_values

Change = Callable[[pa.Array], pa.Array]


def changed(batch: pa.RecordBatch, change: Change) -> pa.RecordBatch:
    """A batch of changed columns; one without columns keeps its rows."""
    if not batch.num_columns:
        return batch
    arrays = list(map(change, batch.columns))
    fields = zip(batch.schema, arrays, strict=True)
    return pa.RecordBatch.from_arrays(
        arrays, schema=pa.schema([field.with_type(array.type) for field, array in fields])
    )


#: So many rows before a slice that it begins with a bit of the second byte of nulls.
_BEFORE = 9


def sliced(array: pa.Array) -> pa.Array:
    """The same rows as a slice of more, and so every part; what lies around must not show."""
    return _longer(array).slice(_BEFORE, len(array))


def _longer(array: pa.Array) -> pa.Array:
    """An array with rows before and one behind, other ones than its own ends where it can be."""
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, _longer(array.storage))
    if pa.types.is_run_end_encoded(type_):
        return _longer_runs(array)
    if pa.types.is_dictionary(type_):
        entry = [0] if len(array.dictionary) else [None]
        edge = pa.array(entry, type_.index_type)
        ids = pa.concat_arrays([*[edge] * _BEFORE, array.indices, edge])
        return pa.DictionaryArray.from_arrays(ids, sliced(array.dictionary))
    if not pa.types.is_nested(type_):
        if not len(array):
            edge = arrow_array([anything(type_)], type_)
            return pa.concat_arrays([edge] * (_BEFORE + 1))
        last = array.slice(len(array) - 1)
        return pa.concat_arrays([*[last] * _BEFORE, array, array.slice(0, 1)])
    present = pa.array([True] * _BEFORE + array.is_valid().to_pylist() + [True], pa.bool_())
    validity = present.buffers()[1] if array.buffers()[0] is not None else None
    if pa.types.is_struct(type_):
        children = [sliced(_longer(array.field(at))) for at in range(type_.num_fields)]
        return pa.Array.from_buffers(type_, len(present), [validity], children=children)
    items = _longer(array.values)
    offsets = [*range(_BEFORE), *(at + _BEFORE for at in array.offsets.to_pylist()), len(items)]
    buffers = [validity, pa.array(offsets, pa.int32()).buffers()[1]]
    return pa.Array.from_buffers(type_, len(present), buffers, children=[sliced(items)])


def _longer_runs(array: pa.Array) -> pa.Array:
    """Runs of another value before and behind."""
    begin, reach = array.offset, array.offset + len(array)
    spans = list(pairwise([0, *array.run_ends.to_pylist()]))
    kept = [at for at, (first, end) in enumerate(spans) if end > begin and first < reach]
    ends = [min(spans[at][1], reach) - begin + _BEFORE for at in kept]
    ends = [_BEFORE, *ends, len(array) + _BEFORE + 1]
    values = array.values.slice(kept[0] if kept else 0, len(kept))
    if "run_end_encoded" in str(values.type):  # runs, which pyarrow cannot join
        longer = _longer(values)
    else:
        edge = _unlike(values)
        longer = pa.concat_arrays([edge, values, edge])
    return pa.RunEndEncodedArray.from_arrays(
        sliced(pa.array(ends, array.type.run_end_type)), sliced(longer)
    )


def _unlike(values: pa.Array) -> pa.Array:
    """One value that is not the first of others."""
    type_ = values.type
    coded = pa.types.is_dictionary(type_)
    beneath = type_.value_type if coded else type_
    entry = arrow_array([anything(beneath)], beneath)
    if len(values) and exact_values(entry) == exact_values(values[:1]):
        entry = arrow_array([anything(beneath, 2)], beneath)
    if not coded:
        return entry
    return pa.DictionaryArray.from_arrays(pa.array([0], type_.index_type), entry)


def at_leaves(change: Change) -> Change:
    """The same rows with the innermost parts of nested columns changed, and flat columns."""

    def deep(array: pa.Array) -> pa.Array:
        type_ = array.type
        if pa.types.is_struct(type_):
            children = [deep(array.field(at)) for at in range(type_.num_fields)]
            pairs = zip(type_, children, strict=True)
            bent = pa.struct([(field.name, child.type) for field, child in pairs])
            return pa.Array.from_buffers(bent, len(array), [_validity(array)], children=children)
        if pa.types.is_list(type_) or pa.types.is_map(type_):
            if pa.types.is_map(type_) and not len(array.values):  # keys have no nulls, even here
                return array
            items = deep(array.values)
            bent = pa.list_(items.type)
            if pa.types.is_map(type_):
                bent = pa.map_(items.type.field(0).type, items.type.field(1).type)
                parts = [items.field(0), items.field(1)]
                entries = pa.struct([bent.key_field, bent.item_field])
                items = pa.Array.from_buffers(entries, len(items), [None], children=parts)
            buffers, at = array.buffers()[:2], array.offset
            return pa.Array.from_buffers(bent, len(array), buffers, offset=at, children=[items])
        return change(array)

    return deep


def _validity(array: pa.Array) -> pa.Buffer | None:
    """Bits of the rows that are there, from the first on; None where there are none."""
    return array.is_valid().buffers()[1] if array.buffers()[0] is not None else None


def through_entries(array: pa.Array) -> pa.Array:
    """The same rows through a dictionary whose entries stand in reverse.

    The first null has no entry, the next is an entry that is null, and so on.
    """
    gone = _nulls(array)[::2]
    return _through(array, list(range(len(array) - 1, -1, -1)), gone)


def through_values(array: pa.Array) -> pa.Array:
    """The same rows through a dictionary of those that are no nulls: of none, where all are."""
    gone = _nulls(array)
    return _through(array, sorted(set(range(len(array))) - set(gone)), gone)


def as_runs(array: pa.Array) -> pa.Array:
    """The same rows as runs: rows that are alike and follow each other are one."""
    if not _takes(array):
        return array
    lengths = [len(list(rows)) for _, rows in groupby(exact_values(array))]
    ends = list(accumulate(lengths))
    begins = [end - length for end, length in zip(ends, lengths, strict=True)]
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), _taken(array, begins))


def _nulls(array: pa.Array) -> list[int]:
    return [at for at, there in enumerate(array.is_valid().to_pylist()) if not there]


def _through(array: pa.Array, rows: Sequence[int], gone: Sequence[int]) -> pa.Array:
    """A dictionary of so many rows; those of `gone` have no entry."""
    if not _takes(array):
        return array
    places: dict[int, int | None] = {row: at for at, row in enumerate(rows)}
    places |= dict.fromkeys(gone)
    ids = pa.array([places[row] for row in range(len(array))], pa.int32())
    return pa.DictionaryArray.from_arrays(ids, _taken(array, rows))


def _takes(array: pa.Array) -> bool:
    """Whether there is more to an array than nulls."""
    return not pa.types.is_null(array.type)


def _taken(array: pa.Array, rows: Sequence[int]) -> pa.Array:
    if isinstance(array.type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(array.type, _taken(array.storage, rows))
    return array.take(pa.array(rows, pa.int32()))
