"""Embodied question answering: questions about generated houses, with answers from ground truth.

What is asked is planned over all houses at once (`question_plan`); here a planned question becomes an episode: a start
in another room, places from which the answer is seen, and the expert's way to the nearest of them.
"""

from collections.abc import Mapping

from nav_eval.dataset.episode import Episode, Goal, PublicEpisode
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
from nav_eval_worlds.episodes.base import (
    EpisodeAttempt,
    EpisodeGenerator,
    GenerationRequest,
    get_expert_limit,
    make_private_half,
    walk_leg,
)
from nav_eval_worlds.episodes.house_facts import HouseSurvey
from nav_eval_worlds.episodes.question_plan import Question
from nav_eval_worlds.episodes.site import Site
from nav_eval_worlds.instructions.templates import QUESTIONS, Phrases
from nav_eval_worlds.instructions.words import get_article, join_words, to_instruction, to_plural

GENERATOR = "eqa 1"  #: another number when the same seed gives other questions
NEAREST = 2.0  #: metres from the start to where the answer is seen


class EqaGenerator(EpisodeGenerator):
    """Makes the planned questions of one house into episodes."""

    def __init__(self, site: Site, order: GenerationRequest, planned: Mapping[int, Question]) -> None:
        self._site, self._planned = site, planned
        self._survey = HouseSurvey(site)

    def draw(self, case: EpisodeAttempt, *, strict: bool) -> Episode | None:
        question = self._planned[case.number]
        start = self._site.random_start(case.draw.fork("start"))
        region = self._site.around.region_at(start.position)
        if strict and region is not None and region.region_id == question.fact.region:
            return None
        places = self._survey.list_goals(question.fact)
        leg = walk_leg(self._site, start.state, places, limit=get_expert_limit(self._site))
        if leg is None or (strict and leg.geodesic < NEAREST):
            return None
        phrases = Phrases(QUESTIONS, case.draw.fork("words"))
        asked = format_question(question, phrases, generator=case.draw.generator)
        goals = tuple(Goal(position=place) for place in places)
        info = {
            "question": asked,
            "question_type": question.fact.kind,
            "answers": [question.fact.answer],
            "options": list(question.options),
            "evidence": list(question.fact.evidence),
            "region": question.fact.region,
            "generator": GENERATOR,
        }
        return Episode(
            public=PublicEpisode(episode_id=case.episode_id, instruction=to_instruction(asked)),
            private=make_private_half(self._site, start.pose, [leg], goals=goals, info=info),
        )


def format_question(question: Question, phrases: Phrases, *, generator: GeneratorVersion = FIRST_GENERATOR) -> str:
    """The question, and which answers count."""
    noun, *others = question.fact.words
    parts = {
        "thing": noun,
        "a_thing": get_article(noun, generator=generator),
        "things": to_plural(noun),
        "room": others[-1] if others else "",
    }
    if question.fact.kind == "relation":
        parts["other"] = others[0]
    asked = phrases.say(question.fact.kind, **parts)
    return f"{asked[:1].upper()}{asked[1:]}? Answer {join_words(question.options, word='or')}."
