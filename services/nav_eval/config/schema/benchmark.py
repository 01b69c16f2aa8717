"""A benchmark: one task on one split of one dataset, under one set of rules."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from nav_eval.config.schema.agent_service import AgentServiceConfig
from nav_eval.config.schema.base import Aliases, ConfigModel, Text, refusal
from nav_eval.config.schema.dataset import DatasetConfig
from nav_eval.config.schema.evaluation import EvaluationConfig, OutputConfig
from nav_eval.config.schema.robot import RobotConfig
from nav_eval.config.schema.scenario import ScenarioConfig
from nav_eval.config.schema.sensors import SensorConfig
from nav_eval.config.schema.simulator import SimulatorConfig
from nav_eval.config.schema.task import TaskConfig


class BenchmarkConfig(ConfigModel):
    """An evaluation that can be run, in full."""

    aliases: ClassVar[Aliases] = {"scenario": "scenario_config"}

    name: Text
    description: str = ""
    version: Text = "1.0"
    tags: tuple[Text, ...] = ()
    task: TaskConfig
    """A task in full, or the name of one in `configs/tasks/`."""
    scenario_config: ScenarioConfig = ScenarioConfig()
    """A scenario in full, or the name of one in `configs/scenarios/`."""
    simulator: SimulatorConfig = SimulatorConfig()
    """A simulator in full, or the name of one in `configs/simulator/`."""
    dataset: DatasetConfig
    evaluation: EvaluationConfig
    agent_service: AgentServiceConfig | None = None
    """The agent to call, unless the command line names one."""
    output: Annotated[OutputConfig, Field(default_factory=OutputConfig)]

    @model_validator(mode="after")
    def _check(self) -> "BenchmarkConfig":
        if self.dataset.type != self.task.type:
            raise refusal(
                f"runs the task {self.task.type!r} on a dataset of type {self.dataset.type!r}; they must be the same"
            )
        return self

    @property
    def is_template(self) -> bool:
        """Whether a child must still say where the episodes are."""
        return self.dataset.data_path is None

    def robot(self, name: str | None = None) -> RobotConfig:
        """The robot that walks an episode which asks for `name`; an episode may also leave it open."""
        return self.scenario_config.robot(name) or self.scenario_config.robots[0]

    def sensors(self, robot: str | None = None) -> dict[str, SensorConfig]:
        """Every sensor of a run with `robot`, cameras with their place on it."""
        return self.scenario_config.sensors(self.task.sensors, robot=self.robot(robot))
