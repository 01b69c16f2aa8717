"""COLLADA surfaces made plain for trimesh's reader: triangles instead of polygons, and how opaque each effect is.

The reader cuts polygons from their first corner, which turns a concave one inside out, and takes the alpha of
`<transparent>` for the opacity, whatever `opaque` and `<transparency>` say of it.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.formats.geometry import triangulate
from nav_eval.scene.model import ReadLog

SHADERS = ("phong", "lambert", "blinn", "constant")
#: What a color of `<transparent>` lets through, in COLLADA's words, by linear light.
LUMINANCE = np.array([0.212671, 0.715160, 0.072169])
INVISIBLE = 0.01


class UnusualPolygons(Exception):
    """Polygons that do not add up; the reader says what is wrong with them."""


def cut_polygons(root: Element, space: str, log: ReadLog) -> None:
    """Put triangles in the place of polygons, cut along the outline of each."""
    holes = uncut = 0
    for mesh in root.iter(f"{space}mesh"):
        for element in [*mesh.findall(f"{space}polylist"), *mesh.findall(f"{space}polygons")]:
            holes += len(element.findall(f"{space}ph/{space}h"))
            try:
                corners, counts = _read_corners(element, space)
                points = _find_points(mesh, element, space)
                place = _find_input(element, space, "VERTEX").get("offset", "0")
                cut, _ = triangulate(*_check_indices(corners[:, int(place)], counts, points), points)
            except (UnusualPolygons, ValueError, IndexError, OverflowError):
                uncut += 1
            else:
                _write_triangles(element, corners[cut], space)
    if holes:
        log.warn(f"{holes:,} holes in polygons are left out: their surfaces are closed.")
    if uncut:
        log.note("Polygons are cut from their first corner; a concave one comes out wrong.")


def _read_corners(element: Element, space: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All corners, a row of indices each, and how many every polygon has."""
    stride = 1 + max(int(found.get("offset", "0")) for found in element.findall(f"{space}input"))
    runs = [_read_integers(found) for found in (*element.findall(f"{space}p"), *element.findall(f"{space}ph/{space}p"))]
    corners = np.concatenate([np.zeros(0, np.int64), *runs])
    if element.tag == f"{space}polylist":
        counts = _read_integers(element.find(f"{space}vcount"))
    else:
        counts = np.array([len(run) // stride for run in runs], np.int64)
    if (counts < 0).any() or int(counts.sum()) * stride != len(corners):
        raise UnusualPolygons
    return corners.reshape(-1, stride), counts


def _read_integers(element: Element | None) -> NDArray[np.int64]:
    return np.array((element.text or "").split() if element is not None else (), dtype=np.int64)


def _find_input(owner: Element, space: str, semantic: str) -> Element:
    for found in owner.findall(f"{space}input"):
        if found.get("semantic") == semantic:
            return found
    raise UnusualPolygons


def _find_points(mesh: Element, element: Element, space: str) -> NDArray[np.float32]:
    """The positions that the VERTEX input of these polygons leads to."""
    vertices = _find_by_id(mesh, space, "vertices", _find_input(element, space, "VERTEX"))
    source = _find_by_id(mesh, space, "source", _find_input(vertices, space, "POSITION"))
    accessor, numbers = source.find(f"{space}technique_common/{space}accessor"), source.find(f"{space}float_array")
    if accessor is None or numbers is None or len(accessor) != 3:
        raise UnusualPolygons
    start, stride = int(accessor.get("offset", "0")), int(accessor.get("stride", "1"))
    values = np.array((numbers.text or "").split(), dtype=np.float64)[start:]
    if start < 0 or stride < 3:
        raise UnusualPolygons
    return values[: len(values) // stride * stride].reshape(-1, stride)[:, :3].astype(np.float32)


def _find_by_id(mesh: Element, space: str, name: str, reference: Element) -> Element:
    for found in mesh.findall(space + name):
        if f"#{found.get('id')}" == reference.get("source"):
            return found
    raise UnusualPolygons


def _check_indices(
    indices: NDArray[np.int64], counts: NDArray[np.int64], points: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if len(indices) and not 0 <= indices.min() <= indices.max() < len(points):
        raise UnusualPolygons
    return indices, counts


def _write_triangles(element: Element, corners: NDArray[np.int64], space: str) -> None:
    for name in ("vcount", "p", "ph"):
        for found in element.findall(space + name):
            element.remove(found)
    element.tag = f"{space}triangles"
    element.set("count", str(len(corners)))
    SubElement(element, f"{space}p").text = " ".join(map(str, corners.ravel().tolist()))


def settle_opacity(root: Element, space: str, log: ReadLog) -> frozenset[str]:
    """Give every effect one opacity; returns the picture files whose alpha cuts out what they are on."""
    invisible = left_out = 0
    cut_out: set[str] = set()
    for effect in root.iter(f"{space}effect"):
        for shader in _iterate_shaders(effect, space):
            transparent = shader.find(f"{space}transparent")
            picture = None if transparent is None else transparent.find(f"{space}texture")
            if picture is None:
                opacity = _compute_opacity(shader, space)
                invisible += opacity < INVISIBLE
                _write_opacity(shader, opacity if opacity >= INVISIBLE else 1.0, space)
            elif _is_own_alpha(shader, picture, space):
                cut_out |= _find_pictures(root, effect, picture.get("texture", ""), space)
            else:
                left_out += 1
    if invisible:
        log.note(f"{invisible:,} effects would be invisible by what the file says; they are shown opaque.")
    if left_out:
        log.warn(f"The transparency pictures of {left_out:,} effects are left out: they are shown opaque.")
    return frozenset(cut_out)


def _iterate_shaders(effect: Element, space: str) -> Iterator[Element]:
    for name in SHADERS:
        for shader in effect.iter(space + name):
            if shader.find(f"{space}transparent") is not None or shader.find(f"{space}transparency") is not None:
                yield shader


def _compute_opacity(shader: Element, space: str) -> float:
    """As COLLADA says it: of `<transparent>`, in one of four modes, times `<transparency>`."""
    transparent = shader.find(f"{space}transparent")
    mode = "A_ONE" if transparent is None else transparent.get("opaque", "A_ONE")
    color = _read_color(None if transparent is None else transparent.find(f"{space}color"))
    factor = shader.find(f"{space}transparency/{space}float")
    amount = float(color[3]) if mode.startswith("A_") else float(LUMINANCE @ color[:3])
    amount *= _read_number("1" if factor is None else factor.text or "1")
    return min(1.0, max(0.0, 1.0 - amount if mode.endswith("_ZERO") else amount))


def _read_color(element: Element | None) -> NDArray[np.float64]:
    """White where there is none, or none that can be read."""
    parts = [] if element is None else (element.text or "").split()
    color = np.array([_read_number(part) for part in parts[:4]])
    return np.concatenate([color, np.ones(4)])[:4]


def _read_number(text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return 1.0
    return number if np.isfinite(number) else 1.0


def _write_opacity(shader: Element, opacity: float, space: str) -> None:
    for name in ("transparent", "transparency"):
        for found in shader.findall(space + name):
            shader.remove(found)
    if opacity < 1.0:
        transparent = SubElement(shader, f"{space}transparent", opaque="A_ONE")
        SubElement(transparent, f"{space}color").text = f"1 1 1 {opacity:.6f}"


def _is_own_alpha(shader: Element, picture: Element, space: str) -> bool:
    """Whether the picture that is shown says itself where it is opaque."""
    transparent, shown = shader.find(f"{space}transparent"), shader.find(f"{space}diffuse/{space}texture")
    mode = "" if transparent is None else transparent.get("opaque", "A_ONE")
    return mode == "A_ONE" and shown is not None and shown.get("texture") == picture.get("texture")


def _find_pictures(root: Element, effect: Element, sampler: str, space: str) -> set[str]:
    """The files behind a sampler: by way of a surface, or an image itself."""
    parameters = {found.get("sid"): found for found in effect.iter(f"{space}newparam")}
    name = sampler
    for path in (f"{space}sampler2D/{space}source", f"{space}surface/{space}init_from"):
        parameter = parameters.get(name)
        name = name if parameter is None else (parameter.findtext(path) or name).strip()
    images = (found for found in root.iter(f"{space}image") if found.get("id") == name)
    return {(image.findtext(f"{space}init_from") or "").strip() for image in images}
