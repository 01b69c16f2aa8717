"""What a simulator is made from."""

from typing import Any

import attr

from habitat_sim.agent.agent import AgentConfiguration


class SimulatorConfiguration:
    """The world. Attributes may be added; those without a meaning here are kept and ignored."""

    def __init__(self) -> None:
        self.scene_id = ""
        self.scene_dataset_config_file = "default"
        self.random_seed = 0
        self.default_agent_id = 0
        self.gpu_device_id = 0
        self.allow_sliding = True
        self.create_renderer = True
        self.frustum_culling = True
        self.load_semantic_mesh = True
        self.requires_textures = True
        self.use_semantic_textures = True
        self.force_separate_semantic_scene_graph = False
        self.enable_physics = False
        self.enable_hbao = False
        self.enable_gfx_replay_save = False
        self.leave_context_with_background_renderer = False
        self.override_scene_light_defaults = False
        self.physics_config_file = "./data/default.physics_config.json"
        self.scene_light_setup = "no_lights"
        self.pbr_image_based_lighting = False
        self.default_camera_uuid = "rgba_camera"
        self.default_agent_navmesh = False
        self.navmesh_settings: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimulatorConfiguration) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


@attr.s(auto_attribs=True, slots=True)
class Configuration:
    sim_cfg: SimulatorConfiguration
    agents: list[AgentConfiguration]
    metadata_mediator: Any = attr.ib(default=None, eq=False)
    enable_batch_renderer: bool = False
