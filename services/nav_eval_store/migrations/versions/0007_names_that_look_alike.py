"""Names of teams that look alike in other alphabets are one name; those that are there already stay."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from nav_eval_store.people.names import make_name_key

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

TEAMS = sa.table("teams", sa.column("id"), sa.column("competition_id"), sa.column("name"), sa.column("name_key"))


def upgrade() -> None:
    bind = op.get_bind()
    rows = bind.execute(sa.select(TEAMS)).all()
    taken = {(row.competition_id, row.name_key) for row in rows}
    for row in rows:
        key = make_name_key(row.name)
        if (row.competition_id, key) not in taken:
            bind.execute(sa.update(TEAMS).where(TEAMS.c.id == row.id).values(name_key=key))
            taken.add((row.competition_id, key))


def downgrade() -> None:
    """The new keys are good enough for the rules of before."""
