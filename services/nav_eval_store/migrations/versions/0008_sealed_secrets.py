"""Secrets of webhooks are kept sealed with a key that is not in the database."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import context, op

from nav_eval_store.encryption import is_sealed
from nav_eval_store.notifications.webhook_secrets import open_secret, seal_secret

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

HOOKS = sa.table("webhooks", sa.column("id", sa.Uuid(as_uuid=True)), sa.column("secret"))


def upgrade() -> None:
    bind, keyring = op.get_bind(), context.config.attributes["keyring"]
    for row in bind.execute(sa.select(HOOKS)).all():
        if not is_sealed(row.secret):
            sealed = seal_secret(keyring, row.id, row.secret)
            bind.execute(sa.update(HOOKS).where(HOOKS.c.id == row.id).values(secret=sealed))
            context.config.attributes["replaced"] = True  # what it was must not stay in free pages


def downgrade() -> None:
    bind, keyring = op.get_bind(), context.config.attributes["keyring"]
    for row in bind.execute(sa.select(HOOKS)).all():
        secret = open_secret(keyring, row.id, row.secret)
        bind.execute(sa.update(HOOKS).where(HOOKS.c.id == row.id).values(secret=secret))
