"""Pictures of scenes: RGB, depth, semantic and instance ids, headless and bit-exact."""

from nav_eval.simulator.rendering.camera import Camera
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.frame import ALL_CHANNELS, Channel, Frame
from nav_eval.simulator.rendering.preparation import prepare, scene_digest
from nav_eval.simulator.rendering.prepared import PreparedScene
from nav_eval.simulator.rendering.renderer import Renderer
from nav_eval.simulator.rendering.store import load_prepared, prepared_scene, save_prepared

__all__ = [
    "ALL_CHANNELS",
    "Camera",
    "Channel",
    "Device",
    "Frame",
    "PreparedScene",
    "Renderer",
    "load_prepared",
    "prepare",
    "prepared_scene",
    "save_prepared",
    "scene_digest",
]
