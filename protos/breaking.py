"""What an agent built against an older agent.proto relies on, and which changes would break it.

A contract is the readable form of a descriptor. Adding messages, fields, enum values and methods is
fine. Breaking are: something gone or renamed; a field with another type, label or oneof; a number with
another meaning; a method with other messages or other streaming; a freed number or name that is not
reserved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto

Contract = dict[str, Any]


def contract_of(file: FileDescriptorProto) -> Contract:
    """The contract in a `FileDescriptorProto`."""
    return {
        "package": file.package,
        "messages": {name: _message(message) for name, message in _all_messages(file.message_type)},
        "enums": {
            enum.name: {"values": {str(value.number): value.name for value in enum.value}, **_reserved(enum)}
            for enum in file.enum_type
        },
        "services": {
            service.name: {
                method.name: {
                    "takes": _stream(method.client_streaming) + method.input_type,
                    "gives": _stream(method.server_streaming) + method.output_type,
                }
                for method in service.method
            }
            for service in file.service
        },
    }


def breaking_changes(old: Contract, new: Contract) -> list[str]:
    """One sentence per change that an agent built against `old` would notice; empty if there is none."""
    found = [] if old["package"] == new["package"] else [f"package {old['package']} became {new['package']}"]
    for name, message in old["messages"].items():
        found += _in_message(name, message, new["messages"].get(name))
    for name, enum in old["enums"].items():
        found += _in_enum(name, enum, new["enums"].get(name))
    for name, methods in old["services"].items():
        found += _in_service(name, methods, new["services"].get(name))
    return found


def _in_message(name: str, old: Contract, new: Contract | None) -> list[str]:
    if new is None:
        return [f"message {name} is gone"]
    found = []
    for number, field in old["fields"].items():
        now = new["fields"].get(number)
        if now is None and not _is_reserved(number, field["name"], new):
            found.append(f"{name}.{field['name']} ({number}) is gone and neither number nor name is reserved")
        elif now is None:
            found.append(f"{name}.{field['name']} ({number}) is gone")
        else:
            found += [
                f"{name}.{field['name']} ({number}): {key} was {field[key]!r} and is {now[key]!r}"
                for key in field
                if field[key] != now[key]
            ]
    return found


def _in_enum(name: str, old: Contract, new: Contract | None) -> list[str]:
    if new is None:
        return [f"enum {name} is gone"]
    return [
        f"enum {name}: {number} was {value} and is {new['values'].get(number, 'gone')}"
        for number, value in old["values"].items()
        if new["values"].get(number) != value
    ]


def _in_service(name: str, old: Contract, new: Contract | None) -> list[str]:
    if new is None:
        return [f"service {name} is gone"]
    return [
        f"{name}.{method} was {signature} and is {new.get(method, 'gone')}"
        for method, signature in old.items()
        if new.get(method) != signature
    ]


def _message(message: DescriptorProto) -> Contract:
    return {
        "fields": {
            str(field.number): {
                "name": field.name,
                "type": field.type_name or _TYPES[field.type],
                "repeated": field.label == 3,
                "oneof": message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else None,
            }
            for field in message.field
        },
        **_reserved(message),
    }


def _reserved(declaration: DescriptorProto | EnumDescriptorProto) -> Contract:
    numbers = [number for gap in declaration.reserved_range for number in range(gap.start, min(gap.end, 1 << 16))]
    return {"reserved_numbers": numbers, "reserved_names": list(declaration.reserved_name)}


def _is_reserved(number: str, name: str, message: Contract) -> bool:
    return int(number) in message["reserved_numbers"] and name in message["reserved_names"]


def _all_messages(messages: Iterable[DescriptorProto], prefix: str = "") -> Iterator[tuple[str, DescriptorProto]]:
    """Nested ones too: the entries of a map are such."""
    for message in messages:
        yield prefix + message.name, message
        yield from _all_messages(message.nested_type, f"{prefix}{message.name}.")


def _stream(streaming: bool) -> str:
    return "stream " if streaming else ""


_TYPES = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
