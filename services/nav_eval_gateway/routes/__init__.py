"""The API, one module per noun. A new module is added to this list, and to nothing else."""

from fastapi import APIRouter

from nav_eval_gateway.routes import (
    addresses,
    artifacts,
    competitions,
    episodes,
    events,
    health,
    leaderboards,
    organisers,
    people,
    submissions,
    uploads,
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
    submissions.router,
    uploads.router,
    events.router,
    episodes.router,
    artifacts.router,
    webhooks.router,
    leaderboards.comparison_router,
    competitions.export_router,
    organisers.router,
    organisers.worker_router,
    addresses.organiser_router,
)
"""Under /api/v1."""
ROOT: tuple[APIRouter, ...] = (health.router,)
"""Outside of it: health, metrics."""
