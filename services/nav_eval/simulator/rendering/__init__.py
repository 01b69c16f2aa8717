"""Pictures of scenes: RGB, depth, semantic and instance ids, headless and bit-exact."""

from nav_eval.sensors import Channel
from nav_eval.simulator.rendering.camera import ALL_CHANNELS, Camera, Frame
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.pixel_copy import PendingFrames
from nav_eval.simulator.rendering.preparation import compute_render_digest, prepare_scene
from nav_eval.simulator.rendering.prepared_scene import PreparedScene
from nav_eval.simulator.rendering.prepared_store import load_or_prepare, load_prepared, save_prepared
from nav_eval.simulator.rendering.renderer import Renderer

__all__ = [
    "ALL_CHANNELS",
    "Camera",
    "Channel",
    "Device",
    "Frame",
    "PendingFrames",
    "PreparedScene",
    "Renderer",
    "compute_render_digest",
    "load_or_prepare",
    "load_prepared",
    "prepare_scene",
    "save_prepared",
]
