"""Who does something: every command takes an actor, and the audit log keeps the name."""

from typing import NamedTuple
from uuid import UUID

from nav_eval_store.models import User


class Actor(NamedTuple):
    """A user, a worker, or a part of the platform."""

    label: str
    """`user:ada`, `worker:gpu-1`, `system:recover`."""
    user_id: UUID | None = None


def user_actor(user: User) -> Actor:
    return Actor(f"user:{user.name}", user.id)


def worker_actor(name: str) -> Actor:
    return Actor(f"worker:{name}")


def system_actor(part: str) -> Actor:
    return Actor(f"system:{part}")
