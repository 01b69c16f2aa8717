"""Sensors on scene nodes, and what they are made from."""

import math
from collections.abc import Iterable
from typing import Any

import magnum as mn
from habitat_sim.geo import Ray
from habitat_sim.scene_graph import SceneNode, SceneNodeType
from habitat_sim.sensor_specs import (
    AudioSensorSpec,
    CameraSensorSpec,
    CubeMapSensorBaseSpec,
    EquirectangularSensorSpec,
    FisheyeSensorDoubleSphereSpec,
    FisheyeSensorModelType,
    FisheyeSensorSpec,
    SensorSpec,
    SensorSubType,
    SensorType,
    VisualSensorSpec,
    get_hfov_degrees,
)
from nav_eval_habitat.points import to_position
from nav_eval_habitat.scope import OutOfScope, make_placeholder


class Sensor(mn.scenegraph.AbstractFeature3D):
    """A sensor at its place; pictures are taken by the simulator."""

    def __init__(self, scene_node: SceneNode, spec: SensorSpec) -> None:
        if spec.sensor_type is SensorType.AUDIO:
            raise OutOfScope("An audio sensor")
        super().__init__(scene_node)
        self._spec = spec
        scene_node.type = SceneNodeType.SENSOR
        scene_node.sensor = self
        self.set_transformation_from_spec()

    @property
    def node(self) -> SceneNode:
        node: SceneNode = self._object
        return node

    scene_node = node

    @property
    def uuid(self) -> str:
        return self._spec.uuid

    def specification(self) -> SensorSpec:
        return self._spec

    def is_visual_sensor(self) -> bool:
        return True

    def set_transformation_from_spec(self) -> None:
        """Back to where the specification puts it."""
        node = self.node
        node.reset_transformation()
        node.place = to_position(self._spec.position)
        for axis, angle in zip("xyz", self._spec.orientation, strict=True):
            if angle:
                getattr(node, f"rotate_{axis}")(mn.Rad(float(angle)))

    @property
    def framebuffer_size(self) -> mn.Vector2i:
        """Width and height."""
        height, width = self._spec.resolution  # type: ignore[attr-defined]
        return mn.Vector2i(int(width), int(height))


class VisualSensor(Sensor):
    @property
    def near_plane_dist(self) -> float:
        return float(getattr(self._spec, "near", 0.01))

    @property
    def far_plane_dist(self) -> float:
        return float(getattr(self._spec, "far", 1000.0))

    @property
    def hfov(self) -> mn.Deg:
        return mn.Deg(get_hfov_degrees(self._spec))


class CameraSensor(VisualSensor):
    """A pinhole or orthographic camera; its lens may be changed while it is used."""

    def __init__(self, scene_node: SceneNode, spec: SensorSpec) -> None:
        super().__init__(scene_node, spec)
        self.zoom_factor = 1.0
        self._hfov = mn.Deg(get_hfov_degrees(spec))

    @property
    def hfov(self) -> mn.Deg:
        return self._hfov

    @property
    def fov(self) -> mn.Deg:
        return self._hfov

    @fov.setter
    def fov(self, angle: Any) -> None:
        self._hfov = mn.Deg(angle)

    def zoom(self, factor: float) -> None:
        """Above 1 nearer."""
        self.zoom_factor *= factor

    def reset_zoom(self) -> None:
        self.zoom_factor = 1.0

    @property
    def lens_degrees(self) -> float:
        """The horizontal field of view after zooming."""
        half = math.tan(self._hfov.radians / 2) / self.zoom_factor
        return math.degrees(2 * math.atan(half))

    @property
    def render_camera(self) -> "CameraSensor":
        """The same thing here: Habitat has a camera below its sensor."""
        return self

    @property
    def viewport(self) -> mn.Vector2i:
        return self.framebuffer_size

    @property
    def projection_matrix(self) -> mn.Matrix4:
        width, height = self.framebuffer_size
        return mn.Matrix4.perspective_projection(
            mn.Deg(self.lens_degrees), width / height, self.near_plane_dist, self.far_plane_dist
        )

    @property
    def camera_matrix(self) -> mn.Matrix4:
        """From the world to the camera."""
        return self.node.absolute_transformation().inverted_rigid()

    def unproject(self, point: Any, normalized: bool = True) -> Ray:
        """The ray through a pixel; not normalized, it is one metre deep."""
        width, height = self.framebuffer_size
        reach = math.tan(math.radians(self.lens_degrees) / 2)
        across = (2 * int(point[0]) / (width - 1 or 1) - 1) * reach
        up = -(2 * int(point[1]) / (height - 1 or 1) - 1) * reach * height / width
        direction = self.node.absolute_transformation().transform_vector((across, up, -1.0))
        return Ray(self.node.absolute_translation, direction.normalized() if normalized else direction)


class CubeMapSensorBase(VisualSensor):
    """Looks in all directions."""


class EquirectangularSensor(CubeMapSensorBase):
    """All directions in a picture of longitude and latitude."""


class FisheyeSensor(CubeMapSensorBase):
    """A wide lens, by the double-sphere model."""


_KINDS = {
    SensorSubType.EQUIRECTANGULAR: EquirectangularSensor,
    SensorSubType.FISHEYE: FisheyeSensor,
}


class SensorFactory:
    """Hangs sensors on nodes and takes them off."""

    @staticmethod
    def create_sensors(node: SceneNode, specs: Iterable[SensorSpec]) -> dict[str, Sensor]:
        return {spec.uuid: _KINDS.get(spec.sensor_subtype, CameraSensor)(node.create_child(), spec) for spec in specs}

    @staticmethod
    def delete_sensor(sensor: Sensor) -> None:
        sensor.node.remove()

    @staticmethod
    def delete_subtree_sensor(node: SceneNode, uuid: str) -> None:
        SensorFactory.delete_sensor(node.subtree_sensors[uuid])


Observation = make_placeholder("Observation")
AudioSensor = make_placeholder("AudioSensor")
RLRAudioPropagationConfiguration = make_placeholder("RLRAudioPropagationConfiguration")
RLRAudioPropagationChannelLayout = make_placeholder("RLRAudioPropagationChannelLayout")
RLRAudioPropagationChannelLayoutType = make_placeholder("RLRAudioPropagationChannelLayoutType")

__all__ = [
    "AudioSensor",
    "AudioSensorSpec",
    "CameraSensor",
    "CameraSensorSpec",
    "CubeMapSensorBase",
    "CubeMapSensorBaseSpec",
    "EquirectangularSensor",
    "EquirectangularSensorSpec",
    "FisheyeSensor",
    "FisheyeSensorDoubleSphereSpec",
    "FisheyeSensorModelType",
    "FisheyeSensorSpec",
    "Observation",
    "RLRAudioPropagationChannelLayout",
    "RLRAudioPropagationChannelLayoutType",
    "RLRAudioPropagationConfiguration",
    "Sensor",
    "SensorFactory",
    "SensorSpec",
    "SensorSubType",
    "SensorType",
    "VisualSensor",
    "VisualSensorSpec",
]
