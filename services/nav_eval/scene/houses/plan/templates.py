"""Which rooms a house has, from a one-bedroom flat to a five-bedroom house on two floors."""

from dataclasses import dataclass

from nav_eval.errors import UnknownName
from nav_eval.scene.houses.randomness import Draw


@dataclass(frozen=True, slots=True)
class RoomKind:
    """What the layout must know about one kind of room."""

    name: str
    area: tuple[float, float]  #: usual square metres
    width: int  #: never narrower than this, in millimetres, wall centre to wall centre
    public: bool = False  #: belongs to the open, shared part of the house
    small: bool = False  #: may share one column of the plan with another small room


ROOM_KINDS = {
    kind.name: kind
    for kind in (
        RoomKind("living room", (20, 30), 3600, public=True),
        RoomKind("kitchen", (10, 16), 2700, public=True),
        RoomKind("dining room", (11, 16), 3000, public=True),
        RoomKind("bedroom", (11, 17), 2900),
        RoomKind("office", (9, 13), 2600),
        RoomKind("bathroom", (5, 7.5), 2000, small=True),
        RoomKind("laundry room", (4.5, 6.5), 1900, small=True),
        RoomKind("garage", (20, 24), 3500),
        RoomKind("hallway", (6, 12), 1300),
    )
}

LIVING, KITCHEN, DINING, BEDROOM = "living room", "kitchen", "dining room", "bedroom"
OFFICE, BATHROOM, LAUNDRY, GARAGE, HALLWAY = "office", "bathroom", "laundry room", "garage", "hallway"


@dataclass(frozen=True, slots=True)
class Template:
    """The rooms of each storey; hallways and stairs come with the layout."""

    name: str
    storeys: tuple[tuple[str, ...], ...]
    layouts: tuple[str, ...]  #: ways to arrange a storey, see `layout`
    weight: float = 1.0


TEMPLATES = {
    template.name: template
    for template in (
        Template("flat_1", ((LIVING, KITCHEN, BEDROOM, BATHROOM),), ("spine",)),
        Template("flat_2", ((LIVING, KITCHEN, BEDROOM, BEDROOM, BATHROOM),), ("spine",), 1.5),
        Template("flat_3", ((LIVING, KITCHEN, DINING, *[BEDROOM] * 3, BATHROOM, BATHROOM),), ("spine", "elbow"), 1.5),
        Template(
            "house_2", ((LIVING, KITCHEN, DINING, BEDROOM, BEDROOM, BATHROOM, OFFICE, LAUNDRY),), ("spine", "elbow")
        ),
        Template(
            "house_3",
            ((LIVING, KITCHEN, DINING, *[BEDROOM] * 3, BATHROOM, BATHROOM, OFFICE, LAUNDRY, GARAGE),),
            ("spine", "elbow", "ring"),
            1.5,
        ),
        Template(
            "house_4",
            ((LIVING, KITCHEN, DINING, *[BEDROOM] * 4, BATHROOM, BATHROOM, OFFICE, LAUNDRY),),
            ("elbow", "ring"),
        ),
        Template(
            "house_5",
            ((LIVING, KITCHEN, DINING, *[BEDROOM] * 5, *[BATHROOM] * 3, OFFICE, LAUNDRY, GARAGE),),
            ("elbow", "ring"),
            0.7,
        ),
        Template(
            "duplex_3",
            ((LIVING, KITCHEN, DINING, BATHROOM, LAUNDRY), (*[BEDROOM] * 3, BATHROOM, OFFICE)),
            ("stairs",),
        ),
        Template(
            "duplex_5",
            (
                (LIVING, KITCHEN, DINING, BEDROOM, BATHROOM, LAUNDRY, OFFICE, GARAGE),
                (*[BEDROOM] * 4, BATHROOM, BATHROOM, OFFICE),
            ),
            ("stairs",),
        ),
    )
}


def chosen_template(name: str | None, draw: Draw) -> Template:
    """The named template, or one by weight."""
    if name is None:
        return draw.weighted([(template, template.weight) for template in TEMPLATES.values()])
    if name not in TEMPLATES:
        raise UnknownName(f"There is no house template {name!r}. Known: {', '.join(TEMPLATES)}.")
    return TEMPLATES[name]
