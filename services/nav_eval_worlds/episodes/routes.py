"""Ways in words (generator 2): a plan of what can be said, and a writer in one of the languages."""

from collections.abc import Callable

from nav_eval.config.schema.generation import Language
from nav_eval_worlds.episodes.base import EpisodeTarget
from nav_eval_worlds.episodes.route_plan import RoutePlanner
from nav_eval_worlds.episodes.site import Site
from nav_eval_worlds.episodes.way import Way
from nav_eval_worlds.instructions.route_chinese import ChineseRoute
from nav_eval_worlds.instructions.route_text import STYLES, EnglishRoute, RouteText, RouteWriter, select_statements
from nav_eval_worlds.randomness import RandomStream

WRITERS: dict[Language, Callable[[str, RandomStream], RouteWriter]] = {"en": EnglishRoute, "zh": ChineseRoute}
TRIES = 12  #: texts per way; one that is too short or too long is written again
FEWEST_WORDS, MOST_WORDS = 9, 42


def write_route(
    site: Site, way: Way, target: EpisodeTarget, *, facing: float, language: Language, draw: RandomStream
) -> RouteText | None:
    """A way in words; None where it cannot be made clear."""
    planner = RoutePlanner(site, way, target, site.around.rooms)
    for number in range(TRIES):
        attempt = draw.fork("attempt", number)
        plan = planner.plan(facing, says_beginning=attempt.chance(0.5))
        if plan is None:
            continue
        style = attempt.choose_weighted(STYLES)
        if style == "distractor" and not any(statement.kind == "pass_room" for statement in plan):
            style = "plain"
        writer = WRITERS[language](style, attempt.fork("text"))
        text = writer.write(select_statements(plan, style, attempt.fork("select")))
        if text is not None and (language == "zh" or FEWEST_WORDS <= len(text.text.split()) <= MOST_WORDS):
            return text
    return None
