"""Episodes can be looked through: solved or not, steps, and what each adds to the ranking, with indexes to sort by."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from alembic import op

from nav_eval.errors import RecordError
from nav_eval.records.results import EpisodeOutcome, decode_outcome
from nav_eval.records.scoring import find_success, is_scored
from nav_eval_store.boards.scores import unpack_values

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

SORTED_BY = {
    "score": ("score",),
    "num_steps": ("num_steps",),
    "scene_id": ("scene_id",),
    "success": ("success", "score"),
}
EPISODES = sa.table(
    "episodes",
    sa.column("submission_id", sa.Uuid()),
    *(sa.column(name) for name in ("episode_id", "outcome", "success", "num_steps", "score")),
)
ENTRIES = sa.table("entries", sa.column("submission_id", sa.Uuid()), sa.column("values"))


def upgrade() -> None:
    op.add_column("episodes", sa.Column("success", sa.Boolean(), nullable=True))
    op.add_column("episodes", sa.Column("num_steps", sa.Integer(), nullable=True))
    op.add_column("episodes", sa.Column("score", sa.Double(), nullable=True))
    bind = op.get_bind()
    for submission in bind.scalars(sa.select(EPISODES.c.submission_id).distinct()).all():
        _fill(bind, submission)
    for name, columns in SORTED_BY.items():
        op.create_index(f"ix_episodes_{name}", "episodes", ["submission_id", *columns, "position"])


def _fill(bind: sa.Connection, submission: UUID) -> None:
    mine = EPISODES.c.submission_id == submission
    lines = bind.execute(sa.select(EPISODES.c.outcome).where(mine, EPISODES.c.outcome.is_not(None))).scalars()
    outcomes = list(_decode(lines.all()))
    scores = _read_scores(bind, submission, outcomes)
    rows = [
        {
            "key": outcome.episode_id,
            "new_success": find_success(outcome),
            "new_steps": outcome.num_steps,
            "new_score": scores.get(outcome.episode_id),
        }
        for outcome in outcomes
    ]
    if rows:
        change = sa.update(EPISODES).where(mine, EPISODES.c.episode_id == sa.bindparam("key"))
        change = change.values(
            success=sa.bindparam("new_success"), num_steps=sa.bindparam("new_steps"), score=sa.bindparam("new_score")
        )
        bind.execute(change, rows)


def _decode(lines: Sequence[str]) -> Iterator[EpisodeOutcome]:
    for line in lines:
        try:
            yield decode_outcome(line)
        except RecordError:
            continue  # it was kept by a version that knew more; it stays as it is


def _read_scores(bind: sa.Connection, submission: UUID, outcomes: Sequence[EpisodeOutcome]) -> Mapping[str, Any]:
    values = bind.scalar(sa.select(ENTRIES.c["values"]).where(ENTRIES.c.submission_id == submission))
    episodes = sorted(outcome.episode_id for outcome in outcomes if is_scored(outcome))
    return unpack_values(values, episodes) if values is not None and len(values) == 8 * len(episodes) else {}


def downgrade() -> None:
    for name in SORTED_BY:
        op.drop_index(f"ix_episodes_{name}", "episodes")
    for name in ("success", "num_steps", "score"):
        op.drop_column("episodes", name)
