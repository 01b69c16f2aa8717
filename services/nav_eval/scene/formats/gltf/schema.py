"""The part of glTF 2.0 that we read, as types.

msgspec decodes and checks the text in one go: past this module no field can have a wrong type, so
the readers only have to check what a schema cannot say (ranges of indices, sizes of buffers).
Unknown fields and unknown extensions are skipped here; `document.py` decides what that means.
"""

import math
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

Index: TypeAlias = Annotated[int, Meta(ge=0, le=2**31)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**48)]
Vec2: TypeAlias = tuple[float, float]
Vec3: TypeAlias = tuple[float, float, float]
Vec4: TypeAlias = tuple[float, float, float, float]
Matrix: TypeAlias = Annotated[tuple[float, ...], Meta(min_length=16, max_length=16)]


class GltfObject(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON object of glTF: camelCase there, snake_case here."""


class MeshoptView(GltfObject, frozen=True):
    """EXT_meshopt_compression and KHR_meshopt_compression: where the packed bytes are."""

    buffer: Index
    byte_length: Count
    byte_stride: Count
    count: Count
    mode: str
    byte_offset: Count = 0
    filter: str = "NONE"


class Buffer(GltfObject, frozen=True):
    byte_length: Count
    uri: str | None = None


class BufferViewExtensions(GltfObject, frozen=True):
    ext_meshopt: MeshoptView | None = msgspec.field(default=None, name="EXT_meshopt_compression")
    khr_meshopt: MeshoptView | None = msgspec.field(default=None, name="KHR_meshopt_compression")


class BufferView(GltfObject, frozen=True):
    buffer: Index
    byte_length: Count
    byte_offset: Count = 0
    byte_stride: Count | None = None
    extensions: BufferViewExtensions = BufferViewExtensions()

    @property
    def meshopt(self) -> MeshoptView | None:
        return self.extensions.khr_meshopt or self.extensions.ext_meshopt


class SparseIndices(GltfObject, frozen=True):
    buffer_view: Index
    component_type: int
    byte_offset: Count = 0


class SparseValues(GltfObject, frozen=True):
    buffer_view: Index
    byte_offset: Count = 0


class Sparse(GltfObject, frozen=True):
    count: Count
    indices: SparseIndices
    values: SparseValues


class Accessor(GltfObject, frozen=True):
    component_type: int
    count: Count
    type: str
    buffer_view: Index | None = None
    byte_offset: Count = 0
    normalized: bool = False
    sparse: Sparse | None = None


class DracoPrimitive(GltfObject, frozen=True):
    """KHR_draco_mesh_compression: attribute name → Draco's own id."""

    buffer_view: Index
    attributes: dict[str, Index]


class PrimitiveExtensions(GltfObject, frozen=True):
    draco: DracoPrimitive | None = msgspec.field(default=None, name="KHR_draco_mesh_compression")


class Primitive(GltfObject, frozen=True):
    attributes: dict[str, Index]
    indices: Index | None = None
    material: Index | None = None
    mode: int = 4
    targets: list[dict[str, Index]] = []
    extensions: PrimitiveExtensions = PrimitiveExtensions()


class GltfMesh(GltfObject, frozen=True):
    primitives: list[Primitive]
    weights: list[float] = []
    name: str = ""


class Instancing(GltfObject, frozen=True):
    """EXT_mesh_gpu_instancing: TRANSLATION, ROTATION, SCALE accessors."""

    attributes: dict[str, Index] = {}


class NodeVisibility(GltfObject, frozen=True):
    visible: bool = True


class LightReference(GltfObject, frozen=True):
    light: Index


class NodeExtensions(GltfObject, frozen=True):
    instancing: Instancing | None = msgspec.field(default=None, name="EXT_mesh_gpu_instancing")
    visibility: NodeVisibility | None = msgspec.field(default=None, name="KHR_node_visibility")
    light: LightReference | None = msgspec.field(default=None, name="KHR_lights_punctual")


class Node(GltfObject, frozen=True):
    children: list[Index] = []
    mesh: Index | None = None
    skin: Index | None = None
    weights: list[float] = []
    matrix: Matrix | None = None
    translation: Vec3 = (0.0, 0.0, 0.0)
    rotation: Vec4 = (0.0, 0.0, 0.0, 1.0)
    scale: Vec3 = (1.0, 1.0, 1.0)
    name: str = ""
    extras: Any = None
    extensions: NodeExtensions = NodeExtensions()


class Skin(GltfObject, frozen=True):
    joints: list[Index]
    inverse_bind_matrices: Index | None = None


class SceneRoots(GltfObject, frozen=True):
    nodes: list[Index] = []
    name: str = ""


class TextureTransform(GltfObject, frozen=True):
    """KHR_texture_transform."""

    offset: Vec2 = (0.0, 0.0)
    rotation: float = 0.0
    scale: Vec2 = (1.0, 1.0)
    tex_coord: Index | None = None


class TextureInfoExtensions(GltfObject, frozen=True):
    transform: TextureTransform | None = msgspec.field(default=None, name="KHR_texture_transform")


class TextureInfo(GltfObject, frozen=True):
    index: Index
    tex_coord: Index = 0
    extensions: TextureInfoExtensions = TextureInfoExtensions()


class MetallicRoughness(GltfObject, frozen=True):
    base_color_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    base_color_texture: TextureInfo | None = None
    metallic_factor: float = 1.0
    roughness_factor: float = 1.0
    metallic_roughness_texture: TextureInfo | None = None


class NormalTextureInfo(TextureInfo, frozen=True):
    scale: float = 1.0


class OcclusionTextureInfo(TextureInfo, frozen=True):
    strength: float = 1.0


class SpecularGlossiness(GltfObject, frozen=True):
    """KHR_materials_pbrSpecularGlossiness."""

    diffuse_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    diffuse_texture: TextureInfo | None = None
    specular_factor: Vec3 | None = None
    glossiness_factor: float = 1.0
    specular_glossiness_texture: TextureInfo | None = None


class EmissiveStrength(GltfObject, frozen=True):
    emissive_strength: float = 1.0


class Transmission(GltfObject, frozen=True):
    transmission_factor: float = 0.0
    transmission_texture: TextureInfo | None = None


class Volume(GltfObject, frozen=True):
    """KHR_materials_volume."""

    thickness_factor: float = 0.0
    thickness_texture: TextureInfo | None = None
    attenuation_distance: float = math.inf
    attenuation_color: Vec3 = (1.0, 1.0, 1.0)


class RefractiveIndex(GltfObject, frozen=True):
    """KHR_materials_ior."""

    ior: float = 1.5


class Specular(GltfObject, frozen=True):
    """KHR_materials_specular."""

    specular_factor: float = 1.0
    specular_texture: TextureInfo | None = None
    specular_color_factor: Vec3 = (1.0, 1.0, 1.0)
    specular_color_texture: TextureInfo | None = None


class Clearcoat(GltfObject, frozen=True):
    """KHR_materials_clearcoat."""

    clearcoat_factor: float = 0.0
    clearcoat_texture: TextureInfo | None = None
    clearcoat_roughness_factor: float = 0.0
    clearcoat_roughness_texture: TextureInfo | None = None
    clearcoat_normal_texture: NormalTextureInfo | None = None


class Sheen(GltfObject, frozen=True):
    """KHR_materials_sheen."""

    sheen_color_factor: Vec3 = (0.0, 0.0, 0.0)
    sheen_color_texture: TextureInfo | None = None
    sheen_roughness_factor: float = 0.0
    sheen_roughness_texture: TextureInfo | None = None


class Unlit(GltfObject, frozen=True):
    pass


class MaterialExtensions(GltfObject, frozen=True):
    unlit: Unlit | None = msgspec.field(default=None, name="KHR_materials_unlit")
    specular_glossiness: SpecularGlossiness | None = msgspec.field(
        default=None, name="KHR_materials_pbrSpecularGlossiness"
    )
    emissive_strength: EmissiveStrength | None = msgspec.field(default=None, name="KHR_materials_emissive_strength")
    transmission: Transmission | None = msgspec.field(default=None, name="KHR_materials_transmission")
    volume: Volume | None = msgspec.field(default=None, name="KHR_materials_volume")
    index: RefractiveIndex | None = msgspec.field(default=None, name="KHR_materials_ior")
    specular: Specular | None = msgspec.field(default=None, name="KHR_materials_specular")
    clearcoat: Clearcoat | None = msgspec.field(default=None, name="KHR_materials_clearcoat")
    sheen: Sheen | None = msgspec.field(default=None, name="KHR_materials_sheen")


class GltfMaterial(GltfObject, frozen=True):
    name: str = ""
    pbr_metallic_roughness: MetallicRoughness = MetallicRoughness()
    emissive_factor: Vec3 = (0.0, 0.0, 0.0)
    emissive_texture: TextureInfo | None = None
    normal_texture: NormalTextureInfo | None = None
    occlusion_texture: OcclusionTextureInfo | None = None
    alpha_mode: str = "OPAQUE"
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    extensions: MaterialExtensions = MaterialExtensions()


class ImageSource(GltfObject, frozen=True):
    source: Index | None = None


class TextureExtensions(GltfObject, frozen=True):
    basisu: ImageSource | None = msgspec.field(default=None, name="KHR_texture_basisu")
    google_basis: ImageSource | None = msgspec.field(default=None, name="GOOGLE_texture_basis")
    webp: ImageSource | None = msgspec.field(default=None, name="EXT_texture_webp")
    avif: ImageSource | None = msgspec.field(default=None, name="EXT_texture_avif")


class GltfTexture(GltfObject, frozen=True):
    sampler: Index | None = None
    source: Index | None = None
    extensions: TextureExtensions = TextureExtensions()


class Sampler(GltfObject, frozen=True):
    mag_filter: int | None = None
    wrap_s: int = 10497
    wrap_t: int = 10497


class GltfImage(GltfObject, frozen=True):
    uri: str | None = None
    buffer_view: Index | None = None
    mime_type: str | None = None
    name: str = ""


class SpotCone(GltfObject, frozen=True):
    inner_cone_angle: float = 0.0
    outer_cone_angle: float = math.pi / 4


class PunctualLight(GltfObject, frozen=True):
    type: str
    spot: SpotCone = SpotCone()
    color: Vec3 = (1.0, 1.0, 1.0)
    intensity: float = 1.0
    range: float | None = None
    name: str = ""


class Lights(GltfObject, frozen=True):
    lights: list[PunctualLight] = []


class RootExtensions(GltfObject, frozen=True):
    lights: Lights | None = msgspec.field(default=None, name="KHR_lights_punctual")


class GltfAsset(GltfObject, frozen=True):
    version: str = "2.0"
    generator: str = ""


class Gltf(GltfObject, frozen=True):
    """A whole glTF document."""

    asset: GltfAsset
    accessors: list[Accessor] = []
    buffer_views: list[BufferView] = []
    buffers: list[Buffer] = []
    images: list[GltfImage] = []
    materials: list[GltfMaterial] = []
    meshes: list[GltfMesh] = []
    nodes: list[Node] = []
    samplers: list[Sampler] = []
    scene: Index | None = None
    scenes: list[SceneRoots] = []
    skins: list[Skin] = []
    textures: list[GltfTexture] = []
    extensions_used: list[str] = []
    extensions_required: list[str] = []
    extensions: RootExtensions = RootExtensions()
