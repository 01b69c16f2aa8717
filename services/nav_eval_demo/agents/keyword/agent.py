"""Looks for the things that the instruction names, with the semantic camera."""

from nav_eval.agents.keyword_agent import KeywordAgent
from nav_eval.dataset.episode import Instruction, PublicEpisode
from nav_eval_sdk import Agent, Answer, Episode, Observation, serve


class Keyword(Agent):
    sensors = ("semantic_front", "depth_front", "categories")

    def __init__(self) -> None:
        self._baseline = KeywordAgent(semantic="semantic_front", depth="depth_front", categories="categories")

    def reset(self, episode: Episode) -> None:
        told = Instruction(text=episode.instruction)
        self._baseline.reset(PublicEpisode(episode_id=episode.episode_id, instruction=told))

    def act(self, observation: Observation) -> Answer:
        return self._baseline.act(observation)


if __name__ == "__main__":
    serve(Keyword)
