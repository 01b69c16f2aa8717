"""How patient the evaluator is with an agent, and how much it takes from it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientSettings:
    """Times are seconds."""

    connect_timeout: float = 60.0  #: until the agent must be ready
    reset_timeout: float = 60.0  #: for the start of an episode
    action_timeout: float = 30.0  #: for one reply to an observation
    episode_timeout: float | None = None  #: for a whole episode, from its reset on
    end_timeout: float = 5.0  #: to say goodbye at the end of an episode
    retries: int = 3  #: further attempts where asking again is safe
    backoff: float = 0.1  #: before the first further attempt; doubles each time
    heartbeat_interval: float = 30.0  #: between signs of life (WebSocket)
    heartbeat_timeout: float = 60.0  #: without one, the connection counts as lost
    reconnect_timeout: float = 5.0  #: to come back after a broken connection (WebSocket)
    max_reply_bytes: int = 1 << 20  #: no reply may be larger; an action needs about a hundred bytes
    max_actions: int = 100  #: no agent gets to answer more actions at once than this
    shared_memory: bool = True  #: offer it to agents on this host
    shared_memory_dir: Path | None = None  #: a tmpfs that both containers see; anonymous memory when not given
