"""glTF to scene: walk the nodes, place their meshes, collect materials and pictures."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Material, Scene
from nav_eval.scene.reading import geometry
from nav_eval.scene.reading.files import SceneFolder
from nav_eval.scene.reading.gltf import deform, schema
from nav_eval.scene.reading.gltf.document import Document, open_document
from nav_eval.scene.reading.gltf.extensions import check_extensions
from nav_eval.scene.reading.gltf.lights import read_lights
from nav_eval.scene.reading.gltf.materials import baked_uvs, base_color, convert_material
from nav_eval.scene.reading.gltf.nodes import PlacedNode, instances, is_closed_door, place_nodes
from nav_eval.scene.reading.gltf.primitives import PrimitiveMesh, read_primitive, with_normals
from nav_eval.scene.reading.gltf.textures import TextureTable
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.reading.parts import Part, PartList


def read_gltf(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in a .glb or .gltf file, in the file's own frame."""
    document = open_document(content, folder=folder, log=log)
    check_extensions(document)
    return _Reader(document).read()


class _Reader:
    """One pass over a document; meshes and materials are converted when first met."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._placed = place_nodes(document)
        self._parts = PartList(document.limits, document.log)
        self._textures = TextureTable(document)
        self._materials: list[Material] = []
        self._material_slots: dict[int | None, int] = {}
        self._meshes: dict[tuple[int, tuple[float, ...]], list[tuple[PrimitiveMesh, Part]]] = {}

    def read(self) -> Scene:
        for node in self._placed.values():
            mesh = self._document.gltf.nodes[node.node].mesh
            if mesh is not None and node.visible:
                self._place_mesh(node, mesh)
        self._tell_hidden()
        lights = read_lights(self._document, self._placed.values())
        return self._parts.join(materials=self._materials, textures=self._textures.textures, lights=lights)

    def _tell_hidden(self) -> None:
        nodes = self._document.gltf.nodes
        hidden = [node for node in self._placed.values() if not node.visible and nodes[node.node].mesh is not None]
        doors = sum(is_closed_door(node) for node in nodes)
        if doors:
            self._document.log.note(f"{doors} closed doors (nodes named IfcDoor…) are left out: doorways are open.")
        elif hidden:
            self._document.log.note(f"{len(hidden)} meshes hidden by KHR_node_visibility are not part of the scene.")

    def _place_mesh(self, node: PlacedNode, mesh: int) -> None:
        gltf_node = self._document.gltf.nodes[node.node]
        drawn = self._mesh(mesh, tuple(gltf_node.weights))
        if gltf_node.skin is not None:
            joints = deform.joint_matrices(self._document, gltf_node.skin, self._placed)
            for local, part in drawn:
                self._add_skinned(local, part, joints, node)
            return
        matrices = instances(self._document, node)
        for _, part in drawn:
            self._parts.reserve(
                vertices=len(matrices) * len(part.positions), triangles=len(matrices) * len(part.triangles)
            )
        for matrix in matrices:
            for _, part in drawn:
                self._parts.add(_moved(part, matrix, object_id=node.object_id))

    def _add_skinned(self, local: PrimitiveMesh, part: Part, joints: NDArray[np.float64], node: PlacedNode) -> None:
        self._parts.reserve(vertices=len(part.positions), triangles=len(part.triangles))
        posed = deform.apply_skin(self._document, local, joints, where=f"node {node.node}")
        normals = part.normals if posed.normals is None else posed.normals
        triangles = part.triangles[:, ::-1] if geometry.mirrors(joints[0]) else part.triangles
        self._parts.add(
            replace(part, positions=posed.positions, normals=normals, triangles=triangles, object_id=node.object_id)
        )

    def _mesh(self, index: int, weights: tuple[float, ...]) -> list[tuple[PrimitiveMesh, Part]]:
        """A mesh in its own frame, with the material's texture coordinates baked in."""
        if (index, weights) not in self._meshes:
            mesh = self._document.item(self._document.gltf.meshes, index, "mesh")
            pieces = (
                self._primitive(primitive, list(weights) or mesh.weights, where=f"mesh {index}, primitive {position}")
                for position, primitive in enumerate(mesh.primitives)
            )
            self._meshes[index, weights] = [piece for piece in pieces if piece is not None]
        return self._meshes[index, weights]

    def _primitive(
        self, primitive: schema.Primitive, weights: list[float], *, where: str
    ) -> tuple[PrimitiveMesh, Part] | None:
        document = self._document
        mesh = read_primitive(document, primitive, where=where)
        if mesh is None:
            return None
        mesh = with_normals(deform.apply_morph(document, mesh, primitive, weights=weights, where=where))
        assert mesh.normals is not None
        uvs = baked_uvs(document, mesh, base_color(self._gltf_material(primitive.material)).texture, where=where)
        part = Part(
            positions=mesh.positions,
            normals=mesh.normals,
            uvs=uvs,
            colors=_bytes(mesh.colors, len(mesh.positions)),
            triangles=mesh.triangles,
            material=self._material(primitive.material),
        )
        return mesh, part

    def _gltf_material(self, index: int | None) -> schema.Material:
        if index is None:
            return schema.Material()
        return self._document.item(self._document.gltf.materials, index, "material")

    def _material(self, index: int | None) -> int:
        if index not in self._material_slots:
            material = self._gltf_material(index)
            info = base_color(material).texture
            texture = None if info is None else self._textures.slot(info.index)
            self._material_slots[index] = len(self._materials)
            self._materials.append(convert_material(self._document, material, texture=texture))
        return self._material_slots[index]


def _moved(part: Part, matrix: NDArray[np.float64], *, object_id: int) -> Part:
    return replace(
        part,
        positions=geometry.transform_points(part.positions, matrix),
        normals=geometry.transform_normals(part.normals, matrix),
        triangles=part.triangles[:, ::-1] if geometry.mirrors(matrix) else part.triangles,
        object_id=object_id,
    )


def _bytes(colors: NDArray[np.float32] | None, vertices: int) -> NDArray[np.uint8]:
    if colors is None:
        return np.full((vertices, 4), 255, np.uint8)
    levels: NDArray[np.uint8] = np.rint(np.clip(np.nan_to_num(colors), 0.0, 1.0) * 255.0).astype(np.uint8)
    return levels
