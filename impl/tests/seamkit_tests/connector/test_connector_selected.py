"""Parts of nested columns by dotted paths: what names none (what names some, cases have)."""

import pytest

from seambase.errors import UsageError
from seamkit.offheap.columns.types import ColumnType, parse
from seamkit.offheap.connector.selected import prune_columns

_S = "struct<a:int,b:string>"


@pytest.mark.parametrize(
    ("column", "path", "reason"),
    [
        ("int", "n.x", "nested field 'n.x': a value of type int has no parts"),
        ("map<int,int>", "n.key", r"field 'n.key': the parts of map columns are \$0 and \$1"),
        ("array<int>", "n.x", r"nested field 'n.x': the parts of array columns are \$0"),
        ("array<int>", "n.$1", r"nested field 'n.\$1': the parts of array columns are \$0"),
        (_S, "n.a.b", "nested field 'n.a.b': a value of type int has no parts"),
        (_S, "n..b", "nested field 'n..b': a path has no empty names"),
        (_S, "", "nested field '': a path has no empty names"),
        ("a.b", "n.a", "the name of its field 'a.b' holds one of the separato"),
        ("a,b", "n.a", "the name of its field 'a,b' holds one of the separato"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(column: str, path: str, reason: str) -> None:
    """A path into a value without such parts is an error, and so is a name that breaks framing."""
    int_ = parse("int")
    type_ = ColumnType.struct({column: int_}) if column in ("a.b", "a,b") else parse(column)
    with pytest.raises(UsageError, match=reason):
        prune_columns({"n": type_}, ["n"], [path])


def test_a_column_with_a_dot_in_its_name_has_no_paths() -> None:
    """Such a name could be a path; without paths it does no harm."""
    column = parse(_S)
    with pytest.raises(UsageError, match=r"column 'a\.b' cannot be told from a path"):
        prune_columns({"a.b": column}, ["a.b"], ["a.b"])
    assert prune_columns({"a.b": column}, ["a.b"]) == [column]
