"""What is issued with a token ends no later than it does; a delivery knows when it was made."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("tokens", sa.Column("heirs_until", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("webhook_deliveries") as batch:
        batch.add_column(sa.Column("created_at", sa.DateTime(timezone=True), nullable=True))
    op.execute("UPDATE webhook_deliveries SET created_at = COALESCE(delivered_at, given_up_at, due_at)")
    with op.batch_alter_table("webhook_deliveries") as batch:
        batch.alter_column("created_at", nullable=False)
    op.execute("UPDATE tokens SET heirs_until = expires_at WHERE kind = 'api'")


def downgrade() -> None:
    with op.batch_alter_table("webhook_deliveries") as batch:
        batch.drop_column("created_at")
    op.drop_column("tokens", "heirs_until")
