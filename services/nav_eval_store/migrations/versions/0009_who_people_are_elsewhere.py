"""Logins by OpenID Connect, addresses that were proved, proofs that work once, and names of users that look alike."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from nav_eval_store.people.names import make_name_key

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

USERS = sa.table("users", sa.column("id"), sa.column("name"), sa.column("name_key"))


def upgrade() -> None:
    op.add_column("users", sa.Column("verified_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("users", sa.Column("name_key", sa.String(), nullable=False, server_default=""))
    op.create_index("ix_users_name_key", "users", ["name_key"])
    bind = op.get_bind()
    for row in bind.execute(sa.select(USERS)).all():
        bind.execute(sa.update(USERS).where(USERS.c.id == row.id).values(name_key=make_name_key(row.name)))
    op.create_table(
        "identities",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("issuer", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_identities_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_identities"),
        sa.UniqueConstraint("issuer", "subject", name="uq_identities_issuer_subject"),
    )
    op.create_index("ix_identities_user_id", "identities", ["user_id"])
    op.create_table(
        "proofs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_proofs_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_proofs"),
        sa.UniqueConstraint("digest", name="uq_proofs_digest"),
    )
    op.create_index("ix_proofs_user_id", "proofs", ["user_id"])
    op.create_index("ix_proofs_email", "proofs", ["email"])


def downgrade() -> None:
    op.drop_table("proofs")
    op.drop_table("identities")
    with op.batch_alter_table("users") as batch:
        batch.drop_index("ix_users_name_key")
        batch.drop_column("name_key")
        batch.drop_column("verified_at")
