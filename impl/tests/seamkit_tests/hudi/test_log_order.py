"""The order in which blocks of a slice apply: rollbacks, validity, log compactions."""

import pytest

from seamkit.tables.hudi.log.log import LogBlock, order_blocks


def _block(text: str) -> LogBlock:
    """`1.a` has data of instant 1, `1.-` deletes; `4.c=1,2` compacts both, `4!2` rolls 2 back."""
    name, _, compacts = text.partition("=")
    instant, _, target = name.partition("!")
    header = {"COMPACTED_BLOCK_TIMES": compacts} if compacts else {}
    if target:
        header = {"COMMAND_BLOCK_TYPE": "0", "TARGET_INSTANT_TIME": target}
    kind = "command" if target else "delete" if name.endswith("-") else "avro"
    content = memoryview(name.encode())
    return LogBlock(kind, instant.partition(".")[0], header, content, 0, "a.log")


_COMPACTED = "1.a 2.a 3.a 4.c=1,2"
#: By rule: the blocks, those that apply, oldest first, and the instants that are not valid.
_ORDERS: dict[str, tuple[str, str, str]] = {
    "data and deletes keep the order of logs and of blocks within one": (
        *("1.a 1.- 2.a 3.-", "1.a 1.- 2.a 3.-", ""),
    ),
    "blocks of an instant stay together, instants come as first seen": (
        *("2.a 3.a 2.b", "2.a 2.b 3.a", ""),
    ),
    "a rollback forgets all blocks of its target, however many": (
        *("1.a 2.a 2.- 4!2 5.a", "1.a 5.a", ""),
    ),
    "a rollback may find none": ("1.a 3!2", "1.a", ""),
    "what its target writes anew counts, behind what came in between": (
        *("2.a 3.b 4!2 2.c", "3.b 2.c", ""),
    ),
    "a rollback after the instant as of which is read counts": (*("2.a 4!2 5.a", "", "4 5"),),
    "what did not commit is left out": ("1.a 2.a 2.- 3.a", "1.a 3.a", "2"),
    "at the end, too": ("1.a 2.a 2.- 3.a", "1.a", "2 3"),
    "a log compaction takes the place of its latest original": (
        *("1.a 2.a 4.c=1,2 5.a", "4.c 5.a", ""),
    ),
    "writes beside a log compaction come after it": (_COMPACTED, "4.c 3.a", ""),
    "the newest compaction that holds an instant stands for it": (
        *("1.a 2.a 3.c=1,2 4.a 6.c=3,4 7.a", "6.c 7.a", ""),
    ),
    "one all of whose originals a newer one holds as well adds nothing": (
        *(f"{_COMPACTED} 5.c=1,2,3 6.a", "5.c 6.a", ""),
    ),
    "one that did not commit leaves its originals": ("1.a 2.a 4.c=1,2", "1.a 2.a", "4"),
    "one whose originals are gone keeps its own place": (*("3.a 4.c=1,2 5.a", "3.a 4.c 5.a", ""),),
    "one of instants that are not asked for is left out": (f"{_COMPACTED} 5.a", "3.a 5.a", "1 2"),
    "but not one of which one is": (f"{_COMPACTED} 5.a", "4.c 3.a 5.a", "1"),
    "nor need the logs of those be opened": ("4.c=1,2 5.-", "5.-", "1 2"),
    "as above, where one is asked for": ("4.c=1,2 5.-", "4.c 5.-", "1"),
    "of a chain neither": ("3.c=1,2 6.c=3,4 7.a", "7.a", "1 2 4"),
    "of a chain of which one is": ("3.c=1,2 6.c=3,4 7.a", "6.c 7.a", "1 2"),
    "all blocks of a compaction move together": ("1.a 4.c=1 4.- 5.a", "4.c 4.- 5.a", ""),
}


@pytest.mark.parametrize(("blocks", "expected", "invalid"), _ORDERS.values(), ids=_ORDERS)
def test_blocks_apply_in_order(blocks: str, expected: str, invalid: str) -> None:
    """By the rule that each case is called by."""
    wrong = invalid.split()
    ordered = order_blocks(list(map(_block, blocks.split())), lambda instant: instant not in wrong)
    assert [bytes(block.content).decode() for block in ordered] == expected.split()
