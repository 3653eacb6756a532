"""`seambench.toml`: options that one does not want to type again, a section for each command.

The names are those of the options without their dashes (`update-ratio`, `no-memory` is `memory =
false`); an option that may be given several times takes a list. What is typed wins.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import typer

from seambase.errors import InputError, UsageError
from seambase.wording import did_you_mean

#: Taken from the current folder where no other file is named.
FILE = "seambench.toml"

#: In `Context.meta`: the file that was read.
_META = "seambench.config"


class Chosen(NamedTuple):
    """An option of the command that runs, its value, and where that came from."""

    option: str
    value: Any
    source: str


def read_config(context: typer.Context, given: Path | None) -> None:
    """Make what a file says the defaults of the commands below a context.

    By default the file is `seambench.toml` in the current folder, if there is one.
    """
    file = given or Path(FILE)
    if given is None and not file.is_file():
        return
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{file}: no TOML: {error}") from error
    context.meta[_META] = str(file)
    context.default_map = _section(context.command, content, f"{file}: ", ())


def chosen_options(context: typer.Context) -> list[Chosen]:
    """The options of the command that runs, each with where its value came from."""
    file = context.meta.get(_META, FILE)
    words = {"COMMANDLINE": "command line", "DEFAULT_MAP": file, "ENVIRONMENT": "environment"}
    found = []
    for option in _options(context.command):
        source = context.get_parameter_source(option.name)
        word = words.get(source.name if source else "", "default")
        found.append(Chosen(_spelled(option), context.params.get(option.name), word))
    return found


def _section(
    command: Any, content: Mapping[str, Any], file: str, path: tuple[str, ...]
) -> dict[str, Any]:
    """Values by the names of parameters, as a context takes them; groups have sections below."""
    below: Mapping[str, Any] = getattr(command, "commands", {})
    options = {} if below else {_spelled(option): option for option in _options(command)}
    found: dict[str, Any] = {}
    for name, value in content.items():
        if below:
            inside = ".".join((*path, name))
            _require_known(name, below, f"{file}[{inside}]: no command", "commands")
            if not isinstance(value, dict):
                raise UsageError(f"{file}{inside}: options stand in the section of a command")
            found[name] = _section(below[name], value, file, (*path, name))
        else:
            where = f"{file}[{'.'.join(path)}] {name}"
            _require_known(name, options, f"{where}: no option", "options")
            found[options[name].name] = _value(options[name], value, where)
    return found


def _require_known(name: str, known: Iterable[str], problem: str, what: str) -> None:
    """A name must be one of those that there are."""
    if name not in (names := list(known)):
        hint = did_you_mean(name, names) or f"; the {what} are {', '.join(names)}"
        raise UsageError(f"{problem} {name!r}{hint}")


def _options(command: Any) -> list[Any]:
    """The options of a command that a file may set."""
    return [
        one
        for one in command.params
        if one.param_type_name == "option" and one.name not in ("help", "version", "config")
    ]


def _spelled(option: Any) -> str:
    """The name of an option without its dashes: the longest there is."""
    return str(max(option.opts, key=len)).lstrip("-")


def _value(option: Any, value: Any, where: str) -> Any:
    if option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{where}: true or false is meant, not {value!r}")
        return value
    listed = value if isinstance(value, list) and option.multiple else [value]
    if not all(isinstance(one, str | int | float) and not isinstance(one, bool) for one in listed):
        raise UsageError(f"{where}: a text or a number is meant, not {value!r}")
    texts = [str(one) for one in listed]
    taken = texts if option.multiple else texts[0]
    try:
        option.get_runtime_param().coerce(taken, param=option, ctx=None)
    except typer.BadParameter as error:
        raise UsageError(f"{where} = {value!r}: {error.message}") from error
    return taken
