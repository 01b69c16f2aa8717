"""What we make of the extensions that a glTF file declares.

A file that *requires* what we cannot read is refused by name. One that merely *uses* it loses a
refinement, and says so in its report.
"""

from nav_eval.scene.reading.gltf.document import Document

#: Extensions whose effect is in the scene.
READ = frozenset({
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_avif",
    "EXT_texture_webp",
    "GOOGLE_texture_basis",
    "KHR_draco_mesh_compression",
    "KHR_lights_punctual",
    "KHR_materials_emissive_strength",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "KHR_node_visibility",
    "KHR_texture_basisu",
    "KHR_texture_transform",
})  # fmt: skip

#: Extensions that change nothing a sensor of ours could see.
HARMLESS = frozenset({
    "KHR_animation_pointer",
    "KHR_node_hoverability",
    "KHR_node_selectability",
    "KHR_xmp",
    "KHR_xmp_json_ld",
    "MSFT_lod",
})  # fmt: skip


def check_extensions(document: Document) -> None:
    """Refuse what is required and unknown; mention what is used and left out."""
    unknown = [name for name in dict.fromkeys(document.gltf.extensions_required) if not _bearable(name)]
    if unknown:
        raise document.error(
            f"requires {', '.join(unknown)}, which nav-eval does not read. "
            "Export the scene without it, with plain geometry and PNG, JPEG, WebP or KTX2 textures."
        )
    for name in dict.fromkeys(document.gltf.extensions_used):
        if name not in READ | HARMLESS:
            document.log.warn(f"The extension {name} is left out.")


def _bearable(name: str) -> bool:
    """Finer points of a surface (clear coat, sheen, …) cannot make a scene wrong, whatever the file says."""
    return name in READ | HARMLESS or name.startswith("KHR_materials_")
