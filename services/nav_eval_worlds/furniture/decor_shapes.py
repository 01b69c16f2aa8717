"""Further shapes of rugs, curtains, pictures and radiators."""

from nav_eval_worlds.furniture.piece import (
    BODY,
    Piece,
    PlacementRule,
    make_box_frame,
    make_parts,
    make_piece,
    register_shape,
)
from nav_eval_worlds.materials import make_finish, make_finishes
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_cylinder,
    make_ellipsoid,
    make_folds,
    make_picture,
    make_rod,
    make_rounded_box,
)


@register_shape("rug", "round")
def make_round_rug(draw: RandomStream) -> Piece:
    """A round rug, plain, with a border."""
    radius = draw.between(0.65, 0.9)
    made = make_parts("rim", make_cylinder(radius, 0.008, sides=32)) + make_parts(
        BODY, make_cylinder(radius - 0.07, 0.002, (0, 0.008, 0), sides=32)
    )
    finishes = {BODY: make_finish("fabric", draw), "rim": make_finish("fabric", draw)}
    return make_piece("rug", made, finishes, rule=PlacementRule.FLAT)


@register_shape("rug", "shag")
def make_shag_rug(draw: RandomStream) -> Piece:
    """Thick and plain."""
    width, depth = draw.between(1.5, 2.2), draw.between(1.1, 1.5)
    return make_piece(
        "rug",
        make_parts(BODY, make_rounded_box((width, 0.018, depth), 0.008)),
        {BODY: make_finish("carpet", draw)},
        rule=PlacementRule.FLAT,
    )


@register_shape("rug", "striped")
def make_striped_rug(draw: RandomStream) -> Piece:
    """Woven stripes with fringes at both ends."""
    width, depth = draw.between(1.5, 2.1), draw.between(1.0, 1.4)
    made = make_parts(BODY, make_box((width - 0.12, 0.008, depth)))
    made += make_parts(
        "fringe",
        *(
            make_box((0.05, 0.003, 0.012), (side * (width / 2 - 0.035), 0, -depth / 2 + depth * (n + 0.5) / 20))
            for side in (-1, 1)
            for n in range(20)
        ),
    )
    return make_piece(
        "rug", made, {BODY: make_finish("striped", draw), "fringe": make_finish("linen", draw)}, rule=PlacementRule.FLAT
    )


def _make_curtain(draw: RandomStream, *, fold: float, count: int, width: float, tied: bool = False) -> Piece:
    height = 2.2
    cloth = [make_folds(width, height - 0.1, depth=fold, count=count, at=(0, 0.03, 0))]
    made = make_parts(BODY, *cloth) + make_parts(
        "rail",
        make_rod((-width / 2 - 0.03, height - 0.05, 0), (width / 2 + 0.03, height - 0.05, 0), 0.012),
        *(
            make_ellipsoid((0.035, 0.035, 0.035), (side * (width / 2 + 0.03), height - 0.0675, 0), sides=8, rings=5)
            for side in (-1, 1)
        ),
    )
    if tied:
        made += make_parts("tie", make_box((width + 0.012, 0.05, fold + 0.012), (0, 1.0, 0)))
    finishes = make_finishes(draw, body=("linen", "cloth"), rail=("metal", "wood", "brass"), tie="cloth")
    return make_piece("curtain", made, finishes, rule=PlacementRule.ON_WALL)


@register_shape("curtain", "sheer")
def make_sheer_curtain(draw: RandomStream) -> Piece:
    return _make_curtain(draw, fold=0.04, count=8, width=draw.between(0.32, 0.42))


@register_shape("curtain", "tied")
def make_tied_curtain(draw: RandomStream) -> Piece:
    return _make_curtain(draw, fold=0.06, count=4, width=draw.between(0.26, 0.32), tied=True)


@register_shape("curtain", "heavy")
def make_heavy_curtain(draw: RandomStream) -> Piece:
    return _make_curtain(draw, fold=0.08, count=3, width=draw.between(0.3, 0.4))


@register_shape("radiator", "panel")
def make_panel_radiator(draw: RandomStream) -> Piece:
    """A flat panel with fine grooves."""
    width, height = draw.between(0.7, 1.1), draw.between(0.52, 0.6)
    count = round(width / 0.05)
    made = make_parts(
        BODY,
        make_box((width, height - 0.1, 0.06), (0, 0.1, -0.01)),
        *(
            make_box((0.028, height - 0.16, 0.008), (-width / 2 + width * (n + 0.5) / count, 0.13, 0.024))
            for n in range(count)
        ),
        make_box((width + 0.004, 0.012, 0.09), (0, height - 0.006, 0)),
    )
    made += make_parts(
        "pipes",
        *(make_rod((s * (width / 2 - 0.05), 0, 0), (s * (width / 2 - 0.05), 0.12, 0), 0.009, sides=6) for s in (-1, 1)),
        make_cylinder(0.022, 0.06, sides=10).tilt(90, axis=2).translate((width / 2 + 0.06, 0.16, 0)),
    )
    return make_piece(
        "radiator", made, {BODY: make_finish("enamel", draw, ("white",)), "pipes": make_finish("chrome", draw)}
    )


@register_shape("radiator", "columns")
def make_column_radiator(draw: RandomStream) -> Piece:
    """Old cast columns on feet."""
    width, height = draw.between(0.6, 0.9), draw.between(0.55, 0.62)
    count = round(width / 0.06)
    columns: list[SolidMesh] = []
    for n in range(count):
        x = -width / 2 + width * (n + 0.5) / count
        columns += [make_rod((x, 0.08, z), (x, height - 0.03, z), 0.018, sides=6) for z in (-0.035, 0.035)]
        columns.append(make_rounded_box((0.045, 0.045, 0.12), 0.015, (x, height - 0.045, 0)))
    made = make_parts(
        BODY,
        *columns,
        *(make_box((0.03, 0.1, 0.1), (s * (width / 2 - 0.04), 0, 0)) for s in (-1, 1)),
        make_rod((-width / 2, 0.11, 0), (width / 2, 0.11, 0), 0.018, sides=7),
    )
    return make_piece("radiator", made, {BODY: make_finish("enamel", draw, ("white", "light grey", "dark grey"))})


def _make_picture(
    draw: RandomStream, category: str, size: tuple[float, float], *, kind: str, bar: float, mount: float, frame: str
) -> Piece:
    width, height = size
    made = make_parts(BODY, make_box((width, height, 0.012), (0, 0, -0.008)))
    if bar:
        made += make_parts(BODY, *make_box_frame((0, 0, 0.002), size, bar=bar, thick=0.032))
    inner = (width - 2 * bar, height - 2 * bar)
    if mount:
        made += make_parts("mount", make_picture(*inner, (0, bar, 0.0)))
    made += make_parts("art", make_picture(inner[0] - 2 * mount, inner[1] - 2 * mount, (0, bar + mount, 0.003)))
    finishes = {BODY: make_finish(frame, draw), "mount": make_finish("paper", draw), "art": make_finish(kind, draw)}
    return make_piece(category, made, finishes, rule=PlacementRule.ON_WALL)


@register_shape("painting", "canvas")
def make_canvas(draw: RandomStream) -> Piece:
    """Without a frame."""
    size = draw.choice(((0.8, 0.8), (1.0, 0.7), (0.6, 0.9)))
    return _make_picture(
        draw,
        "painting",
        (size[0] + draw.between(-0.04, 0.04), size[1]),
        kind="painting",
        bar=0.0,
        mount=0.0,
        frame="linen",
    )


@register_shape("painting", "mounted")
def make_mounted_print(draw: RandomStream) -> Piece:
    """A print with a wide mount in a thin frame."""
    size = draw.choice(((0.5, 0.7), (0.6, 0.8), (0.7, 0.5)))
    return _make_picture(
        draw,
        "painting",
        (size[0] + draw.between(-0.03, 0.03), size[1]),
        kind="painting",
        bar=0.015,
        mount=0.08,
        frame=draw.choice(("lacquer", "wood")),
    )


@register_shape("painting", "gilded")
def make_gilded_painting(draw: RandomStream) -> Piece:
    """A heavy golden frame."""
    size = draw.choice(((0.8, 0.65), (0.95, 0.75), (0.6, 0.75)))
    return _make_picture(
        draw,
        "painting",
        (size[0] + draw.between(-0.04, 0.04), size[1]),
        kind="painting",
        bar=0.07,
        mount=0.0,
        frame="brass",
    )


@register_shape("photo", "thin")
def make_thin_photo(draw: RandomStream) -> Piece:
    size = draw.choice(((0.3, 0.4), (0.4, 0.5), (0.3, 0.3)))
    return _make_picture(
        draw,
        "picture",
        (size[0] + draw.between(-0.02, 0.02), size[1]),
        kind="photo",
        bar=0.01,
        mount=0.05,
        frame=draw.choice(("metal", "lacquer")),
    )


@register_shape("photo", "wide")
def make_wide_photo(draw: RandomStream) -> Piece:
    return _make_picture(
        draw, "picture", (draw.between(0.5, 0.6), 0.3), kind="photo", bar=0.02, mount=0.03, frame="wood"
    )


@register_shape("photo", "bare")
def make_bare_photo(draw: RandomStream) -> Piece:
    """A block without frame."""
    return _make_picture(
        draw,
        "picture",
        (draw.between(0.24, 0.32), draw.between(0.3, 0.38)),
        kind="photo",
        bar=0.0,
        mount=0.0,
        frame="lacquer",
    )
