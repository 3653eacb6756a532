"""Mutates golden tables and tells what readers make of it; exit code 1 for what is unexplained.

Each mutation is read as a snapshot, as of a commit, or through another address of the folder. The
outcome is `same` (the rows as before), `warning` (other rows, and a warning), `error` (a named
one), or one that is listed: `silent` (other rows without a word), `raw` (another exception),
`crash` or `timeout`. A silent difference that no reader could have noticed has its reason in
`explained.toml`. A reason there must be needed: a pattern that fits many of the mutations that were
read, none of them silent, is listed as `needless` and fails the run. What chance seldom does is
`planted` there, and done in each run: it is listed as `told` where it is not silent any more.
"""

from __future__ import annotations

import argparse
import fnmatch
import re
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
from seambench_suites.mutations.changes import Mutation, contents, mutated, place, random_mutation
from seambench_suites.mutations.footer_fields import random_field

_SUITES = Path(__file__).parent.parent
_LISTED = ("silent", "told", "raw", "crash", "timeout")
#: So many mutations as a pattern says, none of them silent, show that nothing has to be explained.
_ENOUGH = 300
#: A run of all tables with so many mutations comes by whatever a pattern can name.
_WHOLE = 20_000


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
    parser.add_argument(
        "--fields", action="store_true", help="only change fields of Parquet footers"
    )
    parser.add_argument(
        "--explained", type=Path, default=Path(__file__).parent / "explained.toml", help="reasons"
    )
    args = parser.parse_args(arguments)
    format_ = resolve_format(args.format)
    tables = [
        golden_table(format_, folder)
        for folder in table_folders(_SUITES, args.format)
        if fnmatch.fnmatch(_name(folder), args.table)
    ]
    if not tables:
        parser.error(f"no golden table of {args.format} is called {args.table}")
    explained = tomllib.loads(args.explained.read_text())
    known = explained.get(args.format, {}).get("fields" if args.fields else "silent", [])
    patterns = [reason["patterns"] for reason in known]
    planted = _planted(known)
    if args.table == "*" and (strange := planted.keys() - {_name(one.folder) for one in tables}):
        parser.error(f"damage is planted in no golden table of {args.format}: {strange}")
    is_whole = args.count >= _WHOLE and args.table == "*"
    unexplained = 0
    for name in args.impl:
        counts: Counter[str] = Counter()
        reasons = Reasons(patterns)
        for word, line in _run(name, tables, planted, args):
            if word != "unread" and reasons.explain(line, is_silent=word == "silent"):
                word = "explained"
            counts[word] += 1
            if word in _LISTED:
                sys.stdout.write(f"{name}: {word}: {line}\n")
        unexplained += sum(counts[word] for word in _LISTED)
        for pattern in reasons.needless(is_whole):
            sys.stdout.write(f"{name}: needless: {pattern}\n")
            unexplained += 1
        listed = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        sys.stdout.write(f"{name}: {listed}\n")
        if not set(counts) - {"unread"}:
            sys.stdout.write(f"{name}: nothing was read, so nothing is known\n")
            unexplained += 1
    return 1 if unexplained else 0


def _planted(reasons: Sequence[Mapping[str, Any]]) -> dict[str, list[Mutation]]:
    """What is done in each run, by table."""
    found: dict[str, list[Mutation]] = {}
    for one in (planted for reason in reasons for planted in reason.get("planted", ())):
        how = {key: value for key, value in one.items() if key != "table"}
        found.setdefault(one["table"], []).append(Mutation(**how))
    return found


class Reasons:
    """Why some differences are silent, and whether each reason is needed."""

    def __init__(self, reasons: Sequence[Sequence[str]]) -> None:
        self._reasons = reasons
        patterns = [pattern for listed in reasons for pattern in listed]
        self._patterns = [(pattern, re.compile(fnmatch.translate(pattern))) for pattern in patterns]
        self._fitting: Counter[str] = Counter()
        self._silent: Counter[str] = Counter()

    def explain(self, line: str, *, is_silent: bool) -> bool:
        """Whether a mutation was silent, and a reason says why; every one that was read counts.

        `is_silent`: its rows were others and no word was said.
        """
        fitting = [pattern for pattern, form in self._patterns if form.match(line)]
        self._fitting.update(fitting)
        self._silent.update(fitting if is_silent else ())
        return is_silent and bool(fitting)

    def needless(self, is_whole: bool) -> list[str]:
        """Patterns that explain nothing, and how many mutations they fit.

        `is_whole`: there were mutations enough for a reason of whose patterns no line fits any to
        be one of damage that is never done.
        """
        never = {
            pattern
            for listed in self._reasons
            if is_whole and not any(map(self._fitting.get, listed))
            for pattern in listed
        }
        return [
            f"{pattern} ({self._fitting[pattern]} fit)"
            for pattern, _ in self._patterns
            if not self._silent[pattern] and (self._fitting[pattern] >= _ENOUGH or pattern in never)
        ]


def _name(folder: Path) -> str:
    return "/".join(folder.parts[folder.parts.index("golden") + 2 :])


def _run(
    name: str,
    tables: Sequence[GoldenTable],
    planted: Mapping[str, Sequence[Mutation]],
    args: argparse.Namespace,
) -> Iterator[tuple[str, str]]:
    """Outcome and description of each mutation, those besides that are done in each run."""
    scanner = registry.resolve("scan", name)
    random = Random(args.seed)
    shares = Counter(random.choices(range(len(tables)), k=args.count))
    limits = Limits(args.timeout, hung=0)
    with Isolated("scan", name, limits, "seambench_suites.mutations.worker") as reader:
        for number, table in enumerate(tables):
            always = planted.get(_name(table.folder), ())
            share = shares[number]
            if (share or always) and all(
                scanner.capabilities.get(w) for w in table.needs(CommitRequest())
            ):
                yield from _of_table(table, share, always, random, reader, args)


def _of_table(
    table: GoldenTable,
    share: int,
    always: Sequence[Mutation],
    random: Random,
    reader: Isolated,
    args: argparse.Namespace,
) -> Iterator[tuple[str, str]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "table"
        table.unpack(folder)
        whole = contents(folder)
        requests: list[dict[str, Any]] = [
            {"table": str(folder)},
            {"table": f"{args.address}{folder}"},
        ]
        commits = [instant for instant in table.origin.instants if instant]
        requests += [{"table": str(folder), "as_of": instant} for instant in commits[:2]]
        answers = [(request, reader.ask(request)) for request in requests]
        readable = [one for one in answers if one[1]["outcome"] == "read"]
        if not readable:
            yield from [("unread", _name(table.folder))] * share
            return
        draw = random_field if args.fields else random_mutation
        for number in range(len(always) + share):
            is_planted = number < len(always)
            mutation = always[number] if is_planted else draw(whole, random)
            if mutation is None:
                return
            request, expected = readable[0] if is_planted else random.choice(readable)
            with mutated(folder, whole, mutation):
                answer = reader.ask(request)
            question = {"as_of": request.get("as_of"), "address": request is requests[1]}
            where = f"{mutation}{place(mutation, whole)}"
            line = f"{_name(table.folder)}: {where} {question}: {answer.get('reason', '')}"
            word = _outcome(expected, answer)
            is_loud = is_planted and word not in _LISTED
            yield "told" if is_loud else word, line


def _outcome(expected: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    if answer["outcome"] == "named":
        return "error"
    if answer["outcome"] != "read":
        return str(answer["outcome"])
    if answer["digest"] == expected["digest"]:
        return "same"
    return "warning" if len(answer["warnings"]) > len(expected["warnings"]) else "silent"


if __name__ == "__main__":
    sys.exit(main())
