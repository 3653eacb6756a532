"""JSON values of any kind, their parts, and Avro containers that hold them."""

from collections.abc import Iterator
from typing import Any

from seamkit_tests.samples.avro_schemas import container, record


def places(value: Any) -> Iterator[tuple[list[Any], Any]]:
    """The way to each value within a value, and itself."""
    pairs = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else pairs:
        yield [key], inner
        for way, found in places(inner):
            yield [key, *way], found


def any_type(depth: int) -> list[Any]:
    """The type in Avro of any JSON value of that depth."""
    plain: list[Any] = ["null", "boolean", "long", "double", "string", "bytes"]
    if not depth:
        return plain
    inner = any_type(depth - 1)
    return [*plain, {"type": "array", "items": inner}, {"type": "map", "values": inner}]


def _depth(value: Any) -> int:
    return max((len(way) for way, _ in places(value)), default=0) + 1


def odd_container(body: Any) -> bytes:
    """A body as an Avro container of its own schema."""
    if isinstance(body, dict) and all(name.isidentifier() for name in body):
        schema: Any = record("r", **{name: any_type(_depth(of)) for name, of in body.items()})
    else:
        schema = any_type(_depth(body))
    return container(schema, [body])
