"""What a generated house is."""

from dataclasses import dataclass

from nav_eval.scene.houses.placement import Placed
from nav_eval.scene.houses.plan.model import Plan
from nav_eval.scene.model import Scene


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class House:
    """What is seen, and what it was made from."""

    seed: int
    split: str
    plan: Plan
    furniture: tuple[Placed, ...]
    scene: Scene
