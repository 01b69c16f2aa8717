"""What Habitat's episode files have in common: record shapes, scene names, and the `content/` folder.

A split is one file, or an empty file with a folder `content/` of one file per scene beside it. Ids in
`content/` often start again in every scene, so they are made unique where they are not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from nav_eval.dataset.decoding import Place
from nav_eval.dataset.document import read_array
from nav_eval.dataset.episode import Goal, Pose, Quaternion, Vec3
from nav_eval.dataset.request import DatasetRequest, stem, wanted
from nav_eval.dataset.selection import scene_names
from nav_eval.dataset.source import SourceFile

D = TypeVar("D", bound=msgspec.Struct)
R = TypeVar("R", bound="RawEpisode")

ActionNumber = Annotated[int, msgspec.Meta(ge=0)]

SCENE_PREFIX = "data/scene_datasets/"
ACTION_NAMES = ("stop", "move_forward", "turn_left", "turn_right", "look_up", "look_down")


class RawGoal(msgspec.Struct, kw_only=True, gc=False):
    """A goal as PointNav and R2R write it."""

    position: Vec3
    radius: float | None = None

    def goal(self) -> Goal:
        return Goal(position=self.position, radius=self.radius)


class RawAgentState(msgspec.Struct, kw_only=True, gc=False):
    position: Vec3
    rotation: Quaternion


class RawViewPoint(msgspec.Struct, kw_only=True, gc=False):
    """A place from which an object is seen."""

    agent_state: RawAgentState

    def pose(self) -> Pose:
        return Pose(self.agent_state.position, self.agent_state.rotation)


class RawEpisode(msgspec.Struct, kw_only=True, gc=False):
    """The fields that every Habitat episode has."""

    episode_id: str | int
    scene_id: str
    start_position: Vec3
    start_rotation: Quaternion
    info: dict[str, Any] | None = None

    def scene(self) -> str:
        """The scene as a path inside the scene folder."""
        return self.scene_id.removeprefix("./").removeprefix(SCENE_PREFIX)

    def start(self) -> Pose:
        return Pose(self.start_position, self.start_rotation)

    def shortest_path_length(self, place: Place) -> float | None:
        length = (self.info or {}).get("geodesic_distance")
        if length is None:
            return None
        if isinstance(length, bool) or not isinstance(length, int | float) or length < 0:
            raise place.episode(self.episode_id).refuse(
                f"info.geodesic_distance is {length!r}; allowed are metres from 0 upwards."
            )
        return float(length)


class _RawId(msgspec.Struct, gc=False):
    episode_id: str | int


class _IdDocument(msgspec.Struct, gc=False):
    episodes: list[_RawId]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One file of a split."""

    source: SourceFile
    id_prefix: str = ""  #: set when ids clash between the files of `content/`
    alone: bool = False  #: there is no `content/`: the episodes must be here

    @property
    def place(self) -> Place:
        return Place(self.source.path)

    def episode_id(self, raw: str | int) -> str:
        return f"{self.id_prefix}{raw}"


def parts(request: DatasetRequest) -> Iterator[Part]:
    """The split's own file, then those of `content/` that the scene filter does not rule out."""
    main = request.main_file()
    content = _content_files(main)
    if main.is_file() or not content:
        yield Part(source=request.source(main), alone=not content)
    clash = _ids_clash(request, content)
    needed = _files_of_scenes(request, content)
    for number, path in enumerate(content, start=1):
        if path in needed:
            yield Part(source=request.source(path), id_prefix=f"{number}-" if clash else "")


def read_parts(
    request: DatasetRequest, document_type: type[D], episode_type: type[R]
) -> Iterator[tuple[Part, D, Iterator[R]]]:
    """Every file of the split with its records."""
    for part in parts(request):
        document, raws = read_array(part.source, document_type, episode_type)
        yield part, document, _at_least_one(raws, part) if part.alone else raws


def _at_least_one(raws: Iterator[R], part: Part) -> Iterator[R]:
    first = next(raws, None)
    if first is None:
        folder = part.source.path.parent / "content"
        raise part.place.refuse(f"no episodes here, and there is no folder {folder} with one file per scene.")
    yield first
    yield from raws


def action_names(actions: tuple[ActionNumber, ...], place: Place) -> tuple[str, ...]:
    """Habitat's action numbers by name."""
    try:
        return tuple(map(ACTION_NAMES.__getitem__, actions))
    except IndexError:
        raise place.refuse(f"actions holds {max(actions)}; allowed are 0 to {len(ACTION_NAMES) - 1}.") from None


def _content_files(main: Path) -> list[Path]:
    folder = main.parent / "content"
    return sorted([*folder.glob("*.json.gz"), *folder.glob("*.json")]) if folder.is_dir() else []


def _files_of_scenes(request: DatasetRequest, content: list[Path]) -> set[Path]:
    """The files named after the wanted scenes; all, when a wanted scene is called by another name than its file."""
    scenes = wanted(request.scenes)
    if scenes is None:
        return set(content)
    by_scene = {scene: {path for path in content if stem(path) in scene_names(scene)} for scene in scenes}
    return set(content) if not all(by_scene.values()) else set().union(*by_scene.values())


def _ids_clash(request: DatasetRequest, content: list[Path]) -> bool:
    seen: set[str | int] = set()
    for path in content:
        _, episodes = read_array(request.source(path), _IdDocument, _RawId)
        for episode in episodes:
            if episode.episode_id in seen:
                return True
            seen.add(episode.episode_id)
    return False
