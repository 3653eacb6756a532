"""What names tell of a log block that no checksum covers: its instant, and its columns.

A block's header has no checksum. An instant that nobody knows makes a block count as never
committed, and a column that nobody knows is a null in the column it should have been: rows are lost
without a word, as Hudi's own reader loses them. So what the timeline, the file's name and the
writer's commit say of the same things is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from seambase.scan import ScanWarning
from seamkit.tables.hudi.listing.slices import LogFile
from seamkit.tables.hudi.log.log import LogBlock
from seamkit.tables.hudi.timeline.timeline import Timeline

__all__ = ["strange_blocks"]


def strange_blocks(
    logs: Sequence[tuple[LogFile, Sequence[LogBlock]]], timeline: Timeline
) -> Iterator[ScanWarning]:
    """Blocks that are not what the timeline and their file's name say.

    Args:
        logs: the logs of a slice in the order in which they apply, and the blocks of each.
        timeline: the table's.

    Raises:
        RefusedError: a command other than a rollback.
        InputError: a commit or a rollback that has to be asked is broken.
    """
    unknown: dict[str, list[LogBlock]] = {}
    for log, blocks in logs:
        for block in blocks:
            if block.kind == "command":
                unknown.pop(block.rollback_target, None)
            elif timeline.config.timeline_layout == 1:
                if block.instant < log.instant:
                    reason = (
                        f"the block's instant {block.instant} is before {log.instant}, which the "
                        "file's name has"
                    )
                    yield ScanWarning(block.file, block.offset, reason)
                elif not timeline.knows(block.instant):
                    unknown.setdefault(block.instant, []).append(block)
            elif timeline.config.logs_name_writers and block.instant != log.instant:
                reason = f"the block's instant {block.instant} is not that of the file's name"
                yield ScanWarning(block.file, block.offset, reason)
            yield from _strange_columns(block, timeline)
    for blocks in unknown.values():
        for block in blocks:
            reason = (
                f"a block of {block.instant}, an instant that the timeline does not know, was "
                "left out"
            )
            yield ScanWarning(block.file, block.offset, reason)


def _strange_columns(block: LogBlock, timeline: Timeline) -> Iterator[ScanWarning]:
    """Columns that the block's writer did not have, as its commit tells; deletes name some, too."""
    if block.schema is None or block.compacted_instants:
        return
    written = timeline.written_columns(block.instant)
    if written is None:
        return
    try:
        own = {field["name"] for field in json.loads(block.schema or "null")["fields"]}
    except (ValueError, TypeError, KeyError, RecursionError):
        return  # decoding it tells what is wrong
    strange = sorted(name for name in own - written if not name.startswith("_hoodie_"))
    if strange:
        reason = f"its schema has a column {strange[0]!r}, which the schema of its commit has not"
        yield ScanWarning(block.file, block.offset, reason)
