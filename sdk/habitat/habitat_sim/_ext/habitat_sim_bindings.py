"""Some import from the extension directly: the names of `habitat_sim.bindings` and those of the modules above it."""

from habitat_sim import geo
from habitat_sim.bindings import *  # noqa: F403
from habitat_sim.gfx import *  # noqa: F403
from habitat_sim.metadata import MetadataMediator
from habitat_sim.nav import *  # noqa: F403
from habitat_sim.physics import *  # noqa: F403
from habitat_sim.scene import *  # noqa: F403
from habitat_sim.sensor import *  # noqa: F403

MapStringString = dict

__all__ = ["MapStringString", "MetadataMediator", "geo"]
