"""The tables."""

from nav_eval_store.models.base import Base
from nav_eval_store.models.board import Entry, Score, Visibility
from nav_eval_store.models.competition import Competition, Phase
from nav_eval_store.models.journal import AuditEvent, Delivery, Event, LedgerEntry, LedgerKind, Webhook
from nav_eval_store.models.people import (
    Invitation,
    Member,
    MemberRole,
    Role,
    RoleName,
    Team,
    TeamKind,
    TeamStatus,
    Token,
    TokenKind,
    User,
)
from nav_eval_store.models.submission import Submission, Upload, UploadPurpose
from nav_eval_store.models.work import EpisodeRow, EpisodeStatus, Job, LeaseEnd, LeaseRow, Worker

__all__ = [
    "AuditEvent",
    "Base",
    "Competition",
    "Delivery",
    "Entry",
    "EpisodeRow",
    "EpisodeStatus",
    "Event",
    "Invitation",
    "Job",
    "LeaseEnd",
    "LeaseRow",
    "LedgerEntry",
    "LedgerKind",
    "Member",
    "MemberRole",
    "Phase",
    "Role",
    "RoleName",
    "Score",
    "Submission",
    "Team",
    "TeamKind",
    "TeamStatus",
    "Token",
    "TokenKind",
    "Upload",
    "UploadPurpose",
    "User",
    "Visibility",
    "Webhook",
    "Worker",
]
