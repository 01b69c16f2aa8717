"""`nav-eval doctor`: what this machine and this installation lack, and what to do about it."""

from nav_eval_worker.doctor.command import examine
from nav_eval_worker.doctor.installation import Finding, Installation, Level

__all__ = ["Finding", "Installation", "Level", "examine"]
