"""Habitat's description of a stage: `<scene>.stage_config.json` next to the scene."""

from pathlib import Path

import msgspec

from nav_eval.dataset.episode import Vec3
from nav_eval.errors import SceneError
from nav_eval.scene.reading.files import SceneFolder
from nav_eval.scene.reading.limits import check_limit


class StageConfig(msgspec.Struct, frozen=True):
    """The fields that concern us; Habitat's own names."""

    up: Vec3 | None = None
    front: Vec3 | None = None
    scale: Vec3 | None = None
    gravity: Vec3 | None = None
    units_to_meters: float = 1.0
    shader_type: str | None = None
    force_flat_shading: bool | None = None

    @property
    def flat(self) -> bool:
        """Colours are shown as they are."""
        return self.force_flat_shading is True or (self.shader_type or "").lower() == "flat"


def read_stage_config(folder: SceneFolder) -> StageConfig | None:
    """The stage config of the folder's scene, if there is one."""
    for name in config_names(folder.path):
        if folder.resolve(name)[1].is_file():
            return _decode(folder.read(name), source=str(folder.path.with_name(name)), folder=folder)
    return None


def config_names(scene: Path) -> list[str]:
    """`x.basis.glb` may be described by `x.basis.stage_config.json` or `x.stage_config.json`."""
    stems = dict.fromkeys((scene.stem, scene.name.split(".")[0]))
    return [f"{stem}.stage_config.json" for stem in stems]


def _decode(content: bytes, *, source: str, folder: SceneFolder) -> StageConfig:
    check_limit(len(content), limit=folder.limits.json_bytes, what="bytes", source=source)
    try:
        return msgspec.json.decode(content, type=StageConfig, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SceneError(f"{source}: is not a usable stage config: {error}.") from error
