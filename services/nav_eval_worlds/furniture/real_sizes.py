"""How large things are in the real world, from catalogues of furniture makers and from standards of kitchens and baths.

Each category has a range for its longer side, its height and its shorter side, in metres. Every maker is measured
against it, and so is every model that somebody brings along.
"""

from typing import NamedTuple

from nav_eval.records.geometry import Vec3


class SizeRange(NamedTuple):
    """From the smallest to the largest one would expect to meet."""

    longer: tuple[float, float]
    height: tuple[float, float]
    shorter: tuple[float, float]


def _make_range(*limits: float) -> SizeRange:
    return SizeRange((limits[0], limits[1]), (limits[2], limits[3]), (limits[4], limits[5]))


#: longer side from, to; height from, to; shorter side from, to
REAL_SIZES: dict[str, SizeRange] = {
    "armchair": _make_range(0.6, 1.15, 0.65, 1.2, 0.55, 1.1),
    "bag": _make_range(0.2, 0.6, 0.2, 0.6, 0.08, 0.35),
    "basket": _make_range(0.2, 0.65, 0.15, 0.75, 0.2, 0.55),
    "bathtub": _make_range(1.2, 1.95, 0.4, 2.0, 0.65, 1.0),
    "bed": _make_range(1.6, 2.4, 0.35, 1.6, 0.75, 2.2),
    "bench": _make_range(0.6, 2.4, 0.38, 1.0, 0.25, 0.6),
    "bicycle": _make_range(1.2, 1.9, 0.8, 1.2, 0.4, 0.7),
    "book": _make_range(0.1, 0.45, 0.005, 0.32, 0.02, 0.32),
    "books": _make_range(0.08, 0.8, 0.12, 0.36, 0.1, 0.32),
    "bookshelf": _make_range(0.4, 2.0, 0.7, 2.4, 0.2, 0.5),
    "bottle": _make_range(0.05, 0.14, 0.12, 0.4, 0.05, 0.14),
    "bowl": _make_range(0.1, 0.4, 0.04, 0.22, 0.1, 0.4),
    "box": _make_range(0.06, 0.8, 0.06, 0.6, 0.04, 0.6),
    "cabinet": _make_range(0.3, 2.2, 0.4, 2.3, 0.18, 0.65),
    "candle": _make_range(0.03, 0.2, 0.04, 0.4, 0.03, 0.2),
    "car": _make_range(2.7, 5.2, 1.3, 2.0, 1.4, 2.1),
    "ceiling lamp": _make_range(0.15, 1.3, 0.04, 1.0, 0.05, 1.0),
    "chair": _make_range(0.36, 0.65, 0.7, 1.15, 0.34, 0.62),
    "chest": _make_range(0.4, 1.2, 0.3, 0.65, 0.3, 0.6),
    "clock": _make_range(0.15, 0.7, 0.15, 0.9, 0.015, 0.2),
    "clothes": _make_range(0.2, 1.2, 0.03, 1.6, 0.05, 0.6),
    "coat rack": _make_range(0.25, 0.7, 1.4, 2.0, 0.25, 0.7),
    "coffee table": _make_range(0.5, 1.5, 0.25, 0.55, 0.4, 1.1),
    "computer monitor": _make_range(0.4, 1.0, 0.3, 0.6, 0.1, 0.3),
    "console table": _make_range(0.6, 1.6, 0.65, 0.95, 0.2, 0.5),
    "cup": _make_range(0.06, 0.16, 0.05, 0.18, 0.05, 0.16),
    "curtain": _make_range(0.2, 1.6, 1.2, 2.7, 0.02, 0.25),
    "cushion": _make_range(0.25, 0.65, 0.1, 0.6, 0.08, 0.5),
    "desk": _make_range(0.8, 2.0, 0.68, 1.2, 0.45, 1.0),
    "dining table": _make_range(0.7, 2.6, 0.68, 0.8, 0.6, 1.4),
    "dishwasher": _make_range(0.44, 0.7, 0.78, 0.95, 0.44, 0.65),
    "drawer": _make_range(0.3, 1.2, 0.4, 1.4, 0.3, 0.7),
    "dresser": _make_range(0.4, 1.8, 0.6, 1.4, 0.35, 0.6),
    "dryer": _make_range(0.45, 0.75, 0.8, 1.0, 0.45, 0.7),
    "fireplace": _make_range(0.9, 2.0, 0.8, 1.5, 0.2, 0.7),
    "floor lamp": _make_range(0.2, 1.4, 1.1, 2.1, 0.2, 0.7),
    "jar": _make_range(0.06, 0.2, 0.06, 0.3, 0.06, 0.2),
    "kettle": _make_range(0.15, 0.32, 0.15, 0.32, 0.12, 0.25),
    "keyboard": _make_range(0.25, 0.5, 0.01, 0.06, 0.1, 0.2),
    "kitchen cabinet": _make_range(0.3, 1.2, 0.3, 2.2, 0.25, 0.7),
    "kitchen island": _make_range(0.9, 2.6, 0.85, 1.0, 0.55, 1.3),
    "ladder": _make_range(0.35, 0.8, 1.0, 2.4, 0.04, 0.6),
    "laptop": _make_range(0.28, 0.42, 0.015, 0.3, 0.2, 0.4),
    "microwave": _make_range(0.4, 0.65, 0.22, 0.4, 0.28, 0.5),
    "mirror": _make_range(0.25, 1.6, 0.3, 2.0, 0.01, 0.4),
    "nightstand": _make_range(0.3, 0.7, 0.35, 0.75, 0.28, 0.55),
    "office chair": _make_range(0.45, 0.8, 0.75, 1.4, 0.45, 0.75),
    "painting": _make_range(0.3, 1.6, 0.25, 1.4, 0.01, 0.1),
    "piano": _make_range(1.2, 1.6, 0.9, 1.4, 0.45, 0.75),
    "picture": _make_range(0.12, 0.9, 0.12, 0.9, 0.005, 0.08),
    "plant": _make_range(0.06, 1.2, 0.08, 2.2, 0.06, 1.2),
    "plate": _make_range(0.15, 0.35, 0.01, 0.06, 0.15, 0.35),
    "pot": _make_range(0.14, 0.5, 0.06, 0.35, 0.14, 0.4),
    "pouf": _make_range(0.3, 0.75, 0.25, 0.5, 0.3, 0.7),
    "radiator": _make_range(0.4, 2.0, 0.3, 1.0, 0.04, 0.25),
    "radio": _make_range(0.12, 0.45, 0.1, 0.3, 0.06, 0.25),
    "range hood": _make_range(0.5, 1.0, 0.1, 1.2, 0.25, 0.6),
    "refrigerator": _make_range(0.5, 1.0, 0.8, 2.05, 0.48, 0.85),
    "rug": _make_range(0.4, 3.5, 0.002, 0.05, 0.3, 2.5),
    "shelf": _make_range(0.3, 2.0, 0.02, 2.4, 0.12, 0.9),
    "shoes": _make_range(0.18, 0.36, 0.05, 0.4, 0.15, 0.3),
    "shower": _make_range(0.7, 1.6, 1.8, 2.3, 0.7, 1.2),
    "side table": _make_range(0.25, 0.7, 0.35, 0.75, 0.25, 0.6),
    "sink": _make_range(0.35, 1.5, 0.15, 1.4, 0.3, 0.7),
    "soap": _make_range(0.04, 0.14, 0.02, 0.25, 0.03, 0.12),
    "sofa": _make_range(1.3, 3.2, 0.6, 1.1, 0.7, 1.8),
    "speaker": _make_range(0.12, 0.5, 0.2, 1.3, 0.12, 0.5),
    "stool": _make_range(0.25, 0.55, 0.38, 1.1, 0.25, 0.55),
    "stove": _make_range(0.45, 1.2, 0.82, 1.2, 0.45, 0.72),
    "table lamp": _make_range(0.1, 0.5, 0.15, 0.8, 0.08, 0.45),
    "toaster": _make_range(0.2, 0.45, 0.14, 0.26, 0.13, 0.3),
    "toilet": _make_range(0.45, 0.8, 0.35, 2.1, 0.33, 0.7),
    "toilet paper": _make_range(0.08, 0.2, 0.08, 0.3, 0.06, 0.2),
    "toolbox": _make_range(0.3, 0.7, 0.15, 0.4, 0.15, 0.35),
    "towel": _make_range(0.15, 0.9, 0.05, 1.4, 0.02, 0.4),
    "toy": _make_range(0.08, 0.6, 0.05, 0.7, 0.05, 0.5),
    "trash can": _make_range(0.18, 0.6, 0.2, 1.0, 0.18, 0.5),
    "tv": _make_range(0.6, 1.9, 0.38, 1.2, 0.03, 0.4),
    "tv stand": _make_range(0.8, 2.6, 0.3, 0.75, 0.3, 0.55),
    "tyres": _make_range(0.5, 0.8, 0.15, 1.1, 0.5, 0.8),
    "umbrella stand": _make_range(0.15, 0.35, 0.45, 1.05, 0.15, 0.35),
    "vase": _make_range(0.06, 0.45, 0.1, 0.8, 0.06, 0.45),
    "wall lamp": _make_range(0.06, 0.5, 0.08, 0.6, 0.05, 0.4),
    "wardrobe": _make_range(0.6, 2.6, 1.6, 2.5, 0.4, 0.75),
    "washing machine": _make_range(0.4, 0.75, 0.8, 1.0, 0.4, 0.7),
    "workbench": _make_range(0.9, 2.6, 0.75, 1.8, 0.45, 0.9),
    "clothes rack": _make_range(0.8, 2.0, 1.2, 2.0, 0.35, 0.7),
    "counter": _make_range(1.0, 3.0, 0.8, 1.5, 0.4, 1.0),
    "display case": _make_range(0.5, 2.0, 0.8, 2.1, 0.3, 0.8),
    "examination table": _make_range(1.7, 2.1, 0.5, 1.3, 0.5, 0.9),
    "fire extinguisher": _make_range(0.1, 0.3, 0.3, 0.7, 0.1, 0.3),
    "meeting table": _make_range(1.4, 4.0, 0.68, 0.8, 0.8, 1.6),
    "printer": _make_range(0.35, 1.2, 0.25, 1.3, 0.3, 0.8),
    "reception desk": _make_range(1.2, 3.0, 0.95, 1.25, 0.5, 1.2),
    "trolley": _make_range(0.4, 1.0, 0.6, 1.2, 0.3, 0.65),
    "vending machine": _make_range(0.6, 1.2, 1.5, 2.0, 0.5, 1.0),
    "water cooler": _make_range(0.25, 0.45, 0.9, 1.6, 0.25, 0.45),
    "whiteboard": _make_range(0.6, 2.4, 0.5, 1.4, 0.01, 0.2),
    "computer mouse": _make_range(0.08, 0.14, 0.025, 0.05, 0.05, 0.08),
    "cutting board": _make_range(0.2, 0.5, 0.01, 0.15, 0.14, 0.35),
    "document": _make_range(0.14, 0.45, 0.001, 0.05, 0.1, 0.33),
    "folder": _make_range(0.1, 0.5, 0.25, 0.35, 0.1, 0.3),
    "fruit": _make_range(0.04, 0.25, 0.03, 0.13, 0.04, 0.2),
    "knife block": _make_range(0.08, 0.26, 0.15, 0.36, 0.08, 0.2),
    "paint can": _make_range(0.1, 0.3, 0.1, 0.4, 0.1, 0.3),
    "pen holder": _make_range(0.06, 0.14, 0.07, 0.22, 0.06, 0.14),
    "phone": _make_range(0.12, 0.28, 0.006, 0.14, 0.06, 0.24),
    "remote control": _make_range(0.1, 0.26, 0.01, 0.04, 0.03, 0.07),
    "teapot": _make_range(0.14, 0.32, 0.09, 0.24, 0.1, 0.22),
    "tool": _make_range(0.12, 0.45, 0.005, 0.06, 0.02, 0.16),
}  # fmt: skip


def find_wrong_size(category: str, size: Vec3) -> str | None:
    """What is not as in the real world, in words; None when nothing is, or when nobody knows the category's sizes."""
    limits = REAL_SIZES.get(category)
    if limits is None:
        return None
    width, height, depth = size
    sides = (max(width, depth), height, min(width, depth))
    for name, value, (low, high) in zip(("longer side", "height", "shorter side"), sides, limits, strict=True):
        if not low <= value <= high:
            return f"its {name} is {value:.2f} m, real ones have {low:g} to {high:g} m"
    return None
