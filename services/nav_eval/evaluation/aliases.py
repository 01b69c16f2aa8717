"""Episode ids as agents see them: opaque, and different in every run.

An id of the dataset is a name under which an agent could look up what an earlier run of it found out. So an agent gets
an alias, drawn from a seed that it does not know; results, action logs and replays keep the dataset's ids. On the
platform the seed is drawn after the upload. At home it follows from the benchmark, so that a run can be repeated bit
for bit.
"""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from nav_eval.config.schema import BenchmarkConfig, EvaluationConfig
from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.randomness import derive_seed

PREFIX = "ep-"
SEED_BYTES = 16


@dataclass(frozen=True, slots=True)
class EpisodeAliases:
    """Names for the episodes of one run."""

    seed: str  #: a secret; whoever knows it can tell which episode is which

    def get_alias(self, episode_id: str) -> str:
        digest = hashlib.blake2b(episode_id.encode(), key=self.seed.encode()[:64], digest_size=8)
        return PREFIX + digest.hexdigest()

    def hide(self, episode: PublicEpisode) -> PublicEpisode:
        """The same episode under its alias."""
        return msgspec.structs.replace(episode, episode_id=self.get_alias(episode.episode_id))


def draw_seed() -> str:
    """A seed that nobody can guess."""
    return secrets.token_hex(SEED_BYTES)


def derive_home_seed(benchmark: BenchmarkConfig, run_seed: int) -> str:
    """The seed of a run at home: the same whenever the same benchmark is run again."""
    return f"{derive_seed(benchmark.evaluation.seed, 'aliases', run_seed):032x}"


def draw_order(episodes: Sequence[Episode], seed: str, evaluation: EvaluationConfig) -> list[str]:
    """The ids of the episodes in an order that only the seed decides.

    Episodes of a scene stay together, because a scene takes a while to load; unless the benchmark mixes them itself.
    """

    def draw(kind: str, name: str) -> int:
        return derive_seed(int(seed, 16), kind, name)

    def place(episode: Episode) -> tuple[int, int]:
        scene = 0 if evaluation.order == "shuffled" else draw("scene", episode.scene_id)
        return scene, draw("episode", episode.episode_id)

    return [episode.episode_id for episode in sorted(episodes, key=place)]


def draw_sample(episode_ids: Sequence[str], seed: str, count: int) -> tuple[str, ...]:
    """Some of the episodes, the same for everybody who knows the seed; all where there are not more."""
    drawn = sorted(episode_ids, key=lambda name: derive_seed(int(seed, 16), "sample", name))
    return tuple(drawn[:count])
