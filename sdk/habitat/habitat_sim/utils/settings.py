"""A configuration out of one flat dictionary."""

from typing import Any

import magnum as mn
from habitat_sim import sensor_specs as specs
from habitat_sim.agent import ActionSpec, ActuationSpec, AgentConfiguration
from habitat_sim.nav import NavMeshSettings
from habitat_sim.sensor_specs import SensorSubType, SensorType
from habitat_sim.sim_config import Configuration, SimulatorConfiguration

BLACK = mn.Color4.from_linear_rgb_int(0)

_KINDS = {"rgba": SensorType.COLOR, "depth": SensorType.DEPTH, "semantic": SensorType.SEMANTIC}
_LENSES = {
    "ortho": SensorSubType.ORTHOGRAPHIC,
    "fisheye": SensorSubType.FISHEYE,
    "equirect": SensorSubType.EQUIRECTANGULAR,
}

default_sim_settings: dict[str, Any] = {
    "scene_dataset_config_file": "default",
    "scene": "NONE",
    "width": 640,
    "height": 480,
    "hfov": 90,
    "zfar": 1000.0,
    "clear_color": BLACK,
    "sensor_height": 1.5,
    "default_agent": 0,
    "agent_radius": 0.1,
    "color_sensor": True,
    "semantic_sensor": False,
    "depth_sensor": False,
    **{f"{lens}_{kind}_sensor": False for lens in _LENSES for kind in _KINDS},
    "seed": 1,
    "physics_config_file": "data/default.physics_config.json",
    "enable_physics": False,
    "default_agent_navmesh": True,
    "navmesh_include_static_objects": False,
    "enable_hbao": False,
}


def make_cfg(settings: dict[str, Any]) -> Configuration:
    """What `default_sim_settings` describes, changed as wanted."""
    agent = AgentConfiguration(height=settings["sensor_height"], radius=settings["agent_radius"])
    agent.sensor_specifications = _make_sensors(settings)
    agent.action_space = {
        "move_forward": ActionSpec("move_forward", ActuationSpec(amount=0.25)),
        "turn_left": ActionSpec("turn_left", ActuationSpec(amount=10.0)),
        "turn_right": ActionSpec("turn_right", ActuationSpec(amount=10.0)),
    }
    return Configuration(_make_backend(settings, agent), [agent])


def _make_backend(settings: dict[str, Any], agent: AgentConfiguration) -> SimulatorConfiguration:
    made = SimulatorConfiguration()
    made.scene_id = settings["scene"]
    for name in ("scene_dataset_config_file", "enable_physics", "physics_config_file", "scene_light_setup"):
        if name in settings:
            setattr(made, name, settings[name])
    made.frustum_culling = settings.get("frustum_culling", False)
    made.enable_hbao = settings.get("enable_hbao", False)
    if settings.get("default_agent_navmesh", True):
        made.navmesh_settings = NavMeshSettings()
        made.navmesh_settings.agent_radius, made.navmesh_settings.agent_height = agent.radius, agent.height
        made.navmesh_settings.include_static_objects = settings.get("navmesh_include_static_objects", False)
    return made


def _make_sensors(settings: dict[str, Any]) -> list[specs.SensorSpec]:
    plain = {"color_sensor": "rgba", "depth_sensor": "depth", "semantic_sensor": "semantic"}
    made: list[specs.SensorSpec] = [
        _make_camera(settings, name, kind, SensorSubType.PINHOLE) for name, kind in plain.items() if settings.get(name)
    ]
    for lens, subtype in _LENSES.items():
        for kind in _KINDS:
            name = f"{lens}_{kind}_sensor"
            if settings.get(name):
                made.append(_make_camera(settings, name, kind, subtype))
    return made


def _make_camera(settings: dict[str, Any], uuid: str, kind: str, subtype: SensorSubType) -> specs.SensorSpec:
    made = _make_lens(settings, subtype)
    made.uuid, made.sensor_type, made.sensor_subtype = uuid, _KINDS[kind], subtype
    made.channels = 4 if kind == "rgba" else 1
    made.resolution = mn.Vector2i(settings["height"], settings["width"])
    made.position = mn.Vector3(0, settings["sensor_height"], 0)
    made.clear_color = settings.get("clear_color", BLACK)
    return made


def _make_lens(settings: dict[str, Any], subtype: SensorSubType) -> specs.VisualSensorSpec:
    if subtype is SensorSubType.FISHEYE:
        fisheye = specs.FisheyeSensorDoubleSphereSpec()
        # the lens "GoPro" of table 3 in Usenko, Demmel and Cremers, The Double Sphere Camera Model, 2018
        fisheye.xi, fisheye.alpha, fisheye.focal_length = -0.27, 0.57, [364.84, 364.86]
        return fisheye
    if subtype is SensorSubType.EQUIRECTANGULAR:
        return specs.EquirectangularSensorSpec()
    camera = specs.CameraSensorSpec()
    camera.hfov = settings["hfov"]
    camera.far = settings["zfar"]
    return camera
