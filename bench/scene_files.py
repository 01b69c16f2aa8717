"""Scene files: our own readers against trimesh's. What does each lose, and what does it cost?

`python -m bench scene_files` reads every glTF sample with both, one house as OBJ and PLY, and small OBJ and PLY files
each of which holds one thing that a reader may lose. trimesh reads with its defaults, but does not merge vertices.
Every reading has a process of its own; memory is the growth of its peak, so that pictures decoded in C count, too.
"""

import multiprocessing
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import trimesh
from PIL import Image

from bench.shared_data import find_shared_data
from nav_eval.scene.formats import ReadLimits, read_scene
from nav_eval.scene.formats.ply import read_face_numbers
from nav_eval.scene.formats.scene_folder import SceneFolder
from nav_eval.scene.model import ReadLog, Scene

DATA = find_shared_data("")
LARGE = ("scenes/small_house.glb", "scenes/hospital_two_floors.glb")
HOUSE = "scenes/small_house.glb"


class Reading(NamedTuple):
    """What came out of a file, in numbers that can be compared."""

    triangles: int
    area: float  #: of all surface, square metres
    textured: int  #: triangles that show a picture
    tinted: int  #: triangles with vertex colours
    lights: int
    uv: tuple[float, float] = (0.0, 0.0)  #: mean texture coordinates of the triangles that show a picture
    seconds: float = 0.0
    megabytes: float = 0.0


def run() -> dict[str, object]:
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        if DATA.exists():
            figures |= _compare_samples() | _compare_text_formats(Path(folder))
        return figures | _compare_features(Path(folder))


def _compare_samples() -> dict[str, object]:
    """glTF: every sample with both."""
    files = sorted(path for path in DATA.rglob("*") if path.suffix in (".glb", ".gltf"))
    losses: Counter[str] = Counter()
    for path in files:
        lost = _find_losses(_measure(_read_ours, path), _measure(_read_theirs, path))
        losses.update({what.partition(":")[0] for what in lost})
        losses["nothing lost"] += not lost
        for what in lost:
            print(f"  {path.relative_to(DATA)}: {what}")
    figures: dict[str, object] = {"gltf files": len(files)}
    figures |= {f"gltf files, trimesh: {what}": count for what, count in sorted(losses.items())}
    for name in LARGE:
        figures |= _costs(Path(name).name, DATA / name)
    return figures


def _compare_text_formats(folder: Path) -> dict[str, object]:
    """One house in formats without materials, where both find the same."""
    house = read_scene(DATA / HOUSE)
    mesh = trimesh.Trimesh(house.positions, house.triangles, vertex_normals=house.normals, process=False)
    contents = {
        "house.obj": mesh.export(file_type="obj").encode(),
        "house.ply": mesh.export(file_type="ply"),
        "house_text.ply": mesh.export(file_type="ply", encoding="ascii"),
    }
    figures: dict[str, object] = {}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        figures |= _costs(name, folder / name)
    return figures


def _find_losses(ours: Reading | str, theirs: Reading | str) -> list[str]:
    if isinstance(ours, str):
        return [] if isinstance(theirs, str) else [f"reads what we refuse: {ours}"]
    if isinstance(theirs, str):
        return [f"fails: {theirs}"]
    lost = []
    if theirs.triangles != ours.triangles or abs(theirs.area - ours.area) > 0.001 * ours.area:
        counts = f"{theirs.triangles:,} for {ours.triangles:,} triangles"
        lost.append(f"other geometry: {counts}, {theirs.area:.4g} for {ours.area:.4g} m²")
    if theirs.textured == ours.textured and not np.allclose(theirs.uv, ours.uv, rtol=1e-3, atol=1e-3):
        lost.append(f"other texture coordinates: mean {np.round(theirs.uv, 3)} for {np.round(ours.uv, 3)}")
    for what in ("textured", "tinted", "lights"):
        if getattr(theirs, what) < getattr(ours, what):
            lost.append(f"less {what}: {getattr(theirs, what):,} for {getattr(ours, what):,}")
    return lost


def _costs(name: str, path: Path) -> dict[str, object]:
    figures: dict[str, object] = {}
    for who, read in (("ours", _read_ours), ("trimesh", _read_theirs)):
        reading = _measure(read, path)
        if not isinstance(reading, str):
            figures |= {f"{name} {who} seconds": reading.seconds, f"{name} {who} megabytes": reading.megabytes}
    return figures


def _measure(read: Callable[[Path], Reading], path: Path) -> Reading | str:
    """The reading, or why there is none; the faster of two, each in a new process that has all code loaded."""
    read_once = [_run_forked(read, path) for _ in range(2)]
    return min(read_once, key=lambda reading: reading if isinstance(reading, str) else str(reading.seconds).zfill(24))


def _run_forked(read: Callable[[Path], Reading], path: Path) -> Reading | str:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(read, path, sender))
    process.start()
    sender.close()
    try:
        result: Reading | str = receiver.recv()
    except EOFError:
        result = "crashes"
    process.join()
    return result


def _report(read: Callable[[Path], Reading], path: Path, sender: Connection) -> None:
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        reading = read(path)
    except Exception as error:  # noqa: BLE001 - whatever a reader fails with is its result
        sender.send(f"{type(error).__name__}: {error}"[:100].replace("\n", " "))
        return
    seconds = time.process_time() - started
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    sender.send(reading._replace(seconds=seconds, megabytes=megabytes))


def _read_ours(path: Path) -> Reading:
    scene = read_scene(path, up="y")
    shows = np.array([material.texture is not None for material in scene.materials])
    tinted = (scene.colors != 255).any(axis=1)[scene.triangles].any(axis=1)
    return Reading(
        triangles=scene.report.file_triangles,
        area=_area(scene.positions[scene.triangles]),
        textured=int(shows[scene.triangle_material].sum()),
        tinted=int(tinted.sum()),
        lights=len(scene.lights),
        uv=_mean([scene.uvs[scene.triangles[shows[scene.triangle_material]]]]),
    )


def _read_theirs(path: Path) -> Reading:
    scene = trimesh.load_scene(path, process=False)
    counts: Counter[str] = Counter()
    area, uvs = 0.0, list[np.ndarray]()
    for node in scene.graph.nodes_geometry:
        matrix, name = scene.graph[node]
        mesh: Any = scene.geometry[name]
        if not isinstance(mesh, trimesh.Trimesh):
            continue
        corners = trimesh.transform_points(mesh.vertices, matrix)[mesh.faces]
        area += _area(corners)
        counts["triangles"] += len(mesh.faces)
        if _has_picture(mesh):
            counts["textured"] += len(mesh.faces)
            uvs.append(np.asarray(mesh.visual.uv)[mesh.faces] * (1, -1) + (0, 1))  # it counts from the bottom
        counts["tinted"] += int((_tints(mesh) != 255).any(axis=1)[mesh.faces].any(axis=1).sum())
    lights = len(getattr(scene, "_lights", None) or [])
    return Reading(counts["triangles"], area, counts["textured"], counts["tinted"], lights, _mean(uvs))


def _mean(uvs: Sequence[np.ndarray]) -> tuple[float, float]:
    rows = np.concatenate([np.zeros((0, 2)), *(part.reshape(-1, 2) for part in uvs)])
    u, v = rows.mean(axis=0) if len(rows) else (0.0, 0.0)
    return float(u), float(v)


def _area(corners: np.ndarray) -> float:
    a, b, c = (corners[:, place].astype(np.float64) for place in range(3))
    return float(np.nan_to_num(np.linalg.norm(np.cross(b - a, c - a), axis=1)).sum() / 2)


def _has_picture(mesh: trimesh.Trimesh) -> bool:
    """Whether it shows a picture, be it as its colour or as its glow: our reader takes one for the other, too."""
    material = getattr(mesh.visual, "material", None)
    pictures = [getattr(material, name, None) for name in ("baseColorTexture", "emissiveTexture", "image")]
    shown = [picture for picture in pictures if picture is not None]
    for picture in shown:
        picture.load()  # trimesh leaves decoding to whoever looks first
    return bool(shown) and getattr(mesh.visual, "uv", None) is not None


def _tints(mesh: trimesh.Trimesh) -> np.ndarray:
    """Vertex colours, also where trimesh keeps them beside a material."""
    if mesh.visual.kind in ("vertex", "face"):
        return np.asarray(mesh.visual.vertex_colors)
    beside = getattr(mesh.visual, "vertex_attributes", {})
    return np.asarray(beside.get("color", np.full((len(mesh.vertices), 4), 255)))


class Feature(NamedTuple):
    """One thing that a small file holds, and how to see that it was kept."""

    name: str
    content: str
    ours: Callable[[Scene], object]
    theirs: Callable[[Any], object]  #: asked of the only mesh
    materials: str = ""


class BrokenFile(NamedTuple):
    """Something that must be refused."""

    name: str
    content: str


def _ply(*, vertex: str = "", face: str = "", rows: Sequence[str], faces: Sequence[str], comment: str = "") -> str:
    xyz = "property float x\nproperty float y\nproperty float z\n"
    head = f"ply\nformat ascii 1.0\n{comment}element vertex {len(rows)}\n{xyz}{vertex}"
    head += f"element face {len(faces)}\nproperty list uchar int vertex_indices\n{face}end_header\n"
    return head + "\n".join([*rows, *faces]) + "\n"


CORNERS = ("0 0 0", "2 0 0", "2 2 0", "0 2 0")
SQUARE = "".join(f"v {corner}\n" for corner in CORNERS)
SHOWN = "mtllib m.mtl\n" + SQUARE + "vt 0 0\nusemtl a\nf 1/1 2/1 3/1\n"
#: A floor plan of 48 m² in the shape of an L; a fan from its first corner covers the yard, too.
PLAN = ("4 0 0", "8 0 0", "8 0 8", "0 0 8", "0 0 4", "4 0 4")
RGB = "property uchar red\nproperty uchar green\nproperty uchar blue\n"
TEXCOORD = "property list uchar float texcoord\n"


def _is_red(color: object) -> bool:
    return bool(np.asarray(color).reshape(-1, 4)[0].tolist() == [255, 0, 0, 255])


def _our_colors(scene: Scene) -> bool:
    return _is_red(scene.colors)


def _their_colors(mesh: trimesh.Trimesh) -> bool:
    return mesh.visual.kind in ("vertex", "face") and _is_red(mesh.visual.vertex_colors)


def _our_plan(scene: Scene) -> bool:
    return abs(_area(scene.positions[scene.triangles]) - 48) < 1e-6


def _their_plan(mesh: trimesh.Trimesh) -> bool:
    return abs(_area(mesh.triangles) - 48) < 1e-6


def _our_alpha(scene: Scene) -> bool:
    return scene.materials[0].base_color[3] == 0.75


def _their_alpha(mesh: trimesh.Trimesh) -> bool:
    return int(mesh.visual.material.diffuse[3]) == 191


def _our_picture(scene: Scene) -> bool:
    return len(scene.textures) == 1


def _is_told(scene: Scene) -> bool:
    return len(scene.report.warnings) > 0


def _is_never_told(_: trimesh.Trimesh) -> bool:
    """A mesh of trimesh's has no report."""
    return False


FEATURES = (
    Feature("obj: concave polygon", "".join(f"v {p}\n" for p in PLAN) + "f 1 2 3 4 5 6\n", _our_plan, _their_plan),
    Feature("obj: relative indices", SQUARE + "f -4 -3 -2\n", lambda s: len(s.triangles), lambda m: len(m.faces)),
    Feature("obj: continued lines", SQUARE + "f 1 2 \\\n 3\n", lambda s: len(s.triangles), lambda m: len(m.faces)),
    Feature(
        "obj: vertex colours", "".join(f"v {p} 1 0 0\n" for p in CORNERS) + "f 1 2 3\n", _our_colors, _their_colors
    ),
    Feature(
        "obj: diffuse colour",
        SHOWN,
        lambda s: s.materials[0].base_color[:3] == (1, 0, 0),
        lambda m: _is_red(m.visual.material.diffuse),
        "Kd 1 0 0",
    ),
    Feature(
        "obj: emission",
        SHOWN,
        lambda s: s.materials[0].emissive == (1, 0, 0),
        lambda m: m.visual.material.kwargs.get("ke"),
        "Ke 1 0 0",
    ),
    Feature("obj: transparency by d", SHOWN, _our_alpha, _their_alpha, "Kd 1 1 1\nd 0.75"),
    Feature("obj: transparency by Tr", SHOWN, _our_alpha, _their_alpha, "Kd 1 1 1\nTr 0.25"),
    Feature("obj: picture", SHOWN, _our_picture, _has_picture, "map_Kd w.png"),
    Feature("obj: picture with options", SHOWN, _our_picture, _has_picture, "map_Kd -s 2 2 1 w.png"),
    Feature("obj: missing picture is told", SHOWN, _is_told, _is_never_told, "map_Kd x.png"),
    Feature("obj: lines left out are told", SQUARE + "f 1 2 3\nl 1 2\n", _is_told, _is_never_told),
    BrokenFile("obj: face past the last vertex", SQUARE + "f 1 2 9\n"),
    BrokenFile("obj: corner that is no number", SQUARE + "f 1 2 3\nf 1 2 x\n"),
    BrokenFile("obj: coordinate that is no number", "v 0 0 zero\n" + SQUARE + "f 1 2 3\n"),
    Feature("ply: concave polygon", _ply(rows=PLAN, faces=["6 0 1 2 3 4 5"]), _our_plan, _their_plan),
    Feature(
        "ply: vertex colours",
        _ply(vertex=RGB, rows=[f"{corner} 255 0 0" for corner in CORNERS], faces=["3 0 1 2"]),
        _our_colors,
        _their_colors,
    ),
    Feature("ply: face colours", _ply(face=RGB, rows=CORNERS, faces=["3 0 1 2 255 0 0"]), _our_colors, _their_colors),
    Feature(
        "ply: 16-bit colours",
        _ply(
            vertex=RGB.replace("uchar", "ushort"),
            rows=[f"{corner} 65535 0 0" for corner in CORNERS],
            faces=["3 0 1 2"],
        ),
        _our_colors,
        _their_colors,
    ),
    Feature(
        "ply: picture, coordinates per corner",
        _ply(comment="comment TextureFile w.png\n", face=TEXCOORD, rows=CORNERS, faces=["3 0 1 2 6 0 0 1 0 1 1"]),
        _our_picture,
        _has_picture,
    ),
    Feature(
        "ply: object id of a quad's two triangles",
        _ply(face="property int object_id\n", rows=CORNERS, faces=["4 0 1 2 3 7", "3 0 1 2 8"]),
        lambda s: _our_face_ids(s.report.source) == [7, 7, 8],
        lambda m: any(len(numbers) == len(m.faces) for numbers in m.face_attributes.values()),
    ),
    BrokenFile("ply: cut off", _ply(rows=CORNERS, faces=["3 0 1 2"])[:-4]),
    BrokenFile("ply: face past the last vertex", _ply(rows=CORNERS, faces=["3 0 1 9"])),
)


def _our_face_ids(source: str) -> list[int]:
    folder = SceneFolder(Path(source), ReadLimits())
    numbers = read_face_numbers(folder.read_main(), names=("object_id",), folder=folder, log=ReadLog(source))
    return [] if numbers is None else numbers.tolist()


def _compare_features(folder: Path) -> dict[str, object]:
    """OBJ and PLY: one thing at a time."""
    Image.new("RGB", (2, 2), (255, 0, 0)).save(folder / "w.png")
    return {feature.name: _compare_feature(feature, folder) for feature in FEATURES}


def _compare_feature(feature: Feature | BrokenFile, folder: Path) -> str:
    path = folder / f"a.{feature.name[:3]}"
    path.write_text(feature.content)
    if isinstance(feature, BrokenFile):
        ours = _reads(lambda: read_scene(path, up="y"))
        theirs = _reads(lambda: trimesh.load_mesh(path, process=False))
        return f"{'READ' if ours else 'refused'} | {'READ' if theirs else 'refused'}"
    (folder / "m.mtl").write_text(f"newmtl a\n{feature.materials}\n")
    ours = _reads(lambda: feature.ours(read_scene(path, up="y")))
    theirs = _reads(lambda: feature.theirs(trimesh.load_mesh(path, process=False)))
    return f"{'kept' if ours else 'LOST'} | {'kept' if theirs else 'LOST'}"


def _reads(read: Callable[[], object]) -> bool:
    try:
        return bool(read())
    except Exception:  # noqa: BLE001 - whatever a reader fails with is its result
        return False
