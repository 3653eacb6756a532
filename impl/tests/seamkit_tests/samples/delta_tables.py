"""Tables that Spark and Delta wrote, unpacked from the suites' golden files, and their rows."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambench.formats.delta.golden import settle
from seamkit.tables.delta.table import DeltaTable
from seamkit.tables.delta.vectors import decode_z85
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.golden_tables import unpack

_GOLDEN = SUITES_GOLDEN / "delta"
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def delta_table_names() -> list[str]:
    """The names that `unpack_delta` knows."""
    return sorted(path.parent.name for path in _GOLDEN.glob("*/witness.json"))


def unpack_delta(name: str, folder: Path) -> Path:
    """Unpack a table into a new folder, settled as for cases; returns that folder."""
    table = unpack(f"delta/{name}", folder / name)
    settle(table)
    return table


def commit_path(table: Path, version: int) -> Path:
    """The commit of a version."""
    return table / "_delta_log" / f"{version:020}.json"


def edit_actions(table: Path, version: int, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the actions of a commit one by one, in place."""
    path = commit_path(table, version)
    actions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        edit(action)
    path.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")


def change_actions(table: Path, version: int, name: str, **fields: Any) -> None:
    """Give fields of each action of a name in a commit other values."""
    edit_actions(table, version, lambda action: action.get(name, {}).update(fields))


def rows_of_table(table: Path, **how: Any) -> pa.Table:
    """All rows of a table."""
    return DeltaTable(str(table)).scan(threads=1, **how).to_table()


def z85(data: bytes) -> str:
    """Bytes as Z85, zeros behind them up to a multiple of four."""
    padded = data + bytes(-len(data) % 4)
    words = [int.from_bytes(padded[i : i + 4], "big") for i in range(0, len(padded), 4)]
    return "".join(_ALPHABET[word // 85**n % 85] for word in words for n in (4, 3, 2, 1, 0))


def is_file_of(vector: dict[str, Any], file: Path) -> bool:
    """Whether a file below the table is the one that a vector's descriptor names."""
    encoded = decode_z85(vector["pathOrInlineDv"][-20:]).hex()
    return encoded == file.stem.removeprefix("deletion_vector_").replace("-", "")


def vectors_into_log(table: Path) -> None:
    """Move the vectors that the newest commit adds into the log; no file of vectors is left."""

    def edit(action: dict[str, Any]) -> None:
        vector = action.get("add", {}).get("deletionVector")
        if vector is not None:
            [file] = [one for one in table.rglob("*.bin") if is_file_of(vector, one)]
            at = vector.pop("offset")
            data = file.read_bytes()[at + 4 : at + 4 + vector["sizeInBytes"]]
            vector |= {"storageType": "i", "pathOrInlineDv": z85(data)}

    newest = max(int(path.stem) for path in (table / "_delta_log").glob("*.json"))
    edit_actions(table, newest, edit)
    for file in table.rglob("*.bin"):
        file.unlink()
