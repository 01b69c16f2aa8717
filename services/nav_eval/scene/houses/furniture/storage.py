"""Cupboards, shelves and other places for things."""

from nav_eval.scene.houses.finishes import Finish, finish
from nav_eval.scene.houses.furniture.piece import (
    BODY,
    Part,
    Piece,
    Rule,
    Surface,
    four_legs,
    maker,
    parts,
    piece,
    top_surface,
)
from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.shapes import Mesh, box, cylinder, lathe, rod


@maker
def wardrobe(draw: Draw) -> Piece:
    return _wardrobe(draw, doors=draw.integer(2, 3))


@maker
def narrow_wardrobe(draw: Draw) -> Piece:
    return _wardrobe(draw, doors=2, narrow=0.8)


@maker
def dresser(draw: Draw) -> Piece:
    """A chest of drawers."""
    columns = draw.integer(1, 2)
    width, depth, height = columns * draw.between(0.5, 0.68), draw.between(0.42, 0.5), draw.between(0.76, 0.95)
    return _chest(
        draw, "dresser", size=(width, height, depth), columns=columns, rows=draw.integer(3, 4), surface="dresser"
    )


@maker
def filing_cabinet(draw: Draw) -> Piece:
    """An office drawer unit."""
    size = (draw.between(0.4, 0.46), draw.between(0.56, 0.72), draw.between(0.45, 0.55))
    return _chest(draw, "drawer", size=size, columns=1, rows=3, surface="side", body=finish("enamel", draw))


@maker
def sideboard(draw: Draw) -> Piece:
    """A low cabinet with doors."""
    doors = draw.integer(3, 4)
    width, depth, height = doors * draw.between(0.38, 0.46), draw.between(0.4, 0.46), draw.between(0.74, 0.86)
    return _door_cabinet(draw, "cabinet", size=(width, height, depth), doors=doors, surface="console")


@maker
def tall_cabinet(draw: Draw) -> Piece:
    """A cupboard with two doors and glass above."""
    width, depth, height = draw.between(0.8, 1.0), draw.between(0.36, 0.42), draw.between(1.7, 1.95)
    body = _board(draw)
    made = parts(BODY, box((width, height, depth - 0.02), (0, 0, -0.01)))
    for side in (-1, 1):
        x = side * width / 4
        made += _panel_door((x, 0.08, depth / 2 - 0.01), (width / 2 - 0.012, height * 0.45), framed=True)
        made += parts(
            "panes", box((width / 2 - 0.1, height * 0.38, 0.012), (x, height * 0.53 + 0.06, depth / 2 - 0.012))
        )
        made += parts("front", *_frame((x, height * 0.53, depth / 2 - 0.01), (width / 2 - 0.012, height * 0.45)))
        made += parts("handles", cylinder(0.015, 0.03, (side * 0.05, height * 0.45, depth / 2 + 0.01), sides=8))
    panes = finish("mirror", draw)
    return piece("cabinet", made, {BODY: body, "front": body, "panes": panes, "handles": _handles(draw)}, clearance=0.5)


@maker
def tv_stand(draw: Draw) -> Piece:
    width, depth, height = draw.between(1.2, 1.7), draw.between(0.38, 0.44), draw.between(0.42, 0.54)
    return _door_cabinet(draw, "tv stand", size=(width, height, depth), doors=draw.integer(2, 3), surface="tv")


@maker
def shoe_cabinet(draw: Draw) -> Piece:
    size = (draw.between(0.6, 0.85), draw.between(0.85, 1.05), draw.between(0.2, 0.26))
    return _chest(draw, "cabinet", size=size, columns=1, rows=3, surface="console", name="shoe cabinet")


@maker
def bathroom_cabinet(draw: Draw) -> Piece:
    size = (draw.between(0.35, 0.45), draw.between(1.4, 1.7), draw.between(0.3, 0.36))
    return _door_cabinet(draw, "cabinet", size=size, doors=1, surface="", body=finish("lacquer", draw))


@maker
def bookshelf(draw: Draw) -> Piece:
    """Open shelves from the floor up."""
    size = (draw.between(0.7, 1.0), draw.between(1.6, 2.1), draw.between(0.28, 0.34))
    return _shelves(draw, "bookshelf", size=size, count=draw.integer(4, 5), kind="books")


@maker
def low_shelf(draw: Draw) -> Piece:
    size = (draw.between(0.8, 1.2), draw.between(0.75, 0.9), draw.between(0.3, 0.38))
    return _shelves(draw, "shelf", size=size, count=2, kind="toys", top="toys")


@maker
def storage_rack(draw: Draw) -> Piece:
    """A metal rack for garages and laundries."""
    width, height, depth = draw.between(0.85, 1.2), draw.between(1.6, 1.9), draw.between(0.38, 0.48)
    posts = [
        box((0.035, height, 0.035), (sx * (width / 2 - 0.018), 0, sz * (depth / 2 - 0.018)))
        for sx in (-1, 1)
        for sz in (-1, 1)
    ]
    levels = [0.12 + n * (height - 0.3) / 3 for n in range(4)]
    made = parts(BODY, *posts) + parts("boards", *(box((width, 0.025, depth), (0, y, 0)) for y in levels))
    surfaces = [
        Surface(
            x=(-width / 2 + 0.05, width / 2 - 0.05),
            z=(-depth / 2 + 0.03, depth / 2 - 0.03),
            y=y + 0.025,
            kind="storage",
            headroom=(height - 0.3) / 3 - 0.05,
        )
        for y in levels
    ]
    return piece(
        "shelf",
        made,
        {BODY: finish("metal", draw), "boards": finish(draw.choice(("wood", "metal")), draw)},
        surfaces=surfaces,
        clearance=0.5,
    )


@maker
def wall_shelf(draw: Draw) -> Piece:
    width, depth = draw.between(0.6, 1.0), draw.between(0.2, 0.25)
    made = parts(BODY, box((width, 0.03, depth), (0, 0.12, 0)))
    made += parts("brackets", *(box((0.025, 0.12, depth - 0.06), (side * width * 0.36, 0, -0.03)) for side in (-1, 1)))
    surface = Surface(
        x=(-width / 2 + 0.03, width / 2 - 0.03),
        z=(-depth / 2 + 0.01, depth / 2 - 0.02),
        y=0.15,
        kind="wall shelf",
        headroom=0.35,
    )
    return piece(
        "shelf",
        made,
        {BODY: finish(draw.choice(("wood", "lacquer")), draw), "brackets": finish("metal", draw)},
        rule=Rule.ON_WALL,
        surfaces=[surface],
    )


@maker
def toy_chest(draw: Draw) -> Piece:
    width, height, depth = draw.between(0.6, 0.8), draw.between(0.4, 0.48), draw.between(0.38, 0.45)
    made = parts(BODY, box((width, height - 0.04, depth))) + parts(
        "lid", box((width + 0.02, 0.04, depth + 0.02), (0, height - 0.04, 0))
    )
    return piece(
        "chest",
        made,
        {BODY: finish("bright lacquer", draw), "lid": finish("bright lacquer", draw)},
        surfaces=[top_surface((width, height, depth), "toys")],
    )


@maker
def coat_rack(draw: Draw) -> Piece:
    """A standing rack with hooks and a coat or two."""
    height, wood = draw.between(1.65, 1.8), finish(draw.choice(("wood", "lacquer", "metal")), draw)
    made = parts(BODY, cylinder(0.022, height, sides=10), cylinder(0.17, 0.025, top=0.14, sides=16))
    for step in range(4):
        made += parts(BODY, rod((0, height - 0.12, 0), (0, height - 0.02, 0.14), 0.01, sides=6).turned(90 * step + 45))
    for n in range(draw.integer(1, 3)):
        coat = lathe([(0.02, 0.85), (0.13, 0.75), (0.11, 0.4), (0.16, 0.0)][::-1], sides=9, stretch=(1, 0.55))
        made += parts(f"coat {n}", coat.moved((0, height - 1.0, 0.1)).turned(120 * n + 45))
    coats = {f"coat {n}": finish("fabric", draw) for n in range(3)}
    return piece("coat rack", made, {BODY: wood, **coats}, rule=Rule.CORNER)


@maker
def wall_hooks(draw: Draw) -> Piece:
    """A board with hooks and clothes on them."""
    width = draw.between(0.6, 0.9)
    made = parts("board", box((width, 0.1, 0.02), (0, 0.9, -0.09)))
    count = draw.integer(2, 3)
    for n in range(count):
        x = (n - (count - 1) / 2) * width / count
        coat = lathe([(0.15, 0.0), (0.11, 0.45), (0.13, 0.78), (0.02, 0.9)], sides=9, stretch=(1, 0.5))
        made += parts(BODY if n == 0 else f"coat {n}", coat.moved((x, 0.02 + 0.05 * n, 0)))
    finishes = {
        BODY: finish("fabric", draw),
        "coat 1": finish("fabric", draw),
        "coat 2": finish("fabric", draw),
        "board": finish("wood", draw),
    }
    return piece("clothes", made, finishes, rule=Rule.ON_WALL)


@maker
def basket(draw: Draw) -> Piece:
    """A laundry basket with some clothes in it."""
    radius, height = draw.between(0.19, 0.25), draw.between(0.4, 0.55)
    made = parts(
        BODY,
        lathe(
            [
                (0, 0),
                (radius * 0.85, 0),
                (radius, height),
                (radius - 0.03, height),
                (radius - 0.03, height - 0.1),
                (0, height - 0.1),
            ],
            sides=16,
        ),
    )
    made += parts(
        "washing",
        lathe(
            [(radius - 0.04, height - 0.1), (radius * 0.5, height + 0.02), (0, height + 0.04)], sides=10, smooth=True
        ),
    )
    return piece("basket", made, {BODY: finish("wicker", draw), "washing": finish("cloth", draw)}, rule=Rule.MIDDLE)


def _wardrobe(draw: Draw, *, doors: int, narrow: float = 1.0) -> Piece:
    each, depth, height = narrow * draw.between(0.44, 0.56), draw.between(0.56, 0.63), draw.between(1.95, 2.2)
    width = doors * each
    body = _board(draw)
    made = parts(BODY, box((width, height, depth - 0.02), (0, 0, -0.01)))
    for n in range(doors):
        x = -width / 2 + each * (n + 0.5)
        made += _panel_door((x, 0.08, depth / 2 - 0.01), (each - 0.012, height - 0.11), framed=doors == 2)
        grip = x + (1 if n % 2 == 0 else -1) * (each / 2 - 0.05)
        made += parts("handles", box((0.018, 0.22, 0.025), (grip, height * 0.45, depth / 2 + 0.01)))
    return piece("wardrobe", made, {BODY: body, "front": body, "handles": _handles(draw)}, clearance=0.6)


def _chest(
    draw: Draw,
    category: str,
    *,
    size: tuple[float, float, float],
    columns: int,
    rows: int,
    surface: str,
    body: Finish | None = None,
    name: str | None = None,
) -> Piece:
    """A box with drawers."""
    width, height, depth = size
    shell = body or _board(draw)
    made = parts(
        BODY, box((width, height - 0.06, depth - 0.02), (0, 0.06, -0.01)), *four_legs(width, depth - 0.02, 0.06, 0.05)
    )
    tall, wide = (height - 0.1) / rows, (width - 0.02) / columns
    for column in range(columns):
        for row in range(rows):
            x, y = -width / 2 + 0.01 + wide * (column + 0.5), 0.075 + tall * row
            made += parts("front", box((wide - 0.02, tall - 0.018, 0.02), (x, y, depth / 2 - 0.01)))
            made += parts("handles", box((min(0.14, wide * 0.4), 0.018, 0.022), (x, y + tall * 0.55, depth / 2 + 0.01)))
    finishes = {BODY: shell, "front": shell, "handles": _handles(draw)}
    return piece(
        category, made, finishes, surfaces=[top_surface(size, surface, margin=0.03)], clearance=0.45, name=name
    )


def _door_cabinet(
    draw: Draw, category: str, *, size: tuple[float, float, float], doors: int, surface: str, body: Finish | None = None
) -> Piece:
    width, height, depth = size
    shell = body or _board(draw)
    made = parts(
        BODY, box((width, height - 0.08, depth - 0.02), (0, 0.08, -0.01)), *four_legs(width, depth - 0.02, 0.08, 0.04)
    )
    each = width / doors
    for n in range(doors):
        x = -width / 2 + each * (n + 0.5)
        made += _panel_door((x, 0.1, depth / 2 - 0.01), (each - 0.015, height - 0.13), framed=False)
        made += parts(
            "handles",
            cylinder(
                0.014, 0.025, (x + each * (0.38 if n % 2 == 0 else -0.38), height * 0.55, depth / 2 + 0.01), sides=8
            ),
        )
    surfaces = [top_surface(size, surface, margin=0.03)] if surface else []
    return piece(
        category, made, {BODY: shell, "front": shell, "handles": _handles(draw)}, surfaces=surfaces, clearance=0.45
    )


def _shelves(
    draw: Draw, category: str, *, size: tuple[float, float, float], count: int, kind: str, top: str = ""
) -> Piece:
    width, height, depth = size
    made = parts(BODY, *(box((0.025, height, depth), (side * (width / 2 - 0.0125), 0, 0)) for side in (-1, 1)))
    made += parts(BODY, box((width, 0.025, depth), (0, height - 0.025, 0)))
    made += parts("back", box((width - 0.02, height - 0.02, 0.012), (0, 0.01, -depth / 2 + 0.006)))
    step = (height - 0.09) / count
    surfaces = []
    for n in range(count):
        y = 0.06 + step * n
        made += parts(BODY, box((width - 0.04, 0.022, depth - 0.01), (0, y, 0.005)))
        surfaces.append(
            Surface(
                x=(-width / 2 + 0.035, width / 2 - 0.035),
                z=(-depth / 2 + 0.02, depth / 2 - 0.02),
                y=y + 0.022,
                kind=kind,
                headroom=step - 0.05,
            )
        )
    if top:
        surfaces.append(top_surface(size, top, margin=0.03))
    wood = finish(draw.weighted([("wood", 0.65), ("lacquer", 0.35)]), draw)
    return piece(category, made, {BODY: wood, "back": wood}, surfaces=surfaces, clearance=0.45)


def _panel_door(at: tuple[float, float, float], size: tuple[float, float], *, framed: bool) -> list[Part]:
    """A door panel, flat or with a raised frame; `at` is the middle of its lower edge."""
    x, y, z = at
    made = parts("front", box((size[0], size[1], 0.018), (x, y, z)))
    return made + (parts("front", *_frame((x, y, z + 0.012), size)) if framed else [])


def _frame(at: tuple[float, float, float], size: tuple[float, float]) -> list[Mesh]:
    (x, y, z), (width, height), bar = at, size, 0.05
    sides = [box((bar, height, 0.016), (x + side * (width - bar) / 2, y, z)) for side in (-1, 1)]
    return sides + [box((width - 2 * bar, bar, 0.016), (x, level, z)) for level in (y, y + height - bar)]


def _board(draw: Draw) -> Finish:
    return finish(draw.weighted([("wood", 0.6), ("lacquer", 0.4)]), draw)


def _handles(draw: Draw) -> Finish:
    return finish(draw.choice(("chrome", "brass", "metal")), draw)
