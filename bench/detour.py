"""Recast and Detour themselves, as Habitat uses them: npm's `recast-navigation` is asked for meshes and ways."""

import json
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation import Geometry
from nav_eval.scene.navigation.recast_settings import RecastSettings, count_cells

SCRIPT = Path(__file__).resolve().parent / "peers" / "detour.mjs"
LIBRARY = "recast-navigation@0.43.1"

Answer = dict[str, list[object]]


def install_library(folder: Path) -> None:
    """Get Recast and Detour from npm; raises FileNotFoundError or CalledProcessError where that is impossible."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise FileNotFoundError("there is no npm, or no node")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), LIBRARY]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def ask_detour(job: dict[str, object], *, library: Path) -> Answer:
    """What `peers/detour.mjs` answers to a job."""
    command = ["node", str(SCRIPT), str(library)]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=True, timeout=600)
    answer: Answer = json.loads(done.stdout)
    return answer


@dataclass(frozen=True, kw_only=True)
class RecastMesh:
    """A mesh that Recast has built, in a file that Detour and we read."""

    file: Path
    library: Path

    def ask(self, **questions: object) -> Answer:
        return ask_detour({"navmesh": str(self.file), **questions}, library=self.library)

    def measure_pairs(self, pairs: Sequence[tuple[Vec3, Vec3]]) -> Answer:
        """Detour's `distances`, and where it puts the places (`snapped`)."""
        return self.ask(pairs=[[*start, *end] for start, end in pairs])

    def measure_ways(self, ways: Sequence[Sequence[Vec3]]) -> list[tuple[float, float]]:
        """Lines of corners, each leg by Detour's own way: metres, and how far a corner was moved; NaN without a way."""
        answer = self.ask(ways=[[number for corner in way for number in corner] for way in ways])
        both = np.array([answer["lengths"], answer["moved"]], dtype=np.float64)
        return [(float(metres), float(moved)) for metres, moved in both.T]


def build_recast(scene: Geometry, settings: RecastSettings, *, library: Path, folder: Path) -> RecastMesh:
    """Recast's mesh of a scene, in Habitat's envelope."""
    folder.mkdir()
    positions, indices, tile = (folder / name for name in ("positions", "indices", "tile"))
    positions.write_bytes(np.ascontiguousarray(scene.positions, dtype="<f4").tobytes())
    indices.write_bytes(np.ascontiguousarray(scene.triangles, dtype="<u4").tobytes())
    job: dict[str, object] = {
        "positions": str(positions),
        "indices": str(indices),
        "config": make_recast_config(settings),
        "tile": str(tile),
    }
    ask_detour(job, library=library)
    content = tile.read_bytes()
    head = b"TESM" + struct.pack("<2i", 1, 1) + bytes(28)
    file = folder / "recast.navmesh"
    file.write_bytes(head + struct.pack("<Ii", 1, len(content)) + content)
    return RecastMesh(file=file, library=library)


def make_recast_config(settings: RecastSettings) -> dict[str, object]:
    """The settings in cells, as Habitat computes them; the generator of the library squares and multiplies the rest."""
    cell, layer = settings.cell_size, settings.cell_height
    return {
        "cs": cell,
        "ch": layer,
        "walkableSlopeAngle": settings.agent_max_slope,
        "walkableHeight": count_cells(settings.agent_height, layer, upwards=True),
        "walkableClimb": count_cells(settings.agent_max_climb, layer, upwards=False),
        "walkableRadius": count_cells(settings.agent_radius, cell, upwards=True),
        "maxEdgeLen": int(settings.edge_max_len / cell),
        "maxSimplificationError": settings.edge_max_error,
        "minRegionArea": settings.region_min_size,
        "mergeRegionArea": settings.region_merge_size,
        "maxVertsPerPoly": int(settings.verts_per_poly),
        "detailSampleDist": settings.detail_sample_dist,
        "detailSampleMaxError": settings.detail_sample_max_error,
    }
