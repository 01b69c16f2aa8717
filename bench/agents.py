"""Agents that cost nothing, so that what is measured is the evaluator."""


class Wanderer:
    """Walks and turns for ever, and wants to see everything."""

    sensors: tuple[str, ...] = ()

    def reset(self, episode: object) -> None:
        self._step = 0

    def act(self, observation: object) -> str:
        self._step += 1
        return "turn_left" if self._step % 5 == 0 else "move_forward"


class BlindWanderer(Wanderer):
    """The same without pictures."""

    sensors = ("instruction",)

    def describe(self) -> object:
        from nav_eval.agents.messages import AgentDescription, Encoding

        return AgentDescription(name="blind wanderer", sensors={"instruction": (Encoding.RAW,)})
