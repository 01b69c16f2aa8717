"""`generate_house`: one seed, one house."""

from dataclasses import dataclass

from nav_eval.scene.houses.assembly import assemble
from nav_eval.scene.houses.detail import subdivided
from nav_eval.scene.houses.joinery import openings
from nav_eval.scene.houses.placement import Placed, furnish_house
from nav_eval.scene.houses.placement.rooms import missing_essentials
from nav_eval.scene.houses.plan.drawing import draw_plan
from nav_eval.scene.houses.plan.model import Plan, Room
from nav_eval.scene.houses.plan.templates import Template, chosen_template
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


PLANS = 6  #: floor plans to try before a room without its essentials is accepted


def generate_house(seed: int, *, template: str | None = None, split: str = "seen", detail: int = 0) -> House:
    """A furnished house; the same arguments give the same bytes everywhere.

    `split` chooses disjoint floor plans, measures, shades and textures; each step of `detail` cuts
    every triangle into four.
    """
    draw = Draw(seed, "house", split=checked_split(split))
    plan, furniture = _furnished_plan(chosen_template(template, draw.fork("template")), draw)
    styles = room_styles(plan, draw.fork("styles"))
    fixtures = [fixture for room in plan.rooms for fixture in room_shell(plan, room, styles[room.room_id])]
    fixtures += openings(plan, styles, draw.fork("openings")) + staircase(plan, draw.fork("stairs"))
    scene = assemble(plan, fixtures, furniture, draw.fork("scene"))
    return House(seed=seed, split=split, plan=plan, furniture=tuple(furniture), scene=subdivided(scene, detail))


def _furnished_plan(template: Template, draw: Draw) -> tuple[Plan, list[Placed]]:
    """The first plan of the template whose rooms all get what makes them recognisable."""
    for attempt in range(PLANS):
        own = draw.fork("attempt", attempt)
        plan = draw_plan(own.fork("plan"), template)
        furniture = furnish_house(plan, own.fork("furniture"))
        if not any(_lacks(room, furniture) for room in plan.rooms):
            break
    return plan, furniture


def _lacks(room: Room, furniture: list[Placed]) -> bool:
    return bool(missing_essentials(room.kind, [one.piece.category for one in furniture if one.room == room.room_id]))
