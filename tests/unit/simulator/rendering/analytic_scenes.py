"""Scenes whose pictures can be computed with pencil and paper."""

import numpy as np

from nav_eval.scene.model import Material, Scene, Semantics, Texture

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)
SIDES = ("-x", "+x", "-y", "+y", "-z", "+z")


def solid_texture(*rows: tuple[tuple[int, int, int], ...], **look) -> Texture:
    """A texture from rows of colours, the first row on top."""
    pixels = np.array(rows, dtype=np.uint8)
    return Texture(pixels=np.concatenate([pixels, np.full((*pixels.shape[:2], 1), 255, np.uint8)], axis=2), **look)


class SceneBuilder:
    """Collects quads and boxes; every call is one object with its own instance id and category."""

    def __init__(self) -> None:
        self.positions, self.normals, self.uvs, self.colors, self.triangles = [], [], [], [], []
        self.material_of, self.object_of, self.category_of = [], [], []
        self.materials: list[Material] = []
        self.textures: list[Texture] = []

    def material(self, texture: Texture | None = None, **look) -> int:
        index = None
        if texture is not None:
            self.textures.append(texture)
            index = len(self.textures) - 1
        self.materials.append(Material(texture=index, **look))
        return len(self.materials) - 1

    def color(self, rgb, **look) -> int:
        """A texture of one colour: its bytes are the picture's bytes."""
        return self.material(solid_texture((rgb,)), **look)

    def quad(self, corners, material, *, object_id=0, category=0, colors=None, uvs=None) -> None:
        """Corners counter-clockwise seen from the front, starting at the texture's bottom left."""
        start = 4 * len(self.positions)
        corners = np.asarray(corners, dtype=np.float32)
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        self.positions.append(corners)
        self.normals.append(np.tile(normal / np.linalg.norm(normal), (4, 1)))
        self.uvs.append(np.asarray(uvs if uvs is not None else [(0, 1), (1, 1), (1, 0), (0, 0)], dtype=np.float32))
        self.colors.append(np.full((4, 4), 255) if colors is None else np.asarray(colors))
        self.triangles += [(start, start + 1, start + 2), (start, start + 2, start + 3)]
        self.material_of += [material] * 2
        self.object_of += [object_id] * 2
        self.category_of += [category] * 2

    def wall(self, lower, upper, z, material, **what) -> None:
        """A rectangle in the plane z, facing +z."""
        (x0, y0), (x1, y1) = lower, upper
        self.quad([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)], material, **what)

    def box(self, lower, upper, material, *, inside_out=False, **what) -> None:
        low, high = np.asarray(lower, float), np.asarray(upper, float)
        for axis in range(3):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            for side, at in ((-1, low[axis]), (1, high[axis])):
                corners = np.empty((4, 3))
                corners[:, axis] = at
                corners[:, u] = [low[u], high[u], high[u], low[u]]
                corners[:, v] = [low[v], low[v], high[v], high[v]]
                self.quad(corners if (side > 0) != inside_out else corners[::-1], material, **what)

    def build(self, **extra) -> Scene:
        return Scene(
            positions=np.concatenate(self.positions).astype(np.float32),
            normals=np.concatenate(self.normals).astype(np.float32),
            uvs=np.concatenate(self.uvs).astype(np.float32),
            colors=np.concatenate(self.colors).astype(np.uint8),
            triangles=np.array(self.triangles, dtype=np.uint32),
            triangle_material=np.array(self.material_of, dtype=np.uint16),
            triangle_object=np.array(self.object_of, dtype=np.uint32),
            triangle_category=np.array(self.category_of, dtype=np.uint16),
            materials=tuple(self.materials),
            textures=tuple(self.textures),
            semantics=Semantics(categories=tuple(f"category {i}" for i in range(max(self.category_of) + 1))),
            **extra,
        )


def cluttered_rooms(seed: int, *, boxes: int = 120, rooms: int = 4) -> Scene:
    """A row of rooms with doors, full of boxes that touch, overlap and coincide: many ties, much hidden."""
    rng = np.random.default_rng(seed)
    build = SceneBuilder()
    noise = [
        Texture(
            pixels=np.concatenate([rng.integers(0, 256, (size, size, 3)), np.full((size, size, 1), 255)], 2).astype(
                np.uint8
            )
        )
        for size in (8, 16, 31)
    ]
    materials = [build.material(texture) for texture in noise]
    materials += [build.material(base_color=(*rng.random(3), 1.0), double_sided=bool(k)) for k in range(2)]
    build.box((0, 0, 0), (4 * rooms, 3, 4), materials[0], inside_out=True)
    for room in range(1, rooms):
        build.box((4 * room - 0.05, 0, 0), (4 * room + 0.05, 3, 1.5), materials[1], object_id=room, category=1)
        build.box((4 * room - 0.05, 0, 2.5), (4 * room + 0.05, 3, 4), materials[1], object_id=room, category=1)
    for number in range(boxes):
        # Multiples of a quarter metre make faces coincide.
        low = np.round(rng.random(3) * (4 * rooms - 1, 1.5, 3) * 4) / 4
        size = np.round(rng.random(3) * 3 + 1) / 4
        material = materials[rng.integers(len(materials))]
        build.box(low, low + size, material, object_id=10 + number, category=int(rng.integers(2, 6)))
    return build.build()
