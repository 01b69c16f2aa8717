"""What the organiser of one competition may not write into it: that is for organisers of the installation.

Another benchmark could be another competition's hidden split, played with its answers shown; larger limits take
machines from everybody else.
"""

from collections.abc import Iterator

from nav_eval.config import CompetitionConfig
from nav_eval.config.schema.competition import PhaseConfig
from nav_eval_store.errors import NotAllowed


def refuse_reserved(before: CompetitionConfig, after: CompetitionConfig) -> None:
    """Refuse what only organisers of the installation may change."""
    if reserved := list(find_reserved(before, after)):
        raise NotAllowed("Only organisers of the whole installation may change this: {keys}.", keys=", ".join(reserved))


def find_reserved(before: CompetitionConfig, after: CompetitionConfig) -> Iterator[str]:
    """The keys that say something new about benchmarks and machines."""
    for phase in after.phases:
        for key in _list_new_keys(before, phase):
            yield f"phases.{phase.name}.{key}"


def _list_new_keys(before: CompetitionConfig, phase: PhaseConfig) -> Iterator[str]:
    if phase.benchmark not in {known.benchmark for known in before.phases}:
        yield "benchmark"
    if phase.limits not in [known.limits for known in before.phases]:
        yield "limits"
    if phase.shards > max(known.shards for known in before.phases):
        yield "shards"
