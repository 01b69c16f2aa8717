"""What stands behind a simulator: the world, its ground, its scene graph. Physics is not part of it."""

from typing import Any

import numpy as np

import magnum as mn
from habitat_sim.attributes import StageAttributes
from habitat_sim.metadata import MetadataMediator
from habitat_sim.nav import NavMeshSettings, PathFinder
from habitat_sim.physics import PhysicsSimulationLibrary
from habitat_sim.scene_graph import SceneGraph
from habitat_sim.semantic_scene import SemanticScene
from habitat_sim.sim_config import SimulatorConfiguration
from habitat_sim.utils.common import d3_40_colors_rgb
from nav_eval.errors import NavigationMeshError
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval_habitat.api_level import LEVEL
from nav_eval_habitat.named_objects import make_semantic_scene
from nav_eval_habitat.pictures import PictureTaker
from nav_eval_habitat.scope import AbsentManager, make_refusal
from nav_eval_habitat.world import World, open_world


class Random:
    """The simulator's own draws."""

    def __init__(self, seed: int = 0) -> None:
        self.seed(seed)

    def seed(self, seed: int) -> None:
        self._rng = np.random.default_rng(abs(int(seed)))

    def uniform_float_01(self) -> float:
        return float(self._rng.random())

    def uniform_float(self, a: float, b: float) -> float:
        return a + (b - a) * float(self._rng.random())

    def uniform_int(self, a: int = 0, b: int = 1 << 31) -> int:
        return int(self._rng.integers(a, b))

    def uniform_uint(self) -> int:
        return int(self._rng.integers(0, 1 << 32))

    def normal_float_01(self) -> float:
        return float(self._rng.standard_normal())


class SimulatorBackend:
    """A world that is open."""

    def __init__(self, configuration: SimulatorConfiguration, metadata_mediator: Any = None) -> None:
        self._mediator = metadata_mediator or MetadataMediator(configuration)
        self.random = Random(configuration.random_seed)
        self.frustum_culling = configuration.frustum_culling
        self._pictures: PictureTaker | None = None
        self._world_time = 0.0
        self._navmesh_is_shown = False
        self.open_backend(configuration)

    def open_backend(self, configuration: SimulatorConfiguration, *, height: float = 1.5, radius: float = 0.1) -> None:
        """Open the scene that the configuration names; `height` and `radius` are the default agent's."""
        self.close_backend()
        self._backend_config = configuration
        self._world: World | None = open_world(configuration.scene_id, configuration.scene_dataset_config_file)
        self._pictures = PictureTaker(self._world, gpu=configuration.gpu_device_id, find_mesh=self._find_mesh)
        self._scene_graph = SceneGraph()
        self._semantic_scene: SemanticScene | None = None
        self._pathfinder = PathFinder()
        self.random.seed(configuration.random_seed)
        self._open_ground(self._choose_settings(configuration, height, radius))

    def _find_mesh(self) -> NavigationMesh | None:
        """Of whatever pathfinder there is by then."""
        return self._pathfinder.find_mesh()

    def _choose_settings(self, configuration: Any, height: float, radius: float) -> NavMeshSettings | None:
        if configuration.navmesh_settings is not None or not LEVEL.builds_mesh_for_agent:
            settings: NavMeshSettings | None = configuration.navmesh_settings
            return settings
        made = NavMeshSettings()
        made.agent_height, made.agent_radius = height, radius
        return made

    def _open_ground(self, wanted: NavMeshSettings | None) -> None:
        """The mesh that came with the scene, unless another body than its own must fit."""
        if self._world is None:
            return
        if self._world.files.navmesh is not None:
            self._pathfinder.load_nav_mesh(str(self._world.files.navmesh))
        loaded = self._pathfinder.nav_mesh_settings
        if wanted is not None and (loaded is None or not loaded.has_same_body(wanted)):
            self.recompute_navmesh(self._pathfinder, wanted)

    def recompute_navmesh(
        self, pathfinder: PathFinder, navmesh_settings: NavMeshSettings, include_static_objects: bool = False
    ) -> bool:
        """Build the mesh for these settings; false if nobody of that size can stand anywhere."""
        if self._world is None:
            return False
        try:
            mesh = self._world.build_mesh(navmesh_settings.make_shape())
        except NavigationMeshError:
            return False
        pathfinder.use_mesh(mesh, navmesh_settings, self._world)
        return True

    def close_backend(self) -> None:
        if self._pictures is not None:
            self._pictures.close()
        self._pictures = None

    @property
    def pathfinder(self) -> PathFinder:
        return self._pathfinder

    @pathfinder.setter
    def pathfinder(self, pathfinder: PathFinder) -> None:
        self._pathfinder = pathfinder

    @property
    def pictures(self) -> PictureTaker:
        if self._pictures is None:
            raise RuntimeError("The simulator is closed.")
        return self._pictures

    @property
    def semantic_scene(self) -> SemanticScene:
        """Never None; empty without annotation."""
        if self._semantic_scene is None:
            self._semantic_scene = make_semantic_scene(self._world)
        return self._semantic_scene

    @property
    def semantic_color_map(self) -> list[mn.Color3]:
        """A colour per object."""
        return [mn.Color3(d3_40_colors_rgb[k % 40] / 255.0) for k in range(len(self.semantic_scene.objects))]

    def semantic_scene_graph_exists(self) -> bool:
        return False

    @property
    def scene_aabb(self) -> mn.Range3D:
        return mn.Range3D() if self._world is None else mn.Range3D(*self._world.bounds)

    @property
    def curr_scene_name(self) -> str:
        return "NONE" if self._world is None else self._world.name

    @property
    def active_dataset(self) -> str:
        return self._backend_config.scene_dataset_config_file

    @property
    def metadata_mediator(self) -> Any:
        return self._mediator

    @metadata_mediator.setter
    def metadata_mediator(self, mediator: Any) -> None:
        self._mediator = mediator

    @property
    def gpu_device(self) -> int:
        return self._backend_config.gpu_device_id

    @property
    def renderer(self) -> Any:
        return self._pictures

    @property
    def gfx_replay_manager(self) -> None:
        """Nothing is recorded."""
        return None

    @property
    def navmesh_visualization(self) -> bool:
        """Kept, not drawn."""
        return self._navmesh_is_shown

    @navmesh_visualization.setter
    def navmesh_visualization(self, shown: bool) -> None:
        self._navmesh_is_shown = bool(shown)

    def is_navmesh_visualization_active(self) -> bool:
        return self._navmesh_is_shown

    def get_active_scene_graph(self) -> SceneGraph:
        return self._scene_graph

    get_active_semantic_scene_graph = get_active_scene_graph

    def get_stage_initialization_template(self) -> StageAttributes | None:
        return None if self._world is None else StageAttributes(str(self._world.path))

    def get_stage_is_collidable(self) -> bool:
        return True

    def reset(self, *_: Any, **__: Any) -> Any:
        """Time begins again; there is nothing else that a world without physics could forget."""
        self._world_time = 0.0

    def step_world(self, dt: float = 1.0 / 60.0) -> float:
        """Time passes, and nothing else: there is no physics."""
        self._world_time += float(dt)
        return self._world_time

    def get_world_time(self) -> float:
        return self._world_time

    def get_physics_simulation_library(self) -> PhysicsSimulationLibrary:
        return PhysicsSimulationLibrary.NoPhysics

    def get_gravity(self) -> mn.Vector3:
        return mn.Vector3(0.0, -9.8, 0.0)

    def get_rigid_object_manager(self) -> AbsentManager:
        return AbsentManager("get_rigid_object_manager()")

    def get_articulated_object_manager(self) -> AbsentManager:
        return AbsentManager("get_articulated_object_manager()")

    def get_object_template_manager(self) -> AbsentManager:
        return AbsentManager("get_object_template_manager()")

    def get_asset_template_manager(self) -> AbsentManager:
        return AbsentManager("get_asset_template_manager()")

    def get_stage_template_manager(self) -> AbsentManager:
        return AbsentManager("get_stage_template_manager()")

    def get_physics_template_manager(self) -> AbsentManager:
        return AbsentManager("get_physics_template_manager()")

    def get_lighting_template_manager(self) -> AbsentManager:
        return AbsentManager("get_lighting_template_manager()")

    def get_existing_object_ids(self) -> list[int]:
        return []


#: physics of every release, lights and lines drawn into a picture
_LEFT_OUT = (
    "add_gradient_trajectory_object", "add_object", "add_object_by_handle", "add_trajectory_object", "apply_force",
    "apply_torque", "cast_ray", "contact_test", "create_rigid_constraint", "get_angular_velocity",
    "get_current_light_setup", "get_debug_line_render", "get_light_setup", "get_linear_velocity",
    "get_object_initialization_template", "get_object_motion_type", "get_object_scene_node",
    "get_object_velocity_control", "get_physics_contact_points", "get_physics_num_active_contact_points",
    "get_physics_time_step", "get_rigid_constraint_settings", "get_rigid_state", "get_rotation", "get_transformation",
    "get_translation", "perform_discrete_collision_detection", "physics_debug_draw", "remove_object",
    "remove_rigid_constraint", "save_current_scene_config", "set_angular_velocity", "set_gravity", "set_light_setup",
    "set_linear_velocity", "set_object_bb_draw", "set_object_is_collidable", "set_object_light_setup",
    "set_object_motion_type", "set_object_semantic_id", "set_rigid_state", "set_rotation", "set_stage_is_collidable",
    "set_transformation", "set_translation", "update_rigid_constraint",
)  # fmt: skip
for _name in _LEFT_OUT:
    setattr(SimulatorBackend, _name, make_refusal(_name))
