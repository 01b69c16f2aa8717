"""Agents, and how the evaluator reaches them: `connect(address)` and the contract in `client`."""

from nav_eval.agents.address import AddressError, connect
from nav_eval.agents.client import AgentClient, EpisodeSession, Health
from nav_eval.agents.description import AgentDescription, Encoding
from nav_eval.agents.failures import FAILURES, AgentFailure
from nav_eval.agents.interface import TEXT, ActionSpec, SensorSpec, TaskInterface
from nav_eval.agents.messages import ANSWER, Action, EndStatus, Observation, Outcome
from nav_eval.agents.settings import ClientSettings
from nav_eval.causes import Cause

__all__ = [
    "ANSWER",
    "FAILURES",
    "TEXT",
    "Action",
    "ActionSpec",
    "AddressError",
    "AgentClient",
    "AgentDescription",
    "AgentFailure",
    "Cause",
    "ClientSettings",
    "Encoding",
    "EndStatus",
    "EpisodeSession",
    "Health",
    "Observation",
    "Outcome",
    "SensorSpec",
    "TaskInterface",
    "connect",
]
