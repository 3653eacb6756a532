"""Plans as JSON, and back: objects by their words, held to the types that they are declared with.

Numbers, texts, lists, and mappings from texts stand as JSON has them. All else is an object with
one key that begins with `$`:

- `{"$": WORD, ...}`: an object, with the arguments of its constructor;
- `{"$call": WORD, "arguments": [...]}`: a function, with its first arguments bound;
- `{"$ref": N}`: the shared object number N, which several units have in common;
- `{"$bytes": BASE64}`, `{"$number": "nan"}`, `{"$decimal": TEXT}`, `{"$date": TEXT}`,
  `{"$moment": TEXT}`, `{"$uuid": TEXT}`;
- `{"$tuple": [...]}`, `{"$set": [...]}`, `{"$map": [[KEY, VALUE], ...]}`;
- `{"$type": BASE64}`, `{"$schema": BASE64}`, `{"$value": BASE64}`, `{"$condition": BASE64}`: what
  Arrow itself writes of it, see `arrow_text`.

Keys and secrets of a storage are not written: who executes a plan brings their own.

The words of plans: which classes and functions a plan is made of, and what they are called.

Each table format states the functions that its units hold, and the classes that stand in them where
an annotation asks for a protocol or a function. All other classes are found: those that annotations
of these name, at every depth.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import functools
import hashlib
import importlib
import math
import types
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, DecimalException
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.foreign_arrow import stream_of
from seambase.wording import counted
from seamkit.files.storage import Storage
from seamkit.ranges.hints import arguments, fits, parameters, parts
from seamkit.scan.units import DataFile, ReadContext, ReadPlan
from seamkit.tables.opening import table_formats

_GROUP = "seamkit.plan_words"
_TABLES = "seamkit.tables."


@functools.cache
def known_words() -> Mapping[str, Callable[..., Any]]:
    """Classes and functions by their words.

    A word is the format and the name in Python. Packages may list functions by entry points of the
    group `seamkit.plan_words`.
    """
    words: dict[str, Callable[..., Any]] = {"ReadPlan": ReadPlan, "DataFile": DataFile}
    for one in table_formats():
        package = one.table.partition(":")[0].rpartition(".")[0]
        for stated in one.words:
            module, _, name = stated.partition(":")
            named: Any = importlib.import_module(f"{package}.{module}")
            for part in name.split("."):
                named = getattr(named, part)
            words[_word(named)] = named
    left = list(words.values())
    while left:
        new = {_word(kind): kind for kind in _classes_of(left.pop())}
        left += [kind for word, kind in new.items() if word not in words]
        words = new | words
    for point in entry_points(group=_GROUP):
        words |= {f"{point.name}.{one.__qualname__}": one for one in point.load()}
    return words


def _word(one: Callable[..., Any]) -> str:
    _, is_format, rest = one.__module__.partition(_TABLES)
    return f"{rest.partition('.')[0]}.{one.__qualname__}" if is_format else one.__qualname__


def _classes_of(one: Callable[..., Any]) -> Iterator[type]:
    """The classes of ours that annotations of a class or function name."""
    hints = arguments(one) if isinstance(one, type) else parameters(one)
    for hint in hints.values():
        yield from _classes_in(hint)


def _classes_in(hint: Any) -> Iterator[type]:
    origin, inner = parts(hint)
    if origin is not None and origin is not Callable:
        for one in inner:
            yield from _classes_in(one)
    elif isinstance(hint, type) and hint.__module__.startswith(("seamkit.", "seambase.")):
        # A context is lent to functions when a unit is read, and never written.
        is_protocol = getattr(hint, "_is_protocol", False)
        yield from () if is_protocol or hint is ReadContext else (hint,)


_ATOMS: Mapping[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    bytes: (
        "$bytes",
        lambda value: base64.b64encode(value).decode("ascii"),
        lambda text: base64.b64decode(text, validate=True),
    ),
    Decimal: ("$decimal", str, Decimal),
    dt.datetime: ("$moment", dt.datetime.isoformat, dt.datetime.fromisoformat),
    dt.date: ("$date", dt.date.isoformat, dt.date.fromisoformat),
    dt.time: ("$time", dt.time.isoformat, dt.time.fromisoformat),
    uuid.UUID: ("$uuid", str, uuid.UUID),
    float: ("$number", repr, float),
}
_READS = {tag: read for tag, _, read in _ATOMS.values()}
#: Arrow's things; the one field of a type's or value's schema; bytes of a condition's digest.
_ARROW, _FIELD, _DIGEST = ("type", "schema", "value", "condition"), "value", 32


@functools.cache
def _form(kind: type) -> str:
    if kind in _ATOMS:
        return "atom"
    forms: Mapping[str, Any] = {
        "plain": (types.NoneType, int, str),
        "map": Mapping,
        "set": (frozenset, set),
        "partial": functools.partial,
        "function": (types.FunctionType, types.MethodType),
    }
    found = (form for form, kinds in forms.items() if issubclass(kind, kinds))
    other = "list" if issubclass(kind, Sequence) else "object"
    return "tuple" if kind is tuple else next(found, other)


class Encoder:
    """Writes objects of one plan; what comes again is shared.

    No folder but the table's is written as a storage. `storage_options` are those of the storages
    that were written, which are not written themselves.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self.storage_options: Mapping[str, Any] = {}
        self._words = {id(one): word for word, one in known_words().items()}
        self._places: dict[object, dict[str, Any]] = {}
        self._encoded: list[tuple[dict[str, Any], dict[str, Any], object]] = []
        self._users: dict[int, int] = {}

    def encode(self, value: object) -> Any:
        """A value in JSON."""
        kind: Any = type(value)
        form = _form(kind)
        if form == "plain" or (isinstance(value, float) and math.isfinite(value)):
            return value
        if form == "atom":
            tag, write, _ = _ATOMS[kind]
            return {tag: write(value)}
        if form == "object":
            return self._shared(value)
        return self._collection(value, form)

    def _collection(self, value: Any, form: str) -> Any:
        if form == "map":
            return self._mapping(value)
        if form == "set":
            return {"$set": [self.encode(one) for one in sorted(value)]}
        if form == "partial":
            return self._call(value.func, list(value.args), value.keywords)
        if form == "function":
            return self._call(value, [], {})
        values = [self.encode(one) for one in value]
        return {"$tuple": values} if form == "tuple" else values

    def _mapping(self, value: Mapping[Any, Any]) -> Any:
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: self.encode(one) for key, one in value.items()}
        return {"$map": [[self.encode(key), self.encode(one)] for key, one in value.items()]}

    def _call(self, function: Any, arguments: list[object], named: Mapping[str, object]) -> Any:
        if isinstance(function, types.MethodType):
            function, arguments = function.__func__, [function.__self__, *arguments]
        word = self._word(function)
        if named:
            raise RefusedError(f"{word}: arguments bound by name have no form in a plan")
        return {"$call": word, "arguments": [self.encode(one) for one in arguments]}

    def shared(self) -> list[Any]:
        """Objects that several others have, in JSON; called once, when all is encoded.

        Only now is it known who they are: what has one user is put where it is used.
        """
        left: list[Any] = []
        for place, written, _ in self._encoded:
            if self._users[id(place)] == 1:
                place.update(written)
            else:
                place["$ref"] = len(left)
                left.append(written)
        return left

    def _shared(self, value: object) -> dict[str, Any]:
        """The place of an object, which `shared` fills; each object is written once."""
        arrow = arrow_text(value)
        key: object = arrow or id(value)
        if key not in self._places:
            written = {f"${arrow[0]}": arrow[1]} if arrow else self._object(value)
            place: dict[str, Any] = {}
            self._places[key] = place
            # The value is kept, so that no other object gets its id.
            self._encoded.append((place, written, value))
            self._users[id(place)] = 0
        place = self._places[key]
        self._users[id(place)] += 1
        return place

    def _object(self, value: object) -> Any:
        kind: type = type(value)
        word = self._word(kind)
        if isinstance(value, Storage):
            self.storage_options = value.options or self.storage_options
            is_path = value.is_local and not value.root.startswith("file:")
            root = str(Path(value.root).absolute()) if is_path else value.root
            if root != self._table and not root.startswith(f"{self._table.rstrip('/')}/"):
                raise RefusedError(f"{root} lies outside of {self._table}: it has no form in plans")
            return {"$": word, "root": root}
        return {"$": word} | {
            name: self.encode(_attribute(value, name)) for name in arguments(kind)
        }

    def _word(self, one: Any) -> str:
        if id(one) not in self._words:
            raise RefusedError(f"{one.__module__}.{one.__qualname__} has no word for plans in JSON")
        return self._words[id(one)]


class Decoder:
    """Reads objects of one plan, each shared one once; `storage` makes the storage of a root."""

    def __init__(
        self, where: str, shared: Sequence[Any], storage: Callable[[str], Storage]
    ) -> None:
        self._where = where
        self._texts = shared
        self._storage = functools.cache(storage)
        self._made: dict[int, object] = {}
        self._words = known_words()

    def decode(self, stated: Any, hint: Any, what: str) -> Any:
        """The object of a type that JSON stands for; `what` names it in messages."""
        try:
            value = self._value(stated)
            is_so = fits(value, hint)
        except RecursionError:
            raise InputError(f"{self._where}: {what} is nested too deeply") from None
        if not is_so:
            raise InputError(f"{self._where}: {what} is {_shown(stated)}, which does not fit there")
        return value

    def _value(self, stated: Any) -> Any:
        if type(stated) is list:
            return [self._value(one) for one in stated]
        if type(stated) is not dict:
            return stated
        tags = [key for key in stated if key.startswith("$")]
        if not tags:
            return {key: self._value(one) for key, one in stated.items()}
        tag = tags[0]
        if tag == "$":
            return self._object(stated)
        if tag == "$call" and set(stated) == {"$call", "arguments"}:
            return self._call(stated["$call"], stated["arguments"])
        if len(stated) > 1:
            raise self._broken(f"{_shown(stated)} has unknown keys")
        return self._tagged(tag, stated[tag])

    def _tagged(self, tag: str, content: Any) -> Any:
        if tag == "$ref":
            return self._of_number(content)
        if tag in ("$tuple", "$set", "$map") and isinstance(content, list):
            return self._collection(tag, content)
        try:
            if tag in _READS and isinstance(content, str):
                return _READS[tag](content)
            if tag[1:] in _ARROW:
                return read_arrow(tag[1:], content)
        except (ValueError, DecimalException) as error:
            raise self._broken(f"{tag} {_shown(content)}: {error}") from error
        raise self._broken(f"the word {tag!r} is unknown, or has no such content")

    def _collection(self, tag: str, content: list[Any]) -> Any:
        values = [self._value(one) for one in content]
        try:
            if tag == "$tuple":
                return tuple(values)
            if tag == "$set":
                return frozenset(values)
            return dict(values)
        except (TypeError, ValueError) as error:
            raise self._broken(f"{tag} {_shown(content)}: {error}") from error

    def _of_number(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._texts):
            raise self._broken(f"there is no shared object {_shown(number)}")
        if number not in self._made:
            self._made[number] = _PENDING
            self._made[number] = self._value(self._texts[number])
        if self._made[number] is _PENDING:
            raise self._broken(f"the shared object {number} holds itself")
        return self._made[number]

    def _object(self, stated: dict[str, Any]) -> Any:
        kind = self._known(stated["$"])
        if not isinstance(kind, type):
            raise self._broken(f"{stated['$']!r} is a function, where an object is meant")
        if kind is Storage:
            return self._storage_of(stated)
        names = list(arguments(kind))
        if set(stated) != {"$", *names}:
            raise self._broken(f"{stated['$']} has the keys {sorted(stated)}, not {sorted(names)}")
        given = [stated[name] for name in names]
        return self._made_of(kind, names, given, stated["$"], by_name=True)

    def _storage_of(self, stated: dict[str, Any]) -> Storage:
        root = stated.get("root")
        if set(stated) != {"$", "root"} or not isinstance(root, str) or not root:
            raise self._broken("a storage has a root, and nothing else")
        return self._storage(root)

    def _call(self, word: Any, stated: Any) -> Any:
        function = self._known(word)
        if isinstance(function, type) or not isinstance(stated, list):
            raise self._broken(f"{word!r} is no function, or its arguments are no list")
        names = list(parameters(function))
        if len(stated) > len(names):
            raise self._broken(
                f"{word} has {counted(len(stated), 'argument')}, it takes {len(names)}"
            )
        return self._made_of(function, names[: len(stated)], stated, word, by_name=False)

    def _made_of(
        self, made: Any, names: list[str], stated: list[Any], word: str, *, by_name: bool
    ) -> Any:
        hints = parameters(made) if not by_name else arguments(made)
        values = [
            self.decode(one, hints[name], f"{name} of {word}")
            for name, one in zip(names, stated, strict=True)
        ]
        if not by_name:
            return functools.partial(made, *values) if values else made
        try:
            return made(**dict(zip(names, values, strict=True)))
        except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
            raise self._broken(f"{word} cannot be made: {error}") from error

    def _known(self, word: Any) -> Callable[..., Any]:
        if not isinstance(word, str) or word not in self._words:
            raise self._broken(f"the word {_shown(word)} is unknown")
        return self._words[word]

    def _broken(self, reason: str) -> InputError:
        return InputError(f"{self._where}: {reason}")


_PENDING = object()


def _attribute(value: object, name: str) -> object:
    return getattr(value, name) if hasattr(value, name) else getattr(value, f"_{name}")


def _shown(stated: object) -> str:
    text = repr(stated)
    return text if len(text) <= 80 else f"{text[:77]}..."


def arrow_text(value: object) -> tuple[str, str] | None:
    """Which of Arrow's things a value is, and its text; None where it is none of them.

    A schema is Arrow's IPC message of it, a type that of a schema with one field, a value a stream
    of one batch with one row. A condition is what Arrow makes of one to send it to another process,
    behind the SHA-256 of it.
    """
    if isinstance(value, pa.DataType):
        return "type", _base64(pa.schema([(_FIELD, value)]).serialize())
    if isinstance(value, pa.Schema):
        return "schema", _base64(value.serialize())
    if isinstance(value, pa.Scalar):
        batch = pa.record_batch([pa.array([value], value.type)], [_FIELD])
        return "value", _base64(stream_of([batch], batch.schema))
    if isinstance(value, pc.Expression):
        _, (content,) = value.__reduce__()
        own = content.to_pybytes()
        return "condition", _base64(hashlib.sha256(own).digest() + own)
    return None


def read_arrow(kind: str, text: object) -> object:
    """What a text of `arrow_text` stands for."""
    if kind not in _ARROW or not isinstance(text, str):
        raise ValueError(f"{kind!r} is none of {', '.join(_ARROW)}, or has no text")
    try:
        content = pa.py_buffer(base64.b64decode(text, validate=True))
        if kind == "condition":
            return _condition(content.to_pybytes())
        if kind == "value":
            return _scalar(content)
        schema = pa.ipc.read_schema(content)
    except (pa.ArrowException, binascii.Error, OSError, IndexError, StopIteration) as error:
        raise ValueError(f"no {kind} of Arrow's: {str(error).splitlines()[0]}") from error
    if kind == "schema":
        return schema
    if schema.names != [_FIELD]:
        raise ValueError("no type of Arrow's: it has other fields")
    return schema.field(0).type


def _condition(content: bytes) -> pc.Expression:
    """A condition. Arrow believes its bytes, so they must be those that were written."""
    digest, own = content[:_DIGEST], content[_DIGEST:]
    if hashlib.sha256(own).digest() != digest:
        raise ValueError("no condition of Arrow's: its digest is another")
    return pc.Expression._deserialize(pa.py_buffer(own))


def _scalar(content: pa.Buffer) -> pa.Scalar:
    with pa.ipc.open_stream(content) as reader:
        batch = reader.read_next_batch()
    batch.validate(full=True)
    if batch.schema.names != [_FIELD] or batch.num_rows != 1:
        raise ValueError("no value of Arrow's: it is no batch of one row")
    return batch.column(0)[0]


def _base64(content: pa.Buffer) -> str:
    return base64.b64encode(content).decode("ascii")
