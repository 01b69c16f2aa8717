"""A moment of an episode for sensors to be read at."""

from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.sensors import SensorContext


def make_context(start: Pose, now: Pose, *, goal: Vec3 | None = None, **public: object) -> SensorContext:
    goals = () if goal is None else (Goal(position=goal),)
    episode = Episode(
        public=PublicEpisode(episode_id="e", **public),  # type: ignore[arg-type]
        private=PrivateEpisode(scene_id="s", start=start, goals=goals),
    )
    return SensorContext(episode=episode, start=start, now=now, category_ids={"chair": 3})
