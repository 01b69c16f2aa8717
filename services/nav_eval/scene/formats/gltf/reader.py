"""glTF to scene: walk the nodes, place their meshes, collect materials and pictures."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.formats import geometry
from nav_eval.scene.formats.geometry import MeshPart, PartList
from nav_eval.scene.formats.gltf import primitives, schema
from nav_eval.scene.formats.gltf.document import Document, check_extensions, open_document
from nav_eval.scene.formats.gltf.materials import bake_uvs, find_uv_source, is_photograph, read_material
from nav_eval.scene.formats.gltf.nodes import (
    PlacedNode,
    compute_instance_matrices,
    is_closed_door,
    place_nodes,
    read_lights,
)
from nav_eval.scene.formats.gltf.primitives import PrimitiveMesh, add_normals, read_primitive
from nav_eval.scene.formats.gltf.textures import TextureTable
from nav_eval.scene.formats.scene_folder import SceneFolder
from nav_eval.scene.model import Material, ReadLog, Scene, drop_light

SCAN_TRIANGLES = 20_000
"""From which on a file without normals may be a scan."""


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
        self._has_normals = False
        self._meshes: dict[tuple[int, tuple[float, ...]], list[tuple[PrimitiveMesh, MeshPart]]] = {}

    def read(self) -> Scene:
        for node in self._placed.values():
            mesh = self._document.gltf.nodes[node.node].mesh
            if mesh is not None and node.visible:
                self._place_mesh(node, mesh)
        self._tell_hidden()
        lights = read_lights(self._document, self._placed.values())
        scene = self._parts.join(materials=self._materials, textures=self._textures.textures, lights=lights)
        return self._drop_light_of_scans(scene)

    def _drop_light_of_scans(self, scene: Scene) -> Scene:
        """What has no normals, no lamps and nothing but colours, but very many triangles, was photographed."""
        is_plain = all(is_photograph(self._get_gltf_material(index)) for index in self._material_slots)
        if self._has_normals or scene.lights or not is_plain or len(scene.triangles) < SCAN_TRIANGLES:
            return scene
        if all(material.unlit for material in scene.materials):
            return scene
        self._document.log.note("Taken for a scan (no normals, all colours in pictures): shown without lights.")
        return drop_light(scene)

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
        drawn = self._get_mesh(mesh, tuple(gltf_node.weights))
        if gltf_node.skin is not None:
            joints = primitives.compute_joint_matrices(self._document, gltf_node.skin, self._placed)
            for local, part in drawn:
                self._add_skinned(local, part, joints, node)
            return
        matrices = compute_instance_matrices(self._document, node)
        for _, part in drawn:
            self._parts.reserve(
                vertices=len(matrices) * len(part.positions), triangles=len(matrices) * len(part.triangles)
            )
        for matrix in matrices:
            for _, part in drawn:
                self._parts.place(part, matrix, object_id=node.object_id)

    def _add_skinned(self, local: PrimitiveMesh, part: MeshPart, joints: NDArray[np.float64], node: PlacedNode) -> None:
        self._parts.reserve(vertices=len(part.positions), triangles=len(part.triangles))
        posed = primitives.apply_skin(self._document, local, joints, where=f"node {node.node}")
        normals = part.normals if posed.normals is None else posed.normals
        triangles = part.triangles[:, ::-1] if geometry.is_mirroring(joints[0]) else part.triangles
        self._parts.add(
            replace(part, positions=posed.positions, normals=normals, triangles=triangles, object_id=node.object_id)
        )

    def _get_mesh(self, index: int, weights: tuple[float, ...]) -> list[tuple[PrimitiveMesh, MeshPart]]:
        """A mesh in its own frame, with the material's texture coordinates baked in."""
        if (index, weights) not in self._meshes:
            mesh = self._document.item(self._document.gltf.meshes, index, "mesh")
            pieces = (
                self._convert_primitive(
                    primitive, list(weights) or mesh.weights, where=f"mesh {index}, primitive {position}"
                )
                for position, primitive in enumerate(mesh.primitives)
            )
            self._meshes[index, weights] = [piece for piece in pieces if piece is not None]
        return self._meshes[index, weights]

    def _convert_primitive(
        self, primitive: schema.Primitive, weights: list[float], *, where: str
    ) -> tuple[PrimitiveMesh, MeshPart] | None:
        document = self._document
        mesh = read_primitive(document, primitive, where=where)
        if mesh is None:
            return None
        self._has_normals |= mesh.normals is not None
        mesh = add_normals(primitives.apply_morph(document, mesh, primitive, weights=weights, where=where))
        assert mesh.normals is not None
        uvs = bake_uvs(document, mesh, find_uv_source(self._get_gltf_material(primitive.material)), where=where)
        part = MeshPart(
            positions=mesh.positions,
            normals=mesh.normals,
            uvs=uvs,
            colors=_to_bytes(mesh.colors, len(mesh.positions)),
            triangles=mesh.triangles,
            material=self._get_material_slot(primitive.material),
        )
        return mesh, part

    def _get_gltf_material(self, index: int | None) -> schema.GltfMaterial:
        if index is None:
            return schema.GltfMaterial()
        return self._document.item(self._document.gltf.materials, index, "material")

    def _get_material_slot(self, index: int | None) -> int:
        if index not in self._material_slots:
            material = self._get_gltf_material(index)
            self._material_slots[index] = len(self._materials)
            self._materials.append(read_material(self._document, self._textures, material))
        return self._material_slots[index]


def _to_bytes(colors: NDArray[np.float32] | None, vertices: int) -> NDArray[np.uint8]:
    if colors is None:
        return np.full((vertices, 4), 255, np.uint8)
    levels: NDArray[np.uint8] = np.rint(np.clip(np.nan_to_num(colors), 0.0, 1.0) * 255.0).astype(np.uint8)
    return levels
