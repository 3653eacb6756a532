"""Presto's own `PagesSerde`, run in this process, as a serde.

The jars are those of Presto (prestodb), 0.296 unless a version is named: its blocks,
`BlockEncodingManager`, `PagesSerde` and the compressors that its exchanges use.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.serde import CODECS, SerdeRequest
from seambase.type_fields import fields_of
from seambase.types import SerdeType, parse_schema
from seambase.wording import counted
from seambench.contracts.common import Kind, Stage
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.peers.environments import version_inside
from seambench_impl.jni.jars import fetch_jars
from seambench_impl.peers import XFAILS
from seambench_impl.peers.jvm import SOURCES, TimedLoops
from seambench_impl.peers.presto.blocks import BlockReader, BlockWriter
from seambench_impl.stages.serde import PAGE_VARIANTS
from seamkit.core.border import batch_of
from seamkit.jvm.machine import JavaClasses, java_failure
from seamkit.jvm.sources import compiled_package

PRESTO_VERSION = "0.296"
#: Presto's own jars that the pages' classes are in.
_PARTS = ("presto-common", "presto-spi", "presto-main-base")
#: What these need, in the versions of the build of 0.296.
_LIBRARIES = (
    "com.facebook.airlift.drift:drift-api:0.221",
    "com.fasterxml.jackson.core:jackson-annotations:2.15.4",
    "com.fasterxml.jackson.core:jackson-core:2.15.4",
    "com.fasterxml.jackson.core:jackson-databind:2.15.4",
    "com.google.guava:failureaccess:1.0.1",
    "com.google.guava:guava:32.1.0-jre",
    "io.airlift:aircompressor:0.27",
    "io.airlift:slice:0.38",
    "org.openjdk.jol:jol-core:0.2",
)
_CODECS = ("none", *CODECS)
#: Options that Presto has no choice in, and what it does.
_FIXED = {
    "dialect": "presto",
    "timestamps": "millis",
    "nulls_first": False,
    "min_compression_ratio": 0.9,
}


@functools.cache
def presto_peer(version: str = PRESTO_VERSION) -> tuple[JavaClasses, Any]:
    """Presto's classes of a version, and the compiled helper."""
    jars = [f"com.facebook.presto:{part}:{version}" for part in _PARTS]
    peer = JavaClasses("Presto", fetch_jars([*jars, *_LIBRARIES], f"Presto {version}"))
    own = compiled_package(f"seambench.presto-{version}", [SOURCES / "PrestoPages.java"], peer)
    return peer, own.java_class("seambench.PrestoPages")


@dataclass(frozen=True)
class _Settings:
    codec: str
    checksum: bool
    flatten: bool


def _settings(request: SerdeRequest) -> _Settings:
    if request.format != "presto":
        raise RefusedError(f"presto-jvm: format {request.format!r} is not Presto's")
    options = dict(request.options)
    found = _Settings(
        codec=options.pop("codec", "none"),
        checksum=options.pop("checksum", False),
        flatten=options.pop("encodings", "preserve") == "flatten",
    )
    if found.codec not in _CODECS:
        raise UsageError(f"codec = {found.codec!r}: one of {', '.join(_CODECS)} is meant")
    for name, value in options.items():
        if _FIXED.get(name, value) != value or name not in _FIXED:
            raise RefusedError(f"presto-jvm: Presto knows no option {name} = {value!r}")
    return found


class PrestoJvmSerde:
    """Implements `seambench.contracts.serde.Serde` with Presto's classes.

    Every page's checksum is verified as Presto's exchange does, also that an absent one is 0.
    """

    name = "presto-jvm"
    #: What conformance is known to find in it.
    xfails = XFAILS / "presto-jvm.toml"
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = version_inside(self.name) or PRESTO_VERSION
        self.capabilities: Mapping[str, bool] = stated("serde", self.name, self.version)
        self._peer, self._helper = presto_peer(self.version)

    def _pages_serde(self, settings: _Settings) -> Any:
        manager = self._peer.java_class("com.facebook.presto.common.block.BlockEncodingManager")()
        codec = self._peer.java_class("com.facebook.presto.CompressionCodec")
        factory = self._peer.java_class("com.facebook.presto.execution.buffer.PagesSerdeFactory")
        return factory(
            manager, codec.valueOf(settings.codec.upper()), settings.checksum
        ).createPagesSerde()

    def _page(self, request: SerdeRequest, writer: BlockWriter, batch: pa.RecordBatch) -> Any:
        types = parse_schema(request)
        if batch.num_columns != len(types):
            raise UsageError(
                f"a batch of {counted(batch.num_columns, 'column')} does "
                f"not fit {counted(len(types), 'field')}"
            )
        blocks = []
        for field, type_, column in zip(request.fields, types, batch.columns, strict=True):
            try:
                blocks.append(writer.write(type_, column))
            except UsageError as error:
                raise UsageError(f"column {field.name!r}: {error}") from error
        return self._helper.page(batch.num_rows, self._peer.list(blocks))

    def _pages(
        self, request: SerdeRequest, settings: _Settings, batches: Sequence[pa.RecordBatch]
    ) -> list[Any]:
        writer = BlockWriter(self._peer, self._helper, settings.flatten)
        try:
            return [self._page(request, writer, batch) for batch in batches]
        except self._peer.jpype.JException as error:
            raise RefusedError(
                f"Presto does not take these columns: {java_failure(error)}"
            ) from error

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Pages of batches, end to end."""
        settings = _settings(request)
        with self._peer.inside():
            serde = self._pages_serde(settings)
            pages = self._pages(request, settings, batches)
            return b"".join(bytes(self._helper.write(serde, page)) for page in pages)

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """A batch for each page."""
        settings = _settings(request)
        jpype = self._peer.jpype
        content = jpype.JArray(jpype.JByte)(np.frombuffer(data, np.int8))
        at = jpype.JArray(jpype.JLong)(1)
        with self._peer.inside():
            try:
                pages = self._helper.read(self._pages_serde(settings), content, at)
            except jpype.JException as error:
                raise InputError(
                    f"page at offset {int(at[0])}: Presto cannot read it: {java_failure(error)}"
                ) from error
            return [self._batch(request, settings, page) for page in pages]

    def _batch(self, request: SerdeRequest, settings: _Settings, page: Any) -> pa.RecordBatch:
        types = parse_schema(request)
        if page.getChannelCount() != len(types):
            raise InputError(
                f"a page of {counted(page.getChannelCount(), 'column')} does "
                f"not fit {counted(len(types), 'field')}"
            )
        reader = BlockReader(self._peer, self._helper, settings.flatten)
        rows = int(page.getPositionCount())
        arrays = []
        for index, (field, type_) in enumerate(zip(request.fields, types, strict=True)):
            array = self._array(reader, field.name, (type_, page.getBlock(index)))
            if len(array) != rows:
                raise InputError(
                    f"column {field.name!r} has {counted(len(array), 'row')} in a page of {rows}"
                )
            arrays.append(array)
        return batch_of(arrays, [field.name for field in request.fields], rows)

    def _array(self, reader: BlockReader, name: str, column: tuple[SerdeType, Any]) -> pa.Array:
        """A valid array of a block, or an error: Presto itself believes much of what it reads."""
        try:
            array = reader.read(*column)
            array.validate(full=True)
        except self._peer.jpype.JException as error:
            raise InputError(
                f"column {name!r}: Presto cannot read it: {java_failure(error)}"
            ) from error
        except pa.ArrowException as error:
            raise InputError(
                f"column {name!r}: Presto reads what has no meaning: {error}"
            ) from error
        return array

    def stages(self, batch: pa.RecordBatch) -> list[Stage]:
        """Presto's own writing and reading, in loops that Java has compiled before.

        Reading counts as done when every value was looked at once; `deserialize lazily` only makes
        blocks, which for texts point into the page.
        """
        fields = fields_of(batch.schema, "presto")
        stages = []
        for name, options in PAGE_VARIANTS.items():
            request = SerdeRequest("presto", fields, options)
            timed = self.timed_pages(request, [batch])
            steps = {
                f"{name}/serialize": "serialize",
                f"{name}/deserialize": "deserialize and touch",
                f"{name}/deserialize lazily": "deserialize",
            }
            stages += timed.stages(steps, timed.payload_bytes, self, request, batch)
        return stages

    def timed_pages(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> TimedPages:
        """Pages made ready for timing Presto on them."""
        settings = _settings(request)
        with self._peer.inside():
            serde = self._pages_serde(settings)
            pages = self._pages(request, settings, batches)
        return TimedPages(self._peer, self._helper, serde, pages)


class TimedPages(TimedLoops):
    """Times Presto on prepared pages.

    `deserialize` makes blocks, which for texts only point into the page; `deserialize and touch`
    also reads every value once.

    Attributes:
        payload_bytes: uncompressed payload of all pages, which is what one pass moves.
        wire_bytes: bytes of all pages as they leave, headers included.
    """

    def __init__(self, peer: JavaClasses, helper: Any, serde: Any, pages: Sequence[Any]) -> None:
        jpype = peer.jpype
        wires = [helper.write(serde, page) for page in pages]
        self.wire_bytes = sum(len(wire) for wire in wires)
        self.payload_bytes = sum(
            int(serde.serialize(page).getUncompressedSizeInBytes()) for page in pages
        )
        longest = max((len(wire) for wire in wires), default=0)
        written, listed = jpype.JArray(jpype.JArray(jpype.JByte))(wires), peer.list(pages)
        loops = {
            "serialize": partial(helper.timeSerialize, serde, listed, longest + 1),
            "deserialize": partial(helper.timeDeserialize, serde, written, False),
            "deserialize and touch": partial(helper.timeDeserialize, serde, written, True),
        }
        super().__init__(peer, "Presto", loops)
