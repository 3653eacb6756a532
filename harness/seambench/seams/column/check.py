"""Running one case of the column seam: golden buffers against an implementation's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from seambase import errors
from seambase.wording import counted
from seambench.conformance.judge import NO_REFUSAL
from seambench.contracts.column import BatchKind, ColumnChunk, ColumnRequest, ColumnTable, Step
from seambench.contracts.outcomes import Mismatch
from seambench.seams.column.cases import ColumnCase, kinds_of

_NESTED = frozenset({"array", "map", "struct"})


def check_column(case: ColumnCase, table: ColumnTable) -> None:
    """Compare an implementation's chunks with the golden ones, or parse the type strings."""
    data = case.content()
    if isinstance(data, list):
        _check_type_strings(data, table)
        return
    chunks = table.chunks(request_of(data))
    if len(chunks) != len(data["chunks"]):
        raise Mismatch(f"{counted(len(data['chunks']), 'chunk')} expected, {len(chunks)} came")
    for number, (want, have) in enumerate(zip(data["chunks"], chunks, strict=True), 1):
        _compare(number, want, have)
    if data.get("kinds"):
        _check_steps(data["kinds"], len(chunks), table)
    if held := table.live_blocks():
        raise Mismatch(f"{counted(held, 'block')} of memory still held after the last chunk")


def request_of(data: Mapping[str, Any]) -> ColumnRequest:
    """The request that the content of a golden file is about."""
    return ColumnRequest(
        fields=data["fields"],
        types=data["types"],
        rows=data["rows"],
        required_fields=data["required_fields"],
        nested_fields=data.get("nested_fields"),
        fetch_size=data["fetch_size"],
        chunk_rows=data.get("sizes") or [chunk["num_rows"] for chunk in data["chunks"]],
        kinds=data.get("kinds", ()),
        form=data.get("form", "binary"),
    )


def _check_steps(kinds: Sequence[BatchKind], chunks: int, table: ColumnTable) -> None:
    """Each chunk went through its kinds once, and nobody holds a native batch any more."""
    steps, handles = getattr(table, "batch_steps", None), getattr(table, "live_handles", None)
    if steps is None or handles is None:
        raise Mismatch("batches is stated, but there is no batch_steps or no live_handles")
    want = Counter({step: count * chunks for step, count in Counter(pairwise(kinds)).items()})
    if (counts := Counter(steps())) != want:
        raise Mismatch(f"changes of kind must be {_listed(want)}, they were {_listed(counts)}")
    if live := handles():
        raise Mismatch(f"{counted(live, 'native batch', 'were')} not released")


def _listed(steps: Mapping[Step, int]) -> str:
    return ", ".join(f"{a} to {b}: {n}" for (a, b), n in sorted(steps.items())) or "none"


def _compare(number: int, want: Mapping[str, Any], have: ColumnChunk) -> None:
    """One chunk: rows, the chain's words in their order, and every determined byte."""
    if have.num_rows != want["num_rows"]:
        raise Mismatch(
            f"chunk {number}: {counted(want['num_rows'], 'row')} expected, {have.num_rows} came"
        )
    words = [(slot["kind"], slot["column"]) for slot in want["slots"]]
    chain = [(slot.kind, slot.column) for slot in have.slots]
    if words != chain:
        raise Mismatch(f"chunk {number}: the chain must be {words}, it is {chain}")
    for slot, got in zip(want["slots"], have.slots, strict=True):
        golden = None if slot["kind"] == "unknown" else slot["hex"]
        problem = masked_difference(golden, got.content)
        if problem:
            raise Mismatch(f"chunk {number}, {got.kind} of {got.column}: {problem}")


def masked_difference(golden: str | None, content: bytes | None) -> str | None:
    """First difference of bytes from golden hex, where `??` stands for any byte; None if equal."""
    if golden is None or content is None:
        return None if golden is None and content is None else "a buffer on one side only"
    if len(golden) != 2 * len(content):
        return f"{counted(len(golden) // 2, 'byte')} expected, {len(content):,} came"
    text = content.hex()
    if golden == text:
        return None
    want, have = (np.frombuffer(signs.encode(), np.uint8) for signs in (golden, text))
    wrong = np.flatnonzero((want != have) & (want != ord("?")))
    if not len(wrong):
        return None
    at = int(wrong[0]) // 2
    begin, end = 2 * at, 2 * at + 2
    return f"byte {at} must be {golden[begin:end]}, it is {text[begin:end]}"


def _check_type_strings(entries: Sequence[Mapping[str, Any]], table: ColumnTable) -> None:
    """Every string of the grammar must parse to the golden tree, broken ones must be refused.

    Strings outside the grammar that the original parser takes leave a stricter parser free. One
    that states `type-strings.lenient` must do with all of them what the original does.
    """
    parse = getattr(table, "parse_type", None)
    if parse is None:
        raise Mismatch("type-strings is stated, but there is no parse_type")
    lenient = table.capabilities.get("type-strings.lenient", False)
    for entry in entries:
        nested = _NESTED & set(kinds_of(entry["input"]))
        if any(not table.capabilities.get(f"kinds.{kind}") for kind in nested):
            continue
        if problem := _type_problem(entry, parse, lenient=lenient):
            raise Mismatch(f"{entry['input']!r} {problem}")


def _type_problem(
    entry: Mapping[str, Any], parse: Callable[[str], Any], *, lenient: bool
) -> str | None:
    """What is wrong with the answer to one type string; None if it is right."""
    try:
        tree = parse(entry["input"])
    except NO_REFUSAL:
        raise
    except errors.SeambenchError as error:
        if entry["grammar"] or (lenient and entry["ok"]):
            return f"means {entry['parsed']}, it was refused: {error}"
        gave = (getattr(error, "reason", None), getattr(error, "token", None))
        wanted = (entry.get("error"), entry.get("token"))
        return f"fails with {wanted}, told was {gave}" if lenient and gave != wanted else None
    if not entry["ok"]:
        return "is broken, but was parsed"
    if tree != entry["parsed"] and (lenient or entry["grammar"]):
        return f"means {entry['parsed']}, parsed was {tree}"
    return None
