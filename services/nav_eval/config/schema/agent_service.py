"""Where the agent of a benchmark is, and how it is spoken to."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nav_eval.config_model import ConfigModel, Count, Positive, make_refusal

#: How an endpoint may begin, by protocol; `host:port` is fine for all of them. A local agent may be anything.
SCHEMES = {
    "grpc": ("grpc", "unix"),
    "rest": ("http", "https"),
    "websocket": ("ws", "wss"),
    "openpi": ("openpi",),
    "navila": ("navila",),
    "streamvln": ("streamvln",),
    "internvla": ("internvla",),
    "omninav": ("omninav",),
}


class AgentServiceConfig(ConfigModel):
    """Where the agent is, what it speaks, and how long it may take."""

    type: Literal["remote", "local"] = "remote"
    protocol: Literal["grpc", "rest", "websocket", "openpi", "navila", "streamvln", "internvla", "omninav", "local"] = (
        "grpc"
    )
    endpoint: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """`host:port`, `unix:/path`, an http or ws address; `baseline:NAME`, `module:Class`, a command for local ones."""
    timeout: Positive = 30.0
    """Not read: `evaluation.step_timeout` is how many seconds an action may take."""
    connect_timeout: Positive = 60.0
    """Seconds until the agent must answer at all."""
    reset_timeout: Positive = 60.0
    """Seconds for the start of an episode."""
    retries: Annotated[int, Field(strict=True, ge=0, le=10)] = 3
    """Not read: `evaluation.retries` counts."""
    heartbeat_interval: Positive = 30.0
    """Seconds between signs of life (WebSocket)."""
    heartbeat_timeout: Positive = 60.0
    """Seconds without one until the connection counts as lost."""
    max_message_mb: Count = 64
    """No reply may be larger, and none larger than the 1 MB that agent.proto allows."""

    @model_validator(mode="after")
    def _check(self) -> "AgentServiceConfig":
        if self.type == "local" and "protocol" not in self.model_fields_set:
            object.__setattr__(self, "protocol", "local")
        if (self.type == "local") != (self.protocol == "local"):
            raise make_refusal(f"has type {self.type!r} and protocol {self.protocol!r}; 'local' goes with 'local' only")
        if self.heartbeat_interval >= self.heartbeat_timeout:
            raise make_refusal("has a heartbeat_interval that is not shorter than its heartbeat_timeout")
        if self.endpoint is not None and self.protocol != "local":
            self._check_endpoint(self.endpoint)
        return self

    @property
    def address(self) -> str | None:
        """The endpoint as `--agent` takes it: with what it speaks, where only `host:port` is said."""
        if self.endpoint is None or self.protocol == "local":
            return self.endpoint
        schemes = SCHEMES[self.protocol]
        return self.endpoint if self.endpoint.partition(":")[0] in schemes else f"{schemes[0]}://{self.endpoint}"

    def _check_endpoint(self, endpoint: str) -> None:
        scheme, _, rest = endpoint.partition(":")
        if scheme in SCHEMES[self.protocol] and rest:
            return
        host, _, port = endpoint.rpartition(":")
        if host and "/" not in host and port.isdigit() and 0 < int(port) < 65536:
            return
        forms = ", ".join(f"{scheme}:…" for scheme in SCHEMES[self.protocol])
        raise make_refusal(f"has endpoint {endpoint!r}, which {self.protocol} cannot reach; write host:port, {forms}")
