"""What a team says about a submission when it creates it: a note, and the archive that will come."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("submissions", sa.Column("note", sa.String(), nullable=False, server_default=""))
    op.add_column("submissions", sa.Column("announced_sha256", sa.String(), nullable=True))
    op.add_column("submissions", sa.Column("announced_bytes", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    for column in ("announced_bytes", "announced_sha256", "note"):
        op.drop_column("submissions", column)
