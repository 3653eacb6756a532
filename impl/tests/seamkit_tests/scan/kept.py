"""Tables that are opened anew, read by several doors, for tests of what is kept between reads."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pyarrow.compute as pc

import seamkit
from seamkit.scan.scan import Scan
from seamkit_tests.samples.outlets import bag

Rows = Counter[str]
Read = Callable[[Path], Rows]


def by_relation(table: Path) -> Rows:
    """All rows as DuckDB reads them."""
    return relation_rows(seamkit.open_table(table).scan())


def relation_rows(scan: Scan) -> Rows:
    """The rows of a scan as DuckDB reads them."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return bag(scan.relation(connection).to_arrow_table())


def by_dataset(table: Path) -> Rows:
    """All rows by way of Arrow."""
    return bag(seamkit.open_table(table).scan().dataset().to_table())


def by_lazy_frame(table: Path) -> Rows:
    """All rows by way of Polars."""
    return Counter(map(repr, seamkit.open_table(table).scan().lazy().collect().iter_rows()))


def by_stream(table: Path) -> Rows:
    """All rows by a stream with a filter that any row meets."""
    opened = seamkit.open_table(table)
    column = pc.field(opened.scan().schema.names[-1])
    rows = opened.scan(filter=column.is_null() | column.is_valid())
    return bag(rows.to_reader().read_all())


def by_parts(table: Path) -> Rows:
    """What an engine is told of each part: the rows of its file that are gone, and ours."""
    scan, told = seamkit.open_table(table).scan(), Rows()
    for number in range(scan.n_parts):
        part = scan.masked_part(number, scan.schema.names, None)
        told.update(bag(part.rows.to_table()))
        told[f"gone of {part.file}"] += int(part.gone.sum())
    return told


def forget() -> None:
    """Keep nothing of what is in memory, as a process that begins knows nothing."""
    seamkit.keep_at_most(0)
    seamkit.keep_at_most(1 << 28)


def check_a_commit_is_seen(files: Sequence[Path], aside: Path, read: Callable[[], Rows]) -> None:
    """Rows before a commit's files are there, after it, and once it is undone.

    Args:
        files: what makes the commit count.
        aside: where they lie meanwhile.
        read: reads the table with what is kept; in the end nothing is.
    """
    answers = []
    for _ in range(2):
        for number, path in enumerate(files):
            path.rename(aside / f"aside {number}")
        answers.append(read())
        for number, path in enumerate(files):
            (aside / f"aside {number}").rename(path)
        answers.append(read())
    seamkit.keep_on_disk(None)
    seamkit.keep_at_most(0)
    assert answers[1] == answers[3] == read()
    assert answers[0] == answers[2] != answers[1]
