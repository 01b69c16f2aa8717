"""Some import from the extension directly: the names of `habitat_sim.bindings` and those of the modules above it."""

from habitat_sim import geo
from habitat_sim.bindings import *
from habitat_sim.geo import OBB, BBox, Ray
from habitat_sim.gfx import *
from habitat_sim.metadata import MetadataMediator
from habitat_sim.nav import *
from habitat_sim.physics import *
from habitat_sim.scene import *
from habitat_sim.sensor import *

MapStringString = dict

__all__ = ["OBB", "BBox", "MapStringString", "MetadataMediator", "Ray", "geo"]
