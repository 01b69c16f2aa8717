"""The rules of a run, and what it leaves behind."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from nav_eval.config.schema.base import Aliases, ConfigModel, Count, FilePath, Flag, Positive, Seed, refusal


class EvaluationConfig(ConfigModel):
    """When an episode ends, and what counts as a success."""

    max_steps: Count = 500
    """Actions per episode, stops included."""
    success_distance: Positive
    """Metres; strictly closer is a success. No default: the field's values range from 0.1 to 3.0."""
    stop_threshold: Positive | None = Field(default=None, exclude=True, deprecated=True)
    """Deprecated: nothing else than `success_distance`, which it must equal."""
    timeout: Positive = 300.0
    """Seconds of wall clock per episode."""
    step_timeout: Positive = 30.0
    """Seconds that an agent may take for one action."""
    require_stop: Flag = True
    """A success needs a `stop`; false counts merely being there at the end."""
    distance: Literal["geodesic", "euclidean"] = "geodesic"
    """How the distance to a goal is measured."""
    distance_to: Literal["point", "view_points"] = "point"
    """To the goal itself, or to the nearest place from which its object is seen (ObjectNav)."""
    order: Literal["dataset", "scene", "shuffled"] = "dataset"
    """As in the file; scene by scene, which saves loading; or drawn by `seed`. Never depends on the agent."""
    seed: Seed = 0
    """Source of everything random in a run but domain randomisation."""
    retries: Annotated[int, Field(strict=True, ge=0, le=10)] = 3
    """How often a failed call to an agent is tried again."""
    workers: Count = 1
    """Processes, each with its own simulator; scores do not depend on it."""
    concurrent_episodes: Count = 1
    """Episodes at once against one agent, up to what the agent allows."""

    @model_validator(mode="after")
    def _one_threshold(self) -> "EvaluationConfig":
        threshold = self.__dict__.get("stop_threshold")  # not by attribute, which would warn
        if threshold is not None and threshold != self.success_distance:
            raise refusal(
                f"has stop_threshold = {threshold} and success_distance = {self.success_distance}; "
                "stop_threshold is deprecated and must be the same: remove it"
            )
        return self


class OutputConfig(ConfigModel):
    """What a run writes, and where."""

    aliases: ClassVar[Aliases] = {"save_videos": "save_video"}

    log_dir: FilePath = "logs/evaluations"
    save_trajectories: Flag = True
    trajectory_format: Literal["json", "jsonl", "hdf5"] = "jsonl"
    save_observations: Flag = False
    """Pictures of every step: gigabytes."""
    save_video: Flag = False
    save_maps: Flag = False
    """A top-down picture of every trajectory."""
