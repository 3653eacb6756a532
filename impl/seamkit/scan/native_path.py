"""The native path: rows of a file as they stand, but for those that a mask takes out.

With a filter, row groups that cannot match are left out by their statistics. Of the others the
columns of the filter are read first, and the rest only where a row is left, piece by piece, so that
what is thrown away is thrown away while it is small. Where a file can be read page by page, both
come from those pages alone in which rows may match, or are left. A mask counts rows over the whole
file, whichever row groups are read.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seambase.filters import values_fit
from seamkit.core.border import array_of, batch_of, numpy_of, repeated
from seamkit.core.memory import TrackedAllocator
from seamkit.files.pages.paged import PagedFile, paged_file
from seamkit.files.reader import FileReader
from seamkit.scan.masks import Gone, RowRemover
from seamkit.scan.units import Wanted

_PIECE_ROWS = 32 * 1024
# To test a condition costs a tenth of a millisecond, however few the rows are.
_TESTED_ROWS = 128 * 1024
# Below this share of rows it pays to take texts as references into a dictionary, and to copy those
# that are left.
_FEW = 0.25
# Above this share of rows that may match, row groups are read as a whole.
_MOST_IN_PAGES = 0.5


def native_rows(
    reader: FileReader,
    wanted: Wanted,
    row_groups: Sequence[int],
    *,
    use_threads: bool,
    gone: Gone | None = None,
    allocator: TrackedAllocator | None = None,
) -> Iterator[pa.RecordBatch]:
    """Rows of some row groups of a file, but those that are gone.

    `use_threads` lets pyarrow decode columns in parallel. The allocator owns columns that a mask
    does not change in place.
    """
    if wanted.condition is not None:
        matching = matching_groups(reader, wanted)
        groups = [group for group in row_groups if group in matching]
        yield from tested_rows(reader, wanted, groups, gone, use_threads=use_threads)
        return
    handed_out = pa.schema([wanted.schema.field(name) for name in wanted.columns])
    read = wanted.read(wanted.columns)
    if gone is None:
        for batch in reader.batches(
            read, wanted.batch_rows, use_threads=use_threads, row_groups=row_groups
        ):
            yield wanted.whole(batch, handed_out)
        return
    remover = RowRemover(gone, read, allocator or TrackedAllocator())
    for groups, at in _with_rows_left(reader, row_groups, gone, wanted.batch_rows):
        for batch in reader.batches(
            read, wanted.batch_rows, use_threads=use_threads, encoded=read.names, row_groups=groups
        ):
            rows = batch.num_rows  # the batch is given away
            left = remover.left(batch, at)
            at += rows
            if left.num_rows:
                yield wanted.whole(left, handed_out)


def _starts(reader: FileReader, row_groups: Sequence[int]) -> dict[int, int]:
    """Position in the file of the first row of each group."""
    last = max(row_groups, default=-1)
    rows = [reader.rows_in([group]) for group in range(last + 1)]
    starts = list(itertools.accumulate(rows, initial=0))
    return {group: starts[group] for group in row_groups}


def _with_rows_left(
    reader: FileReader, row_groups: Sequence[int], gone: Gone, batch_rows: int
) -> Iterator[tuple[list[int], int]]:
    """Runs of neighbouring groups that have rows left, each with the position of its first row."""
    # Where it has to be worked out which rows are gone, runs end when they fill a batch, so that no
    # more is worked out ahead.
    starts = _starts(reader, row_groups)
    run: list[int] = []
    for group in row_groups:
        rows = reader.rows_in([group])
        empty = gone.count(starts[group], starts[group] + rows) == rows
        if run and (empty or group != run[-1] + 1):
            yield run, starts[run[0]]
            run = []
        if not empty:
            run.append(group)
        if run and not gone.is_known and reader.rows_in(run) >= batch_rows:
            yield run, starts[run[0]]
            run = []
    if run:
        yield run, starts[run[0]]


def tested_rows(
    reader: FileReader,
    wanted: Wanted,
    row_groups: Sequence[int],
    gone: Gone | None,
    *,
    use_threads: bool,
) -> Iterator[pa.RecordBatch]:
    """The rows of some row groups that meet the condition and are not gone.

    Whatever a row that is gone holds, the condition does not fail on it. The row groups are those
    of `matching_groups`.
    """
    starts = {} if gone is None else _starts(reader, row_groups)
    read = wanted.read(wanted.schema.names)
    pages = paged_file(reader, read, wanted.pages) if row_groups else None
    for group in row_groups:
        kept = None
        if gone is not None:
            begin, rows = starts[group], reader.rows_in([group])
            if gone.count(begin, begin + rows) == rows:
                continue
            kept = array_of(gone.kept(begin, begin + rows))
        yield from _selected(reader, pages, wanted, group, kept, use_threads=use_threads)


def matching_groups(reader: FileReader, wanted: Wanted) -> Collection[int]:
    """The row groups of a file in which rows may meet the condition, by their statistics."""
    assert wanted.condition is not None
    read = wanted.read(wanted.tested)
    if not any(name in wanted.known for name in wanted.tested):
        return reader.row_groups_that_may_match(wanted.condition, read)
    if not read.names:
        return range(reader.num_row_groups)
    tested = pa.schema([wanted.schema.field(name) for name in wanted.tested])
    return reader.row_groups_that_may_match(wanted.condition, tested, counted=read.names)


def _selected(
    reader: FileReader,
    pages: PagedFile | None,
    wanted: Wanted,
    group: int,
    there: pa.Array | None,
    *,
    use_threads: bool,
) -> Iterator[pa.RecordBatch]:
    """The rows of one row group that meet the condition, of those that are there."""
    handed_out = pa.schema([wanted.schema.field(name) for name in wanted.columns])
    tested = pa.schema([wanted.schema.field(name) for name in wanted.tested])
    by_pages = None if pages is None else _tested_in_pages(pages, reader, wanted, group, there)
    mask, kept = by_pages or _test(
        (
            wanted.whole(batch, tested)
            for batch in reader.batches(
                wanted.read(wanted.tested),
                _TESTED_ROWS,
                use_threads=use_threads,
                row_groups=[group],
            )
        ),
        wanted.condition,
        tested,
        there,
    )
    left = mask.true_count
    if not left:
        return
    rest = wanted.read([name for name in wanted.columns if name not in wanted.tested])
    if not rest.names:
        yield from _assembled(kept, left, handed_out, wanted)
        return
    given = 0
    for selected in _left(
        reader, pages, rest, group, mask, wanted.batch_rows, use_threads=use_threads
    ):
        own = kept.slice(given, selected.num_rows)
        given += selected.num_rows
        columns = [_column(name, selected, own, wanted) for name in handed_out.names]
        yield batch_of(columns, handed_out, selected.num_rows)
        if given == left:  # what follows is of no use
            return


def _left(
    reader: FileReader,
    pages: PagedFile | None,
    schema: pa.Schema,
    group: int,
    mask: pa.Array,
    batch_rows: int,
    *,
    use_threads: bool,
) -> Iterator[pa.RecordBatch]:
    """The rows of a row group that a mask keeps, of columns that were not tested."""
    few = mask.true_count < _FEW * len(mask)
    if few and pages is not None:
        positions = np.flatnonzero(numpy_of(pc.fill_null(mask, False)))
        batches = pages.rows(schema, group, positions, batch_rows)
        if batches is not None:
            yield from batches
            return
    done = 0
    for piece in reader.batches(
        schema,
        min(_PIECE_ROWS, batch_rows),
        use_threads=use_threads,
        row_groups=[group],
        encoded=schema.names if few else (),
    ):
        selected = piece.filter(mask.slice(done, piece.num_rows))
        done += piece.num_rows
        if selected.num_rows:
            yield selected


def _tested_in_pages(
    pages: PagedFile, reader: FileReader, wanted: Wanted, group: int, there: pa.Array | None
) -> tuple[pa.Array, pa.Table] | None:
    """What `_test` gives of a row group, from pages that may match; None if these are most."""
    assert wanted.condition is not None
    tested = pa.schema([wanted.schema.field(name) for name in wanted.tested])
    read, rows = wanted.read(wanted.tested), reader.rows_in([group])
    spans = pages.spans_that_may_match(wanted.condition, tested, read.names, group)
    if spans is None or sum(end - begin for begin, end in spans) > _MOST_IN_PAGES * rows:
        return None
    if not spans:
        return pa.array(np.zeros(rows, dtype=np.bool_)), pa.Table.from_batches([], tested)
    positions = np.concatenate([np.arange(begin, end) for begin, end in spans])
    batches = pages.rows(read, group, positions, _TESTED_ROWS)
    if batches is None:
        return None
    truths, kept = _test(
        (wanted.whole(batch, tested) for batch in batches),
        wanted.condition,
        tested,
        None if there is None else there.take(pa.array(positions)),
    )
    mask = np.zeros(rows, dtype=np.bool_)
    mask[positions] = numpy_of(pc.fill_null(truths, False))
    return pa.array(mask), kept


def _assembled(
    kept: pa.Table, rows: int, handed_out: pa.Schema, wanted: Wanted
) -> Iterator[pa.RecordBatch]:
    """Rows of which nothing more is read than what was tested."""
    for begin in range(0, rows, wanted.batch_rows):
        n = min(wanted.batch_rows, rows - begin)
        own = kept.slice(begin, n)
        none = batch_of([], pa.schema([]), n)
        yield batch_of([_column(name, none, own, wanted) for name in wanted.columns], handed_out, n)


def _test(
    batches: Iterable[pa.RecordBatch],
    condition: pc.Expression | None,
    schema: pa.Schema,
    there: pa.Array | None,
) -> tuple[pa.Array, pa.Table]:
    """Which rows meet the condition and are there, and the tested columns of those."""
    done = 0
    masks, kept = [], []
    for batch in batches:
        if there is None:
            truths = condition_truths(batch, condition)
        else:
            truths = _truths(batch, condition, there.slice(done, batch.num_rows))
        done += batch.num_rows
        masks.append(truths)
        if truths.true_count:
            kept.append(batch.filter(truths))
    whole = pa.Table.from_batches(kept, schema).combine_chunks()
    # A group may turn out to have no rows, where nothing but its bytes was known.
    return (pa.concat_arrays(masks) if masks else pa.array([], pa.bool_())), whole


def _truths(batch: pa.RecordBatch, condition: pc.Expression | None, there: pa.Array) -> pa.Array:
    """Which rows are there and meet the condition, which may fail on those that are not."""
    try:
        return pc.and_(condition_truths(batch, condition), there)
    except UsageError:
        left = condition_truths(batch.filter(there), condition)
        return pc.replace_with_mask(there, there, left)


def condition_truths(batch: pa.RecordBatch, condition: pc.Expression | None) -> pa.Array:
    """For each row whether it meets a condition; null where that is not known."""
    from pyarrow.acero import Declaration, ProjectNodeOptions, TableSourceNodeOptions

    # The one column more carries the count of rows where a condition tests none.
    table = pa.Table.from_arrays(
        [*batch.columns, pa.nulls(batch.num_rows)], [*batch.schema.names, ""]
    )
    source = Declaration("table_source", TableSourceNodeOptions(table))
    project = Declaration("project", ProjectNodeOptions([condition], ["truths"]), [source])
    with values_fit(condition):
        return project.to_table(use_threads=False).column("truths").combine_chunks()


def _column(name: str, selected: pa.RecordBatch, own: pa.Table, wanted: Wanted) -> pa.Array:
    if name in wanted.known:
        return repeated(wanted.known[name], selected.num_rows)
    if name in wanted.tested:
        return own.column(name).combine_chunks()
    column = selected.column(name)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
