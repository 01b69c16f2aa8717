"""Documents as bytes: JSON for everyone, msgpack for pictures."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from nav_eval.agents.documents import Document
from nav_eval.agents.failures import ProtocolError


@dataclass(frozen=True, kw_only=True, slots=True)
class Codec:
    """One way to write documents down."""

    name: str
    content_type: str
    subprotocol: str
    encode: Callable[[Document], bytes]
    read: Callable[[bytes], object]

    def decode(self, data: bytes | str) -> object:
        """What an agent sent; anything may be in it."""
        try:
            return self.read(data.encode() if isinstance(data, str) else data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise ProtocolError(f"The agent sent {len(data)} bytes that are no {self.name}: {error}.") from None


JSON = Codec(
    name="JSON",
    content_type="application/json",
    subprotocol="nav.json.v1",
    encode=msgspec.json.encode,  # bytes become base64
    read=msgspec.json.decode,
)
MSGPACK = Codec(
    name="msgpack",
    content_type="application/msgpack",
    subprotocol="nav.msgpack.v1",
    encode=msgspec.msgpack.encode,
    read=msgspec.msgpack.decode,
)
CODECS = (MSGPACK, JSON)


def by_content_type(header: str) -> Codec:
    """The codec of an HTTP body; JSON unless it says otherwise."""
    kind = header.partition(";")[0].strip().lower()
    return MSGPACK if kind in ("application/msgpack", "application/x-msgpack") else JSON


def by_subprotocol(name: str | None) -> Codec:
    return MSGPACK if name == MSGPACK.subprotocol else JSON


def decode_frame(frame: bytes | str, codec: Codec) -> object:
    """A WebSocket message: what comes as text is JSON, whatever was agreed on for the rest."""
    return JSON.decode(frame) if isinstance(frame, str) else codec.decode(frame)
