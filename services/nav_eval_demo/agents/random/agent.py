"""Draws every action: what a score is worth without trying."""

from nav_eval.agents.baselines import RandomAgent
from nav_eval.dataset.episode import Instruction, PublicEpisode
from nav_eval_sdk import Agent, Answer, Episode, Observation, serve


class Random(Agent):
    sensors = ("instruction",)

    def __init__(self) -> None:
        self._baseline = RandomAgent()

    def reset(self, episode: Episode) -> None:
        told = Instruction(text=episode.instruction)
        self._baseline.reset(PublicEpisode(episode_id=episode.episode_id, instruction=told))

    def act(self, observation: Observation) -> Answer:
        return self._baseline.act(observation)


if __name__ == "__main__":
    serve(Random)
