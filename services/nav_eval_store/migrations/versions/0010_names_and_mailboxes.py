"""Names that look alike are one name, more strictly than before, and addresses know their mailbox.

Rows that are there already stay: of two that look alike now, the first has the name and the other keeps its old key.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from nav_eval_store.people.mailboxes import make_mailbox
from nav_eval_store.people.names import make_name_key

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

TEAMS = sa.table(
    "teams", *(sa.column(name) for name in ("id", "competition_id", "name", "name_key", "kind", "created_at"))
)
USERS = sa.table("users", *(sa.column(name) for name in ("id", "name", "name_key", "email", "mailbox")))
PROOFS = sa.table("proofs", *(sa.column(name) for name in ("id", "email", "mailbox")))


def upgrade() -> None:
    for name in ("users", "proofs"):
        op.add_column(name, sa.Column("mailbox", sa.String(), nullable=True))
        op.create_index(f"ix_{name}_mailbox", name, ["mailbox"])
    bind = op.get_bind()
    for table in (USERS, PROOFS):
        for row in bind.execute(sa.select(table).where(table.c.email.is_not(None))).all():
            bind.execute(sa.update(table).where(table.c.id == row.id).values(mailbox=make_mailbox(row.email)))
    for row in bind.execute(sa.select(USERS)).all():
        bind.execute(sa.update(USERS).where(USERS.c.id == row.id).values(name_key=make_name_key(row.name)))
    rows = bind.execute(sa.select(TEAMS).order_by(TEAMS.c.kind, TEAMS.c.created_at)).all()  # baselines come first
    taken = {(row.competition_id, row.name_key) for row in rows}
    for row in rows:
        key = make_name_key(row.name)
        if (row.competition_id, key) not in taken:
            bind.execute(sa.update(TEAMS).where(TEAMS.c.id == row.id).values(name_key=key))
            taken.add((row.competition_id, key))


def downgrade() -> None:
    """The new keys of names are good enough for the rules of before."""
    for name in ("users", "proofs"):
        op.drop_index(f"ix_{name}_mailbox", name)
        op.drop_column(name, "mailbox")
