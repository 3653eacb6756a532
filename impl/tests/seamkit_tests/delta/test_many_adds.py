"""A commit of many files says of each what it would say of it alone, and is refused for each fault.

Adds are taken by their columns where a file has many of them, so each form and fault of one line
stands here among many plain ones, in a log of JSON.
"""

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError
from seamkit.files.storage import Storage
from seamkit.tables.delta.log.actions import AddFile, add_file, parse_line
from seamkit.tables.delta.log.adds import adds_of_checkpoint, adds_of_lines
from seamkit.tables.delta.log.folder import list_log
from seamkit.tables.delta.log.snapshot import load_snapshot
from seamkit.tables.delta.table import DeltaTable
from seamkit.tables.table import plan_of
from seamkit_tests.samples import made_delta

_AMONG = 150
_HEAD = (
    made_delta.protocol("deletionVectors"),
    made_delta.metadata(
        *(made_delta.field(name, "string") for name in ("id", "p", "q")), partitionColumns=["p"]
    ),
)
_VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 6,
}
_STATS = r'{"numRecords":3,"minValues":{"id":"\u00e4\n{}"}}'


def _line(**changed: Any) -> bytes:
    told = {"path": "odd", "partitionValues": {"p": "1"}, "size": 7, "stats": '{"numRecords":3}'}
    return json.dumps({"add": told | changed}).encode()


def _load(folder: Path, *odd: bytes, spaced: bool = False, at: int = 70) -> list[AddFile]:
    """What a commit adds of many plain lines, with odd ones behind so many of them."""
    marks = (", ", ": ") if spaced else (",", ":")
    plain = [
        json.dumps(
            {"add": {"path": f"f{n:03}", "partitionValues": {"p": str(n % 3)}, "size": n}},
            separators=marks,
        ).encode()
        for n in range(_AMONG)
    ]
    lines = [json.dumps(one).encode() for one in _HEAD]
    lines += [*plain[:at], *odd, *plain[at:]]
    log = folder / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_bytes(b"\n".join(lines))
    storage = Storage(str(folder))
    return list(load_snapshot(list_log(storage)).files)


@pytest.mark.parametrize("spaced", [True, False])
def test_plain_ones(tmp_path: Path, spaced: bool) -> None:
    """Each keeps what its line says, however the writer spaces it."""
    found = _load(tmp_path, spaced=spaced)
    assert [one.path for one in found] == [f"f{n:03}" for n in range(_AMONG)]
    assert [one.size_bytes for one in found] == list(range(_AMONG))
    assert [one.partition_values for one in found[:4]] == [{"p": n} for n in ("0", "1", "2", "0")]
    assert {(one.stats, one.vector, one.base_row_id, one.row_commit_version) for one in found} == {
        (None, None, None, None)
    }


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        (_line(path="a%20b"), "path", "a%20b"),
        (_line(path="\u00e4\U0001f600\\\"}}"), "path", "\u00e4\U0001f600\\\"}}"),
        (_line(stats=_STATS), "stats", _STATS),
        (_line(stats=None), "stats", None),
        (_line(size=2**62), "size_bytes", 2**62),
        (_line(baseRowId=5, defaultRowCommitVersion=6), "base_row_id", 5),
        (_line(baseRowId=5, defaultRowCommitVersion=6), "row_commit_version", 6),
        (_line(partitionValues={"p": None}), "partition_values", {"p": None}),
        (_line(partitionValues={"p": "}\"{"}), "partition_values", {"p": "}\"{"}),
        (_line(partitionValues={"p": "2024-01-01"}), "partition_values", {"p": "2024-01-01"}),
        (_line(tags={"partitionValues": "x", "a": "b"}), "partition_values", {"p": "1"}),
        (_line(modificationTime=1.5, tags={"deep": [[{"x": [1]}]]}), "size_bytes", 7),
        (b' ' + _line(), "size_bytes", 7),
        (_line() + b" \r", "size_bytes", 7),
        (_line().replace(b'Values":', b'V\\u0061lues" :'), "partition_values", {"p": "1"}),
        (_line().replace(b'"size": 7', b'"size": 6, "size": 7'), "size_bytes", 7),
    ],
)  # fmt: skip
def test_forms_of_one_among_them(tmp_path: Path, line: bytes, field: str, value: Any) -> None:
    """A line is read as JSON has it: escapes, nulls, further fields, keys spelled or told twice."""
    found = _load(tmp_path, line)
    [odd] = [one for one in found if one.path[0] != "f"]
    assert len(found) == _AMONG + 1
    assert getattr(odd, field) == value


def test_partition_values_are_those_of_their_own_line(tmp_path: Path) -> None:
    """One line has the name within its tags, too; another spells its own with an escape."""
    tags = b'{"tags": {"partitionValues": {"p": "9"}}, "path"'
    tagged = _line(path="one").replace(b'{"path"', tags)
    escaped = _line(path="two", partitionValues={"p": "2"}).replace(b"Values", b"V\\u0061lues")
    for number, odd in enumerate(([tagged], [tagged, escaped])):
        folder = tmp_path / str(number)
        folder.mkdir()
        found = {one.path: one.partition_values["p"] for one in _load(folder, *odd)}
        assert len(found) == _AMONG + len(odd)
        assert (found["one"], found.get("two", "2"), found["f100"]) == ("1", "2", "1")


@pytest.mark.parametrize("at", [0, 70, _AMONG])
def test_other_lines_around_them(tmp_path: Path, at: int) -> None:
    """Removals and blank lines before, between and behind them leave each line its number."""
    gone = b'{"remove":{"path":"%s"}}'
    found = _load(tmp_path, b"", gone % b"f001", b" ", gone % b"none", b"", at=at)
    assert [one.path for one in found] == [f"f{n:03}" for n in range(_AMONG)]
    [told] = load_snapshot(list_log(Storage(str(tmp_path)))).warnings
    assert str(told).startswith(f"{tmp_path}/_delta_log/{0:020}.json, line {at + 6}: ")


def test_one_with_a_vector_among_them(tmp_path: Path) -> None:
    """A deletion vector counts for the file that has it, and for no other."""
    found = _load(tmp_path, _line(deletionVector=_VECTOR))
    assert [one.vector.cardinality for one in found if one.vector is not None] == [6]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (_line(size=-1), "field size is -1"),
        (_line(size="7"), "field size is '7'"),
        (_line(size=7.0), "field size is 7.0"),
        (_line(size=True), "field size is True"),
        (_line(path=None), "field path is None"),
        (_line(path=5), "field path is 5"),
        (_line(stats={}), "stats of an add are no text"),
        (_line(baseRowId=-5), "field baseRowId is -5"),
        (_line(partitionValues={"p": 1}), "partitionValues.p is 1"),
        (_line(partitionValues=["p"]), "partitionValues is no object"),
        (_line(deletionVector=[]), "deletionVector is no object"),
        (_line()[:-1], "no JSON"),
        (_line()[:-1] + b" ", "no JSON"),
        (_line()[:-1] + b', "remove": {"path": "f001"}}', "2 actions"),
        (_line()[:-1] + b', "remova": {}}', "remova"),
        (_line() + _line(), "no JSON"),
        (_line()[:-1] + b"{}}", "no JSON"),
        (_line(path="a@").replace(b"@", b"\xff"), "no JSON"),
        (_line(tags="@").replace(b"@", b"\xff"), "no JSON"),
        (_line(path="a@").replace(b"@", b"\t"), "no JSON"),
    ],
)  # fmt: skip
def test_a_fault_of_one_among_them(tmp_path: Path, line: bytes, reason: str) -> None:
    """A line that is refused alone is refused among many, with its number."""
    with pytest.raises(InputError, match=f"json, line 73.*{reason}"):
        _load(tmp_path, line)


def test_lines_changed_at_random_are_what_they_are_alone() -> None:
    """What is taken of a line by its columns is what its JSON says, and no JSON is none."""
    chance = random.Random(7)
    plain = _line(path='a\\n"', stats=_STATS, partitionValues={"p": None, "q": "}"}, baseRowId=5)
    lines = [plain.replace(b'"7"', b"7")]
    marks = rb'{}[]",:\\u0123456789+-.eE \tnulltruefalse' + b"\xc3\xa4\xff\x01"
    for _ in range(20_000):
        line = bytearray(plain)
        for _ in range(chance.randint(1, 3)):
            at, length = chance.randrange(len(line)), chance.randint(0, 2)
            some = bytes(chance.choice(marks) for _ in range(chance.randint(0, 2)))
            line[at : at + length] = some
        lines.append(bytes(line).replace(b"\n", b""))
    made, odd = adds_of_lines(b"\n".join(lines), len(lines))
    taken = sorted(set(range(len(lines))).difference(odd))
    assert 100 < len(taken) < len(lines) - 100
    for at, one in zip(taken, made, strict=True):
        assert one == add_file(json.loads(lines[at])["add"], "alone"), lines[at]
        assert parse_line(lines[at], "alone")[0] == "add"


def test_a_broken_path_among_them(tmp_path: Path) -> None:
    """A path that no percent-encoding gives names no file."""
    with pytest.raises(InputError, match="'a%2' has a broken percent-escape"):
        _load(tmp_path, _line(path="a%2"))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"P": "1"}, "odd, column 'p': the log has no partition value"),
        ({"p": "1", "q": "2"}, "partition value of 'q', which is none of"),
    ],
)
def test_partition_values_that_do_not_fit_are_refused_at_once(
    tmp_path: Path, values: dict[str, str], reason: str
) -> None:
    """The scan is refused when it is planned, though units are made later."""
    _load(tmp_path, _line(partitionValues=values))
    with pytest.raises(InputError, match=reason):
        DeltaTable(tmp_path).scan()


def test_partition_values_of_a_checkpoint() -> None:
    """Each row has its own, nulls and empty texts told apart; equal ones are one object."""
    told: list[dict[str, str | None]] = [
        {"p": "1", "q": None},
        {"p": "1", "q": ""},
        {},
        {"q": "1", "p": None},
        {"p": "q"},
        {"p": "1", "q": None},
    ]
    maps = pa.array([list(one.items()) for one in told], pa.map_(pa.string(), pa.string()))
    columns = {"path": list("abcdef"), "partitionValues": maps, "size": [1] * 6}
    rows = pa.record_batch(columns).to_struct_array()
    for first in (0, 1):
        made, odd = adds_of_checkpoint(rows[first:])
        assert (list(made.partition_values), odd) == (told[first:], [])
        assert len({id(one) for one in made.partition_values}) == 5


def test_units_are_made_once_and_can_be_pickled(tmp_path: Path) -> None:
    """A plan's units are the same objects whenever they are asked for, as those of a list are."""
    _load(tmp_path)
    units = plan_of(DeltaTable(tmp_path).scan()).units
    assert [unit.name for unit in units[2:4]] == ["f002", "f003"]
    assert units[-1] is units[_AMONG - 1] is list(units)[-1]
    assert units[0].files[0] is units[0].files[:1][0] is next(iter(units[0].files))
    with pytest.raises(IndexError):
        units[_AMONG]
    again = pickle.loads(pickle.dumps(units))  # noqa: S301 - its own bytes
    assert [one.name for one in again] == [one.name for one in units]
    places = [one.files[0].name for one in again[:2]]
    assert places == [f"{tmp_path}/f000", f"{tmp_path}/f001"]
