"""What passes between a vector environment and its workers: JSON, and only what shared memory cannot hold."""

from typing import Any

import msgspec


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is made from."""

    benchmark: dict[str, Any]
    """As resolved."""
    env: dict[str, Any]
    """Further arguments of the environment."""
    envs: list[int]
    """Which of the environments are this worker's."""
    num_envs: int
    arrays: dict[str, tuple[str, tuple[int, ...]]]
    autoreset: str


class Start(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Begin an episode in one environment."""

    env: int
    seed: int | None = None
    episode_id: str | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`reset` the named environments or `render` all; a step needs no words."""

    name: str
    starts: list[Start] = []


class Began(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An environment has begun an episode."""

    env: int
    episode_id: str
    scene_id: str
    texts: dict[str, str] = {}


class Ended(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An environment has ended one."""

    env: int
    metrics: dict[str, float]


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a command, beside what is in memory."""

    began: list[Began] = []
    ended: list[Ended] = []
    pictures: list[tuple[int, int]] = []
    """`render`: height and width of each; the pixels follow, one message each."""
    refusal: str | None = None
    """Why it could not be done."""
