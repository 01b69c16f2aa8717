"""Which episodes an evaluation runs on, and where its scenes are."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from nav_eval.config.schema.base import (
    Aliases,
    ConfigModel,
    Count,
    FilePath,
    Name,
    Seed,
    Text,
    refusal,
    registered,
)

#: The format that a dataset of a type comes in when nobody says.
DEFAULT_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "vln": "r2r",
        "lh_vln": "lhvln",
        "objectnav": "objectnav",
        "imagenav": "imagenav",
        "pointnav": "pointnav",
        "localization": "sqa3d",
    }
)


def _id_text(value: object) -> object:
    """Episode ids are texts for us; the datasets' files mix both."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id = Annotated[Text, BeforeValidator(_id_text, json_schema_input_type=str | int)]
Language = Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]


class GenerateConfig(ConfigModel):
    """What to make when `data_path` does not exist: houses and episodes that need no download."""

    houses: Count = 2
    seed: Seed = 0
    episodes: Count = 10
    """In the split, over all houses."""
    split: Name = "val_unseen"
    """Seen and unseen splits never share a house or an instruction template."""
    subtasks: tuple[Count, Count] = (2, 4)
    """Fewest and most sub-tasks of an LH-VLN episode."""

    @model_validator(mode="after")
    def _fewest_first(self) -> "GenerateConfig":
        if self.subtasks[0] > self.subtasks[1]:
            raise refusal(f"has subtasks {list(self.subtasks)}; write the fewest first, then the most")
        return self


class DatasetConfig(ConfigModel):
    """Episodes: where they are, and which of them count."""

    aliases: ClassVar[Aliases] = {
        "scene_dataset_path": "scene_path",
        "scenes_dir": "scene_path",
        "content_scenes": "scenes",
    }

    type: Name
    """The kind of task that the episodes are for: vln, lh_vln, objectnav, …"""
    format: Annotated[Name, registered("formats")]
    """How the files are laid out: r2r, rxr, objectnav, lhvln, sqa3d, …; follows from `type` when not given."""
    data_path: FilePath | None = None
    """File or folder with the episodes; `{split}` and `{role}` are filled in. A template leaves it null."""
    scene_path: FilePath = "data/scene_datasets/"
    """Folder that the scene ids of the episodes are relative to."""
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
        filled = cls.canonical(data)
        if filled.get("format") is None and str(filled.get("type")) in DEFAULT_FORMATS:
            filled["format"] = DEFAULT_FORMATS[filled["type"]]
        if filled.get("split") is None and isinstance(filled.get("data_path"), str):
            filled["split"] = _split_of(filled["data_path"])
        for key in ("languages", "roles", "scenes"):  # Habitat's way to say "all of them"
            if filled.get(key) in ("*", ["*"], ("*",)):
                filled[key] = None
        return filled | {key: _with_split(filled, key) for key in ("data_path", "gt_path") if key in filled}

    @model_validator(mode="after")
    def _check(self) -> "DatasetConfig":
        for key in ("episode_ids", "scenes", "languages", "roles"):
            if getattr(self, key) == ():
                raise refusal(f"has an empty list of {key}: no episode is left. Write null for all of them")
        if self.data_path is not None and "{split}" in self.data_path:
            raise refusal("has {split} in data_path but no split")
        return self

    @property
    def data_paths(self) -> tuple[str, ...]:
        """Every file that `data_path` stands for: one, or one per role."""
        return _per_role(self.data_path, self.roles)

    @property
    def gt_paths(self) -> tuple[str, ...]:
        return _per_role(self.gt_path, self.roles)


def _split_of(data_path: str) -> str | None:
    """`…/val_seen.json.gz` is the split val_seen, if the name is plain."""
    stem = PurePosixPath(data_path).name.split(".", maxsplit=1)[0]
    return stem if stem and "{" not in stem and stem.replace("_", "").isalnum() else None


def _with_split(data: Mapping[str, Any], key: str) -> object:
    path, split = data[key], data.get("split")
    return path.replace("{split}", split) if isinstance(path, str) and isinstance(split, str) else path


def _per_role(path: str | None, roles: tuple[str, ...] | None) -> tuple[str, ...]:
    if path is None:
        return ()
    if "{role}" not in path:
        return (path,)
    return tuple(path.replace("{role}", role) for role in roles or ("guide", "follower"))
