"""What stands in a garage."""

from nav_eval.scene.houses.finishes import finish
from nav_eval.scene.houses.furniture.piece import BODY, Piece, Rule, maker, parts, piece
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import Mesh, box, cylinder, lathe, prism, rod, rounded_box


@maker
def car(draw: Draw) -> Piece:
    """A small hatchback, its front towards +z."""
    length, width, height = draw.between(3.3, 3.8), draw.between(1.5, 1.62), draw.between(1.42, 1.5)
    half, belt = length / 2, height * 0.58
    hull = [
        (-half, 0.3),
        (half - 0.05, 0.3),
        (half, 0.45),
        (half - 0.05, belt - 0.12),
        (half * 0.45, belt),
        (-half + 0.05, belt),
    ]
    cabin = [
        (-half + 0.1, belt - 0.01),
        (half * 0.42, belt - 0.01),
        (half * 0.08, height - 0.03),
        (-half + 0.35, height - 0.03),
    ]
    made = parts(
        BODY,
        _sideways(prism(hull, width - 0.08)),
        _sideways(
            prism(
                [
                    (-half + 0.4, height - 0.04),
                    (half * 0.06, height - 0.04),
                    (half * 0.03, height),
                    (-half + 0.45, height),
                ],
                width - 0.3,
            )
        ),
    )
    made += parts("windows", _sideways(prism(cabin, width - 0.2)))
    made += parts(
        BODY,
        *(box((0.05, height - belt - 0.03, 0.06), (side * (width / 2 - 0.095), belt, -half * 0.3)) for side in (-1, 1)),
    )
    wheel = lathe([(0.18, 0), (0.3, 0), (0.3, 0.2), (0.18, 0.2), (0.18, 0)], sides=18).tilted(90, axis=2)
    hub = cylinder(0.19, 0.17, sides=14).tilted(90, axis=2)
    for side in (-1, 1):
        for z in (-half * 0.62, half * 0.62):
            made += parts("tyres", wheel.moved((side * (width / 2 - 0.1) + 0.1, 0.3, z))) + parts(
                "chrome", hub.moved((side * (width / 2 - 0.1) + 0.085, 0.3, z))
            )
        made += parts(
            "lights", rounded_box((0.28, 0.12, 0.05), 0.02, (side * (width / 2 - 0.24), belt - 0.27, half - 0.04))
        )
        made += parts("brakes", box((0.2, 0.14, 0.03), (side * (width / 2 - 0.16), belt - 0.22, -half)))
    made += parts(
        "tyres", box((width - 0.1, 0.1, 0.06), (0, 0.3, half - 0.02)), box((width - 0.1, 0.1, 0.06), (0, 0.3, -half))
    )
    finishes = {
        BODY: finish("car paint", draw),
        "windows": finish("glassware", draw, ("dark green", "blue")),
        "tyres": finish("rubber", draw, ("black",)),
        "chrome": finish("chrome", draw),
        "lights": finish("bulb", draw),
        "brakes": finish("plastic", draw, ("red",)),
    }
    return piece("car", made, finishes, rule=Rule.MIDDLE)


@maker
def bicycle(draw: Draw) -> Piece:
    """A bicycle that stands along the wall (its length along x)."""
    radius = draw.between(0.3, 0.34)
    rear, front = (-0.5, radius, 0.0), (0.52, radius, 0.0)
    crank, saddle, head = (-0.08, radius * 0.85, 0.0), (-0.2, 0.82, 0.0), (0.36, 0.8, 0.0)
    made = parts("tyres", *(_ring(radius).moved(at) for at in (rear, front)))
    pairs = [(rear, crank), (crank, saddle), (saddle, rear), (crank, head), (saddle, head), (head, front)]
    made += parts(BODY, *(rod(a, b, 0.016, sides=7) for a, b in pairs))
    made += parts(
        "metal",
        rod(head, (0.34, 0.98, 0), 0.014, sides=7),
        rod((0.34, 0.98, -0.26), (0.34, 0.98, 0.26), 0.013, sides=7),
        rod(saddle, (-0.21, 0.9, 0), 0.013, sides=7),
        cylinder(0.09, 0.02, sides=12).tilted(90).moved(crank),
    )
    made += parts(
        "tyres",
        rounded_box((0.26, 0.05, 0.14), 0.02, (-0.22, 0.9, 0)),
        *(box((0.09, 0.02, 0.05), (-0.08, crank[1] + side * 0.12, side * 0.08)) for side in (-1, 1)),
    )
    return piece(
        "bicycle",
        made,
        {BODY: finish("car paint", draw), "tyres": finish("rubber", draw, ("black",)), "metal": finish("chrome", draw)},
    )


@maker
def toolbox(draw: Draw) -> Piece:
    width = draw.between(0.38, 0.48)
    made = parts(BODY, rounded_box((width, 0.2, 0.2), 0.01)) + parts(
        "handle",
        rod((-0.1, 0.26, 0), (0.1, 0.26, 0), 0.012, sides=7),
        *(rod((side * 0.1, 0.19, 0), (side * 0.1, 0.26, 0), 0.01, sides=6) for side in (-1, 1)),
    )
    made += parts("handle", *(box((0.04, 0.06, 0.012), (side * width * 0.3, 0.11, 0.1)) for side in (-1, 1)))
    return piece(
        "toolbox",
        made,
        {
            BODY: finish("car paint", draw, ("red", "blue", "dark green", "yellow")),
            "handle": finish("plastic", draw, ("black",)),
        },
        rule=Rule.SURFACE,
    )


@maker
def ladder(draw: Draw) -> Piece:
    """A step ladder that leans on the wall."""
    height, width = draw.between(1.7, 2.0), draw.between(0.4, 0.48)
    sides: list[Mesh] = [box((0.03, height, 0.06), (side * width / 2, 0, 0)) for side in (-1, 1)]
    rungs: list[Mesh] = [
        box((width, 0.025, 0.06), (0, 0.25 + 0.28 * n, 0)) for n in range(int((height - 0.3) / 0.28) + 1)
    ]
    made = parts(BODY, *(mesh.tilted(-7) for mesh in (*sides, *rungs)))
    return piece("ladder", made, {BODY: finish(draw.choice(("metal", "wood", "bright lacquer")), draw)})


@maker
def tyres(draw: Draw) -> Piece:
    """A stack of tyres."""
    ring = lathe([(0.18, 0), (0.27, 0.0), (0.3, 0.05), (0.3, 0.15), (0.27, 0.2), (0.18, 0.2), (0.18, 0)], sides=18)
    count = draw.integer(2, 4)
    return piece(
        "tyres",
        parts(BODY, *(ring.moved((0, 0.2 * n, 0)) for n in range(count))),
        {BODY: finish("rubber", draw)},
        rule=Rule.CORNER,
    )


def _sideways(mesh: Mesh) -> Mesh:
    """From an outline in (x, y) to one in (z, y)."""
    return mesh.turned(-90)


def _ring(radius: float) -> Mesh:
    """A thin wheel in the plane of x and y."""
    return lathe(
        [(radius - 0.03, -0.015), (radius, -0.015), (radius, 0.015), (radius - 0.03, 0.015), (radius - 0.03, -0.015)],
        sides=20,
    ).tilted(90)
