"""What can be ruled out by what is known of values before they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

__all__ = ["bounds", "or_null", "that_may_match"]


def bounds(
    name: str, least: pa.Scalar | None, most: pa.Scalar | None, *, nullable: bool
) -> Iterator[pc.Expression]:
    """What bounds say of a column, as expressions that all hold.

    Args:
        name: the column.
        least: no value is less; None or NULL where that is not known.
        most: no value is greater; likewise.
        nullable: whether there may be rows without a value.
    """
    column = pc.field(name)
    if least is not None and least.is_valid:
        yield or_null(column >= least, column, nullable=nullable)
    if most is not None and most.is_valid:
        yield or_null(column <= most, column, nullable=nullable)


def or_null(comparison: pc.Expression, column: pc.Expression, *, nullable: bool) -> pc.Expression:
    """A comparison that holds for all values of a column, of which some may be NULL.

    pyarrow reasons about a column with NULLs only where each comparison stands with `is_null` by
    itself.
    """
    return comparison | column.is_null() if nullable else comparison


def that_may_match(
    guarantees: Sequence[pc.Expression | None], condition: pc.Expression, schema: pa.Schema
) -> list[int]:
    """Numbers of those whose guarantee leaves room for rows that meet a condition.

    pyarrow's datasets do the reasoning: a guarantee is to them what all rows of a file have in
    common. No file is opened.

    Args:
        guarantees: what holds for all rows of each, or None where nothing is known.
        condition: a filter.
        schema: the columns that guarantees and condition name.
    """
    import pyarrow.dataset as ds

    format_, nowhere = ds.ParquetFileFormat(), pafs.LocalFileSystem()
    known = {number: one for number, one in enumerate(guarantees) if one is not None}
    fragments = [format_.make_fragment(str(n), nowhere, one) for n, one in known.items()]
    planned = ds.FileSystemDataset(fragments, schema, format_, nowhere)
    try:
        left = {int(fragment.path) for fragment in planned.get_fragments(filter=condition)}
    except pa.ArrowInvalid:
        # A bound that the condition's type does not hold: 2**53 + 1 compared with a fraction.
        return list(range(len(guarantees)))
    return [number for number in range(len(guarantees)) if number in left or number not in known]
