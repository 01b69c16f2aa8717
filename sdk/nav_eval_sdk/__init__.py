"""What a team installs: the `Agent` to write, the types it sees, and `serve`."""

from nav_eval_sdk.agent import Action, Agent, Answer, Description, Episode, Observation, Outcome, Pose, SensorSpec, Task
from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.geometry import Body, Camera, DepthRange, Motion
from nav_eval_sdk.server import serve

__all__ = [
    "Action",
    "Agent",
    "Answer",
    "Body",
    "Camera",
    "DepthRange",
    "Description",
    "Episode",
    "Motion",
    "Observation",
    "Outcome",
    "Pose",
    "SdkError",
    "SensorSpec",
    "Task",
    "serve",
]
__version__ = "0.2.0"
