"""The API, one module per noun. A new module is added to this list, and to nothing else."""

from fastapi import APIRouter

from nav_eval_gateway.routes import competitions

API: tuple[APIRouter, ...] = (competitions.router,)
"""Under /api/v1."""
ROOT: tuple[APIRouter, ...] = ()
"""Outside of it: health, metrics."""
