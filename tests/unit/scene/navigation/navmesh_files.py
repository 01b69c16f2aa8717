"""A small writer of Habitat's `.navmesh` files, for fixtures."""

import struct

import numpy as np

DEFAULTS = (0.05, 0.2, 1.5, 0.1, 0.2, 45.0, 20.0, 20.0, 12.0, 1.3, 6.0, 6.0, 1.0)


def tile(polygons, *, flags=None, details=None, unlinked=(), x=0, y=0, portals=None, wide=False):
    """One Detour block. Polygons are lists of (x, y, z); equal edges of two polygons link them.

    `details` maps a polygon to (inner points, triangles); `unlinked` names pairs of polygons that only touch;
    `portals` maps (polygon, edge) to the side of the tile on which it leads to another tile;
    `wide` references have 64 bits.
    """
    vertices, index = [], {}
    for polygon in polygons:
        for point in polygon:
            if tuple(point) not in index:
                index[tuple(point)] = len(vertices)
                vertices.append(point)
    owners = {}
    for k, polygon in enumerate(polygons):
        for a, b in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
            owners.setdefault(frozenset((tuple(a), tuple(b))), []).append(k)
    records, meshes, inner, triangles = [], [], [], []
    for k, polygon in enumerate(polygons):
        across = []
        for edge, (a, b) in enumerate(zip(polygon, [*polygon[1:], polygon[0]], strict=True)):
            others = [o for o in owners[frozenset((tuple(a), tuple(b)))] if o != k and {o, k} not in map(set, unlinked)]
            portal = (portals or {}).get((k, edge))
            across.append(0x8000 | portal if portal is not None else others[0] + 1 if others else 0)
        corners = [index[tuple(point)] for point in polygon]
        pad = 6 - len(polygon)
        walk = 1 if flags is None else flags[k]
        records.append(
            struct.pack("<I6H6HHBB", 0xFFFFFFFF, *corners, *[0] * pad, *across, *[0] * pad, walk, len(polygon), 0)
        )
        points, faces = (details or {}).get(k, ([], [(0, n, n + 1) for n in range(1, len(polygon) - 1)]))
        meshes.append(struct.pack("<IIBBH", len(inner), len(triangles), len(points), len(faces), 0))
        inner += points
        triangles += faces
    lower, upper = np.min(vertices, axis=0), np.max(vertices, axis=0)
    links = 8
    counts = (
        len(polygons),
        len(vertices),
        links,
        len(polygons),
        len(inner),
        len(triangles),
        2 * len(polygons),
        0,
        len(polygons),
    )
    header = b"VAND" + struct.pack("<5i", 7, x, y, 0, 0) + struct.pack("<9i", *counts)
    header += (
        struct.pack("<3f", 1.5, 0.1, 0.2) + struct.pack("<6f", *lower, *upper) + struct.pack("<f", 1 / DEFAULTS[0])
    )
    body = [header, np.array(vertices, "<f4").tobytes(), *records, bytes((16 if wide else 12) * links), *meshes]
    body += [np.array(inner, "<f4").reshape(-1, 3).tobytes(), b"".join(bytes([*face, 0]) for face in triangles)]
    return b"".join(body) + bytes(16 * 2 * len(polygons))


def navmesh(*tiles, version=2, settings=DEFAULTS, settings_size=56, wide=False):
    """The whole file."""
    data = (
        b"TESM" + struct.pack("<2i", version, len(tiles)) + struct.pack("<5f2i", 0, 0, 0, 10, 10, len(tiles), 1 << 14)
    )
    if version >= 2:
        data += (struct.pack("<13f3?", *settings, True, True, True)).ljust(settings_size, b"\0")
    for k, block in enumerate(tiles):
        data += struct.pack("<Qi4x" if wide else "<Ii", k + 1, len(block)) + block
    return data


def rectangle(x0, z0, x1, z1, y=0.0):
    return [(x0, y, z0), (x0, y, z1), (x1, y, z1), (x1, y, z0)]


def turned(polygons, degrees):
    angle = np.radians(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    return [[(x * cos - z * sin, y, x * sin + z * cos) for x, y, z in polygon] for polygon in polygons]
