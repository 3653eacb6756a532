"""Where a version of Hudi answers about a random table by a rule of its own, and why.

Each rule is held against the rows: it is a reason only for a difference that it explains.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Answer = Mapping[str, Any]
Rows = Sequence[Sequence[str]]

_KEYS = [f"str:{key}" for key in "abcdefgh"]
"""What whole rows of random tables have in the column `k`; partial ones may have no value."""
_NULL = "NoneType:None"


def why_otherwise(
    version: str, target: Path, number: int, answer: Answer, own: Answer
) -> str | None:
    """Why a version answers otherwise than a reader; None if no rule of its own explains that.

    `target` is what `write_tables` made of one seed, `number` that of the question, from 1.
    """
    if "error" in own:
        return _why_error(version, target, answer, own["error"])
    rows: Rows = own["rows"]
    if answer.get("as_of", "~") < _oldest(target):
        answer, rows = _in_newest_types(answer, own)
        if rows == answer["rows"]:
            return f"{version} knows no schema of an archived instant and takes the newest one"
    elif answer["columns"] != own["columns"]:
        return None
    if _has_nonsense(answer, rows):
        return (
            f"{version} takes columns of a partial update for others where its key has no whole "
            "row, or none in the window: its values are such that nobody wrote"
        )
    if answer["query"] != "incremental":
        return None
    return _why_window(version, target, number, answer, rows)


def _why_error(version: str, target: Path, answer: Answer, error: str) -> str | None:
    """Why a version answers what a reader does not."""
    if error.startswith("InputError") and _is_cleaned(target, answer):
        return f"{version} shows no rows where a cleaner removed all files, and that is archived"
    spec = json.loads((target / "spec.json").read_text(encoding="utf-8"))
    of_payload = spec.get("table_version") == 8 and "EventTimeAvroPayload, which is not" in error
    if error.startswith("RefusedError") and of_payload:
        return (
            "of tables of version 8 with this class, 1.2.0 shows a row again that is older than "
            "its delete, and 1.0.2 does not: they are refused"
        )
    return None


def _why_window(version: str, target: Path, number: int, answer: Answer, rows: Rows) -> str | None:
    """Why a version answers otherwise about what changed in a window."""
    more = [row for row in rows if row not in answer["rows"]]
    fewer = [row for row in answer["rows"] if row not in rows]
    reasons = []
    if version == "1.0.2" and (counted := _written_at(target, answer["begin"], fewer)):
        fewer = [row for row in fewer if row not in counted]
        reasons.append("1.0.2 alone counts the commit at which a window begins in")
    if _begins_later(version, target, answer) or (
        not fewer and _are_archived(target, answer, more)
    ):
        return (
            f"{version} knows no archived instants of the first layout: its window begins with the "
            "oldest that is not"
        )
    if not fewer and _is_hidden(target, number, answer, rows):
        return (
            f"{version} takes a file group for uncommitted that was made before the window and "
            "after a pending compaction of the first layout; its writer does not"
        )
    if more and "end" in answer and _changed_again(target, more):
        more = []
        reasons.append(
            f"{version} reads a window whose instants are archived, or files cleaned, from the "
            "newest state, and leaves out rows that changed again after its end"
        )
    if more and fewer and _unfilled(target, answer["columns"], fewer, more):
        more, fewer = [], []
        reasons.append(
            f"{version} leaves older rows of a base file that the window rewrote out before it "
            "merges, so they fill no gaps of partial rows"
        )
    if fewer and _compacted(target, answer, fewer):
        fewer = []
        reasons.append(
            f"{version} takes rows that a log compaction wrote anew for changes once a compaction "
            "has put them into a base file"
        )
    if fewer and _lost(target, answer["columns"], fewer):
        fewer = []
        reasons.append(
            f"{version} leaves older rows of a base file that the window rewrote out before it "
            "merges, and so hands out updates that lost against them"
        )
    return None if more or fewer else "; ".join(reasons) or None


def _is_cleaned(target: Path, answer: Answer) -> bool:
    """Whether an earlier state has no rows, as no file is left of it; the first write has some."""
    files = (target / "table").glob("**/*_*.parquet")
    instants = [file.stem.rpartition("_")[2] for file in files if ".hoodie" not in file.parts]
    as_of = answer.get("as_of", "")
    return not answer["rows"] and bool(as_of) and all(instant > as_of for instant in instants)


def _oldest(target: Path) -> str:
    """The oldest commit that is not archived; empty if there is none."""
    files = (target / "table" / ".hoodie").glob("**/[0-9]*commit")
    return min((file.name[:17] for file in files), default="")


def _in_newest_types(answer: Answer, own: Answer) -> tuple[Answer, Rows]:
    """Columns that both have; `i`, which writes may promote, is of its type in the answer."""
    names = [name for name in answer["columns"] if name in own["columns"]]
    expected, rows = (
        sorted([row[one["columns"].index(name)] for name in names] for row in one["rows"])
        for one in (answer, own)
    )
    place = names.index("i") if "i" in names else 0
    kinds = {row[place].partition(":")[0] for row in expected}
    for row in rows:
        kind, _, text = row[place].partition(":")
        if kind == "int" and "str" in kinds:
            row[place] = f"str:{text}"
        elif kind == "int" and "float" in kinds:
            row[place] = f"float:{float(text).hex()}"
    return {**answer, "columns": names, "rows": expected}, sorted(rows)


def _has_nonsense(answer: Answer, rows: Rows) -> bool:
    """Whether an answer has values that no random table has, and is right but for their rows."""
    place = answer["columns"].index("k")
    nonsense = [row for row in answer["rows"] if row[place] not in (*_KEYS, _NULL)]
    whole = [row for row in answer["rows"] if row[place] in _KEYS]
    return bool(nonsense) and whole == [row for row in rows if row[place] in _KEYS]


def _instants(target: Path) -> tuple[set[str], set[str]]:
    """Instants of the first layout that completed and are not archived, and pending compactions."""
    names = [file.name for file in (target / "table" / ".hoodie").glob("[0-9]*.*")]
    done = {name.partition(".")[0] for name in names if name.partition(".")[2].endswith("commit")}
    requested = {name.partition(".")[0] for name in names if name.endswith(".compaction.requested")}
    return done, requested - done


def _written_at(target: Path, begin: str, rows: Rows) -> Rows:
    """Those of the rows that the last state up to a time had, and the one before it had not."""
    states = [a for a in _snapshots(target) if "as_of" in a and a["as_of"] <= begin]
    states.sort(key=lambda state: str(state["as_of"]))
    if not states:
        return []
    before = states[-2]["rows"] if len(states) > 1 else []
    return [row for row in rows if row in states[-1]["rows"] and row not in before]


def _begins_later(version: str, target: Path, answer: Answer) -> bool:
    """Whether an answer is that to the window which begins with the last archived instant."""
    done, _ = _instants(target)
    if not done or answer["begin"] >= min(done):
        return False
    files = [target / f"witness-{version}.json", target / "witness.json"]
    answers = json.loads(next(f for f in files if f.exists()).read_text(encoding="utf-8"))
    archived = [
        other
        for other in answers
        if other["query"] == "incremental"
        and answer["begin"] < other["begin"] < min(done)
        and other.get("end") == answer.get("end")
    ]
    rows = [other.get("rows") for other in sorted(archived, key=lambda o: str(o["begin"]))]
    return bool(rows) and bool(rows[-1] == answer["rows"])


def _are_archived(target: Path, answer: Answer, rows: Rows) -> bool:
    """Whether the state as of the last archived instant of the first layout had all these rows."""
    done, _ = _instants(target)
    oldest = min(done, default="")
    if answer["begin"] >= oldest:
        return False
    states = [a for a in _snapshots(target) if "as_of" in a and a["as_of"] < oldest]
    last = max(states, key=lambda state: str(state["as_of"]), default=None)
    return last is not None and all(row in last["rows"] for row in rows)


def _unfilled(target: Path, columns: Sequence[str], partial: Rows, filled: Rows) -> bool:
    """Whether rows differ only by nulls that have values in others, which a snapshot showed."""
    older = [
        row for state in _snapshots(target) for row in state["rows"] if len(row) == len(columns)
    ]
    keys = json.loads((target / "spec.json").read_text(encoding="utf-8"))["keys"]
    own = [columns.index(name) for name in keys]

    def fits(row: Sequence[str], whole: Sequence[str]) -> bool:
        known = [one for one in older if all(one[i] == row[i] for i in own)]
        return all(
            mine == theirs or (mine == _NULL and any(one[i] == theirs for one in known))
            for i, (mine, theirs) in enumerate(zip(row, whole, strict=True))
        )

    return len(partial) == len(filled) and all(
        any(fits(row, whole) for whole in filled) for row in partial
    )


def _compacted(target: Path, answer: Answer, rows: Rows) -> bool:
    """Whether the state before a window had all these rows, in a table with log compactions."""
    options = json.loads((target / "spec.json").read_text(encoding="utf-8"))["options"]
    states = [a for a in _snapshots(target) if "as_of" in a and a["as_of"] < answer["begin"]]
    last = max(states, key=lambda state: str(state["as_of"]), default=None)
    is_on = options.get("hoodie.log.compaction.inline") == "true"
    return is_on and last is not None and all(row in last["rows"] for row in rows)


def _is_hidden(target: Path, number: int, answer: Answer, rows: Rows) -> bool:
    """Whether a compaction that is older than a window is pending, and the writer agrees."""
    _, pending = _instants(target)
    own = json.loads((target / "witness.json").read_text(encoding="utf-8"))[number - 1]
    return own.get("rows") == rows and any(instant <= answer["begin"] for instant in pending)


def _changed_again(target: Path, rows: Rows) -> bool:
    """Whether a table whose cleaner runs has none of these rows any more."""
    options = json.loads((target / "spec.json").read_text(encoding="utf-8"))["options"]
    if options.get("hoodie.clean.automatic") != "true":
        return False
    newest = [a["rows"] for a in _snapshots(target) if "as_of" not in a]
    return bool(newest) and all(row not in newest[0] for row in rows)


def _lost(target: Path, columns: Sequence[str], rows: Rows) -> bool:
    """Whether each row lost to one with a greater ordering value, which a snapshot showed."""
    keys = json.loads((target / "spec.json").read_text(encoding="utf-8"))["keys"]
    own = [columns.index(name) for name in keys]
    ordering = columns.index("ts")
    older = [
        (dict(zip(answer["columns"], row, strict=True)))
        for answer in _snapshots(target)
        for row in answer["rows"]
    ]
    return all(
        any(
            [other[name] for name in keys] == [row[place] for place in own]
            and _number_of(other["ts"]) > _number_of(row[ordering])
            for other in older
        )
        for row in rows
    )


def _number_of(text: str) -> float:
    """An ordering value of an answer."""
    kind, _, value = text.partition(":")
    return {"int": float, "float": float.fromhex}[kind](value)


def _snapshots(target: Path) -> Iterator[Answer]:
    """What the writer showed of the table at any time."""
    for answer in json.loads((target / "witness.json").read_text(encoding="utf-8")):
        if answer["query"] == "snapshot" and "rows" in answer:
            yield answer
