"""The oracle of off-heap columns agrees with what StarRocks wrote; its cases are well-formed."""

import ctypes
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import UsageError
from seambench.conformance.answered import answers_of, digest_of
from seambench.conformance.load import load_cases
from seambench.contracts.column import ColumnChunk
from seambench.contracts.outcomes import ProtocolError
from seambench.seams.column.cases import ColumnCase, column_values
from seambench.seams.column.doors import read_chain
from seambench.seams.column.oracle import TypeTree, expected_slots, parse_type, requested_parts
from seambench_suites.cases import ROOT

CASES = [case for case in load_cases("column") if isinstance(case, ColumnCase)]
GOLDEN = [c for c in CASES if c.file.suffix == ".json" and c.file.stem != "type_strings"]
OWN = [c for c in CASES if c.file.suffix == ".toml"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.id)
def test_the_oracle_works_out_what_starrocks_wrote(case: ColumnCase) -> None:
    """Every word of every golden chain and every determined byte follow from rows and rules."""
    data = case.content()
    start = 0
    for chunk in data["chunks"]:
        rows = data["rows"][start : start + chunk["num_rows"]]
        start += chunk["num_rows"]
        found = expected_slots(
            data["fields"],
            data["types"],
            rows,
            data["required_fields"],
            data.get("nested_fields") or (),
        )
        assert [{"hex": ""} | slot for slot in found] == chunk["slots"]


def _plain_answer(chunks: list[dict[str, Any]]) -> list[Any]:
    """The chunks of a content as recorded answers have them: a list without names of members."""
    return [
        [
            chunk["num_rows"],
            [[slot["kind"], slot["column"], slot.get("hex", "")] for slot in chunk["slots"]],
        ]
        for chunk in chunks
    ]


def test_cases_can_be_worked_out() -> None:
    """A case has as many rows as its chunks, all of one width, and chunks or a refusal.

    Where an engine's own classes were given its rows, they left in memory what is worked out here.
    """
    engines, wrong = answers_of(ROOT), []
    for case in OWN:
        data = case.content()
        sizes = data.get("sizes") or [chunk["num_rows"] for chunk in data["chunks"]]
        assert len(data["rows"]) == sum(sizes), case.id
        assert {len(row) for row in data["rows"]} <= {len(data["fields"])}, case.id
        assert bool(case.refused) != ("chunks" in data), case.id
        answers = [engine.answers[case.id] for engine in engines if case.id in engine.answers]
        if answers and {digest_of(_plain_answer(data["chunks"]))} != {*answers}:
            wrong.append(case.id)
    assert wrong == []


def test_what_engines_answered_is_asked() -> None:
    """A recorded answer is that of a case there is, which says whose it is."""
    cases = {case.id: case for case in OWN}
    for engine in answers_of(ROOT):
        answers = [id_ for id_ in engine.answers if id_.startswith("column/")]
        assert {cases[id_].witness for id_ in answers} <= {engine.engine}
    assert sum(bool(case.witness) for case in OWN) > 700


def test_another_buffer_has_another_digest() -> None:
    """A byte, an open byte, a word of the chain or a row more is another answer."""
    answer = [[1, [["nulls", "a", "00"], ["data", "a", "07000000"]]]]
    bent = [
        [[1, [["nulls", "a", "00"], ["data", "a", "07000001"]]]],
        [[1, [["nulls", "a", "00"], ["data", "a", "070000??"]]]],
        [[1, [["data", "a", "07000000"], ["nulls", "a", "00"]]]],
        [[1, [["nulls", "b", "00"], ["data", "a", "07000000"]]]],
        [[2, [["nulls", "a", "00"], ["data", "a", "07000000"]]]],
        [*answer, [0, []]],
    ]
    assert len({digest_of(one) for one in [answer, *bent]}) == 7


def _nulls(values: list[Any]) -> int:
    return sum(value is None for value in values)


@pytest.mark.parametrize("text", ["int", "array<struct<a:string,b:decimal(20,3)>>", "variant"])
def test_values_are_a_function_of_their_seed(text: str) -> None:
    """The same seed gives the same values; nulls come as often as they should."""
    tree = parse_type(text)
    some = column_values(tree, 200, "some", "seed")
    assert some == column_values(tree, 200, "some", "seed")
    assert some != column_values(tree, 200, "some", "other")
    assert 20 < _nulls(some) < 90
    assert _nulls(column_values(tree, 50, "none", "seed")) == 0
    assert column_values(tree, 3, "all", "seed") == [None] * 3


@pytest.mark.parametrize(
    "text", ["", "Int", "decimal", "array<>", "map<int>", "struct<a:int", "int>", "array<int,int>"]
)
def test_types_of_cases_follow_the_grammar(text: str) -> None:
    """A type string that does not is the case's fault, and said so."""
    with pytest.raises(UsageError):
        parse_type(text)


def test_a_broken_case_names_its_file(tmp_path: Path) -> None:
    """An unknown key, or fields without types, are errors of the case."""
    (tmp_path / "golden" / "offheap").mkdir(parents=True)
    (tmp_path / "golden" / "offheap" / "one.json").write_text("{}")
    folder = tmp_path / "cases" / "column"
    folder.mkdir(parents=True)
    text = 'level = "must"\nrequirement = "r"\nfields = ["a"]\n'
    for rest in ("types = []\n", 'types = ["int"]\nfetch = 1\n'):
        (folder / "case.toml").write_text(text + rest)
        with pytest.raises(UsageError, match=r"case\.toml"):
            load_cases("column", tmp_path)
        (folder / "case.toml").unlink()


def test_only_what_differs_between_cases_of_a_file_is_in_their_ids(tmp_path: Path) -> None:
    """One size to fetch needs no name, several have one each; likewise kinds of nulls."""
    (tmp_path / "golden" / "offheap").mkdir(parents=True)
    (tmp_path / "golden" / "offheap" / "one.json").write_text("{}")
    folder = tmp_path / "cases" / "column"
    folder.mkdir(parents=True)
    text = 'level = "must"\nrequirement = "r"\nfields = ["a"]\ntypes = ["int"]\n'
    cases = (
        ('fetch_sizes = [2]\nnulls = ["some"]\n', [""]),
        ('fetch_sizes = [2, 3]\nnulls = ["some"]\n', ["/fetch-2", "/fetch-3"]),
        ('fetch_sizes = [2]\nnulls = ["some", "all"]\n', ["/some", "/all"]),
    )
    for number, (asked, ids) in enumerate(cases):
        (folder / f"case{number}.toml").write_text(text + asked)
        found = [case.id for case in load_cases("column", tmp_path)]
        name = f"column/case{number}"
        assert [id_ for id_ in found if id_.startswith(name)] == [f"{name}{end}" for end in ids]


@pytest.mark.parametrize("nested", [["m.$1", "m.$0"], ["m.$0", "m.$1"]])
def test_keys_of_a_map_lie_in_front_of_its_values(nested: list[str]) -> None:
    """Whatever is asked for first."""
    slots = expected_slots(["m"], ["map<string,int>"], [[[["a", 1]]]], ["m"], nested)
    words = [(slot["kind"], slot["column"]) for slot in slots]
    assert words.index(("bytes", "m.$0")) < words.index(("data", "m.$1"))


def test_a_column_that_is_not_there_has_an_empty_word() -> None:
    """A chain that points somewhere for it is told, and what stands behind it is read."""
    numbers, flags = (ctypes.c_int32 * 2)(7, 8), (ctypes.c_uint8 * 2)()
    parts = [("gone", TypeTree("unknown")), ("a", parse_type("int"))]

    def read(word: int) -> ColumnChunk:
        behind = (ctypes.addressof(flags), ctypes.addressof(numbers))
        words = (ctypes.c_int64 * 4)(2, word, *behind)
        return read_chain(ctypes.addressof(words), parts)

    chunk = read(0)
    assert [(slot.kind, slot.column) for slot in chunk.slots] == [
        ("unknown", "gone"),
        ("nulls", "a"),
        ("data", "a"),
    ]
    assert chunk.slots[-1].content == bytes(numbers)
    with pytest.raises(ProtocolError, match="the word of gone, which there is not, is 0x9, not 0"):
        read(9)


def test_texts_of_decimals_have_no_needless_zeros() -> None:
    """One digit stands in front of the point where the number has none there."""
    values = column_values(parse_type("decimal(18,2)"), 3, "none", "seed")
    assert values == ["0.00", "0.01", "-0.01"]


#: Of a column its type, its values, and the parts of its chain by hand: name, and bytes.
_TEXTS: list[tuple[str, list[Any], list[tuple[str, bytes]]]] = [
    ("date", ["2000-02-29", None],
     [("offsets", b"\0\0\0\0\n\0\0\0\n\0\0\0"), ("bytes", b"2000-02-29")]),
    (
        "timestamp",
        ["1969-12-31 23:59:59.000000", "1969-12-31 23:59:59.0000019"],
        [
            ("offsets", b"\0\0\0\0\x13\0\0\0\x2d\0\0\0"),
            ("bytes", b"1969-12-31 23:59:591969-12-31 23:59:59.000001"),
        ],
    ),
    ("decimal(9,3)", ["-0.5", "7"],
     [("offsets", b"\0\0\0\0\6\0\0\0\x0b\0\0\0"), ("bytes", b"-0.5007.000")]),
    ("decimal(20,0)", ["0", "-12"], [("offsets", b"\0\0\0\0\1\0\0\0\4\0\0\0"), ("bytes", b"0-12")]),
    ("int", [1, -1], [("data", b"\1\0\0\0\xff\xff\xff\xff")]),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "values", "parts"), _TEXTS)
def test_the_text_form_is_what_it_is_by_hand(
    type_: str, values: list[Any], parts: list[tuple[str, bytes]]
) -> None:
    """Worked out from rows, and followed through a chain: these buffers behind the null flags."""
    flags = bytes(value is None for value in values)
    wanted = [("nulls", flags), *parts]
    slots = expected_slots(["v"], [type_], [[value] for value in values], ["v"], (), "text")
    assert [(slot["kind"], bytes.fromhex(slot["hex"])) for slot in slots] == wanted
    blocks = [ctypes.create_string_buffer(content, len(content)) for _, content in wanted]
    chain = (ctypes.c_int64 * (len(blocks) + 1))(len(values), *map(ctypes.addressof, blocks))
    asked = requested_parts(["v"], [type_], ["v"], (), form="text")
    found = read_chain(ctypes.addressof(chain), asked)
    assert [(slot.kind, slot.content) for slot in found.slots] == wanted
