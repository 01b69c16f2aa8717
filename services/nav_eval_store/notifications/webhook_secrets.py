"""The secrets of webhooks, with which we sign what we send: kept sealed, opened to sign."""

from uuid import UUID

from sqlalchemy import select

from nav_eval_store.database import Session
from nav_eval_store.encryption import Keyring
from nav_eval_store.models import Webhook


def seal_secret(keyring: Keyring, webhook_id: UUID, secret: str) -> str:
    return keyring.seal(secret, owner=f"webhook {webhook_id}")


def open_secret(keyring: Keyring, webhook_id: UUID, sealed: str) -> str:
    return keyring.unseal(sealed, owner=f"webhook {webhook_id}")


def check_keys(session: Session) -> None:
    """Refuse to go on where a secret cannot be opened, or none could be kept."""
    for sealed in session.scalars(select(Webhook.secret).where(Webhook.disabled_at.is_(None))):
        session.keyring.check(sealed)
    session.keyring.ensure()


def list_key_ids(session: Session) -> list[str]:
    """Of the keys that are needed for what is kept."""
    return sorted({sealed.split(":")[1] for sealed in session.scalars(select(Webhook.secret))})


def renew_seals(session: Session) -> int:
    """Keep every secret with the key that comes first now; how many there were."""
    hooks = [hook for hook in session.scalars(select(Webhook)) if not session.keyring.is_current(hook.secret)]
    for hook in hooks:
        hook.secret = seal_secret(session.keyring, hook.id, open_secret(session.keyring, hook.id, hook.secret))
    return len(hooks)
