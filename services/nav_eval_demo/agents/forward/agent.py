"""Walks straight on and stops: what a score is worth without looking."""

from nav_eval.agents.baselines import ForwardAgent
from nav_eval.dataset.episode import Instruction, PublicEpisode
from nav_eval_sdk import Agent, Answer, Episode, Observation, serve


class Forward(Agent):
    sensors = ("instruction",)

    def __init__(self) -> None:
        self._baseline = ForwardAgent()

    def reset(self, episode: Episode) -> None:
        told = Instruction(text=episode.instruction)
        self._baseline.reset(PublicEpisode(episode_id=episode.episode_id, instruction=told))

    def act(self, observation: Observation) -> Answer:
        return self._baseline.act(observation)


if __name__ == "__main__":
    serve(Forward)
