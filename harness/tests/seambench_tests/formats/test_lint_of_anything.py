"""Whatever stands in a table's files, its linter answers with faults, in words and in time."""

import io
import json
import random
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fastavro
import pytest

from seambench.contracts.formats import resolve_format
from seambench.formats.forms.containers import avro_content
from seambench.formats.forms.footer import Footer, Number
from seambench.formats.lint import Finding
from seambench.formats.lint.parquet import RULES
from seambench_tests.formats.planting import places, unpacked

ODD: list[Any] = [None, [], {}, [None], {"a": {}}, -1, 2**70, 1.5, True, "", "\ud800", "../x", "9"]
#: Names of Python's own errors, which say nothing to who asks about a table.
PYTHONS = re.compile(
    r"\b(Key|Type|Attribute|Value|Index|Recursion|EOF|Unicode\w+|Memory)Error|struct\.error"
    r"|object is not|has no attribute|not supported between|NoneType|unpack requires"
)
TABLES = {
    "delta": ["types", "vectors-several", "checkpoint-v2-json", "checkpoint-parts"],
    "iceberg": ["transforms", "vectors", "v1", "travel"],
    "paimon": ["pk-buckets", "vectors", "core-changes", "append-types-orc"],
    "hudi": ["mor-v9-event", "mor-v6-event", "metadata-table/v9"],
}


def _odd_json(data: bytes, chance: random.Random) -> bytes:
    """JSON, or lines of it, or properties, in which one value is another, is gone or is deep."""
    lines = data.split(b"\n") if data.count(b"\n{") else [data]
    at = chance.randrange(len(lines))
    said = json.loads(lines[at] or "{}")
    if there := list(places(said)):
        holder, key = chance.choice(there)
        nested = isinstance(holder[key], str) and holder[key][:1] == "{"
        if chance.random() < 0.2:
            del holder[key]
        elif nested and chance.random() < 0.8:
            holder[key] = _odd_json(holder[key].encode(), chance).decode()
        else:
            holder[key] = chance.choice(ODD)
    lines[at] = json.dumps(said).encode()
    if chance.random() < 0.03:
        lines[at] = b"[" * 100_000
    return b"\n".join(lines)


def _fields(schema: Any) -> list[Any]:
    return schema["fields"] if isinstance(schema, dict) and schema.get("type") == "record" else []


def _odd_avro(data: bytes, chance: random.Random) -> bytes:
    """An Avro file in which a field of all records has another type."""
    content = avro_content(data)
    schema = json.loads(fastavro.reader(io.BytesIO(data)).metadata["avro.schema"])
    rows = content.rows
    fields = [one for holder, key in places([schema]) for one in _fields(holder[key])]
    name = chance.choice(fields)["name"]
    value, kind = chance.choice([(None, "null"), (-1, "long"), (2**62, "long"), ("x", "string")])
    for field in (one for one in fields if one["name"] == name):
        field["type"] = ["null", kind] if kind != "null" else kind
        field.pop("default", None)
    for holder, key in places(rows):
        if key == name and isinstance(holder, dict):
            holder[key] = value
    out = io.BytesIO()
    try:
        fastavro.writer(out, fastavro.parse_schema(schema), rows, metadata=content.metadata)
    except Exception:  # a type that others name, and is gone
        return _odd_bytes(data, chance)
    return out.getvalue()


def _odd_footer(data: bytes, chance: random.Random) -> bytes:
    """A Parquet file in whose footer a field is gone or another number."""
    footer, found = Footer(data), []

    def walk(tree: Any) -> None:
        for key, one in tree.items() if isinstance(tree, dict) else enumerate(tree.items):
            found.append((tree, key))
            if hasattr(one, "items"):
                walk(one)

    walk(footer.tree)
    holder, key = chance.choice([pair for pair in found if isinstance(pair[0], dict)])
    if isinstance(holder[key], Number) and chance.random() < 0.7:
        holder[key].value = chance.choice([-1, 0, 7, 2**31 - 1, 2**40])
    else:
        del holder[key]
    return footer.file()


def _odd_bytes(data: bytes, chance: random.Random) -> bytes:
    """Bytes of which some are turned, cut off or put in."""
    if not data or chance.random() < 0.2:
        return data[: chance.randrange(len(data) + 1)]
    out = bytearray(data)
    for _ in range(chance.choice([1, 1, 3, 20])):
        # What counts stands at the ends of files.
        far = chance.random() < 0.5
        at = chance.randrange(len(out)) if far else -1 - chance.randrange(min(len(out), 200))
        out[at] = chance.choice([0, 0xFF, 0x7F, 0x80, out[at] ^ 1 << chance.randrange(8)])
    return bytes(out)


def mutate(table: Path, chance: random.Random) -> str:
    """Change one file of a table; its name."""
    files = sorted(one for one in table.rglob("*") if one.is_file() and one.suffix != ".crc")
    # Metadata are more than data.
    files += 3 * [one for one in files if one.suffix not in (".parquet", ".orc")]
    file = chance.choice(files)
    data, changes = file.read_bytes(), [_odd_bytes]
    if data[:1] in (b"{", b"["):
        changes += [_odd_json] * 6
    elif data[:3] == b"Obj":
        changes += [_odd_avro] * 3
    elif data[:4] == data[-4:] == b"PAR1":
        changes += [_odd_footer] * 3
    change = chance.choice(changes)
    file.write_bytes(change(data, chance))
    return f"{change.__name__} of {file.relative_to(table)}"


def check(name: str, table: Path, seed: int, copy: Path) -> None:
    """Change a copy of a table by chance, and hold the linter's answer to the rules."""
    format_ = resolve_format(name)
    shutil.copytree(table, copy)
    try:
        what = mutate(copy, random.Random(seed))
        try:
            faults = list(format_.faults(copy))
        except Exception as error:
            raise AssertionError(f"{table} {seed}: {what}: {error!r}") from error
        for fault in faults:
            assert not PYTHONS.search(fault.says), f"{table} {seed}: {what}: {fault}"
            assert fault.rule, f"{what}: {fault}"
    finally:
        shutil.rmtree(copy)


@pytest.mark.parametrize("name", TABLES)
def test_anything(name: str, tmp_path: Path) -> None:
    """Values of odd types, members that are gone, turned and cut bytes: faults, and no error."""
    for number, table in enumerate(TABLES[name]):
        folder = unpacked(resolve_format(name), table, tmp_path / str(number))
        for seed in range(3):
            check(name, folder, seed, tmp_path / "copy")


@pytest.mark.parametrize("damage", [KeyError("size"), ValueError("no JSON"), RecursionError()])
def test_what_bytes_can_raise_is_a_fault(damage: Exception) -> None:
    """What cannot be judged since bytes or values are none is told as a fault."""
    [fault] = RULES.faults(partial(_raise, damage), "footer", "a place")
    assert fault.rule == "parquet.footer"
    assert "not judged" in fault.says


@pytest.mark.parametrize("mistake", [AssertionError("never"), NameError("x"), RuntimeError("x")])
def test_a_mistake_of_the_linter_is_no_fault_of_a_table(mistake: Exception) -> None:
    """What no bytes can raise ends the linter, in place of blaming the table."""
    with pytest.raises(type(mistake)):
        list(RULES.faults(partial(_raise, mistake), "footer", "a place"))


def _raise(error: Exception) -> Iterator[Finding]:
    raise error
