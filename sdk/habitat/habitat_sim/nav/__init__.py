"""Navigation: the mesh, ways on it, and who follows them."""

from habitat_sim.nav.greedy_geodesic_follower import (
    GreedyFollowerCodes,
    GreedyGeodesicFollower,
    GreedyGeodesicFollowerImpl,
    VectorGreedyCodes,
)
from habitat_sim.nav.path_finder import PathFinder
from habitat_sim.nav.paths import HitRecord, MultiGoalShortestPath, ShortestPath
from habitat_sim.nav.settings import NavMeshSettings

__all__ = [
    "GreedyFollowerCodes",
    "GreedyGeodesicFollower",
    "GreedyGeodesicFollowerImpl",
    "HitRecord",
    "MultiGoalShortestPath",
    "NavMeshSettings",
    "PathFinder",
    "ShortestPath",
    "VectorGreedyCodes",
]
