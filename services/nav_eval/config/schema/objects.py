"""What stands around: things put into a scene on top of what its file holds."""

from typing import Annotated, Literal

from pydantic import Field

from nav_eval.config.schema.base import (
    Color,
    ConfigModel,
    FilePath,
    Flag,
    Fraction,
    Name,
    NonNegative,
    Positive,
    Quaternion,
    Text,
    Vec3,
)

Scale = tuple[Positive, Positive, Positive]


class BaseObjCfg(ConfigModel):
    """What every object has."""

    name: Name
    category: Text | None = None
    """Semantic label; the object's name when not given."""
    position: Vec3 = (0.0, 0.0, 0.0)
    """Metres in the scene's frame: where the object's centre is."""
    rotation: Quaternion = (0.0, 0.0, 0.0, 1.0)
    """Quaternion [x, y, z, w]."""
    scale: Positive | Scale = 1.0
    mass: Positive | None = None
    """Kilograms."""
    friction: NonNegative | None = None
    restitution: Fraction | None = None
    fixed: Flag = False
    """Nothing moves it."""
    collision_enabled: Flag = True
    """It blocks robots and cuts the navigation mesh."""
    collision_group: Name | None = None
    color: Color | None = None
    """Red, green, blue in 0…1."""


class MeshObjCfg(BaseObjCfg):
    """An object from a mesh file."""

    type: Literal["MeshObjCfg"] = "MeshObjCfg"
    mesh_path: FilePath


class PrimitiveCubeCfg(BaseObjCfg):
    """A box."""

    type: Literal["PrimitiveCubeCfg"] = "PrimitiveCubeCfg"
    size: Scale
    """Full extents in metres."""


class PrimitiveSphereCfg(BaseObjCfg):
    """A ball."""

    type: Literal["PrimitiveSphereCfg"] = "PrimitiveSphereCfg"
    radius: Positive


class PrimitiveCylinderCfg(BaseObjCfg):
    """An upright cylinder."""

    type: Literal["PrimitiveCylinderCfg"] = "PrimitiveCylinderCfg"
    radius: Positive
    height: Positive


ObjectConfig = Annotated[
    MeshObjCfg | PrimitiveCubeCfg | PrimitiveSphereCfg | PrimitiveCylinderCfg,
    Field(discriminator="type"),
]
