"""Everything that is kept."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
MOMENT = sa.DateTime(timezone=True)
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WORD = sa.String(40)


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=True),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=True),
        sa.Column("phase_id", sa.Uuid(), nullable=True),
        sa.Column("team_id", sa.Uuid(), nullable=True),
        sa.Column("submission_id", sa.Uuid(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("details", JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_events_competition_id_id", "audit_events", ["competition_id", "id"])
    op.create_index("ix_audit_events_submission_id_id", "audit_events", ["submission_id", "id"])
    op.create_index("ix_audit_events_team_id_id", "audit_events", ["team_id", "id"])

    op.create_table(
        "competitions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("settings", JSON, nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_competitions"),
        sa.UniqueConstraint("name", name="uq_competitions_name"),
    )
    op.create_table(
        "events",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=True),
        sa.Column("phase_id", sa.Uuid(), nullable=True),
        sa.Column("team_id", sa.Uuid(), nullable=True),
        sa.Column("submission_id", sa.Uuid(), nullable=True),
        sa.Column("payload", JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_at", "events", ["at"])
    op.create_index("ix_events_competition_id_id", "events", ["competition_id", "id"])
    op.create_index("ix_events_submission_id_id", "events", ["submission_id", "id"])

    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("password", sa.String(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("disabled_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("email", name="uq_users_email"),
        sa.UniqueConstraint("name", name="uq_users_name"),
    )
    op.create_table(
        "workers",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("abilities", JSON, nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("heartbeat_at", MOMENT, nullable=False),
        sa.Column("draining_at", MOMENT, nullable=True),
        sa.Column("stopped_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("name", name="pk_workers"),
    )
    op.create_table(
        "phases",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("settings", JSON, nullable=False),
        sa.Column("rules_digest", sa.String(), nullable=False),
        sa.Column("metrics", JSON, nullable=False),
        sa.Column("ranking", JSON, nullable=False),
        sa.Column("opens_at", MOMENT, nullable=True),
        sa.Column("closes_at", MOMENT, nullable=True),
        sa.Column("paused_at", MOMENT, nullable=True),
        sa.Column("paused_reason", sa.String(), nullable=True),
        sa.Column("resumed_at", MOMENT, nullable=True),
        sa.Column("published_at", MOMENT, nullable=True),
        sa.Column("archived_at", MOMENT, nullable=True),
        sa.Column("board_version", sa.Integer(), nullable=False),
        sa.Column("ranked_version", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name="fk_phases_competition_id"),
        sa.PrimaryKeyConstraint("id", name="pk_phases"),
        sa.UniqueConstraint("competition_id", "name", name="uq_phases_competition_id_name"),
    )
    op.create_table(
        "roles",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=True),
        sa.Column("name", WORD, nullable=False),
        sa.Column("granted_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name="fk_roles_competition_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_roles_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_roles"),
        sa.UniqueConstraint("user_id", "competition_id", "name", name="uq_roles_user_id_competition_id_name"),
    )
    op.create_index(
        "uq_roles_everywhere",
        "roles",
        ["user_id", "name"],
        unique=True,
        sqlite_where=sa.text("competition_id IS NULL"),
        postgresql_where=sa.text("competition_id IS NULL"),
    )

    op.create_table(
        "teams",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("name_key", sa.String(), nullable=False),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("status", WORD, nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("served_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name="fk_teams_competition_id"),
        sa.PrimaryKeyConstraint("id", name="pk_teams"),
        sa.UniqueConstraint("competition_id", "name_key", name="uq_teams_competition_id_name_key"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("prefix", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("scopes", JSON, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=True),
        sa.Column("used_at", MOMENT, nullable=True),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_tokens_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("prefix", name="uq_tokens_prefix"),
    )
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"])

    op.create_table(
        "invitations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("invited_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("accepted_by", sa.Uuid(), nullable=True),
        sa.Column("accepted_at", MOMENT, nullable=True),
        sa.Column("revoked_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["accepted_by"], ["users.id"], name="fk_invitations_accepted_by"),
        sa.ForeignKeyConstraint(["invited_by"], ["users.id"], name="fk_invitations_invited_by"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_invitations_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_invitations"),
        sa.UniqueConstraint("digest", name="uq_invitations_digest"),
    )
    op.create_index("ix_invitations_team_id", "invitations", ["team_id"])

    op.create_table(
        "members",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=False),
        sa.Column("role", WORD, nullable=False),
        sa.Column("joined_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name="fk_members_competition_id"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_members_team_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_members_user_id"),
        sa.PrimaryKeyConstraint("team_id", "user_id", name="pk_members"),
        sa.UniqueConstraint("competition_id", "user_id", name="uq_members_competition_id_user_id"),
    )
    op.create_index("ix_members_user_id", "members", ["user_id"])

    op.create_table(
        "submissions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=False),
        sa.Column("phase_id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.Column("cause", WORD, nullable=True),
        sa.Column("detail", sa.String(), nullable=True),
        sa.Column("active_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("submitted_at", MOMENT, nullable=True),
        sa.Column("queued_at", MOMENT, nullable=True),
        sa.Column("started_at", MOMENT, nullable=True),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.Column("agent", sa.String(), nullable=True),
        sa.Column("image_key", sa.String(), nullable=True),
        sa.Column("image_digest", sa.String(), nullable=True),
        sa.Column("image_id", sa.String(), nullable=True),
        sa.Column("image_bytes", sa.BigInteger(), nullable=True),
        sa.Column("weights_key", sa.String(), nullable=True),
        sa.Column("weights_digest", sa.String(), nullable=True),
        sa.Column("canary", JSON, nullable=True),
        sa.Column("provenance", JSON, nullable=False),
        sa.Column("rules_digest", sa.String(), nullable=False),
        sa.Column("episodes_total", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("rerun_of", sa.Uuid(), nullable=True),
        sa.Column("is_reevaluation", sa.Boolean(), nullable=False),
        sa.Column("superseded_by", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name="fk_submissions_competition_id"),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name="fk_submissions_phase_id"),
        sa.ForeignKeyConstraint(
            ["rerun_of"], ["submissions.id"], name="fk_submissions_rerun_of", initially="IMMEDIATE", deferrable=True
        ),
        sa.ForeignKeyConstraint(
            ["superseded_by"],
            ["submissions.id"],
            name="fk_submissions_superseded_by",
            initially="IMMEDIATE",
            deferrable=True,
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_submissions_team_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_submissions_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_submissions"),
        sa.UniqueConstraint("phase_id", "team_id", "number", name="uq_submissions_phase_id_team_id_number"),
    )
    op.create_index("ix_submissions_competition_id_created_at", "submissions", ["competition_id", "created_at"])
    op.create_index(
        "ix_submissions_open",
        "submissions",
        ["state"],
        sqlite_where=sa.text("state IN ('created', 'uploading', 'validating', 'queued', 'running', 'scoring')"),
        postgresql_where=sa.text("state IN ('created', 'uploading', 'validating', 'queued', 'running', 'scoring')"),
    )
    op.create_index("ix_submissions_phase_id_created_at", "submissions", ["phase_id", "created_at"])
    op.create_index("ix_submissions_rerun_of", "submissions", ["rerun_of"])
    op.create_index("ix_submissions_team_id_created_at", "submissions", ["team_id", "created_at"])

    op.create_table(
        "webhooks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("competition_id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=True),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("kinds", JSON, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("disabled_at", MOMENT, nullable=True),
        sa.Column("disabled_reason", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name="fk_webhooks_competition_id"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_webhooks_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    op.create_index("ix_webhooks_competition_id", "webhooks", ["competition_id"])
    op.create_index("ix_webhooks_team_id", "webhooks", ["team_id"])

    op.create_table(
        "entries",
        sa.Column("submission_id", sa.Uuid(), nullable=False),
        sa.Column("phase_id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("ci_low", sa.Double(), nullable=True),
        sa.Column("ci_high", sa.Double(), nullable=True),
        sa.Column("submitted_at", MOMENT, nullable=False),
        sa.Column("completed_at", MOMENT, nullable=False),
        sa.Column("visibility", WORD, nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("verified_at", MOMENT, nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("shares_with", sa.Uuid(), nullable=True),
        sa.Column("p_value", sa.Double(), nullable=True),
        sa.Column("episodes_digest", sa.String(), nullable=False),
        sa.Column("values", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name="fk_entries_phase_id"),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_entries_submission_id"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_entries_team_id"),
        sa.PrimaryKeyConstraint("submission_id", name="pk_entries"),
    )
    op.create_index("ix_entries_phase_id_team_id", "entries", ["phase_id", "team_id"])

    op.create_table(
        "jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("submission_id", sa.Uuid(), nullable=False),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("state", WORD, nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("ready_at", MOMENT, nullable=False),
        sa.Column("told_at", MOMENT, nullable=True),
        sa.Column("busy_seconds", sa.Double(), nullable=False),
        sa.Column("episodes_total", sa.Integer(), nullable=False),
        sa.Column("episodes_done", sa.Integer(), nullable=False),
        sa.Column("tally", JSON, nullable=False),
        sa.Column("progress_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_jobs_submission_id"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
        sa.UniqueConstraint("submission_id", "kind", "position", name="uq_jobs_submission_id_kind_position"),
    )
    op.create_index("ix_jobs_finished_at", "jobs", ["finished_at"])
    op.create_index(
        "ix_jobs_not_done",
        "jobs",
        ["state"],
        sqlite_where=sa.text("state IN ('waiting', 'held')"),
        postgresql_where=sa.text("state IN ('waiting', 'held')"),
    )

    op.create_table(
        "quota_ledger",
        sa.Column("id", SERIAL, autoincrement=True, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("phase_id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("submission_id", sa.Uuid(), nullable=True),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("amount", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name="fk_quota_ledger_phase_id"),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_quota_ledger_submission_id"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name="fk_quota_ledger_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_quota_ledger"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_quota_ledger_team_id_phase_id_at", "quota_ledger", ["team_id", "phase_id", "at"])
    op.create_index("uq_quota_ledger_once", "quota_ledger", ["submission_id", "kind"], unique=True)

    op.create_table(
        "scores",
        sa.Column("submission_id", sa.Uuid(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("mean", sa.Double(), nullable=True),
        sa.Column("std", sa.Double(), nullable=True),
        sa.Column("ci_low", sa.Double(), nullable=True),
        sa.Column("ci_high", sa.Double(), nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("invalid", sa.Integer(), nullable=False),
        sa.Column("higher_is_better", sa.Boolean(), nullable=False),
        sa.Column("note", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_scores_submission_id"),
        sa.PrimaryKeyConstraint("submission_id", "metric", name="pk_scores"),
    )
    op.create_table(
        "uploads",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("submission_id", sa.Uuid(), nullable=False),
        sa.Column("purpose", WORD, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=True),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=True),
        sa.Column("details", JSON, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.Column("blob_key", sa.String(), nullable=True),
        sa.Column("removed_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_uploads_submission_id"),
        sa.PrimaryKeyConstraint("id", name="pk_uploads"),
        sa.UniqueConstraint("key", name="uq_uploads_key"),
    )
    op.create_index("ix_uploads_submission_id", "uploads", ["submission_id"])

    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("webhook_id", sa.Uuid(), nullable=False),
        sa.Column("event_id", SERIAL, nullable=False),
        sa.Column("body", JSON, nullable=False),
        sa.Column("due_at", MOMENT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("delivered_at", MOMENT, nullable=True),
        sa.Column("given_up_at", MOMENT, nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name="fk_webhook_deliveries_webhook_id"),
        sa.PrimaryKeyConstraint("id", name="pk_webhook_deliveries"),
    )
    op.create_index(
        "ix_webhook_deliveries_due",
        "webhook_deliveries",
        ["due_at"],
        sqlite_where=sa.text("delivered_at IS NULL AND given_up_at IS NULL"),
        postgresql_where=sa.text("delivered_at IS NULL AND given_up_at IS NULL"),
    )
    op.create_index("ix_webhook_deliveries_webhook_id", "webhook_deliveries", ["webhook_id"])

    op.create_table(
        "episodes",
        sa.Column("submission_id", sa.Uuid(), nullable=False),
        sa.Column("episode_id", sa.String(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("scene_id", sa.String(), nullable=True),
        sa.Column("status", WORD, nullable=True),
        sa.Column("cause", WORD, nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("replay_key", sa.String(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=True),
        sa.Column("recorded_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_episodes_job_id"),
        sa.ForeignKeyConstraint(["submission_id"], ["submissions.id"], name="fk_episodes_submission_id"),
        sa.PrimaryKeyConstraint("submission_id", "episode_id", name="pk_episodes"),
        sa.UniqueConstraint("submission_id", "position", name="uq_episodes_submission_id_position"),
    )
    op.create_table(
        "leases",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("acquired_at", MOMENT, nullable=False),
        sa.Column("heartbeat_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("released_at", MOMENT, nullable=True),
        sa.Column("end", WORD, nullable=True),
        sa.Column("detail", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_leases_job_id"),
        sa.PrimaryKeyConstraint("id", name="pk_leases"),
        sa.UniqueConstraint("job_id", "fence", name="uq_leases_job_id_fence"),
    )
    op.create_index(
        "ix_leases_expires_at",
        "leases",
        ["expires_at"],
        sqlite_where=sa.text("released_at IS NULL"),
        postgresql_where=sa.text("released_at IS NULL"),
    )
    op.create_index(
        "uq_leases_active",
        "leases",
        ["job_id"],
        unique=True,
        sqlite_where=sa.text("released_at IS NULL"),
        postgresql_where=sa.text("released_at IS NULL"),
    )


def downgrade() -> None:
    for table in (
        "leases",
        "episodes",
        "webhook_deliveries",
        "uploads",
        "scores",
        "quota_ledger",
        "jobs",
        "entries",
        "webhooks",
        "submissions",
        "members",
        "invitations",
        "tokens",
        "teams",
        "roles",
        "phases",
        "workers",
        "users",
        "events",
        "competitions",
        "audit_events",
    ):
        op.drop_table(table)
