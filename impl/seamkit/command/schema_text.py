"""Schemas of pages and rows as people give them on the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import SerdeType, language_of, parse_type


def request_of(format_: str, schema: str, options: Mapping[str, Any]) -> SerdeRequest:
    """A request from a schema in the words of its format.

    Args:
        format_: `presto`, `unsaferow`, `compactrow` or `arrow`.
        schema: `id bigint, tags array(varchar)` for Presto, `id:bigint,tags:array<string>` for
            Spark; or the `.json` of a golden file, whose columns and options are taken.
        options: options of the request; they go before those of a golden file.
    """
    if schema.endswith(".json"):
        return _of_golden(format_, Path(schema), options)
    request = SerdeRequest(format_, (), options)
    language = language_of(request)
    whole = parse_type(f"row({schema})" if language == "presto" else f"struct<{schema}>", language)
    return SerdeRequest(format_, _fields(whole, schema), options)


def _fields(whole: SerdeType, schema: str) -> list[SerdeField]:
    if "" in whole.names:
        raise UsageError(f"schema {schema!r}: column {whole.names.index('') + 1} has no name")
    return [SerdeField(n, t.text) for n, t in zip(whole.names, whole.children, strict=True)]


def _of_golden(format_: str, file: Path, options: Mapping[str, Any]) -> SerdeRequest:
    """Columns and options that the description of a golden file tells."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        columns = content["columns"]
        fields = [SerdeField(c["name"], c["type"], c.get("nullable", True)) for c in columns]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file}: no description of a golden file ({error!r})") from error
    told = {key: content[key] for key in ("codec", "checksum", "framing") if key in content}
    if told.get("framing") == "packed":
        told["lengths"] = [row["length"] for row in content["rows"]]
    return SerdeRequest(format_, fields, {**told, **content.get("options", {}), **options})
