"""Mutates golden tables and tells what readers make of it; exit code 1 for what is unexplained.

Each mutation is read as a snapshot, as of a commit, or through another address of the folder. The
outcome is `same` (the rows as before), `warning` (other rows, and a warning), `error` (a named
one), or one that is listed: `silent` (other rows without a word), `raw` (another exception),
`crash` or `timeout`. A silent difference that no reader could have noticed has its reason in
`explained.toml`.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from seambench.conformance.isolate import Isolated, Limits
from seambench.contracts import registry
from seambench.contracts.formats import resolve_format
from seambench.contracts.tables import CommitRequest
from seambench.formats.golden import GoldenTable, golden_table, table_folders
from seambench_suites.mutations.changes import contents, mutated, random_mutation
from seambench_suites.mutations.places import place

__all__ = ["main"]

_SUITES = Path(__file__).parent.parent
_LISTED = ("silent", "raw", "crash", "timeout")


def main(arguments: Sequence[str] | None = None) -> int:
    """Mutate, list what is wrong, and count outcomes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--format", required=True, help="format of the golden tables")
    parser.add_argument("--impl", action="append", required=True, help="reader; repeatable")
    parser.add_argument("--count", type=int, default=500, help="mutations in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", default="*", help="pattern of tables, such as mor-v9-*")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds for one read")
    parser.add_argument("--address", default="local://", help="what the other address begins with")
    args = parser.parse_args(arguments)
    format_ = resolve_format(args.format)
    tables = [
        golden_table(format_, folder)
        for folder in table_folders(_SUITES, args.format)
        if fnmatch.fnmatch(_name(folder), args.table)
    ]
    if not tables:
        parser.error(f"no golden table of {args.format} is called {args.table}")
    unexplained = 0
    for name in args.impl:
        counts: Counter[str] = Counter()
        for word, line in _run(name, tables, args):
            counts[word] += 1
            if word in _LISTED:
                sys.stdout.write(f"{name}: {word}: {line}\n")
        unexplained += sum(counts[word] for word in _LISTED)
        told = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        sys.stdout.write(f"{name}: {told}\n")
        if not set(counts) - {"unread"}:
            sys.stdout.write(f"{name}: nothing was read, so nothing is known\n")
            unexplained += 1
    return 1 if unexplained else 0


def _name(folder: Path) -> str:
    return "/".join(folder.parts[folder.parts.index("golden") + 2 :])


def _run(
    name: str, tables: Sequence[GoldenTable], args: argparse.Namespace
) -> Iterator[tuple[str, str]]:
    """Outcome and description of each mutation."""
    scanner = registry.resolve("scan", name)
    explained = tomllib.loads((Path(__file__).parent / "explained.toml").read_text())
    reasons = explained.get(args.format, {}).get("silent", [])
    random = Random(args.seed)
    shares = Counter(random.choices(range(len(tables)), k=args.count))
    limits = Limits(args.timeout, hung=0)
    with Isolated("scan", name, limits, "seambench_suites.mutations.worker") as reader:
        for number, share in sorted(shares.items()):
            table = tables[number]
            if all(scanner.capabilities.get(w) for w in table.needs(CommitRequest())):
                for word, line in _of_table(table, share, random, reader, args.address):
                    if word == "silent" and _is_explained(line, reasons):
                        word = "explained"
                    yield word, line


def _of_table(
    table: GoldenTable, share: int, random: Random, reader: Isolated, address: str
) -> Iterator[tuple[str, str]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "table"
        table.unpack(folder)
        whole = contents(folder)
        requests: list[dict[str, Any]] = [{"table": str(folder)}, {"table": f"{address}{folder}"}]
        commits = [instant for instant in table.origin.instants if instant]
        requests += [{"table": str(folder), "as_of": instant} for instant in commits[:2]]
        expected = [reader.ask(request) for request in requests]
        for _ in range(share):
            mutation = random_mutation(whole, random)
            at = random.randrange(len(requests))
            if expected[at]["outcome"] != "read":
                yield "unread", f"{_name(table.folder)} {requests[at]}"
                continue
            with mutated(folder, whole, mutation):
                answer = reader.ask(requests[at])
            asked = {"as_of": requests[at].get("as_of"), "address": at == 1}
            where = f"{mutation}{place(mutation, whole[mutation.file])}"
            line = f"{_name(table.folder)}: {where} {asked}: {answer.get('reason', '')}"
            yield _outcome(expected[at], answer), line


def _outcome(expected: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    if answer["outcome"] == "named":
        return "error"
    if answer["outcome"] != "read":
        return str(answer["outcome"])
    if answer["digest"] == expected["digest"]:
        return "same"
    return "warning" if len(answer["warnings"]) > len(expected["warnings"]) else "silent"


def _is_explained(line: str, reasons: Sequence[Mapping[str, str]]) -> bool:
    return any(fnmatch.fnmatchcase(line, reason["pattern"]) for reason in reasons)


if __name__ == "__main__":
    sys.exit(main())
