"""How documents are written down on the wire: JSON and msgpack, and what an agent hears of what is neither."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.messages import shorten

Document: TypeAlias = dict[str, Any]

SHOWN = 80  #: characters of what cannot be read
EXAMPLE = 'Answer an object, such as {"action": "move_forward"}.'


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
            raise ProtocolError(_explain_unreadable(data, self.name, error)) from None


def _explain_unreadable(data: bytes | str, name: str, error: Exception) -> str:
    if not data:
        return f"The agent sent nothing. {EXAMPLE}"
    text = data if isinstance(data, str) else data.decode(errors="replace")
    if name == "JSON" and ("NaN" in text or "Infinity" in text):
        return "The agent sent NaN or Infinity, which JSON does not have; send a finite number, or leave it out."
    shown = shorten(text, limit=SHOWN) if name == "JSON" else f"{len(data)} bytes"
    return f"The agent sent {shown}, which is no {name} ({error}). {EXAMPLE}"


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


def get_codec_of_content(header: str) -> Codec:
    """The codec of an HTTP body; JSON unless it says otherwise."""
    kind = header.partition(";")[0].strip().lower()
    return MSGPACK if kind in ("application/msgpack", "application/x-msgpack") else JSON


def get_codec_of_subprotocol(name: str | None) -> Codec:
    return MSGPACK if name == MSGPACK.subprotocol else JSON


def decode_frame(frame: bytes | str, codec: Codec) -> object:
    """A WebSocket message: what comes as text is JSON, whatever was agreed on for the rest."""
    return JSON.decode(frame) if isinstance(frame, str) else codec.decode(frame)
