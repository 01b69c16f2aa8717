"""Furniture: small pure functions from a draw to solids with named slots, and the catalogue of them."""

from nav_eval_worlds.furniture import (  # noqa: F401 - importing a module puts its shapes into the catalogue
    appliance_shapes,
    bathing_shapes,
    bathroom_shapes,
    bed_shapes,
    chair_shapes,
    decor_shapes,
    desk_shapes,
    everyday_pieces,
    kitchen_shapes,
    lamp_shapes,
    plant_shapes,
    public_pieces,
    sales_pieces,
    screen_shapes,
    seat_shapes,
    small_shapes,
    storage_shapes,
    table_shapes,
    towel_and_mirror_shapes,
    wardrobe_shapes,
)
