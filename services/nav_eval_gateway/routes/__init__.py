"""The API, one module per noun. A new module is added to this list, and to nothing else."""

from fastapi import APIRouter

from nav_eval_gateway.routes import (
    addresses,
    artifacts,
    bulk_actions,
    competitions,
    configurations,
    episodes,
    events,
    health,
    leaderboards,
    messages,
    organisers,
    password_resets,
    people,
    submissions,
    uploads,
    videos,
    webhooks,
)

API: tuple[APIRouter, ...] = (
    leaderboards.public_router,  # first, because it is asked for most
    leaderboards.router,
    competitions.router,
    people.router,
    people.token_router,
    people.team_router,
    addresses.router,
    password_resets.router,
    password_resets.organiser_router,
    submissions.router,
    uploads.router,
    events.router,
    videos.router,  # before the episodes, whose ids may have slashes in them
    episodes.router,
    artifacts.router,
    webhooks.router,
    leaderboards.comparison_router,
    competitions.export_router,
    organisers.router,
    organisers.worker_router,
    addresses.organiser_router,
    configurations.router,
    messages.router,
    bulk_actions.router,
)
"""Under /api/v1."""
ROOT: tuple[APIRouter, ...] = (health.router,)
"""Outside of it: health, metrics."""
