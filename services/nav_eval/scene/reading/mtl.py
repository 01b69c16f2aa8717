"""The material library of an OBJ file."""

from dataclasses import dataclass
from math import isfinite

from nav_eval.scene.reading.log import ReadLog

OPTION_ARGUMENTS = {"-blendu": 1, "-blendv": 1, "-boost": 1, "-cc": 1, "-clamp": 1, "-imfchan": 1, "-texres": 1,
                    "-bm": 1, "-mm": 2, "-type": 1}  # fmt: skip
UP_TO_THREE_NUMBERS = ("-o", "-s", "-t")


@dataclass(slots=True)
class MtlMaterial:
    """What we use of a material; MTL colours are sRGB fractions."""

    name: str
    diffuse: tuple[float, float, float] = (0.8, 0.8, 0.8)
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    alpha: float = 1.0
    diffuse_map: str | None = None
    alpha_map: str | None = None
    clamp: bool = False


def parse_mtl(text: str, log: ReadLog) -> dict[str, MtlMaterial]:
    """Materials by name."""
    materials: dict[str, MtlMaterial] = {}
    current = MtlMaterial("")
    has_dissolve: set[str] = set()
    for line in text.splitlines():
        keyword, _, rest = line.strip().partition(" ")
        rest = rest.split(" #")[0].strip()
        if keyword == "newmtl":
            current = materials.setdefault(rest, MtlMaterial(rest))
        elif keyword in ("Kd", "Ke"):
            color = _color(rest)
            if color is not None:
                setattr(current, "diffuse" if keyword == "Kd" else "emissive", color)
        elif keyword == "d":
            current.alpha = _number(rest.removeprefix("-halo"), 1.0)
            has_dissolve.add(current.name)
        elif keyword == "Tr" and current.name not in has_dissolve:
            current.alpha = _opacity(_number(rest, 0.0), current.name, log)
        elif keyword == "map_Kd":
            current.diffuse_map, current.clamp = _map_name(rest), "-clamp on" in rest
        elif keyword == "map_d":
            current.alpha_map = _map_name(rest)
    return materials


def _opacity(transparency: float, name: str, log: ReadLog) -> float:
    """`Tr` is 1 − opacity; but some tools write `Tr 1` for opaque, and nobody models what cannot be seen."""
    if transparency >= 1.0:
        log.note(f"Material {name!r} says Tr {transparency:g}, which would be invisible; taken as opaque.")
        return 1.0
    return 1.0 - transparency


def _map_name(rest: str) -> str | None:
    """The file name behind a map's options; it may contain spaces."""
    words = rest.split()
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in UP_TO_THREE_NUMBERS:
            taken = 0
            while len(words) > 1 and taken < 3 and _is_number(words[0]):
                words.pop(0)
                taken += 1
        else:
            del words[: OPTION_ARGUMENTS.get(option, 0)]
    return " ".join(words) or None


def _color(rest: str) -> tuple[float, float, float] | None:
    words = rest.split()[:3]
    if len(words) not in (1, 3) or not all(_is_number(word) for word in words):  # spectral curves and the like
        return None
    red, green, blue = (float(word) for word in (words * 3)[:3])
    return red, green, blue


def _number(text: str, default: float) -> float:
    word = next(iter(text.split()), "")
    return float(word) if _is_number(word) else default


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False
