"""A replay as a small picture: the map of the storey it began on, the way, start, end and goals."""

import base64

from nav_eval.replay.model import Floor, Replay, ReplayOutline

COLOURS = {
    "way": "#1463d8",
    "start": "#ffffff",
    "good": "#18794e",
    "bad": "#b3261e",
    "goal": "#c2410c",
    "end": "#55646a",
}


def draw_thumbnail(replay: Replay | ReplayOutline) -> str:
    """An SVG that asks for nothing: what it shows is inside of it."""
    shown = replay.steps[0].floor
    floor = replay.floors[shown]
    unit = max(floor.picture.width, floor.picture.height) / 100
    places = [floor.pixel(step.position) for step in replay.steps if step.floor == shown]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    ended = "end" if not replay.stages else "good" if all(stage.success for stage in replay.stages) else "bad"
    goals = [target for stage in replay.stages for target in stage.targets if target.floor == shown]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {floor.picture.width} {floor.picture.height}">'
        + _draw_map(floor)
        + "".join(_draw_dot(floor.pixel(goal.position), 3 * unit, COLOURS["goal"]) for goal in goals)
        + f'<polyline points="{points}" fill="none" stroke="#ffffff" stroke-width="{3.4 * unit:.1f}" opacity="0.7"/>'
        + f'<polyline points="{points}" fill="none" stroke="{COLOURS["way"]}" stroke-width="{2 * unit:.1f}"/>'
        + _draw_dot(places[0], 2.6 * unit, COLOURS["start"])
        + _draw_dot(places[-1], 3.4 * unit, COLOURS[ended])
        + "</svg>"
    )


def _draw_map(floor: Floor) -> str:
    picture = floor.picture
    data = base64.b64encode(picture.data).decode()
    return f'<image href="data:{picture.media_type};base64,{data}" width="{picture.width}" height="{picture.height}"/>'


def _draw_dot(place: tuple[float, float], radius: float, colour: str) -> str:
    x, y = place
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" stroke="#111827" '
        f'stroke-width="{radius / 3:.1f}"/>'
    )
