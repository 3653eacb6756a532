"""Physical forms of Delta tables: data files, commits and checkpoints written otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa

from seambench.contracts.tables import Form
from seambench.formats.delta.golden import FILES
from seambench.formats.forms.containers import put_file
from seambench.formats.forms.data import data_forms, rewritten_as
from seambench.formats.forms.parquet import parquet_bytes, read_parquet

Action = dict[str, Any]

_FEATURE = "v2Checkpoint"
_TEXTS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
_FILE: Mapping[str, pa.DataType] = {
    "path": pa.string(),
    "partitionValues": _TEXTS,
    "size": pa.int64(),
    "dataChange": pa.bool_(),
    "tags": _TEXTS,
    "deletionVector": _VECTOR,
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
}
#: Columns of a checkpoint.
_COLUMNS: Mapping[str, pa.DataType] = {
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
    "add": pa.struct({**_FILE, "modificationTime": pa.int64(), "stats": pa.string()}),
    "remove": pa.struct(
        {**_FILE, "deletionTimestamp": pa.int64(), "extendedFileMetadata": pa.bool_()}
    ),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "name": pa.string(),
            "description": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": _TEXTS}),
            "schemaString": pa.string(),
            "partitionColumns": pa.list_(pa.string()),
            "configuration": _TEXTS,
            "createdTime": pa.int64(),
        }
    ),
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": pa.list_(pa.string()),
            "writerFeatures": pa.list_(pa.string()),
        }
    ),
    "domainMetadata": pa.struct(
        {"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}
    ),
    "checkpointMetadata": pa.struct({"version": pa.int64(), "tags": _TEXTS}),
    "sidecar": pa.struct(
        {
            "path": pa.string(),
            "sizeInBytes": pa.int64(),
            "modificationTime": pa.int64(),
            "tags": _TEXTS,
        }
    ),
}


# The log as it is.


def _log(table: Path) -> Path:
    return table / "_delta_log"


def _commits(table: Path) -> list[Path]:
    """All commits from the first on; none where some are gone."""
    files = sorted(FILES["commit"](table))
    return files if [int(file.stem) for file in files] == list(range(len(files))) else []


def _actions(file: Path) -> list[Action]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def _put_actions(file: Path, actions: Iterable[Action]) -> None:
    lines = (json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in actions)
    put_file(file, "".join(f"{line}\n" for line in lines).encode())


def _shortcuts(table: Path) -> list[Path]:
    """What stands for commits: checkpoints, what hints at them, and log compactions."""
    log = _log(table)
    return [
        *FILES["checkpoint"](table),
        *FILES["sidecar"](table),
        *log.glob("_last_checkpoint"),
        *log.glob("*.compacted.json"),
    ]


def _remove(files: Sequence[Path]) -> int:
    for file in files:
        file.unlink()
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    return len(files)


def _each_commit(table: Path, change: Callable[[Action], bool]) -> int:
    """Changes actions of all commits; where any is, nothing else may stand for them."""
    commits, done = _commits(table), 0
    for file in commits:
        actions = _actions(file)
        if changed := sum([change(action) for action in actions]):
            _put_actions(file, filter(None, actions))
            done += changed
    if done:
        _remove(_shortcuts(table))
        _without_checksums(table)
    return done


def _without_checksums(table: Path) -> int:
    """Takes away the checksums of versions: they tell sizes, and nobody needs to read them."""
    return _remove([file for file in _log(table).glob("*.crc") if file.name[0].isdigit()])


# Data files of other sizes.


def _mend(table: Path, sizes: Mapping[str, int]) -> None:
    """Sizes of data files in commits and checkpoints."""

    def mend(entry: Mapping[str, Any]) -> int | None:
        below = unquote(entry["path"]).removeprefix("file:").replace(f"{table}/", "").lstrip("/")
        size: int | None = entry["size"]
        return size if size is None else sizes.get(below, size)

    for file in _log(table).glob("*.json"):
        actions = _actions(file)
        for action in actions:
            for entry in filter(None, (action.get(kind) for kind in ("add", "remove", "cdc"))):
                if entry.get("size") is not None:
                    entry["size"] = mend(entry)
        _put_actions(file, actions)
    for file in [*FILES["checkpoint"](table), *FILES["sidecar"](table)]:
        if file.suffix == ".parquet":
            _mend_column(file, ("add", "remove"), "size", mend)
    _mend_sidecars(table)
    _without_checksums(table)


def _mend_column(
    file: Path, columns: Sequence[str], name: str, value: Callable[[Mapping[str, Any]], Any]
) -> None:
    """Puts another value in one field of structs in a checkpoint, where it is not null."""
    content = read_parquet(file)
    for at, field in enumerate(content.schema):
        names = [one.name for one in field.type] if field.name in columns else []
        if name not in names:
            continue
        column = content[at].combine_chunks()
        # Children as they lie there: below a null struct a field that is never null has a value.
        parts = [column.field(number) for number in range(len(names))]
        keys = [parts[names.index(key)].to_pylist() for key in ("path", name)]
        made = [
            None if one[1] is None else value({"path": one[0], name: one[1]})
            for one in zip(*keys, strict=True)
        ]
        parts[names.index(name)] = pa.array(made, pa.int64())
        new = pa.StructArray.from_arrays(parts, fields=list(field.type), mask=column.is_null())
        content = content.set_column(at, field, new)
    put_file(file, parquet_bytes(content))


def _mend_sidecars(table: Path) -> None:
    """Sizes of sidecars in the checkpoints that name them; what repeats them goes."""
    sizes = {file.name: file.stat().st_size for file in FILES["sidecar"](table)}
    if not sizes:
        return
    (_log(table) / "_last_checkpoint").unlink(missing_ok=True)
    for file in FILES["checkpoint"](table):
        if file.suffix == ".json":
            actions = _actions(file)
            for sidecar in filter(None, (action.get("sidecar") for action in actions)):
                sidecar["sizeInBytes"] = sizes.get(sidecar["path"], sidecar["sizeInBytes"])
            _put_actions(file, actions)
        else:
            _mend_column(file, ("sidecar",), "sizeInBytes", lambda one: sizes.get(one["path"], 0))


# Checkpoints, and none.


def _state(commits: Iterable[Path]) -> list[Action]:
    """The actions that commits come to: what a checkpoint holds."""
    files: dict[tuple[str, str], Action] = {}
    others: dict[tuple[str, str], Action] = {}
    for action in (one for file in commits for one in _actions(file)):
        for kind, content in action.items():
            if kind in ("add", "remove"):
                vector = content.get("deletionVector") or {}
                key = f"{vector.get('storageType')}{vector.get('pathOrInlineDv')}"
                files[content["path"], f"{key}@{vector.get('offset')}"] = {
                    kind: {**content, "dataChange": False}
                }
            elif kind in ("metaData", "protocol"):
                others[kind, ""] = action
            elif kind in ("txn", "domainMetadata"):
                others[kind, content.get("appId") or content.get("domain")] = action
    kept = [one for one in others.values() if not one.get("domainMetadata", {}).get("removed")]
    return [*kept, *files.values()]


def _checkpoint_bytes(actions: Sequence[Action]) -> bytes:
    def converted(value: Any, kind: pa.DataType) -> Any:
        if value is None:
            return None
        if pa.types.is_map(kind):
            return list(value.items())
        if pa.types.is_struct(kind):
            return {one.name: converted(value.get(one.name), one.type) for one in kind}
        return value

    columns = {
        name: pa.array([converted(action.get(name), kind) for action in actions], kind)
        for name, kind in _COLUMNS.items()
        if any(name in action for action in actions) or name in ("add", "remove")
    }
    return parquet_bytes(pa.table(columns))


def _prepared(table: Path, before: int = 0) -> tuple[int, list[Action]] | None:
    """A table without shortcuts: a version, and what a checkpoint of it holds."""
    commits = _commits(table)[: -before or None]
    state = _state(commits)
    if not commits or any(set(action) - set(_COLUMNS) for action in state):
        return None
    _remove(_shortcuts(table))
    return int(commits[-1].stem), state


def _features(state: Sequence[Action]) -> list[str]:
    [protocol] = [action["protocol"] for action in state if "protocol" in action]
    return list(protocol.get("readerFeatures") or [])


def _classic(before: int, parts: int, *, hint: bool) -> Callable[[Path], int]:
    """A checkpoint of the version so many before the newest, in so many parts."""

    def change(table: Path) -> int:
        made = _prepared(table, before)
        if made is None or _FEATURE in _features(made[1]):
            return 0
        version, state = made
        names = [f"{number + 1:010}.{parts:010}." for number in range(parts)] if parts > 1 else [""]
        for number, name in enumerate(names):
            content = _checkpoint_bytes(state[number::parts])
            (_log(table) / f"{version:020}.checkpoint.{name}parquet").write_bytes(content)
        if hint:
            last = {"version": version, "size": len(state)} | ({"parts": parts} if names[0] else {})
            (_log(table) / "_last_checkpoint").write_text(json.dumps(last), encoding="utf-8")
        return len(names)

    return change


def _with_sidecars(ending: str) -> Callable[[Path], int]:
    """A checkpoint of the newest version whose files stand in two sidecars."""

    def feature(action: Action) -> bool:
        own = action.get("protocol")
        if not own or own["minReaderVersion"] < 3 or _FEATURE in own["readerFeatures"]:
            return False
        own["readerFeatures"] = [*own["readerFeatures"], _FEATURE]
        own["writerFeatures"] = [*own["writerFeatures"], _FEATURE]
        return True

    def change(table: Path) -> int:
        _each_commit(table, feature)
        made = _prepared(table)
        if made is None or _FEATURE not in _features(made[1]):
            return 0
        version, state = made
        files = [action for action in state if "add" in action or "remove" in action]
        top: list[Action] = [{"checkpointMetadata": {"version": version}}]
        top += [action for action in state if action not in files]
        folder = _log(table) / "_sidecars"
        folder.mkdir(exist_ok=True)
        for number in range(2):
            content = _checkpoint_bytes(files[number::2])
            name = f"00000000-0000-4000-8000-00000000000{number}.parquet"
            (folder / name).write_bytes(content)
            sidecar = {"path": name, "sizeInBytes": len(content), "modificationTime": 0}
            top.append({"sidecar": sidecar})
        file = (
            _log(table) / f"{version:020}.checkpoint.00000000-0000-4000-8000-000000000009{ending}"
        )
        if ending == ".json":
            _put_actions(file, top)
        else:
            file.write_bytes(_checkpoint_bytes(top))
        return 3

    return change


def _compacted(table: Path) -> int:
    """One file that stands for all commits."""
    made = _prepared(table)
    if made is None or made[0] == 0:
        return 0
    _put_actions(_log(table) / f"{0:020}.{made[0]:020}.compacted.json", made[1])
    return 1


def _commits_alone(table: Path) -> int:
    return _remove(_shortcuts(table)) if _commits(table) else 0


def _unhinted(table: Path) -> int:
    return _remove(list(_log(table).glob("_last_checkpoint")))


def _checkpoints(form: str) -> Callable[[Path], int]:
    """Checkpoints and sidecars as Parquet files in another form."""

    def change(table: Path) -> int:
        files = [*FILES["sidecar"](table), *FILES["checkpoint"](table)]
        done = sum([rewritten_as(file, form) for file in files if file.suffix == ".parquet"])
        _mend_sidecars(table)
        return done

    return change


# What actions may say, or not.


def _no_statistics(action: Action) -> bool:
    add = action.get("add") or {}
    return not add.get("deletionVector") and add.pop("stats", None) is not None


def _counts_alone(action: Action) -> bool:
    add = action.get("add") or {}
    if not add.get("stats"):
        return False
    before = json.loads(add["stats"])
    add["stats"] = json.dumps({"numRecords": before["numRecords"]})
    return len(before) > 1


def _less(action: Action) -> bool:
    """Without what only people and writers read, and with nulls where a field may be absent."""
    if info := action.get("commitInfo"):
        if "inCommitTimestamp" in info:
            return False
        action.clear()
        return True
    add = action.get("add") or {}
    add |= {key: None for key in ("tags", "deletionVector", "stats") if add and key not in add}
    return bool(add)


def _otherwise_encoded(action: Action) -> bool:
    """Paths with each character in per cent that is neither a digit nor a separator."""
    for kind in ("add", "remove", "cdc"):
        entry = action.get(kind)
        if entry and not entry["path"].startswith(("file:", "/")):
            parts = unquote(entry["path"]).split("/")
            entry["path"] = "/".join(
                "".join(quote(c, safe="") if c.isalnum() else _escaped(c) for c in part)
                for part in parts
            )
            return True
    return False


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def forms() -> Sequence[Form]:
    """Every form."""
    return [
        *data_forms(FILES["data"], _mend, (b"PAR1",)),
        Form("log-commits", "commits alone, no checkpoints", _commits_alone),
        Form("log-unhinted", "no `_last_checkpoint`", _unhinted),
        Form("log-checkpoint", "a checkpoint of the newest version", _classic(0, 1, hint=True)),
        Form(
            "log-checkpoint-before",
            "a checkpoint before the newest commit, to which nothing hints",
            _classic(1, 1, hint=False),
        ),
        Form("log-checkpoint-parts", "a checkpoint in three parts", _classic(0, 3, hint=True)),
        Form(
            "log-checkpoint-v2-json",
            "a checkpoint of version 2 in JSON, with sidecars",
            _with_sidecars(".json"),
            needs=("delta.checkpoint.v2",),
        ),
        Form(
            "log-checkpoint-v2-parquet",
            "a checkpoint of version 2 in Parquet, with sidecars",
            _with_sidecars(".parquet"),
            needs=("delta.checkpoint.v2",),
        ),
        Form("log-compacted", "a log compaction of all commits", _compacted),
        Form(
            "log-statistics-none",
            "no statistics of files",
            lambda table: _each_commit(table, _no_statistics),
        ),
        Form(
            "log-statistics-counts",
            "numbers of rows alone as statistics of files",
            lambda table: _each_commit(table, _counts_alone),
        ),
        Form(
            "log-less",
            "no commitInfo; nulls for absent fields",
            lambda table: _each_commit(table, _less),
        ),
        Form(
            "log-paths",
            "paths with more characters in per cent than need be",
            lambda table: _each_commit(table, _otherwise_encoded),
        ),
        Form(
            "checkpoint-row-groups",
            "checkpoints with a row group for each action",
            _checkpoints("row-groups-1"),
        ),
        Form(
            "checkpoint-columns",
            "checkpoints with columns in the other order",
            _checkpoints("columns-reversed"),
        ),
        Form(
            "checkpoint-hint",
            "checkpoints with Arrow's schema, which says large texts",
            _checkpoints("hint-large"),
        ),
        Form("checkpoint-plain", "checkpoints without dictionaries", _checkpoints("plain")),
    ]
