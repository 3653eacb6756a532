"""Choosing parts of nested columns by dotted paths."""

from collections.abc import Sequence

import pytest

from seambase.errors import UsageError
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, Kind, parse
from seamkit.offheap.connector.selected import SelectedFields, prune, prune_columns


def _struct(**fields: ColumnType) -> ColumnType:
    return ColumnType(Kind.STRUCT, children=tuple(fields.values()), names=tuple(fields))


def _array(element: ColumnType) -> ColumnType:
    return ColumnType(Kind.ARRAY, children=(element,), names=("$0",))


def _map(key: ColumnType, value: ColumnType) -> ColumnType:
    return ColumnType(Kind.MAP, children=(key, value), names=("$0", "$1"))


_INT, _TEXT = parse("int"), parse("string")
_INNER = _struct(x=_INT, y=_TEXT, z=_INT)
_S = _struct(a=_INT, b=_TEXT, c=_INNER, d=_array(_INNER))
_M = _map(_TEXT, _INNER)


@pytest.mark.parametrize(
    ("column", "paths", "left"),
    [
        (_S, [], str(_S)),
        (_S, ["s"], str(_S)),
        (_S, ["t.a"], str(_S)),
        (_S, ["s.b"], "struct<b:string>"),
        (_S, ["s.b", "s.a"], "struct<b:string,a:int>"),
        (_S, ["s.a", "s.b", "s.a"], "struct<a:int,b:string>"),
        (_S, ["s.c.z", "s.a", "s.c.x"], "struct<c:struct<z:int,x:int>,a:int>"),
        (_S, ["s", "s.c.x"], "struct<c:struct<x:int>>"),
        (_S, ["s.c", "s.c.x"], "struct<c:struct<x:int>>"),
        (_S, ["s.c.x", "s.c"], "struct<c:struct<x:int>>"),
        (_S, ["s.d.$0.y"], "struct<d:array<struct<y:string>>>"),
        (_S, ["s.gone", "s.a"], "struct<gone:unknown,a:int>"),
        (_S, ["s.A"], "struct<A:unknown>"),
        (_S, ["s.gone.deeper"], "struct<gone:unknown>"),
        (_M, ["s.$0"], "map<string>"),
        (_M, ["s.$1.y"], "map<struct<y:string>>"),
        (_M, ["s.$1.y", "s.$0"], "map<string,struct<y:string>>"),
        (_M, ["s.$0", "s.$1"], str(_M)),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else None,
)
def test_parts_come_in_the_order_in_which_paths_name_them(
    column: ColumnType, paths: Sequence[str], left: str
) -> None:
    """Fields by first appearance; keys before values; missing fields as unknown; no path: all."""
    (found,) = prune_columns({"s": column}, ["s"], paths)
    assert str(found) == left


def test_a_map_says_which_part_is_left() -> None:
    """With the keys pruned away, the values are the only child, and keep their name."""
    (found,) = prune_columns({"m": _M}, ["m"], ["m.$1"])
    assert found.names == ("$1",)
    assert found.children == (_INNER,)


def test_columns_may_be_missing_and_repeat() -> None:
    """The source's columns come in the order asked for; one that it lacks is unknown."""
    found = prune_columns({"a": _INT, "s": _S}, ["s", "gone", "a", "s"], ["s.a"])
    assert [str(column) for column in found] == ["struct<a:int>", "unknown", "int", "struct<a:int>"]
    assert found[1] is UNKNOWN


def test_a_spec_keeps_its_names_in_order() -> None:
    """The tree of names gives each level's names, and stands for everything below a last name."""
    selected = SelectedFields(["d.a", "c.c", "d.b"])
    assert selected.fields == ("d", "c")
    assert selected.child("d").fields == ("a", "b")
    assert selected.child("d").child("a").whole
    assert selected.child("never named").whole


@pytest.mark.parametrize(
    ("column", "path", "reason"),
    [
        (_INT, "n.x", "nested field 'n.x': a value of type int has no parts"),
        (_M, "n.key", r"nested field 'n.key': the parts of map columns are \$0 and \$1"),
        (_array(_INT), "n.x", r"nested field 'n.x': the parts of array columns are \$0"),
        (_array(_INT), "n.$1", r"nested field 'n.\$1': the parts of array columns are \$0"),
        (_S, "n.a.b", "nested field 'n.a.b': a value of type int has no parts"),
        (_S, "n..b", "nested field 'n..b': a path has no empty names"),
        (_S, "", "nested field '': a path has no empty names"),
        (_struct(**{"a.b": _INT}), "n.a", "the name of its field 'a.b' holds one of the separato"),
        (_struct(**{"a,b": _INT}), "n.a", "the name of its field 'a,b' holds one of the separato"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_paths_that_lead_nowhere_are_refused(column: ColumnType, path: str, reason: str) -> None:
    """A path into a value without such parts is an error, and so is a name that breaks framing."""
    with pytest.raises(UsageError, match=reason):
        prune_columns({"n": column}, ["n"], [path])


def test_a_column_with_a_dot_in_its_name_has_no_paths() -> None:
    """Such a name could be a path; without paths it does no harm."""
    with pytest.raises(UsageError, match=r"column 'a\.b' cannot be told from a path"):
        prune_columns({"a.b": _S}, ["a.b"], ["a.b"])
    assert prune_columns({"a.b": _S}, ["a.b"]) == [_S]


def test_pruning_nothing_changes_nothing() -> None:
    """Without paths a type is left as it is, text and all."""
    assert prune(_S, SelectedFields()) is _S
