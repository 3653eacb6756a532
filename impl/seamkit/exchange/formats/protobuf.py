"""The protobuf messages, with the names and field numbers of StarRocks' internal_service.

The payload of chunks travels in a bytes field of its own number (StarRocks moves it into brpc's
attachment): messages mean the same, but a StarRocks server does not understand them.
"""

from __future__ import annotations

from typing import Any

from seambase.extras import needs

with needs("seamkit[exchange]", "the exchange"):
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "seambench.bench.exchange"
_TYPES = {
    "int32": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
}
#: Message name -> field name -> (number, type, repeated); a capital begins a message type.
_MESSAGES: dict[str, dict[str, tuple[int, str, bool]]] = {
    "PUniqueId": {"hi": (1, "int64", False), "lo": (2, "int64", False)},
    "PQueryStatistics": {
        "scan_rows": (1, "int64", False),
        "mem_cost_bytes": (5, "int64", False),
    },
    "StatusPB": {"status_code": (1, "int32", False), "error_msgs": (2, "string", True)},
    "ChunkPB": {
        "data": (1, "bytes", False),
        "compress_type": (2, "int32", False),
        "uncompressed_size": (3, "int64", False),
        "slot_id_map": (4, "int32", True),
        "is_nulls": (5, "bool", True),
        "is_consts": (6, "bool", True),
        "tuple_id_map": (7, "int32", True),
        "data_size": (8, "int64", False),
        "serialized_size": (9, "int64", False),
        "encode_level": (10, "int32", True),
    },
    "PTransmitChunkParams": {
        "finst_id": (1, "PUniqueId", False),
        "node_id": (2, "int32", False),
        "sender_id": (3, "int32", False),
        "be_number": (4, "int32", False),
        "eos": (5, "bool", False),
        "sequence": (6, "int64", False),
        "chunks": (7, "ChunkPB", True),
        "query_statistics": (8, "PQueryStatistics", False),
        "use_pass_through": (9, "bool", False),
        "is_pipeline_level_shuffle": (10, "bool", False),
        "driver_sequences": (11, "int32", True),
        "bound": (101, "bytes", False),  # StarRocks deals no merge to several receivers
    },
    "PTransmitChunkResult": {
        "status": (1, "StatusPB", False),
        "receiver_post_process_time": (3, "int64", False),
        # StarRocks' answers travel with their call; these name the call where several are open.
        "be_number": (101, "int32", False),
        "sequence": (102, "int64", False),
    },
}

#: Scalars of which false is something else than nothing.
_SAID_OR_NOT = ("is_pipeline_level_shuffle",)


def _message_classes() -> dict[str, Any]:
    """Classes of the messages, made at run time: no generated code to keep in step."""
    file = descriptor_pb2.FileDescriptorProto(
        name="seambench/exchange.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, repeated) in fields.items():
            added = message.field.add(name=field, number=number)
            added.label = added.LABEL_REPEATED if repeated else added.LABEL_OPTIONAL
            if field in _SAID_OR_NOT:
                added.proto3_optional = True
                added.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field}")
            added.type = _TYPES.get(kind, added.TYPE_MESSAGE)
            if kind not in _TYPES:
                added.type_name = f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


_CLASSES = _message_classes()
CHUNK: Any = _CLASSES["ChunkPB"]
PARAMS: Any = _CLASSES["PTransmitChunkParams"]
RESULT: Any = _CLASSES["PTransmitChunkResult"]
