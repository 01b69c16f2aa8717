"""The part of glTF 2.0 that we read, as types.

msgspec decodes and checks the text in one go: past this module no field can have a wrong type, so
the readers only have to check what a schema cannot say (ranges of indices, sizes of buffers).
Unknown fields and unknown extensions are skipped here; `extensions.py` decides what that means.
"""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

Index: TypeAlias = Annotated[int, Meta(ge=0, le=2**31)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**48)]
Vec2: TypeAlias = tuple[float, float]
Vec3: TypeAlias = tuple[float, float, float]
Vec4: TypeAlias = tuple[float, float, float, float]
Matrix: TypeAlias = Annotated[tuple[float, ...], Meta(min_length=16, max_length=16)]


class Table(msgspec.Struct, frozen=True, rename="camel"):
    """A JSON object of glTF: camelCase there, snake_case here."""


class MeshoptView(Table, frozen=True):
    """EXT_meshopt_compression and KHR_meshopt_compression: where the packed bytes are."""

    buffer: Index
    byte_length: Count
    byte_stride: Count
    count: Count
    mode: str
    byte_offset: Count = 0
    filter: str = "NONE"


class Buffer(Table, frozen=True):
    byte_length: Count
    uri: str | None = None


class BufferViewExtensions(Table, frozen=True):
    ext_meshopt: MeshoptView | None = msgspec.field(default=None, name="EXT_meshopt_compression")
    khr_meshopt: MeshoptView | None = msgspec.field(default=None, name="KHR_meshopt_compression")


class BufferView(Table, frozen=True):
    buffer: Index
    byte_length: Count
    byte_offset: Count = 0
    byte_stride: Count | None = None
    extensions: BufferViewExtensions = BufferViewExtensions()

    @property
    def meshopt(self) -> MeshoptView | None:
        return self.extensions.khr_meshopt or self.extensions.ext_meshopt


class SparseIndices(Table, frozen=True):
    buffer_view: Index
    component_type: int
    byte_offset: Count = 0


class SparseValues(Table, frozen=True):
    buffer_view: Index
    byte_offset: Count = 0


class Sparse(Table, frozen=True):
    count: Count
    indices: SparseIndices
    values: SparseValues


class Accessor(Table, frozen=True):
    component_type: int
    count: Count
    type: str
    buffer_view: Index | None = None
    byte_offset: Count = 0
    normalized: bool = False
    sparse: Sparse | None = None


class DracoPrimitive(Table, frozen=True):
    """KHR_draco_mesh_compression: attribute name → Draco's own id."""

    buffer_view: Index
    attributes: dict[str, Index]


class PrimitiveExtensions(Table, frozen=True):
    draco: DracoPrimitive | None = msgspec.field(default=None, name="KHR_draco_mesh_compression")


class Primitive(Table, frozen=True):
    attributes: dict[str, Index]
    indices: Index | None = None
    material: Index | None = None
    mode: int = 4
    targets: list[dict[str, Index]] = []
    extensions: PrimitiveExtensions = PrimitiveExtensions()


class Mesh(Table, frozen=True):
    primitives: list[Primitive]
    weights: list[float] = []
    name: str = ""


class Instancing(Table, frozen=True):
    """EXT_mesh_gpu_instancing: TRANSLATION, ROTATION, SCALE accessors."""

    attributes: dict[str, Index] = {}


class Visibility(Table, frozen=True):
    visible: bool = True


class LightReference(Table, frozen=True):
    light: Index


class NodeExtensions(Table, frozen=True):
    instancing: Instancing | None = msgspec.field(default=None, name="EXT_mesh_gpu_instancing")
    visibility: Visibility | None = msgspec.field(default=None, name="KHR_node_visibility")
    light: LightReference | None = msgspec.field(default=None, name="KHR_lights_punctual")


class Node(Table, frozen=True):
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


class Skin(Table, frozen=True):
    joints: list[Index]
    inverse_bind_matrices: Index | None = None


class SceneRoots(Table, frozen=True):
    nodes: list[Index] = []
    name: str = ""


class TextureTransform(Table, frozen=True):
    """KHR_texture_transform."""

    offset: Vec2 = (0.0, 0.0)
    rotation: float = 0.0
    scale: Vec2 = (1.0, 1.0)
    tex_coord: Index | None = None


class TextureInfoExtensions(Table, frozen=True):
    transform: TextureTransform | None = msgspec.field(default=None, name="KHR_texture_transform")


class TextureInfo(Table, frozen=True):
    index: Index
    tex_coord: Index = 0
    extensions: TextureInfoExtensions = TextureInfoExtensions()


class MetallicRoughness(Table, frozen=True):
    base_color_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    base_color_texture: TextureInfo | None = None


class SpecularGlossiness(Table, frozen=True):
    """KHR_materials_pbrSpecularGlossiness."""

    diffuse_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    diffuse_texture: TextureInfo | None = None


class EmissiveStrength(Table, frozen=True):
    emissive_strength: float = 1.0


class Transmission(Table, frozen=True):
    transmission_factor: float = 0.0
    transmission_texture: TextureInfo | None = None


class Unlit(Table, frozen=True):
    pass


class MaterialExtensions(Table, frozen=True):
    unlit: Unlit | None = msgspec.field(default=None, name="KHR_materials_unlit")
    specular_glossiness: SpecularGlossiness | None = msgspec.field(
        default=None, name="KHR_materials_pbrSpecularGlossiness"
    )
    emissive_strength: EmissiveStrength | None = msgspec.field(default=None, name="KHR_materials_emissive_strength")
    transmission: Transmission | None = msgspec.field(default=None, name="KHR_materials_transmission")


class Material(Table, frozen=True):
    name: str = ""
    pbr_metallic_roughness: MetallicRoughness = MetallicRoughness()
    emissive_factor: Vec3 = (0.0, 0.0, 0.0)
    emissive_texture: TextureInfo | None = None
    alpha_mode: str = "OPAQUE"
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    extensions: MaterialExtensions = MaterialExtensions()


class ImageSource(Table, frozen=True):
    source: Index | None = None


class TextureExtensions(Table, frozen=True):
    basisu: ImageSource | None = msgspec.field(default=None, name="KHR_texture_basisu")
    google_basis: ImageSource | None = msgspec.field(default=None, name="GOOGLE_texture_basis")
    webp: ImageSource | None = msgspec.field(default=None, name="EXT_texture_webp")
    avif: ImageSource | None = msgspec.field(default=None, name="EXT_texture_avif")


class Texture(Table, frozen=True):
    sampler: Index | None = None
    source: Index | None = None
    extensions: TextureExtensions = TextureExtensions()


class Sampler(Table, frozen=True):
    mag_filter: int | None = None
    wrap_s: int = 10497
    wrap_t: int = 10497


class Image(Table, frozen=True):
    uri: str | None = None
    buffer_view: Index | None = None
    mime_type: str | None = None
    name: str = ""


class PunctualLight(Table, frozen=True):
    type: str
    color: Vec3 = (1.0, 1.0, 1.0)
    intensity: float = 1.0
    range: float | None = None
    name: str = ""


class Lights(Table, frozen=True):
    lights: list[PunctualLight] = []


class RootExtensions(Table, frozen=True):
    lights: Lights | None = msgspec.field(default=None, name="KHR_lights_punctual")


class Asset(Table, frozen=True):
    version: str = "2.0"
    generator: str = ""


class Gltf(Table, frozen=True):
    """A whole glTF document."""

    asset: Asset
    accessors: list[Accessor] = []
    buffer_views: list[BufferView] = []
    buffers: list[Buffer] = []
    images: list[Image] = []
    materials: list[Material] = []
    meshes: list[Mesh] = []
    nodes: list[Node] = []
    samplers: list[Sampler] = []
    scene: Index | None = None
    scenes: list[SceneRoots] = []
    skins: list[Skin] = []
    textures: list[Texture] = []
    extensions_used: list[str] = []
    extensions_required: list[str] = []
    extensions: RootExtensions = RootExtensions()
