"""PointNav as Habitat writes it: `pointnav`. Goals are points; some files carry the expert's steps."""

from collections.abc import Iterator

import msgspec

from nav_eval.dataset.decoding import Place
from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode, Vec3
from nav_eval.dataset.loaders.habitat import ActionNumber, Part, RawEpisode, RawGoal, action_names, read_parts
from nav_eval.dataset.registry import register_dataset
from nav_eval.dataset.request import DatasetRequest
from nav_eval.dataset.validation import checked


class RawPathPoint(msgspec.Struct, kw_only=True, gc=False):
    """One step of an expert's way."""

    position: Vec3
    action: ActionNumber | str | None = None


class RawPointEpisode(RawEpisode, kw_only=True, gc=False):
    goals: tuple[RawGoal, ...] = ()
    shortest_paths: tuple[tuple[RawPathPoint, ...], ...] | None = None


class _Document(msgspec.Struct, kw_only=True, gc=False):
    episodes: list[RawPointEpisode]


@register_dataset("pointnav")
def load_pointnav(request: DatasetRequest) -> Iterator[Episode]:
    """`{split}.json.gz`, or `content/*.json.gz` beside it."""
    for part, _, raws in read_parts(request, _Document, RawPointEpisode):
        yield from checked((_episode(raw, part) for raw in raws), part.source.path)


def _episode(raw: RawPointEpisode, part: Part) -> Episode:
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
            expert_actions=_expert_actions(expert, place),
            shortest_path_length=raw.shortest_path_length(part.place),
            info=raw.info or {},
        ),
    )


def _expert_actions(expert: tuple[RawPathPoint, ...], place: Place) -> tuple[str, ...]:
    """By name or by number, as the file has it; the last point of a path has none."""
    given = [point.action for point in expert if point.action is not None]
    return tuple(action if isinstance(action, str) else action_names((action,), place)[0] for action in given)
