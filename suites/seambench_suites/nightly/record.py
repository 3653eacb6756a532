"""What a long run found, step by step, as a file; and how it differs from the one before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

from seambase.errors import InputError
from seambase.written import whole_file

#: Of a file of `results/nightly`.
_SCHEMA = 1


@dataclass(frozen=True)
class Done:
    """A step that ran."""

    name: str
    ended: str  # `passed`, `failed` or `timeout`
    seconds: float  # it took
    # of what it asked, by implementation and word; of tests by word alone
    counts: dict[str, int] = field(default_factory=dict)
    # reasons why tests did not run, and how many did not
    skipped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Night:
    """A run: when it began (UTC), where, at which commit (`+`: with changes), and its steps."""

    started_utc: str
    machine: str
    commit: str
    steps: list[Done]


def counted(tells: str, output: Path) -> tuple[dict[str, int], dict[str, int]]:
    """What a step says that it found, and the tests that it skipped.

    It tells `outcomes` (lines of `seambench check --json`), `junit` (a file of pytest's), or
    nothing: the exit code says all.
    """
    counts: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    if not tells or not output.exists():
        return {}, {}
    if tells == "outcomes":
        for line in output.read_text(encoding="utf-8").splitlines():
            said = json.loads(line)
            counts[f"{said['implementation']} {said['outcome']}"] += 1
        return dict(counts), {}
    for case in ET.parse(output).iter("testcase"):  # noqa: S314 - pytest wrote it
        mark = next((one for one in case if one.tag in ("failure", "error", "skipped")), None)
        is_expected = mark is not None and mark.get("type") == "pytest.xfail"
        word = "passed" if mark is None else "expected to fail" if is_expected else mark.tag
        counts[word] += 1
        if word == "skipped" and mark is not None:
            skipped[mark.get("message") or "no reason"] += 1
    return dict(counts), dict(skipped)


def changes(before: Night | None, now: Sequence[Done]) -> Iterator[tuple[Done, str]]:
    """Each step with what is otherwise than in the run before; empty where nothing is."""
    known = {step.name: step for step in before.steps} if before else {}
    for step in now:
        old = known.pop(step.name, None)
        if old is None:
            yield step, "new"
            continue
        said = [] if old.ended == step.ended else [f"{old.ended} before"]
        for word in sorted(old.counts.keys() | step.counts.keys()):
            was, now_ = old.counts.get(word, 0), step.counts.get(word, 0)
            said += [f"{word}: {was:,} -> {now_:,}"] if was != now_ else []
        yield step, "; ".join(said)


def last_night(folder: Path) -> Night | None:
    """The newest record of a folder; None where there is none."""
    for path in sorted(folder.glob("*.json"), reverse=True):
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw.pop("schema") != _SCHEMA:
                raise InputError(f"{path}: it is of another form")
            steps = [Done(**step) for step in raw.pop("steps")]
            return Night(**raw, steps=steps)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: no record of a long run: {error}") from error
    return None


def written(folder: Path, night: Night) -> Path:
    """Write a record, whole or not at all, and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{night.started_utc.replace(':', '')}-{night.machine}.json"
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps({"schema": _SCHEMA, **asdict(night)}, indent=1) + "\n")
    return path
