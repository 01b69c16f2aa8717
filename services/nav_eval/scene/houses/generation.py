"""`generate_house`: one seed, one house."""

from dataclasses import dataclass

from nav_eval.scene.houses.assembly import assemble
from nav_eval.scene.houses.detail import subdivided
from nav_eval.scene.houses.joinery import openings
from nav_eval.scene.houses.placement import Placed, furnish_house
from nav_eval.scene.houses.plan.drawing import draw_plan
from nav_eval.scene.houses.plan.model import Plan
from nav_eval.scene.houses.randomness import Draw, checked_split
from nav_eval.scene.houses.shell import room_shell
from nav_eval.scene.houses.stairs import staircase
from nav_eval.scene.houses.styles import room_styles
from nav_eval.scene.model import Scene


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class House:
    """A generated house: what is seen, and what it was made from."""

    seed: int
    split: str
    plan: Plan
    furniture: tuple[Placed, ...]
    scene: Scene


def generate_house(seed: int, *, template: str | None = None, split: str = "seen", detail: int = 0) -> House:
    """A furnished house; the same arguments give the same bytes everywhere.

    `split` chooses disjoint floor plans, measures, shades and textures; each step of `detail` cuts
    every triangle into four.
    """
    draw = Draw(seed, "house", split=checked_split(split))
    plan = draw_plan(draw.fork("plan"), template)
    styles = room_styles(plan, draw.fork("styles"))
    furniture = furnish_house(plan, draw.fork("furniture"))
    fixtures = [fixture for room in plan.rooms for fixture in room_shell(plan, room, styles[room.room_id])]
    fixtures += openings(plan, styles, draw.fork("openings")) + staircase(plan, draw.fork("stairs"))
    scene = assemble(plan, fixtures, furniture, draw.fork("scene"))
    return House(seed=seed, split=split, plan=plan, furniture=tuple(furniture), scene=subdivided(scene, detail))
