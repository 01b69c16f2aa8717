"""Cameras of LH-VLN, small enough for a test; an odd height, because videos want even ones."""

CAMERAS = ("rgb_left", "rgb_front", "rgb_right", "depth_left", "depth_front", "depth_right", "semantic_front")
SMALL = [f"task.sensors.{camera}.{side}={n}" for camera in CAMERAS for side, n in (("width", 48), ("height", 35))]
