"""The categories of generated houses: one fixed list, so that a category id means the same in every house."""

BUILDING = ("ceiling", "door", "doorway", "floor", "stairs", "wall", "window")

FURNITURE = (
    "armchair", "bag", "basket", "bathtub", "bed", "bench", "bicycle", "book", "books", "bookshelf", "bottle",
    "bowl", "box", "cabinet", "candle", "car", "ceiling lamp", "chair", "chest", "clock", "clothes",
    "coat rack", "coffee table", "computer monitor", "console table", "cup", "curtain", "cushion", "desk",
    "dining table", "dishwasher", "drawer", "dresser", "dryer", "fireplace", "floor lamp", "jar", "kettle",
    "keyboard", "kitchen cabinet", "kitchen island", "ladder", "laptop", "microwave", "mirror", "nightstand",
    "office chair", "painting", "piano", "picture", "plant", "plate", "pot", "pouf", "radiator", "radio",
    "range hood", "refrigerator", "rug", "shelf", "shoes", "shower", "side table", "sink", "soap", "sofa",
    "speaker", "stool", "stove", "table lamp", "toaster", "toilet", "toilet paper", "toolbox", "towel", "toy",
    "trash can", "tv", "tv stand", "tyres", "umbrella stand", "vase", "wall lamp", "wardrobe",
    "washing machine", "workbench",
)  # fmt: skip

CATEGORIES: tuple[str, ...] = ("", *sorted((*BUILDING, *FURNITURE)))
CATEGORY_IDS = {name: number for number, name in enumerate(CATEGORIES)}
