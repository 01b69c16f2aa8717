"""The API, one module per noun. A new module is added to this list, and to nothing else."""

from fastapi import APIRouter

from nav_eval_gateway.routes import (
    comparison,
    competitions,
    events,
    evidence,
    exports,
    health,
    leaderboards,
    organising,
    submissions,
    teams,
    tokens,
    uploads,
    users,
    webhooks,
    workers,
)

API: tuple[APIRouter, ...] = (
    leaderboards.public_router,  # first, because it is asked for most
    leaderboards.router,
    competitions.router,
    users.router,
    tokens.router,
    teams.router,
    submissions.router,
    uploads.router,
    events.router,
    evidence.router,
    webhooks.router,
    comparison.router,
    exports.router,
    organising.router,
    workers.router,
)
"""Under /api/v1."""
ROOT: tuple[APIRouter, ...] = (health.router,)
"""Outside of it: health, metrics."""
