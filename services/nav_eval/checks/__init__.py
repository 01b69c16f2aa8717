"""Checks for those who write plug-ins: does a simulator, a task, a metric or a sensor keep its contract?

As Gymnasium's `check_env`: each plays a thing through the cases that evaluations bring, and raises
`ContractBroken` with what is wrong and what to do about it; nothing is returned when all is well.
"""

from nav_eval.checks.contract import ContractBroken
from nav_eval.checks.simulator import check_sensor, check_simulator
from nav_eval.checks.task import check_metric, check_task

__all__ = ["ContractBroken", "check_metric", "check_sensor", "check_simulator", "check_task"]
