"""ObjectNav as Habitat writes it, versions 1 and 2: `objectnav`.

Episodes name a category; the goals stand once per scene and category in `goals_by_category`, under
`<scene file>_<category>`, with the places from which each object is seen.
"""

from collections.abc import Iterator

import msgspec

from nav_eval.dataset.decoding import decode
from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode, Vec3
from nav_eval.dataset.loaders.habitat import Part, RawEpisode, RawViewPoint, read_parts
from nav_eval.dataset.registry import register_dataset
from nav_eval.dataset.request import DatasetRequest
from nav_eval.dataset.validation import check_goals, checked


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


class _Document(msgspec.Struct, kw_only=True, gc=False):
    episodes: list[_RawObjectEpisode]
    goals_by_category: dict[str, msgspec.Raw] = {}
    category_to_task_category_id: dict[str, int] = {}


_GOALS_DECODER = msgspec.json.Decoder(tuple[RawObjectGoal, ...])


@register_dataset("objectnav")
def load_objectnav(request: DatasetRequest) -> Iterator[Episode]:
    """`{split}.json.gz`, or `content/*.json.gz` beside it."""
    categories: frozenset[str] = frozenset()
    for part, document, raws in read_parts(request, _Document, _RawObjectEpisode):
        categories |= document.category_to_task_category_id.keys()
        reader = _Reader(part, document.goals_by_category, categories)
        yield from checked(map(reader.episode, raws), part.source.path)


class _Reader:
    """Turns the records of one file into episodes; goals are decoded once and shared."""

    def __init__(self, part: Part, goals: dict[str, msgspec.Raw], categories: frozenset[str]) -> None:
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
                goals=self._own_goals(raw) or self._shared_goals(raw),
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

    def _shared_goals(self, raw: _RawObjectEpisode) -> tuple[Goal, ...]:
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
            goal.goal(raw.object_category) for goal in decode(self._raw_goals[key], _GOALS_DECODER, place=place)
        )
        if not goals:
            raise place.refuse("is empty; an episode needs at least one object to find.")
        check_goals(goals, place)
        return goals
