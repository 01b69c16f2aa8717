"""Habitat's episode files: what they have in common, and the formats `pointnav` and `objectnav` (versions 1 and 2).

A split is one file, or an empty file with a folder `content/` of one file per scene beside it. Ids in
`content/` often start again in every scene, so they are made unique where they are not.

PointNav's goals are points; some files carry the expert's steps. ObjectNav's episodes name a category; the goals stand
once per scene and category in `goals_by_category`, under `<scene file>_<category>`, with the places from which each
object is seen.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode, check_episodes, check_goals
from nav_eval.dataset.json_file import SourceFile
from nav_eval.dataset.json_records import RecordPlace, decode_record, read_array
from nav_eval.dataset.loader import DatasetRequest, list_scene_names, make_filter, register_dataset, strip_suffixes
from nav_eval.records.geometry import Pose, Quaternion, Vec3

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

    def shortest_path_length(self, place: RecordPlace) -> float | None:
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
class DatasetPart:
    """One file of a split."""

    source: SourceFile
    id_prefix: str = ""  #: set when ids clash between the files of `content/`
    alone: bool = False  #: there is no `content/`: the episodes must be here

    @property
    def place(self) -> RecordPlace:
        return RecordPlace(self.source.path)

    def episode_id(self, raw: str | int) -> str:
        return f"{self.id_prefix}{raw}"


def list_parts(request: DatasetRequest) -> Iterator[DatasetPart]:
    """The split's own file, then those of `content/` that the scene filter does not rule out."""
    main = request.main_file()
    content = _list_content_files(main)
    if main.is_file() or not content:
        yield DatasetPart(source=request.source(main), alone=not content)
    clash = _has_clashing_ids(request, content)
    needed = _select_files(request, content)
    for number, path in enumerate(content, start=1):
        if path in needed:
            yield DatasetPart(source=request.source(path), id_prefix=f"{number}-" if clash else "")


def read_parts(
    request: DatasetRequest, document_type: type[D], episode_type: type[R]
) -> Iterator[tuple[DatasetPart, D, Iterator[R]]]:
    """Every file of the split with its records."""
    for part in list_parts(request):
        document, raws = read_array(part.source, document_type, episode_type)
        yield part, document, _require_one(raws, part) if part.alone else raws


def _require_one(raws: Iterator[R], part: DatasetPart) -> Iterator[R]:
    first = next(raws, None)
    if first is None:
        folder = part.source.path.parent / "content"
        raise part.place.refuse(f"no episodes here, and there is no folder {folder} with one file per scene.")
    yield first
    yield from raws


def name_actions(actions: tuple[ActionNumber, ...], place: RecordPlace) -> tuple[str, ...]:
    """Habitat's action numbers by name."""
    try:
        return tuple(map(ACTION_NAMES.__getitem__, actions))
    except IndexError:
        raise place.refuse(f"actions holds {max(actions)}; allowed are 0 to {len(ACTION_NAMES) - 1}.") from None


def _list_content_files(main: Path) -> list[Path]:
    folder = main.parent / "content"
    return sorted([*folder.glob("*.json.gz"), *folder.glob("*.json")]) if folder.is_dir() else []


def _select_files(request: DatasetRequest, content: list[Path]) -> set[Path]:
    """The files named after the wanted scenes; all, when a wanted scene is called by another name than its file."""
    scenes = make_filter(request.scenes)
    if scenes is None:
        return set(content)
    by_scene = {
        scene: {path for path in content if strip_suffixes(path) in list_scene_names(scene)} for scene in scenes
    }
    return set(content) if not all(by_scene.values()) else set().union(*by_scene.values())


def _has_clashing_ids(request: DatasetRequest, content: list[Path]) -> bool:
    seen: set[str | int] = set()
    for path in content:
        _, episodes = read_array(request.source(path), _IdDocument, _RawId)
        for episode in episodes:
            if episode.episode_id in seen:
                return True
            seen.add(episode.episode_id)
    return False


class RawPathPoint(msgspec.Struct, kw_only=True, gc=False):
    """One step of an expert's way."""

    position: Vec3
    action: ActionNumber | str | None = None


class RawPointEpisode(RawEpisode, kw_only=True, gc=False):
    goals: tuple[RawGoal, ...] = ()
    shortest_paths: tuple[tuple[RawPathPoint, ...], ...] | None = None


class _PointDocument(msgspec.Struct, kw_only=True, gc=False):
    episodes: list[RawPointEpisode]


@register_dataset("pointnav")
def load_pointnav(request: DatasetRequest) -> Iterator[Episode]:
    """`{split}.json.gz`, or `content/*.json.gz` beside it."""
    for part, _, raws in read_parts(request, _PointDocument, RawPointEpisode):
        yield from check_episodes((_make_point_episode(raw, part) for raw in raws), part.source.path)


def _make_point_episode(raw: RawPointEpisode, part: DatasetPart) -> Episode:
    place = part.place.episode(raw.episode_id)
    if not raw.goals:
        raise place.refuse("goals is empty; a PointNav episode needs one with a position.")
    expert = raw.shortest_paths[0] if raw.shortest_paths else ()
    return Episode(
        public=PublicEpisode(episode_id=part.episode_id(raw.episode_id)),
        private=PrivateEpisode(
            scene_id=raw.scene(),
            start=raw.start(),
            goals=tuple(goal.goal() for goal in raw.goals),
            dense_path=tuple(point.position for point in expert),
            expert_actions=_name_expert_actions(expert, place),
            shortest_path_length=raw.shortest_path_length(part.place),
            info=raw.info or {},
        ),
    )


def _name_expert_actions(expert: tuple[RawPathPoint, ...], place: RecordPlace) -> tuple[str, ...]:
    """By name or by number, as the file has it; the last point of a path has none."""
    given = [point.action for point in expert if point.action is not None]
    return tuple(action if isinstance(action, str) else name_actions((action,), place)[0] for action in given)


class RawObjectGoal(msgspec.Struct, kw_only=True, gc=False):
    """An object that counts as found."""

    position: Vec3
    radius: float | None = None
    object_id: str | int | None = None
    object_category: str | None = None
    view_points: tuple[RawViewPoint, ...] = ()

    def goal(self, category: str | None = None) -> Goal:
        return Goal(
            position=self.position,
            radius=self.radius,
            object_id=None if self.object_id is None else str(self.object_id),
            category=self.object_category or category,
            view_points=tuple(view.pose() for view in self.view_points),
        )


class _RawObjectEpisode(RawEpisode, kw_only=True, gc=False):
    object_category: str
    goals: tuple[RawObjectGoal, ...] = ()


class _ObjectDocument(msgspec.Struct, kw_only=True, gc=False):
    episodes: list[_RawObjectEpisode]
    goals_by_category: dict[str, msgspec.Raw] = {}
    category_to_task_category_id: dict[str, int] = {}


_GOALS_DECODER = msgspec.json.Decoder(tuple[RawObjectGoal, ...])


@register_dataset("objectnav")
def load_objectnav(request: DatasetRequest) -> Iterator[Episode]:
    """`{split}.json.gz`, or `content/*.json.gz` beside it."""
    categories: frozenset[str] = frozenset()
    for part, document, raws in read_parts(request, _ObjectDocument, _RawObjectEpisode):
        categories |= document.category_to_task_category_id.keys()
        reader = _ObjectReader(part, document.goals_by_category, categories)
        yield from check_episodes(map(reader.episode, raws), part.source.path)


class _ObjectReader:
    """Turns the records of one file into episodes; goals are decoded once and shared."""

    def __init__(self, part: DatasetPart, goals: dict[str, msgspec.Raw], categories: frozenset[str]) -> None:
        self._part = part
        self._raw_goals = goals
        self._categories = categories
        self._goals: dict[str, tuple[Goal, ...]] = {}

    def episode(self, raw: _RawObjectEpisode) -> Episode:
        return Episode(
            public=PublicEpisode(
                episode_id=self._part.episode_id(raw.episode_id), object_category=self._known_category(raw)
            ),
            private=PrivateEpisode(
                scene_id=raw.scene(),
                start=raw.start(),
                goals=self._own_goals(raw) or self._get_shared_goals(raw),
                shortest_path_length=raw.shortest_path_length(self._part.place),
                info=raw.info or {},
            ),
        )

    def _known_category(self, raw: _RawObjectEpisode) -> str:
        if self._categories and raw.object_category not in self._categories:
            raise self._part.place.episode(raw.episode_id).refuse(
                f"object_category is {raw.object_category!r}; allowed are {', '.join(sorted(self._categories))}."
            )
        return raw.object_category

    def _own_goals(self, raw: _RawObjectEpisode) -> tuple[Goal, ...]:
        """Old files repeat the goals in every episode."""
        goals = tuple(goal.goal(raw.object_category) for goal in raw.goals)
        check_goals(goals, self._part.place.episode(raw.episode_id))
        return goals

    def _get_shared_goals(self, raw: _RawObjectEpisode) -> tuple[Goal, ...]:
        key = f"{raw.scene_id.rsplit('/', 1)[-1]}_{raw.object_category}"
        if key not in self._goals:
            self._goals[key] = self._decode_goals(key, raw)
        return self._goals[key]

    def _decode_goals(self, key: str, raw: _RawObjectEpisode) -> tuple[Goal, ...]:
        place = self._part.place.at(f"goals_by_category[{key!r}]")
        if key not in self._raw_goals:
            raise self._part.place.episode(raw.episode_id).refuse(
                f"no goals: goals_by_category has no {key!r}; it has {', '.join(sorted(self._raw_goals)) or 'nothing'}."
            )
        goals = tuple(
            goal.goal(raw.object_category) for goal in decode_record(self._raw_goals[key], _GOALS_DECODER, place=place)
        )
        if not goals:
            raise place.refuse("is empty; an episode needs at least one object to find.")
        check_goals(goals, place)
        return goals
