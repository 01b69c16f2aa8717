"""The machine room: how scenes are drawn and how bodies move."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from nav_eval.config.schema.base import (
    ConfigModel,
    Count,
    Flag,
    Index,
    Name,
    Positive,
    Seed,
    Vec3,
    refusal,
    registered,
)


def _our_name(value: object) -> object:
    return "moderngl" if value == "custom" else value


class RenderingConfig(ConfigModel):
    """How pictures are made."""

    render_mode: Literal["rgb", "depth", "rgbd", "semantic", "none"] = "rgb"
    """The sensors decide what is drawn; `none` draws nothing at all (verification, dry runs)."""
    render_quality: Literal["low", "medium", "high"] = "high"
    """Texture filtering, anti-aliasing and shadows."""
    gpu: Index | Literal["auto", "cpu"] = "auto"
    """Index of the graphics card, `cpu` for Mesa's software renderer, or whatever is there."""
    lighting: Literal["auto", "unlit", "lit"] = "auto"
    """Scans carry their light in the picture (unlit); generated houses have lamps (lit)."""
    culling: Flag = True
    """Skip what cannot be seen; pictures are the same either way."""
    cache_mb: Count = 2048
    """How much prepared scene data to keep in memory."""


class PhysicsConfig(ConfigModel):
    """How bodies move."""

    gravity: Vec3 = (0.0, -9.81, 0.0)
    """Metres per second squared; Y is up."""
    step_frequency: Positive = 60.0
    """Hertz, for continuous control."""
    allow_sliding: Flag = True
    """Glide along a wall instead of stopping at it. Changes scores: VLN-CE R2R slides, RxR does not."""

    @model_validator(mode="after")
    def _down_is_down(self) -> "PhysicsConfig":
        x, y, z = self.gravity
        if y > 0 or (y == 0 and (x, z) != (0.0, 0.0)):
            raise refusal(f"has gravity {list(self.gravity)}, which does not point down; Y is up: [0, -9.81, 0]")
        return self


class NavMeshConfig(ConfigModel):
    """How finely walkable ground is measured; the robot's size comes from the scenario."""

    cell_size: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = 0.05
    cell_height: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = 0.2
    prefer_files: Flag = True
    """Use the `.navmesh` file beside a scene when it was made for a robot of the same size."""


class SimulatorConfig(ConfigModel):
    """The simulator, independent of any benchmark."""

    backend: Annotated[Name, BeforeValidator(_our_name, json_schema_input_type=str), registered("backends")] = (
        "moderngl"
    )
    """`moderngl` (which the seeds call `custom`), or the name of a plug-in."""
    rendering: RenderingConfig = RenderingConfig()
    physics: PhysicsConfig = PhysicsConfig()
    navmesh: NavMeshConfig = NavMeshConfig()
    seed: Seed = 0
