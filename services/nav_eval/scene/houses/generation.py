"""`generate_house`: one seed, one house."""

from dataclasses import replace

from nav_eval.scene.houses.assembly import assemble
from nav_eval.scene.houses.detail import subdivided
from nav_eval.scene.houses.house import House
from nav_eval.scene.houses.joinery import openings
from nav_eval.scene.houses.placement import furnish_house
from nav_eval.scene.houses.plan.drawing import draw_plan
from nav_eval.scene.houses.plan.templates import Template, chosen_template
from nav_eval.scene.houses.randomness import Draw, checked_split
from nav_eval.scene.houses.shell import room_shell
from nav_eval.scene.houses.stairs import staircase
from nav_eval.scene.houses.styles import room_styles
from nav_eval.scene.houses.validation import faults

ATTEMPTS = 8  #: houses of one template to try; the first nearly always is sound


def generate_house(seed: int, *, template: str | None = None, split: str = "seen", detail: int = 0) -> House:
    """A furnished house; the same arguments give the same bytes everywhere.

    `split` chooses disjoint floor plans, measures, shades and textures; each step of `detail` cuts
    every triangle into four.
    """
    draw = Draw(seed, "house", split=checked_split(split))
    chosen = chosen_template(template, draw.fork("template"))
    house = _sound_house(seed, chosen, draw)
    return replace(house, scene=subdivided(house.scene, detail))


def _sound_house(seed: int, template: Template, draw: Draw) -> House:
    """The first attempt without faults. The template stays, so that difficult rooms do not become rare."""
    for attempt in range(ATTEMPTS):
        house = _house(seed, template, draw.fork("attempt", attempt))
        if not faults(house):
            break
    return house


def _house(seed: int, template: Template, draw: Draw) -> House:
    plan = draw_plan(draw.fork("plan"), template)
    furniture = furnish_house(plan, draw.fork("furniture"))
    styles = room_styles(plan, draw.fork("styles"))
    fixtures = [fixture for room in plan.rooms for fixture in room_shell(plan, room, styles[room.room_id])]
    fixtures += openings(plan, styles, draw.fork("openings")) + staircase(plan, draw.fork("stairs"))
    scene = assemble(plan, fixtures, furniture, draw.fork("scene"))
    return House(seed=seed, split=draw.split, plan=plan, furniture=tuple(furniture), scene=scene)
