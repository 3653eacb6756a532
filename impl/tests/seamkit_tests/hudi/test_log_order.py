"""The order in which blocks of a slice apply: rollbacks, validity, log compactions."""

import pytest

from seambase.errors import RefusedError
from seamkit.tables.hudi.log.log import LogBlock, order_blocks


def data(name: str, *, compacts: str = "") -> LogBlock:
    """A data block; `name` is its instant, a dot and a letter that tells blocks apart."""
    header = {"COMPACTED_BLOCK_TIMES": compacts} if compacts else {}
    content = memoryview(name.encode())
    return LogBlock("avro", name.partition(".")[0], header, content, 0, "a.log")


def deletes(name: str) -> LogBlock:
    """A delete block."""
    return LogBlock("delete", name.partition(".")[0], {}, memoryview(name.encode()), 0, "a.log")


def rollback(instant: str, target: str) -> LogBlock:
    """A command block that undoes `target`."""
    header = {"COMMAND_BLOCK_TYPE": "0", "TARGET_INSTANT_TIME": target}
    return LogBlock("command", instant, header, memoryview(b""), 0, "a.log")


def order(blocks: list[LogBlock], invalid: str = "", as_of: str = "~") -> list[str]:
    """Names of the blocks that apply, oldest first."""
    wrong = invalid.split()
    ordered = order_blocks(blocks, lambda instant: instant not in wrong and instant <= as_of)
    return [bytes(block.content).decode() for block in ordered]


def test_blocks_apply_in_the_order_of_the_logs() -> None:
    """Data and delete blocks keep the order of logs and of blocks within one."""
    assert order([data("1.a"), deletes("1.b"), data("2.a"), deletes("3.a")]) == [
        "1.a",
        "1.b",
        "2.a",
        "3.a",
    ]


def test_blocks_of_an_instant_stay_together() -> None:
    """Instants come in first-seen order; blocks of interleaved writers are gathered by instant."""
    assert order([data("2.a"), data("3.a"), data("2.b")]) == ["2.a", "2.b", "3.a"]


def test_a_rollback_undoes_its_target() -> None:
    """A rollback forgets all blocks of its target, however many."""
    blocks = [data("1.a"), data("2.a"), deletes("2.b"), rollback("4", "2"), data("5.a")]
    assert order(blocks) == ["1.a", "5.a"]


def test_a_rollback_of_nothing_changes_nothing() -> None:
    """A rollback whose target has no blocks here is legal."""
    assert order([data("1.a"), rollback("3", "2")]) == ["1.a"]


def test_an_interleaved_rollback_spares_others() -> None:
    """Case 19: a(2), b(3), rollback(2), a(2) again: the block of 3 and the later one of 2 count.

    The instant takes its place anew, behind what came in between.
    """
    blocks = [data("2.a"), data("3.b"), rollback("4", "2"), data("2.c")]
    assert order(blocks) == ["3.b", "2.c"]


def test_a_rollback_after_the_as_of_instant_counts() -> None:
    """Case 20: as of 3, the rollback of 2 by instant 4 still undoes 2."""
    assert order([data("2.a"), rollback("4", "2"), data("5.a")], as_of="3") == []


def test_invalid_instants_are_left_out() -> None:
    """Case 21: blocks of an instant that did not commit are skipped, data and deletes alike."""
    blocks = [data("1.a"), data("2.a"), deletes("2.b"), data("3.a")]
    assert order(blocks, invalid="2") == ["1.a", "3.a"]
    assert order(blocks, invalid="2 3") == ["1.a"]


def test_a_log_compaction_takes_the_place_of_its_latest_original() -> None:
    """Case 26: log1, log2, compaction of both, log3: the compaction once, before log3."""
    blocks = [data("1.a"), data("2.a"), data("4.c", compacts="1,2"), data("5.a")]
    assert order(blocks) == ["4.c", "5.a"]


def test_writes_beside_a_log_compaction_come_after_it() -> None:
    """A delta of instant 3, not among the originals 1 and 2 of compaction 4, applies after it."""
    blocks = [data("1.a"), data("2.a"), data("3.a"), data("4.c", compacts="1,2")]
    assert order(blocks) == ["4.c", "3.a"]


def test_a_log_compaction_of_log_compactions() -> None:
    """The newest compaction that holds an instant stands for it."""
    blocks = [data("1.a"), data("2.a"), data("3.c", compacts="1,2"), data("4.a")]
    assert order([*blocks, data("6.c", compacts="3,4"), data("7.a")]) == ["6.c", "7.a"]


def test_a_superseded_log_compaction_is_dropped() -> None:
    """A compaction all of whose originals a newer one holds as well adds nothing."""
    blocks = [data("1.a"), data("2.a"), data("3.a"), data("4.c", compacts="1,2")]
    assert order([*blocks, data("5.c", compacts="1,2,3"), data("6.a")]) == ["5.c", "6.a"]


def test_a_log_compaction_that_did_not_commit_leaves_its_originals() -> None:
    """An invalid compaction is not there at all."""
    blocks = [data("1.a"), data("2.a"), data("4.c", compacts="1,2")]
    assert order(blocks, invalid="4") == ["1.a", "2.a"]


def test_a_log_compaction_without_its_originals_stays() -> None:
    """Rows must not be lost when the originals are gone: the compaction keeps its own place."""
    assert order([data("3.a"), data("4.c", compacts="1,2"), data("5.a")]) == ["3.a", "4.c", "5.a"]


def test_a_log_compaction_of_instants_that_are_not_asked_for_is_left_out() -> None:
    """A query that leaves the originals out must not get their rows by way of the compaction."""
    blocks = [data("1.a"), data("2.a"), data("3.a"), data("4.c", compacts="1,2"), data("5.a")]
    assert order(blocks, invalid="1 2") == ["3.a", "5.a"]
    assert order(blocks, invalid="1") == ["4.c", "3.a", "5.a"]


def test_a_log_compaction_of_unasked_instants_is_left_out_where_their_logs_are_not_opened() -> None:
    """An incremental query opens the logs of its window alone: 1 and 2 lie before it."""
    blocks = [data("4.c", compacts="1,2"), deletes("5.a")]
    assert order(blocks, invalid="1 2") == ["5.a"]
    assert order(blocks, invalid="1") == ["4.c", "5.a"]
    chained = [data("3.c", compacts="1,2"), data("6.c", compacts="3,4"), data("7.a")]
    assert order(chained, invalid="1 2 4") == ["7.a"]
    assert order(chained, invalid="1 2") == ["6.c", "7.a"]


def test_a_log_compaction_may_have_several_blocks() -> None:
    """All blocks of the compaction's instant move together, in their order."""
    blocks = [data("1.a"), data("4.c", compacts="1"), deletes("4.d"), data("5.a")]
    assert order(blocks) == ["4.c", "4.d", "5.a"]


def test_unknown_commands_are_refused() -> None:
    """A command other than a rollback is refused by its number."""
    unknown = LogBlock("command", "1", {"COMMAND_BLOCK_TYPE": "7"}, memoryview(b""), 0, "a.log")
    with pytest.raises(RefusedError, match="unknown command '7'"):
        order([unknown])
