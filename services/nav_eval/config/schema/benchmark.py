"""A benchmark and its sections: one task on one split of one dataset, in one simulator, under one set of rules."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from nav_eval.config.schema.agent_service import AgentServiceConfig
from nav_eval.config.schema.generation import GenerateConfig
from nav_eval.config.schema.rig import RigConfig
from nav_eval.config.schema.scenario import RobotConfig, ScenarioConfig, UpAxis
from nav_eval.config.schema.task import TaskConfig
from nav_eval.config_model import (
    Aliases,
    ConfigModel,
    Count,
    FilePath,
    Flag,
    Index,
    LaterField,
    Name,
    Positive,
    Seed,
    Text,
    Vec3,
    check_unique,
    make_refusal,
    require_registered,
)
from nav_eval.errors import UnknownName
from nav_eval.sensors import Sensor

#: The format that a dataset of a type comes in when nobody says.
DEFAULT_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "vln": "r2r",
        "lh_vln": "lhvln",
        "objectnav": "objectnav",
        "imagenav": "imagenav",
        "pointnav": "pointnav",
        "localization": "sqa3d",
        "sqa3d_qa": "sqa3d_qa",
        "eqa": "nav_eval",
    }
)


def _to_id_text(value: object) -> object:
    """Episode ids are texts for us; the datasets' files mix both."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id = Annotated[Text, BeforeValidator(_to_id_text, json_schema_input_type=str | int)]
Language = Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]


class DatasetConfig(ConfigModel):
    """Episodes: where they are, and which of them count."""

    aliases: ClassVar[Aliases] = {
        "scene_dataset_path": "scene_path",
        "scenes_dir": "scene_path",
        "content_scenes": "scenes",
    }

    type: Name
    """The kind of task that the episodes are for: vln, lh_vln, objectnav, …"""
    format: Annotated[Name, require_registered("formats")]
    """How the files are laid out: r2r, rxr, objectnav, lhvln, sqa3d, …; follows from `type` when not given."""
    data_path: FilePath | None = None
    """File or folder with the episodes; `{split}` and `{role}` are filled in. A template leaves it null."""
    scene_path: FilePath = "data/scene_datasets/"
    """Folder that the scene ids of the episodes are relative to."""
    scene_up: Annotated[UpAxis, LaterField] = "auto"
    """Which way is up in the scene files: x, y, z, -x, -y, -z, three numbers "x,y,z"; `auto` as docs/scenes.md says."""
    scene_scale: Annotated[Positive | None, LaterField] = None
    """Metres per unit of the scene files."""
    split: Name | None = None
    """Name of the split; the file name of `data_path` when not given. LH-VLN also has `val_by_batch` and the like."""
    gt_path: FilePath | None = None
    """File with the expert's dense paths, which nDTW compares with."""
    episodes: Count | None = None
    """How many episodes to run, null for all."""
    seed: Seed | None = None
    """Which ones, when `episodes` is a number: a draw by this seed, or the first in the file when null."""
    episode_ids: tuple[Id, ...] | None = None
    """Only these episodes."""
    scenes: tuple[Text, ...] | None = None
    """Only episodes in these scenes."""
    languages: tuple[Language, ...] | None = None
    """Only instructions in these languages (RxR), e.g. en-US, en-IN, hi-IN, te-IN."""
    roles: tuple[Literal["guide", "follower", "lh", "step"], ...] | None = None
    """RxR: only what these annotators wrote. LH-VLN: the long tasks (`lh`), the step-by-step ones, or both."""
    generate: GenerateConfig | None = None
    """What to generate when the files are missing."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        filled = cls.to_canonical_keys(data)
        if filled.get("format") is None and str(filled.get("type")) in DEFAULT_FORMATS:
            filled["format"] = DEFAULT_FORMATS[filled["type"]]
        if filled.get("split") is None and isinstance(filled.get("data_path"), str):
            filled["split"] = _guess_split(filled["data_path"])
        for key in ("languages", "roles", "scenes"):  # Habitat's way to say "all of them"
            if filled.get(key) in ("*", ["*"], ("*",)):
                filled[key] = None
        return filled | {key: _fill_split(filled, key) for key in ("data_path", "gt_path") if key in filled}

    @model_validator(mode="after")
    def _check(self) -> "DatasetConfig":
        for key in ("episode_ids", "scenes", "languages", "roles"):
            if getattr(self, key) == ():
                raise make_refusal(f"has an empty list of {key}: no episode is left. Write null for all of them")
        if self.data_path is not None and "{split}" in self.data_path:
            raise make_refusal("has {split} in data_path but no split")
        return self

    @property
    def data_paths(self) -> tuple[str, ...]:
        """Every file that `data_path` stands for: one, or one per role."""
        return _fill_roles(self.data_path, self.roles)

    @property
    def gt_paths(self) -> tuple[str, ...]:
        return _fill_roles(self.gt_path, self.roles)


def _guess_split(data_path: str) -> str | None:
    """`…/val_seen.json.gz` is the split val_seen, if the name is plain."""
    stem = PurePosixPath(data_path).name.split(".", maxsplit=1)[0]
    return stem if stem and "{" not in stem and stem.replace("_", "").isalnum() else None


def _fill_split(data: Mapping[str, Any], key: str) -> object:
    path, split = data[key], data.get("split")
    return path.replace("{split}", split) if isinstance(path, str) and isinstance(split, str) else path


def _fill_roles(path: str | None, roles: tuple[str, ...] | None) -> tuple[str, ...]:
    if path is None:
        return ()
    if "{role}" not in path:
        return (path,)
    return tuple(path.replace("{role}", role) for role in roles or ("guide", "follower"))


def _to_our_name(value: object) -> object:
    return "moderngl" if value == "custom" else value


class RenderingConfig(ConfigModel):
    """How pictures are made."""

    render_mode: Literal["rgb", "depth", "rgbd", "semantic", "none"] = "rgb"
    """The sensors decide what is drawn; `none` draws nothing at all (verification, dry runs)."""
    render_quality: Literal["low", "medium", "high"] = "high"
    """`low` never blends mipmaps; the others are the same."""
    gpu: Index | Literal["auto", "cpu"] = "auto"
    """Index of the graphics card, `cpu` for Mesa's software renderer, or whatever is there."""
    lighting: Literal["auto", "environment", "flat", "unlit", "lit"] = "auto"
    """`auto` lights what is not unlit; `flat`: colours of the file; `unlit`: no baked light; `lit`: light by facing."""
    filter: Annotated[Literal["auto", "trilinear", "bilinear"], LaterField] = "auto"
    """Of minified textures: blend the two nearest mipmaps, or take the nearest; `auto` blends on graphics cards."""
    culling: Flag = True
    """Skip what cannot be seen; pictures are the same either way."""
    threads: Annotated[Index | Literal["auto"], LaterField] = 0
    """Of Mesa's software renderer, per process: 0 draws in the calling thread, `auto` measures once what is faster."""
    cache_mb: Count = 2048
    """How much prepared scene data to keep in memory."""


class PhysicsConfig(ConfigModel):
    """How bodies move."""

    gravity: Vec3 = (0.0, -9.81, 0.0)
    """Metres per second squared; Y is up."""
    step_frequency: Positive = 60.0
    """Hertz, for continuous control."""
    allow_sliding: Flag = True
    """Glide along a wall instead of stopping at it. Changes scores: VLN-CE R2R slides, RxR does not."""

    @model_validator(mode="after")
    def _down_is_down(self) -> "PhysicsConfig":
        x, y, z = self.gravity
        if y > 0 or (y == 0 and (x, z) != (0.0, 0.0)):
            raise make_refusal(f"has gravity {list(self.gravity)}, which does not point down; Y is up: [0, -9.81, 0]")
        return self


class NavMeshConfig(ConfigModel):
    """How finely walkable ground is measured; the robot's size comes from the scenario."""

    cell_size: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = 0.05
    cell_height: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = 0.2
    prefer_files: Flag = True
    """Use the `.navmesh` file beside a scene when it was made for a robot of the same size."""


class SimulatorConfig(ConfigModel):
    """The simulator, independent of any benchmark."""

    backend: Annotated[
        Name, BeforeValidator(_to_our_name, json_schema_input_type=str), require_registered("backends")
    ] = "moderngl"
    """`moderngl` (which the specification calls `custom`), or the name of a plug-in."""
    rendering: RenderingConfig = RenderingConfig()
    physics: PhysicsConfig = PhysicsConfig()
    navmesh: NavMeshConfig = NavMeshConfig()
    seed: Seed = 0


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
            raise make_refusal(
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
    rigs: Annotated[tuple[RigConfig, ...], LaterField] = ()
    """Cameras and motion that an agent may choose among, by names in `configs/scenarios/rigs/` or in full; the first
    when it does not choose. Without rigs the task's own sensors and actions count."""

    @model_validator(mode="after")
    def _check(self) -> "BenchmarkConfig":
        check_unique((rig.name for rig in self.rigs), what="rig")
        if self.dataset.type != self.task.type:
            raise make_refusal(
                f"runs the task {self.task.type!r} on a dataset of type {self.dataset.type!r}; they must be the same"
            )
        return self

    @property
    def is_template(self) -> bool:
        """Whether a child must still say where the episodes are."""
        return self.dataset.data_path is None

    def with_rig(self, name: str | None = None) -> "BenchmarkConfig":
        """The benchmark as it is played with one of its rigs, the first if none is named; itself where it has none."""
        if not self.rigs:
            return self
        by_name = {rig.name: rig for rig in self.rigs}
        if name and name not in by_name:
            raise UnknownName(f"There is no rig {name!r}; the benchmark has {', '.join(by_name)}.")
        rig = by_name[name] if name else self.rigs[0]
        task, scenario = rig.apply_to_task(self.task), rig.apply_to_scenario(self.scenario_config)
        return self.model_copy(update={"task": task, "scenario_config": scenario, "rigs": (rig,)})

    def robot(self, name: str | None = None) -> RobotConfig:
        """The robot that walks an episode which asks for `name`; an episode may also leave it open."""
        return self.scenario_config.robot(name) or self.scenario_config.robots[0]

    def sensors(self, robot: str | None = None) -> dict[str, Sensor]:
        """Every sensor of a run with `robot`, cameras with their place on it."""
        return self.scenario_config.sensors(self.task.sensors, robot=self.robot(robot))
