"""How a navigation mesh is built: Recast's settings, and what they mean to nav-eval's builder."""

import json
import math
from pathlib import Path
from typing import Any

from nav_eval.scene.navigation import AgentShape

_TOLERANCE = 1e-5
_DEFAULTS: dict[str, Any] = {
    "cell_size": 0.05,
    "cell_height": 0.2,
    "agent_height": 1.5,
    "agent_radius": 0.1,
    "agent_max_climb": 0.2,
    "agent_max_slope": 45.0,
    "region_min_size": 20.0,
    "region_merge_size": 20.0,
    "edge_max_len": 12.0,
    "edge_max_error": 1.3,
    "verts_per_poly": 6.0,
    "detail_sample_dist": 6.0,
    "detail_sample_max_error": 1.0,
    "filter_low_hanging_obstacles": True,
    "filter_ledge_spans": True,
    "filter_walkable_low_height_spans": True,
    "include_static_objects": False,
}


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

    def make_shape(self) -> AgentShape:
        """The body that must fit, in whole cells as Recast has it: radius and height rounded up, climb down."""
        across, up = self.cell_size, self.cell_height
        height = _round(math.ceil(self.agent_height / up - _TOLERANCE) * up)
        climb = _round(math.floor(self.agent_max_climb / up + _TOLERANCE) * up)
        return AgentShape(
            radius=max(0.02, _round(math.ceil(self.agent_radius / across - _TOLERANCE) * across)),
            height=height,
            max_climb=min(climb, 0.99 * height),
            max_slope_degrees=_round(self.agent_max_slope),
            cell_size=_round(across),
        )

    @classmethod
    def from_shape(cls, shape: AgentShape) -> "NavMeshSettings":
        """What a mesh of ours was made for."""
        made = cls()
        made.agent_radius, made.agent_height = shape.radius, shape.height
        made.agent_max_climb, made.agent_max_slope = shape.max_climb, shape.max_slope_degrees
        made.cell_size = shape.cell_size
        return made


def _round(metres: float) -> float:
    return round(metres, 6)
