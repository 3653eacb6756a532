"""Physical forms of Paimon tables: files, manifests, snapshots and schemas written otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from seambench.contracts.tables import Form
from seambench.formats.forms.containers import (
    AVRO_FORMS,
    AvroForm,
    is_avro,
    put_file,
    read_avro,
    write_avro,
)
from seambench.formats.forms.data import data_forms
from seambench.formats.forms.manifests import Manifests, Row
from seambench.formats.paimon.golden import FILES
from seambench.formats.paimon.split import split_files

#: The lists of manifests that a snapshot names; a size may stand beside each.
_LISTS = ("baseManifestList", "deltaManifestList", "changelogManifestList")
#: What a snapshot may lack.
_OPTIONAL = ("logOffsets", "watermark", "statistics", "changelogRecordCount")


def _in_avro(table: Path) -> bool:
    """Whether all manifests are Avro: those in ORC are left alone, and so is what they name."""
    if not (table / "manifest").is_dir():
        return False
    return all(map(is_avro, [*FILES["manifest"](table), *FILES["manifest-list"](table)]))


def _data(table: Path) -> list[Path]:
    """Data files and changelog files whose sizes can be mended."""
    files = [file for file in table.glob("**/bucket-*/*") if file.is_file()]
    return files if _in_avro(table) else []


def _mend(table: Path, sizes: Mapping[str, int]) -> None:
    """Sizes of files in manifests; then those of manifests and of their lists."""
    by_name = {Path(path).name: size for path, size in sizes.items()}
    for file in FILES["manifest"](table):
        content = read_avro(file)
        for data_file in (entry["_FILE"] for entry in content.rows):
            data_file["_FILE_SIZE"] = by_name.get(data_file["_FILE_NAME"], data_file["_FILE_SIZE"])
        write_avro(file, content)
    _MANIFESTS.each_list(table)
    _mend_lists(table)


def _manifest(table: Path, row: Row) -> Path:
    return table / "manifest" / str(row["_FILE_NAME"])


_MANIFESTS = Manifests(FILES["manifest"], FILES["manifest-list"], _manifest, "_FILE_SIZE")


def _mend_lists(table: Path) -> None:
    """Sizes of lists in snapshots and tags."""
    folder = table / "manifest"

    def sized(snapshot: Row) -> bool:
        for key in _LISTS:
            if snapshot.get(f"{key}Size") is not None:
                snapshot[f"{key}Size"] = (folder / snapshot[key]).stat().st_size
        return True

    _each_text(table, ("snapshot/snapshot-*", "tag/tag-*"), sized)


def _each_text(table: Path, patterns: Sequence[str], change: Callable[[Row], bool]) -> int:
    done = 0
    places = [f"{branch}{pattern}" for pattern in patterns for branch in ("", "branch/*/")]
    for file in (file for place in places for file in table.glob(place)):
        content = json.loads(file.read_text(encoding="utf-8"))
        if change(content):
            put_file(file, json.dumps(content, indent=2).encode())
            done += 1
    return done


def _one_each(row: Row, entries: Sequence[Row]) -> list[Row]:
    """A row of a list for each entry of a manifest."""
    return [
        {
            **row,
            "_FILE_NAME": f"{row['_FILE_NAME']}{number:03}",
            "_NUM_ADDED_FILES": 1 - entry["_KIND"],
            "_NUM_DELETED_FILES": entry["_KIND"],
        }
        for number, entry in enumerate(entries)
    ]


def _in_lists(change: Callable[[Path], int]) -> Callable[[Path], int]:
    """A change of manifests that are all Avro; sizes of lists are mended after it."""

    def changed(table: Path) -> int:
        done = change(table) if _in_avro(table) else 0
        if done:
            _mend_lists(table)
        return done

    return changed


def _files_split(table: Path) -> int:
    made = split_files(table)

    def counted(row: Row) -> Row:
        kinds = [entry["_KIND"] for entry in read_avro(_manifest(table, row)).rows]
        return {
            **row,
            "_NUM_ADDED_FILES": kinds.count(0),
            "_NUM_DELETED_FILES": kinds.count(1),
        }

    if made:
        _MANIFESTS.each_list(table, lambda rows: list(map(counted, rows)))
    return made


def _joined(table: Path) -> int:
    """One manifest for neighbours in a list that tell the same partitions and schema."""
    folder, made = table / "manifest", 0

    def change(rows: list[Row]) -> list[Row]:
        nonlocal made
        found = []
        for _, same in groupby(rows, lambda row: (str(row["_PARTITION_STATS"]), row["_SCHEMA_ID"])):
            group = list(same)
            if len(group) > 1:
                contents = [read_avro(folder / row["_FILE_NAME"]) for row in group]
                name = f"{group[0]['_FILE_NAME']}999{made}"
                entries = [entry for content in contents for entry in content.rows]
                write_avro(folder / name, replace(contents[0], rows=entries))
                group = [_of_all(group, name)]
                made += 1
            found += group
        return found

    _MANIFESTS.each_list(table, change)
    return made


def _of_all(rows: Sequence[Row], name: str) -> Row:
    """A row of a list for several."""
    one = {**rows[0], "_FILE_NAME": name}
    for key in one:
        values = [row[key] for row in rows]
        if key.startswith("_NUM_"):
            one[key] = sum(values)
        elif key.startswith(("_MIN_", "_MAX_")):
            chosen = min if key.startswith("_MIN_") else max
            one[key] = None if None in values else chosen(values)
    return one


def _avro(form: AvroForm) -> Form:
    change = _in_lists(lambda table: _MANIFESTS.each_manifest(table, form))
    return Form(form.name, form.title, change)


def _unhinted(table: Path) -> int:
    hints = [*table.glob("**/snapshot/LATEST"), *table.glob("**/snapshot/EARLIEST")]
    for hint in hints:
        hint.unlink()
    return len(hints)


def _snapshots_less(table: Path) -> int:
    def change(snapshot: Row) -> bool:
        found = [key for key in _OPTIONAL if snapshot.get(key) is not None]
        for key in found:
            del snapshot[key]
        return bool(found)

    return _each_text(table, ("snapshot/snapshot-*", "tag/tag-*"), change)


def _schemas_less(table: Path) -> int:
    """Schemas without comments and times; the fields of the text in another order."""

    def change(schema: Row) -> bool:
        schema.pop("timeMillis", None)
        schema.pop("comment", None)
        for key in reversed(list(schema)):
            schema[key] = schema.pop(key)
        return True

    return _each_text(table, ("schema/schema-*",), change)


def forms() -> Sequence[Form]:
    """Every form."""
    return [
        *data_forms(_data, _mend),
        Form("files-split", "data files cut into three", _in_lists(_files_split)),
        Form(
            "manifests-split",
            "a manifest for each file",
            _in_lists(lambda table: _MANIFESTS.split(table, _one_each)),
        ),
        Form("manifests-joined", "one manifest for neighbours in a list", _in_lists(_joined)),
        *map(_avro, AVRO_FORMS),
        Form("snapshots-unhinted", "neither LATEST nor EARLIEST", _unhinted),
        Form("snapshots-less", "snapshots without optional fields", _snapshots_less),
        Form("schemas-less", "schemas without comments and times", _schemas_less),
    ]
