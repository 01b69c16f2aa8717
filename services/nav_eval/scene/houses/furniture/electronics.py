"""Screens and machines with a plug."""

from nav_eval.scene.houses.finishes import Finish, finish
from nav_eval.scene.houses.furniture.piece import BODY, Piece, Rule, maker, parts, piece
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import Mesh, box, cylinder, picture, rounded_box, spread


@maker
def tv(draw: Draw) -> Piece:
    """A television on its foot."""
    width = draw.between(0.9, 1.3)
    height = width * 0.57
    made = parts(
        BODY,
        box((width, height, 0.04), (0, 0.06, 0)),
        box((0.06, 0.08, 0.03), (0, 0.0, -0.01)),
        rounded_box((width * 0.4, 0.015, 0.2), 0.005),
    )
    made += parts("screen", picture(width - 0.03, height - 0.03, (0, 0.075, 0.0212)))
    return piece("tv", made, {BODY: finish("plastic", draw, ("black",)), "screen": _programme(draw)}, rule=Rule.SURFACE)


@maker
def wall_tv(draw: Draw) -> Piece:
    width = draw.between(0.9, 1.3)
    height = width * 0.57
    made = parts(BODY, box((width, height, 0.045))) + parts(
        "screen", picture(width - 0.03, height - 0.03, (0, 0.015, 0.0237))
    )
    return piece("tv", made, {BODY: finish("plastic", draw, ("black",)), "screen": _programme(draw)}, rule=Rule.ON_WALL)


@maker
def monitor(draw: Draw) -> Piece:
    width = draw.between(0.5, 0.62)
    height = width * 0.6
    made = parts(
        BODY,
        box((width, height, 0.03), (0, 0.12, 0)),
        box((0.05, 0.2, 0.02), (0, 0.01, -0.03)),
        rounded_box((0.24, 0.015, 0.18), 0.005),
    )
    made += parts("screen", picture(width - 0.02, height - 0.02, (0, 0.13, 0.0162)))
    finishes = {
        BODY: finish("plastic", draw, ("black", "grey", "white")),
        "screen": finish("screen", draw, patterns=("desktop",)),
    }
    return piece("computer monitor", made, finishes, rule=Rule.SURFACE)


@maker
def keyboard(draw: Draw) -> Piece:
    keys: list[Mesh] = [
        box((0.025, 0.008, 0.02), (-0.18 + 0.03 * n, 0.015, -0.04 + 0.027 * row)) for row in range(4) for n in range(13)
    ]
    made = parts(BODY, rounded_box((0.43, 0.018, 0.14), 0.005)) + parts("keys", *keys)
    body = finish("plastic", draw, ("black", "white", "grey"))
    return piece("keyboard", made, {BODY: body, "keys": finish("plastic", draw, ("grey", "black"))}, rule=Rule.SURFACE)


@maker
def laptop(draw: Draw) -> Piece:
    lid = box((0.34, 0.23, 0.012)).tilted(-15).moved((0, 0.012, -0.115))
    shown = picture(0.32, 0.205, (0, 0.012, 0.0075)).tilted(-15).moved((0, 0.012, -0.115))
    made = parts(BODY, rounded_box((0.34, 0.018, 0.24), 0.005), lid) + parts("screen", shown)
    made += parts("keys", spread(0.29, 0.11, (0, 0.0185, -0.02)))
    finishes = {
        BODY: finish("metal", draw, ("light grey", "grey")),
        "screen": finish("screen", draw, patterns=("desktop",)),
        "keys": finish("plastic", draw, ("black",)),
    }
    return piece("laptop", made, finishes, rule=Rule.SURFACE)


@maker
def radio(draw: Draw) -> Piece:
    width, height = draw.between(0.26, 0.36), draw.between(0.16, 0.2)
    made = parts(BODY, rounded_box((width, height, 0.12), 0.02)) + parts(
        "grille", box((width * 0.5, height * 0.7, 0.006), (-width * 0.18, height * 0.15, 0.06))
    )
    made += parts("knob", cylinder(0.025, 0.02, sides=12).tilted(90).moved((width * 0.28, height * 0.6, 0.06)))
    return piece(
        "radio",
        made,
        {
            BODY: finish(draw.choice(("wood", "plastic")), draw),
            "grille": finish("plastic", draw, ("black", "grey")),
            "knob": finish("chrome", draw),
        },
        rule=Rule.SURFACE,
    )


@maker
def speaker(draw: Draw) -> Piece:
    width, height = draw.between(0.2, 0.26), draw.between(0.75, 1.0)
    made = parts(BODY, box((width, height, 0.26)))
    made += parts(
        "cones",
        *(
            cylinder(size, 0.01, sides=16).tilted(90).moved((0, height * y, 0.13))
            for size, y in ((0.08, 0.35), (0.08, 0.6), (0.04, 0.82))
        ),
    )
    return piece(
        "speaker",
        made,
        {BODY: finish(draw.choice(("wood", "lacquer")), draw), "cones": finish("plastic", draw, ("grey", "black"))},
    )


def _programme(draw: Draw) -> Finish:
    return finish("screen", draw, patterns=("programme",))
