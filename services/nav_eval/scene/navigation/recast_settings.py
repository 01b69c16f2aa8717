"""What Recast is told when it builds a mesh, and which agent that really is: Recast counts in whole cells."""

import math
import struct
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

from nav_eval.scene.navigation.ground import AgentShape

_LAYOUT = struct.Struct("<13f4?")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecastSettings:
    """Habitat's settings of a navigation mesh, in the order of its files, with its defaults."""

    cell_size: float = 0.05
    cell_height: float = 0.2
    agent_height: float = 1.5
    agent_radius: float = 0.1
    agent_max_climb: float = 0.2
    agent_max_slope: float = 45.0  #: degrees
    region_min_size: float = 20.0  #: cells
    region_merge_size: float = 20.0  #: cells
    edge_max_len: float = 12.0
    edge_max_error: float = 1.3  #: cells
    verts_per_poly: float = 6.0
    detail_sample_dist: float = 6.0
    detail_sample_max_error: float = 1.0
    filter_low_hanging_obstacles: bool = True
    filter_ledge_spans: bool = True
    filter_walkable_low_height_spans: bool = True
    include_static_objects: bool = False

    def encode(self) -> bytes:
        """As in a `.navmesh` file."""
        return _LAYOUT.pack(*astuple(self))


def decode_recast_settings(data: bytes, offset: int = 0) -> RecastSettings:
    """The settings that a file holds."""
    values = _LAYOUT.unpack_from(data, offset)
    cleaned = [round(value, 6) if isinstance(value, float) and math.isfinite(value) else value for value in values]
    named: dict[str, Any] = dict(zip((entry.name for entry in fields(RecastSettings)), cleaned, strict=True))
    return RecastSettings(**named)


def make_recast_settings(shape: AgentShape) -> RecastSettings:
    """The settings that say what a mesh was built for."""
    return RecastSettings(
        cell_size=shape.cell_size,
        agent_height=shape.height,
        agent_radius=shape.radius,
        agent_max_climb=shape.max_climb,
        agent_max_slope=shape.max_slope_degrees,
    )


def count_cells(metres: float, cell: float, *, upwards: bool) -> int:
    """Whole cells of a length, in float32 as Recast counts."""
    cells = float(np.float32(metres) / np.float32(cell))
    return math.ceil(cells) if upwards else math.floor(cells)


def make_rounded_shape(settings: RecastSettings) -> AgentShape:
    """The agent that Recast builds for: radius and height rounded up to whole cells, the climb rounded down.

    Within what an `AgentShape` may be: a body without extent gets the least one.
    """
    radius = settings.cell_size * count_cells(settings.agent_radius, settings.cell_size, upwards=True)
    height = settings.cell_height * count_cells(settings.agent_height, settings.cell_height, upwards=True)
    climb = settings.cell_height * count_cells(settings.agent_max_climb, settings.cell_height, upwards=False)
    return AgentShape(
        radius=round(min(5.0, max(0.02, radius)), 6),
        height=round(min(50.0, max(0.05, height)), 6),
        max_climb=round(max(0.0, min(climb, 0.99 * max(0.05, height))), 6),
        max_slope_degrees=min(89.0, max(0.0, settings.agent_max_slope)),
        cell_size=min(1.0, max(0.01, settings.cell_size)),
    )
