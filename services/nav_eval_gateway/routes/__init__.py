"""The API, one module per noun. A new module is added to this list, and to nothing else."""

from fastapi import APIRouter

from nav_eval_gateway.routes import comparison, competitions, health, leaderboards

API: tuple[APIRouter, ...] = (competitions.router, leaderboards.router, comparison.router)
"""Under /api/v1."""
ROOT: tuple[APIRouter, ...] = (health.router,)
"""Outside of it: health, metrics."""
