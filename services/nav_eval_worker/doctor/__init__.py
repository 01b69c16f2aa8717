"""`nav-eval doctor`: what this machine and this installation lack, and what to do about it."""

from nav_eval_worker.doctor.examination import examine
from nav_eval_worker.doctor.findings import Finding, Level
from nav_eval_worker.doctor.surroundings import Surroundings

__all__ = ["Finding", "Level", "Surroundings", "examine"]
