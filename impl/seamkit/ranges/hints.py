"""Whether a value is of a type that an annotation states: what comes out of a file is not trusted.

Only what annotations of plans are made of is known; another one is a mistake of whoever added it to
the words, and a test goes through all of them.
"""

from __future__ import annotations

import collections.abc as abc
import dataclasses
import functools
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union

#: Which of Python's collections stand for each that an annotation states.
_COLLECTIONS: Mapping[Any, Any] = {
    abc.Collection: (list, tuple, frozenset, dict),
    abc.Sequence: (list, tuple),
    list: (list,),
    tuple: (tuple,),
    abc.Set: (frozenset,),
    frozenset: (frozenset,),
}


@functools.cache
def parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a function or of a class's constructor with their types, in order."""
    code = function
    if isinstance(function, type) and "__init__" in vars(function):
        code = vars(function)["__init__"]
    hints = typing.get_type_hints(code)
    names = code.__code__.co_varnames[: code.__code__.co_argcount]
    own = [name for name in names if not (isinstance(function, type) and name == names[0])]
    if not isinstance(function, type) and "." in function.__qualname__:  # a method
        hints[names[0]] = _class_of(function)
    return {name: hints[name] for name in own}


@functools.cache
def arguments(kind: type) -> Mapping[str, Any]:
    """What an object of a class is made of: the arguments of its constructor, with their types.

    Caches, whose names begin with an underscore and which the constructor makes, do not count.
    """
    if not dataclasses.is_dataclass(kind):
        return parameters(kind)
    hints = typing.get_type_hints(kind)
    fields = [f for f in dataclasses.fields(kind) if f.init and f.name not in _NOT_WRITTEN]
    return {
        f.name: hints[f.name]
        for f in fields
        if not (f.name.startswith("_") and f.default_factory is not dataclasses.MISSING)
    }


#: How to plan anew, and by what something is kept: of use only to whoever planned.
_NOT_WRITTEN = ("again", "identity")


def _class_of(method: Callable[..., Any]) -> Any:
    return getattr(sys.modules[method.__module__], method.__qualname__.partition(".")[0])


def fits(value: object, hint: Any) -> bool:
    """Whether a value is what an annotation states, down to the elements."""
    if hint is Any or hint is object:
        return True
    if hint is None or hint is types.NoneType:
        return value is None
    origin, arguments = parts(hint)
    if origin is None:
        return _is_a(value, hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin is abc.Callable:
        return _is_callable(value, arguments)
    return _holds(value, origin, arguments)


@functools.cache
def parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """What an annotation is one of, such as `Sequence`, and of what; (None, ()) of a class."""
    return typing.get_origin(hint), typing.get_args(hint)


def _holds(value: object, origin: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a collection is of a kind, and its elements likewise."""
    if origin in (abc.Mapping, dict):
        return isinstance(value, dict) and all(
            fits(k, arguments[0]) and fits(v, arguments[1]) for k, v in value.items()
        )
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is ...):
        return (
            isinstance(value, tuple)
            and len(value) == len(arguments)
            and all(fits(one, hint) for one, hint in zip(value, arguments, strict=True))
        )
    if origin not in _COLLECTIONS:
        raise TypeError(f"{origin} is no type that plans are made of")
    kinds = _COLLECTIONS[origin]
    return isinstance(value, kinds) and all(fits(one, arguments[0]) for one in value)


def _is_a(value: object, kind: Any) -> bool:
    """Whether a value is an instance of a class; of a protocol, whether it has what that names."""
    if kind in (abc.Mapping, dict):
        return isinstance(value, dict)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    found: Any = type(value)
    return _is_kind(found, kind)


@functools.cache
def _is_kind(given: Any, kind: Any) -> bool:
    if not isinstance(kind, type) or not isinstance(given, type):
        return bool(given == kind)
    if kind in given.__mro__:
        return True
    if not getattr(kind, "_is_protocol", False):
        return False
    # What are no methods may be made by the constructor; then the class does not show it.
    methods = {n for n, one in vars(kind).items() if callable(one) and not n.startswith("_")}
    return bool(methods) and methods <= {*dir(given)}


def _is_callable(value: object, arguments: tuple[Any, ...]) -> bool:
    """Whether a function, with some of its first arguments bound, is called and returns as said."""
    bound = 0
    if isinstance(value, functools.partial):
        bound, value = len(value.args), value.func
    if isinstance(value, types.FunctionType):
        count, returned = len(parameters(value)) - bound, _returned(value)
    else:
        call = vars(type(value)).get("__call__")
        if bound or not isinstance(call, types.FunctionType):
            return False
        count, returned = len(parameters(call)) - 1, _returned(call)
    takes, returns = arguments
    return count == len(takes) and _is_kind(returned, returns)


@functools.cache
def _returned(function: Any) -> Any:
    return typing.get_type_hints(function).get("return")
