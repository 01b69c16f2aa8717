"""The text of a competition as its organiser wrote it, messages to teams, and what a team says of itself."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("competitions", sa.Column("source", sa.String(), nullable=True))
    op.add_column("teams", sa.Column("profile", JSON, nullable=True))
    op.create_table(
        "messages",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=True),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name="fk_messages_competition_id"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_messages_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
    )
    op.create_index("ix_messages_competition_id_sent_at", "messages", ["competition_id", "sent_at"])


def downgrade() -> None:
    op.drop_table("messages")
    op.drop_column("teams", "profile")  # no batch: it would make the table anew, and others refer to it
    op.drop_column("competitions", "source")
