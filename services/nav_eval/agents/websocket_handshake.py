"""How a WebSocket conversation begins: the agent says `connect`, we say `connected`, or why not."""

from typing import Literal

import msgspec

from nav_eval.agents.client import ClientSettings
from nav_eval.agents.document_codecs import Document
from nav_eval.agents.failures import AgentFailure, ProtocolError
from nav_eval.agents.json_messages import DescriptionDocument, decode_description
from nav_eval.agents.messages import AgentDescription, check_versions

PROTOCOL_VERSION = "1.0"


class Connect(msgspec.Struct, kw_only=True):
    """What the agent says first. The rest of the message is its description."""

    type: Literal["connect"]
    agent_id: str = "agent"
    protocol_version: str | int = "1.0"
    session_id: str | None = None  #: the episode to go on with, after a broken connection
    first_action: Literal["get_action", "episode_ready"] = "get_action"
    keep_alive: bool = False  #: further episodes over the same connection


class Introduction:
    """A checked `connect`."""

    def __init__(self, document: object) -> None:
        try:
            self.connect = msgspec.convert(document, Connect)
        except msgspec.ValidationError as error:
            raise ProtocolError(f"The first message must be a `connect`: {error}.") from None
        check_versions((_parse_major(self.connect.protocol_version),))
        name = {"name": self.connect.agent_id}
        said = document if isinstance(document, dict) else {}
        result: tuple[AgentDescription, DescriptionDocument] = decode_description(name | said)
        self.description, self.document = result


def make_welcome(session_id: str, settings: ClientSettings) -> Document:
    """Our answer to an agent that may stay."""
    return {
        "type": "connected",
        "session_id": session_id,
        "protocol_version": PROTOCOL_VERSION,
        "heartbeat_interval": settings.heartbeat_interval,
        "heartbeat_timeout": settings.heartbeat_timeout,
    }


def make_refusal(failure: AgentFailure) -> Document:
    """Our answer to one that may not."""
    return {"type": "error", "code": failure.cause.value, "message": str(failure)}


def _parse_major(version: str | int) -> int:
    try:
        return int(str(version).split(".")[0])
    except ValueError:
        raise ProtocolError(f"protocol_version is {version!r:.40}; it must be like '1.0'.") from None
