# ruff: noqa - the code of a team, not ours
"""An honest agent, whose scores must not depend on who runs beside it."""

from nav_eval_sdk import Agent, serve


class Neighbour(Agent):
    name = "neighbour"
    sensors = ["rgb", "depth"]

    def act(self, observation):
        ahead = observation["depth"][80:140, 80:140].min()
        bright = int(observation["rgb"].sum()) % 2
        return "move_forward" if ahead > 0.5 else "turn_left" if bright else "turn_right"


if __name__ == "__main__":
    serve(Neighbour)
