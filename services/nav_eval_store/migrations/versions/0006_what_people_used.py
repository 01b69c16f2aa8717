"""Quotas bind to people as well as to teams: who was in the team when a slot was reserved."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "quota_shares",
        sa.Column("submission_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_quota_shares_submission_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_quota_shares_user_id"),
        sa.PrimaryKeyConstraint("submission_id", "user_id", name="pk_quota_shares"),
    )
    op.create_index("ix_quota_shares_user_id", "quota_shares", ["user_id"])
    op.execute(
        """
        INSERT INTO quota_shares (submission_id, user_id)
        SELECT DISTINCT ledger.submission_id, members.user_id
        FROM quota_ledger AS ledger JOIN members ON members.team_id = ledger.team_id AND members.joined_at <= ledger.at
        WHERE ledger.kind = 'reserve' AND ledger.submission_id IS NOT NULL
        UNION
        SELECT DISTINCT submissions.id, submissions.user_id
        FROM submissions JOIN quota_ledger AS ledger ON ledger.submission_id = submissions.id
        WHERE ledger.kind = 'reserve' AND submissions.user_id IS NOT NULL
        """
    )


def downgrade() -> None:
    op.drop_table("quota_shares")
