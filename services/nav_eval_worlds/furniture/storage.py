"""Cupboards, shelves and other places for things."""

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3
from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    SolidPart,
    SupportSurface,
    make_four_legs,
    make_parts,
    make_piece,
    make_top_surface,
    register_maker,
)
from nav_eval_worlds.materials import Finish, make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import SolidMesh, make_box, make_box_pair, make_cylinder, make_lathe, make_rod


@register_maker("wardrobe")
def make_wardrobe(draw: RandomStream) -> Piece:
    return _make_wardrobe(draw, doors=draw.integer(2, 3))


@register_maker("narrow_wardrobe")
def make_narrow_wardrobe(draw: RandomStream) -> Piece:
    return _make_wardrobe(draw, doors=2, narrow=0.8)


@register_maker("dresser")
def make_dresser(draw: RandomStream) -> Piece:
    """A chest of drawers."""
    columns = draw.integer(1, 2)
    width, depth, height = columns * draw.between(0.5, 0.68), draw.between(0.42, 0.5), draw.between(0.76, 0.95)
    return _make_chest(
        draw, "dresser", size=(width, height, depth), columns=columns, rows=draw.integer(3, 4), surface="dresser"
    )


@register_maker("filing_cabinet")
def make_filing_cabinet(draw: RandomStream) -> Piece:
    """An office drawer unit."""
    size = (draw.between(0.4, 0.46), draw.between(0.56, 0.72), draw.between(0.45, 0.55))
    return _make_chest(draw, "drawer", size=size, columns=1, rows=3, surface="side", body=make_finish("enamel", draw))


@register_maker("sideboard")
def make_sideboard(draw: RandomStream) -> Piece:
    """A low cabinet with doors."""
    doors = draw.integer(3, 4)
    width, depth, height = doors * draw.between(0.38, 0.46), draw.between(0.4, 0.46), draw.between(0.74, 0.86)
    return _make_door_cabinet(draw, "cabinet", size=(width, height, depth), doors=doors, surface="console")


@register_maker("tall_cabinet")
def make_tall_cabinet(draw: RandomStream) -> Piece:
    """A cupboard with two doors and glass above."""
    width, depth, height = draw.between(0.8, 1.0), draw.between(0.36, 0.42), draw.between(1.7, 1.95)
    body = _choose_board_finish(draw)
    is_first = draw.generator == FIRST_GENERATOR
    solid = make_parts(BODY, make_box((width, height, depth - 0.02), (0, 0, -0.01)))
    made = solid if is_first else _make_open_top(width, height, depth)
    for side in (-1, 1):
        x = side * width / 4
        made += _make_panel_door((x, 0.08, depth / 2 - 0.01), (width / 2 - 0.012, height * 0.45), framed=True)
        made += make_parts(
            "panes", make_box((width / 2 - 0.1, height * 0.38, 0.012), (x, height * 0.53 + 0.06, depth / 2 - 0.012))
        )
        made += make_parts(
            "front", *_make_frame((x, height * 0.53, depth / 2 - 0.01), (width / 2 - 0.012, height * 0.45))
        )
        made += make_parts(
            "handles", make_cylinder(0.015, 0.03, (side * 0.05, height * 0.45, depth / 2 + 0.01), sides=8)
        )
    panes = make_finish("mirror" if is_first else "glass", draw)
    finishes = {BODY: body, "front": body, "panes": panes, "handles": _choose_handle_finish(draw)}
    surfaces = [] if is_first else _list_shelves_behind_glass(width, height, depth)
    return make_piece("cabinet", made, finishes, surfaces=surfaces, clearance=0.5)


def _make_open_top(width: float, height: float, depth: float) -> list[SolidPart]:
    """Closed below, open behind the glass above, with a shelf."""
    foot = height * 0.53
    middle, rise = (foot + height) / 2, height - foot
    return make_parts(
        BODY,
        make_box((width, foot, depth - 0.02), (0, 0, -0.01)),
        make_box((width, rise, 0.015), (0, foot, -depth / 2 + 0.0075)),
        make_box((width, 0.02, depth - 0.02), (0, height - 0.02, -0.01)),
        make_box((width - 0.04, 0.016, depth - 0.06), (0, middle, -0.01)),
        *make_box_pair((0.018, rise, depth - 0.02), (width / 2 - 0.009, foot, -0.01)),
    )


def _list_shelves_behind_glass(width: float, height: float, depth: float) -> list[SupportSurface]:
    foot = height * 0.53
    room = (height - foot) / 2
    return [
        SupportSurface(
            x=(-width / 2 + 0.05, width / 2 - 0.05),
            z=(-depth / 2 + 0.04, depth / 2 - 0.08),
            y=y,
            kind="dishes",
            headroom=room - 0.05,
        )
        for y in (foot, foot + room + 0.016)
    ]


@register_maker("tv_stand")
def make_tv_stand(draw: RandomStream) -> Piece:
    width, depth, height = draw.between(1.2, 1.7), draw.between(0.38, 0.44), draw.between(0.42, 0.54)
    return _make_door_cabinet(draw, "tv stand", size=(width, height, depth), doors=draw.integer(2, 3), surface="tv")


@register_maker("shoe_cabinet")
def make_shoe_cabinet(draw: RandomStream) -> Piece:
    size = (draw.between(0.6, 0.85), draw.between(0.85, 1.05), draw.between(0.2, 0.26))
    return _make_chest(draw, "cabinet", size=size, columns=1, rows=3, surface="console", name="shoe cabinet")


@register_maker("bathroom_cabinet")
def make_bathroom_cabinet(draw: RandomStream) -> Piece:
    size = (draw.between(0.35, 0.45), draw.between(1.4, 1.7), draw.between(0.3, 0.36))
    return _make_door_cabinet(draw, "cabinet", size=size, doors=1, surface="", body=make_finish("lacquer", draw))


@register_maker("bookshelf")
def make_bookshelf(draw: RandomStream) -> Piece:
    """Open shelves from the floor up."""
    size = (draw.between(0.7, 1.0), draw.between(1.6, 2.1), draw.between(0.28, 0.34))
    return _make_shelves(draw, "bookshelf", size=size, count=draw.integer(4, 5), kind="books")


@register_maker("low_shelf")
def make_low_shelves(draw: RandomStream) -> Piece:
    size = (draw.between(0.8, 1.2), draw.between(0.75, 0.9), draw.between(0.3, 0.38))
    return _make_shelves(draw, "shelf", size=size, count=2, kind="toys", top="toys")


@register_maker("storage_rack")
def make_storage_rack(draw: RandomStream) -> Piece:
    """A metal rack for garages and laundries."""
    width, height, depth = draw.between(0.85, 1.2), draw.between(1.6, 1.9), draw.between(0.38, 0.48)
    posts = [
        make_box((0.035, height, 0.035), (sx * (width / 2 - 0.018), 0, sz * (depth / 2 - 0.018)))
        for sx in (-1, 1)
        for sz in (-1, 1)
    ]
    levels = [0.12 + n * (height - 0.3) / 3 for n in range(4)]
    made = make_parts(BODY, *posts)
    made += make_parts("boards", *(make_box((width, 0.025, depth), (0, y, 0)) for y in levels))
    surfaces = [
        make_top_surface(
            (width, height, depth), "storage", margin=(0.05, 0.03), y=y + 0.025, headroom=(height - 0.3) / 3 - 0.05
        )
        for y in levels
    ]
    finishes = make_finishes(draw, body="metal", boards=("wood", "metal"))
    return make_piece("shelf", made, finishes, surfaces=surfaces, clearance=0.5)


@register_maker("wall_shelf")
def make_wall_shelves(draw: RandomStream) -> Piece:
    width, depth = draw.between(0.6, 1.0), draw.between(0.2, 0.25)
    made = make_parts(BODY, make_box((width, 0.03, depth), (0, 0.12, 0)))
    made += make_parts("brackets", *make_box_pair((0.025, 0.12, depth - 0.06), (width * 0.36, 0, -0.03)))
    surface = SupportSurface(
        x=(-width / 2 + 0.03, width / 2 - 0.03),
        z=(-depth / 2 + 0.01, depth / 2 - 0.02),
        y=0.15,
        kind="wall shelf",
        headroom=0.35,
    )
    finishes = make_finishes(draw, body=("wood", "lacquer"), brackets="metal")
    return make_piece("shelf", made, finishes, rule=PlacementRule.ON_WALL, surfaces=[surface])


@register_maker("toy_chest")
def make_toy_chest(draw: RandomStream) -> Piece:
    width, height, depth = draw.between(0.6, 0.8), draw.between(0.4, 0.48), draw.between(0.38, 0.45)
    made = make_parts(BODY, make_box((width, height - 0.04, depth)))
    made += make_parts("lid", make_box((width + 0.02, 0.04, depth + 0.02), (0, height - 0.04, 0)))
    finishes = make_finishes(draw, body="bright lacquer", lid="bright lacquer")
    return make_piece("chest", made, finishes, surfaces=[make_top_surface((width, height, depth), "toys")])


@register_maker("coat_rack")
def make_coat_rack(draw: RandomStream) -> Piece:
    """A standing rack with hooks and a coat or two."""
    height, wood = draw.between(1.65, 1.8), make_finish(draw.choice(("wood", "lacquer", "metal")), draw)
    made = make_parts(BODY, make_cylinder(0.022, height, sides=10), make_cylinder(0.17, 0.025, top=0.14, sides=16))
    for step in range(4):
        made += make_parts(
            BODY, make_rod((0, height - 0.12, 0), (0, height - 0.02, 0.14), 0.01, sides=6).rotate(90 * step + 45)
        )
    for n in range(draw.integer(1, 3)):
        coat = make_lathe([(0.02, 0.85), (0.13, 0.75), (0.11, 0.4), (0.16, 0.0)][::-1], sides=9, stretch=(1, 0.55))
        made += make_parts(f"coat {n}", coat.translate((0, height - 1.0, 0.1)).rotate(120 * n + 45))
    coats = {f"coat {n}": make_finish("fabric", draw) for n in range(3)}
    return make_piece("coat rack", made, {BODY: wood, **coats}, rule=PlacementRule.CORNER)


@register_maker("wall_hooks")
def make_wall_hooks(draw: RandomStream) -> Piece:
    """A board with hooks and clothes on them."""
    width = draw.between(0.6, 0.9)
    made = make_parts("board", make_box((width, 0.1, 0.02), (0, 0.9, -0.09)))
    count = draw.integer(2, 3)
    for n in range(count):
        x = (n - (count - 1) / 2) * width / count
        coat = make_lathe([(0.15, 0.0), (0.11, 0.45), (0.13, 0.78), (0.02, 0.9)], sides=9, stretch=(1, 0.5))
        made += make_parts(BODY if n == 0 else f"coat {n}", coat.translate((x, 0.02 + 0.05 * n, 0)))
    coats = {slot: make_finish("fabric", draw) for slot in (BODY, "coat 1", "coat 2")}
    finishes = {**coats, "board": make_finish("wood", draw)}
    return make_piece("clothes", made, finishes, rule=PlacementRule.ON_WALL)


@register_maker("basket")
def make_basket(draw: RandomStream) -> Piece:
    """A laundry basket with some clothes in it."""
    radius, height = draw.between(0.19, 0.25), draw.between(0.4, 0.55)
    made = make_parts(
        BODY,
        make_lathe(
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
    made += make_parts(
        "washing",
        make_lathe(
            [(radius - 0.04, height - 0.1), (radius * 0.5, height + 0.02), (0, height + 0.04)], sides=10, smooth=True
        ),
    )
    finishes = make_finishes(draw, body="wicker", washing="cloth")
    return make_piece("basket", made, finishes, rule=PlacementRule.MIDDLE)


def _make_wardrobe(draw: RandomStream, *, doors: int, narrow: float = 1.0) -> Piece:
    each, depth, height = narrow * draw.between(0.44, 0.56), draw.between(0.56, 0.63), draw.between(1.95, 2.2)
    width = doors * each
    body = _choose_board_finish(draw)
    made = make_parts(BODY, make_box((width, height, depth - 0.02), (0, 0, -0.01)))
    for n in range(doors):
        x = -width / 2 + each * (n + 0.5)
        made += _make_panel_door((x, 0.08, depth / 2 - 0.01), (each - 0.012, height - 0.11), framed=doors == 2)
        grip = x + (1 if n % 2 == 0 else -1) * (each / 2 - 0.05)
        made += make_parts("handles", make_box((0.018, 0.22, 0.025), (grip, height * 0.45, depth / 2 + 0.01)))
    finishes = {BODY: body, "front": body, "handles": _choose_handle_finish(draw)}
    return make_piece("wardrobe", made, finishes, clearance=0.6)


def _make_chest(
    draw: RandomStream,
    category: str,
    *,
    size: Vec3,
    columns: int,
    rows: int,
    surface: str,
    body: Finish | None = None,
    name: str | None = None,
) -> Piece:
    """A box with drawers."""
    width, height, depth = size
    shell = body or _choose_board_finish(draw)
    made = make_parts(
        BODY,
        make_box((width, height - 0.06, depth - 0.02), (0, 0.06, -0.01)),
        *make_four_legs(width, depth - 0.02, 0.06, 0.05),
    )
    tall, wide = (height - 0.1) / rows, (width - 0.02) / columns
    for column in range(columns):
        for row in range(rows):
            x, y = -width / 2 + 0.01 + wide * (column + 0.5), 0.075 + tall * row
            made += make_parts("front", make_box((wide - 0.02, tall - 0.018, 0.02), (x, y, depth / 2 - 0.01)))
            made += make_parts(
                "handles", make_box((min(0.14, wide * 0.4), 0.018, 0.022), (x, y + tall * 0.55, depth / 2 + 0.01))
            )
    finishes = {BODY: shell, "front": shell, "handles": _choose_handle_finish(draw)}
    top = make_top_surface(size, surface, margin=0.03)
    return make_piece(category, made, finishes, surfaces=[top], clearance=0.45, name=name)


def _make_door_cabinet(
    draw: RandomStream, category: str, *, size: Vec3, doors: int, surface: str, body: Finish | None = None
) -> Piece:
    width, height, depth = size
    shell = body or _choose_board_finish(draw)
    made = make_parts(
        BODY,
        make_box((width, height - 0.08, depth - 0.02), (0, 0.08, -0.01)),
        *make_four_legs(width, depth - 0.02, 0.08, 0.04),
    )
    each = width / doors
    for n in range(doors):
        x = -width / 2 + each * (n + 0.5)
        made += _make_panel_door((x, 0.1, depth / 2 - 0.01), (each - 0.015, height - 0.13), framed=False)
        made += make_parts(
            "handles",
            make_cylinder(
                0.014, 0.025, (x + each * (0.38 if n % 2 == 0 else -0.38), height * 0.55, depth / 2 + 0.01), sides=8
            ),
        )
    surfaces = [make_top_surface(size, surface, margin=0.03)] if surface else []
    finishes = {BODY: shell, "front": shell, "handles": _choose_handle_finish(draw)}
    return make_piece(category, made, finishes, surfaces=surfaces, clearance=0.45)


def _make_shelves(draw: RandomStream, category: str, *, size: Vec3, count: int, kind: str, top: str = "") -> Piece:
    width, height, depth = size
    made = make_parts(
        BODY,
        *make_box_pair((0.025, height, depth), (width / 2 - 0.0125, 0, 0)),
        make_box((width, 0.025, depth), (0, height - 0.025, 0)),
    )
    made += make_parts("back", make_box((width - 0.02, height - 0.02, 0.012), (0, 0.01, -depth / 2 + 0.006)))
    step = (height - 0.09) / count
    surfaces = []
    for n in range(count):
        y = 0.06 + step * n
        made += make_parts(BODY, make_box((width - 0.04, 0.022, depth - 0.01), (0, y, 0.005)))
        surfaces.append(
            make_top_surface((width, height, depth), kind, margin=(0.035, 0.02), y=y + 0.022, headroom=step - 0.05)
        )
    if top:
        surfaces.append(make_top_surface(size, top, margin=0.03))
    wood = make_finish(draw.choose_weighted([("wood", 0.65), ("lacquer", 0.35)]), draw)
    return make_piece(category, made, {BODY: wood, "back": wood}, surfaces=surfaces, clearance=0.45)


def _make_panel_door(at: Vec3, size: tuple[float, float], *, framed: bool) -> list[SolidPart]:
    """A door panel, flat or with a raised frame; `at` is the middle of its lower edge."""
    x, y, z = at
    made = make_parts("front", make_box((size[0], size[1], 0.018), (x, y, z)))
    return made + (make_parts("front", *_make_frame((x, y, z + 0.012), size)) if framed else [])


def _make_frame(at: Vec3, size: tuple[float, float]) -> list[SolidMesh]:
    (x, y, z), (width, height), bar = at, size, 0.05
    sides = [make_box((bar, height, 0.016), (x + side * (width - bar) / 2, y, z)) for side in (-1, 1)]
    return sides + [make_box((width - 2 * bar, bar, 0.016), (x, level, z)) for level in (y, y + height - bar)]


def _choose_board_finish(draw: RandomStream) -> Finish:
    return make_finish(draw.choose_weighted([("wood", 0.6), ("lacquer", 0.4)]), draw)


def _choose_handle_finish(draw: RandomStream) -> Finish:
    return make_finish(draw.choice(("chrome", "brass", "metal")), draw)
