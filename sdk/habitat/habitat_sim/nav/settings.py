"""How a navigation mesh is built: Recast's settings, and what they mean to nav-eval's builder."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from nav_eval.scene.navigation import AgentShape
from nav_eval.scene.navigation.recast_settings import RecastSettings, make_recast_settings, make_rounded_shape

_TOLERANCE = 1e-5
_DEFAULTS: dict[str, Any] = {entry.name: entry.default for entry in fields(RecastSettings)}


class NavMeshSettings:
    cell_size: float
    cell_height: float
    agent_height: float
    agent_radius: float
    agent_max_climb: float
    agent_max_slope: float

    def __init__(self) -> None:
        self.set_defaults()

    def set_defaults(self) -> None:
        vars(self).update(_DEFAULTS)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NavMeshSettings):
            return NotImplemented
        return all(abs(float(value) - float(vars(other)[name])) < _TOLERANCE for name, value in vars(self).items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NavMeshSettings({', '.join(f'{name}={value}' for name, value in vars(self).items())})"

    def __deepcopy__(self, memo: object) -> "NavMeshSettings":
        return self.copy()

    def copy(self) -> "NavMeshSettings":
        made = NavMeshSettings()
        vars(made).update(vars(self))
        return made

    def read_from_json(self, file_name: str) -> None:
        """What the file does not name keeps its default."""
        given = json.loads(Path(file_name).read_text())
        self.set_defaults()
        vars(self).update({name: type(_DEFAULTS[name])(value) for name, value in given.items() if name in _DEFAULTS})

    def write_to_json(self, file_name: str) -> None:
        Path(file_name).write_text(json.dumps(vars(self), indent=1))

    def has_same_body(self, other: "NavMeshSettings") -> bool:
        """Would the same agent fit? What a file says of its mesh is no more than that."""
        names = ("agent_height", "agent_radius", "agent_max_climb", "agent_max_slope")
        return all(abs(getattr(self, name) - getattr(other, name)) < _TOLERANCE for name in names)

    def to_recast(self) -> RecastSettings:
        return RecastSettings(**{name: type(_DEFAULTS[name])(vars(self)[name]) for name in _DEFAULTS})

    def make_shape(self) -> AgentShape:
        """The body that must fit, in whole cells as Recast has it: radius and height rounded up, climb down."""
        return make_rounded_shape(self.to_recast())

    @classmethod
    def from_recast(cls, settings: RecastSettings) -> "NavMeshSettings":
        made = cls()
        vars(made).update({name: getattr(settings, name) for name in _DEFAULTS})
        return made

    @classmethod
    def from_shape(cls, shape: AgentShape) -> "NavMeshSettings":
        """What a mesh of ours was made for."""
        return cls.from_recast(make_recast_settings(shape))
