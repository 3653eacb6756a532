"""Which blocks of a slice's logs count, and in which order they apply.

The rules are those of Hudi 1.2.0. Blocks are gathered by instant, instants in the order in which
they first appear. A rollback forgets what its target instant has written so far; the same instant
may write again later, and those blocks count.

A log compaction writes a block that stands for the blocks of the instants that it lists, its
originals. It takes the place of the latest of them: with instants 1, 2, 3 and a compaction C of 1
and 2, the order is `C, 3`. C itself lies behind 3 in the log. Three things may be otherwise:

- None of the originals is in the log any more: C stays where it is, `3, C`.
- A later compaction D lists C, too: D stands for all that C stood for, in that place, and C is left
  out.
- The query does not count every original. Where one that counts is in the log, C takes its place
  all the same; where those in the log do not count, C is left out, since it holds their rows: the
  order is `3`. Where none is in the log, C stays if any of its originals counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from seamkit.tables.hudi.log.log import LogBlock

__all__ = ["order_blocks", "without_compactions"]


def order_blocks(
    blocks: Iterable[LogBlock], is_valid_instant: Callable[[str], bool]
) -> list[LogBlock]:
    """The blocks that apply, oldest first.

    Args:
        blocks: of all logs of one slice, in the order of the logs and of the blocks in each.
        is_valid_instant: whether data and delete blocks of a requested instant count (committed,
            not after the instant of an as-of query, within the range of an incremental one).
            Rollbacks are not asked: one that came after the as-of instant still undoes its target,
            which never was committed.

    Returns:
        Blocks of all kinds but `command`; kinds that the caller cannot read are its to refuse.

    Raises:
        RefusedError: a command other than a rollback.
    """
    by_instant, left_out = _gather(blocks, is_valid_instant)
    replaced_by = _compactions(by_instant)
    ordered: list[list[LogBlock]] = []
    placed: set[str] = set()
    # Compactions with an original in the log, whose place they take.
    replacing = {
        replaced_by[instant]
        for instant, group in by_instant.items()
        if instant in replaced_by and not _is_compacted(group)
    }
    for instant in reversed(by_instant):
        final = replaced_by.get(instant, instant)
        if _is_compacted(by_instant[instant]):
            originals = by_instant[instant][0].compacted_instants
            if (
                instant in replaced_by
                or instant in replacing
                or instant not in replaced_by.values()
                or left_out.intersection(originals)
                or not _holds_valid(instant, by_instant, is_valid_instant)
            ):
                continue
        if final not in placed:
            placed.add(final)
            ordered.append(by_instant[final])
    return [block for group in reversed(ordered) for block in group]


def without_compactions(blocks: Sequence[LogBlock]) -> list[LogBlock]:
    """The blocks without those of log compactions whose originals are all there.

    Records that a log compaction wrote bear its instant; in the originals each has that of the
    write that changed it, by which an incremental query chooses.
    """
    present = {block.instant for block in blocks}
    return [
        block
        for block in blocks
        if not block.compacted_instants or not present.issuperset(block.compacted_instants)
    ]


def _gather(
    blocks: Iterable[LogBlock], is_valid_instant: Callable[[str], bool]
) -> tuple[dict[str, list[LogBlock]], set[str]]:
    """Valid blocks by instant, in first-seen order, rollbacks carried out; and other instants."""
    by_instant: dict[str, list[LogBlock]] = {}
    left_out: set[str] = set()
    for block in blocks:
        if block.kind == "command":
            by_instant.pop(block.rollback_target, None)
        elif is_valid_instant(block.instant):
            by_instant.setdefault(block.instant, []).append(block)
        else:
            left_out.add(block.instant)
    return by_instant, left_out


def _is_compacted(group: list[LogBlock]) -> bool:
    return bool(group[0].compacted_instants)


def _holds_valid(
    instant: str,
    by_instant: Mapping[str, list[LogBlock]],
    is_valid_instant: Callable[[str], bool],
) -> bool:
    """Whether a compaction holds an instant that counts, be it by way of other compactions.

    Logs of the others may not even have been opened.
    """
    for original in by_instant[instant][0].compacted_instants:
        if original in by_instant and _is_compacted(by_instant[original]):
            if _holds_valid(original, by_instant, is_valid_instant):
                return True
        elif is_valid_instant(original):
            return True
    return False


def _compactions(by_instant: Mapping[str, list[LogBlock]]) -> dict[str, str]:
    """Each replaced instant, and the newest compaction that holds it.

    Compactions of compactions are followed to the end.
    """
    replaced_by: dict[str, str] = {}
    for instant in reversed(list(by_instant)):
        final = replaced_by.get(instant, instant)
        for original in by_instant[instant][0].compacted_instants:
            replaced_by.setdefault(original, final)
    return replaced_by
