"""How much a scene may differ from what its file says.

`level` decides what may vary, `scene_mode` how rich the scene is. Whatever varies, the navigation
mesh, the goals and the ground truth stay.
"""

from typing import Annotated, ClassVar

from pydantic import Field

from nav_eval.config.schema.base import Aliases, ConfigModel, Flag, Seed

Level = Annotated[int, Field(strict=True, ge=0, le=3)]


class DRConfig(ConfigModel):
    """Domain randomisation: 0 nothing, 1 scene and materials, 2 also light, 3 also the camera."""

    aliases: ClassVar[Aliases] = {"randomization_seed": "seed"}

    level: Level = 0
    scene_mode: Level = 0
    """0 the bare shell, 1 with large furniture, 2 furnished differently, 3 with small distractors as well."""
    random_scene: Flag | None = None
    """Overrides what `level` says about the scene; the same holds for the next three."""
    random_textures: Flag | None = None
    random_lighting: Flag | None = None
    random_camera: Flag | None = None
    clutter_scene: Flag = False
    """Add small objects that have nothing to do with the task."""
    seed: Seed | None = None
    """Null draws a new one for every run, which is recorded with the result."""

    @property
    def varies_scene(self) -> bool:
        return self._varies(self.random_scene, from_level=1)

    @property
    def varies_textures(self) -> bool:
        return self._varies(self.random_textures, from_level=1)

    @property
    def varies_lighting(self) -> bool:
        return self._varies(self.random_lighting, from_level=2)

    @property
    def varies_camera(self) -> bool:
        return self._varies(self.random_camera, from_level=3)

    @property
    def varies(self) -> bool:
        """Whether anything is drawn at all."""
        drawn = (self.varies_scene, self.varies_textures, self.varies_lighting, self.varies_camera)
        return any(drawn) or self.clutter_scene

    def _varies(self, switch: bool | None, *, from_level: int) -> bool:
        return self.level >= from_level if switch is None else switch
