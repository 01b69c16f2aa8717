"""The simulator: agents in a world, steps, observations.

habitat-lab's own simulator inherits from this one and gives `reset`, `step` and `reconfigure` other arguments; so
nothing in here calls these through `self`.
"""

from collections.abc import MutableMapping
from collections.abc import MutableMapping as MutableMapping_T
from typing import Any, Self

import numpy as np

from habitat_sim.agent.agent import Agent, AgentConfiguration, AgentState
from habitat_sim.logging import logger
from habitat_sim.nav import GreedyGeodesicFollower
from habitat_sim.scene_graph import SceneNode
from habitat_sim.sensor import SensorFactory
from habitat_sim.sensor_specs import SensorSpec, SensorType
from habitat_sim.sensors.sensor_wrapper import Sensor
from habitat_sim.sim import SimulatorBackend
from habitat_sim.sim_config import Configuration, SimulatorConfiguration
from habitat_sim.utils.common import quat_from_angle_axis
from nav_eval_habitat.scope import OutOfScope

ObservationDict = dict[str, Any]


class _LastStates(dict[int, Any]):
    """The last state of each agent: a pose until somebody asks for the state."""

    def __getitem__(self, agent_id: int) -> AgentState:
        kept = super().__getitem__(agent_id)
        if type(kept) is tuple:
            agent, pose = kept
            kept = self[agent_id] = agent.make_state(pose)
        state: AgentState = kept
        return state


class Simulator(SimulatorBackend):
    def __init__(self, config: Configuration) -> None:
        self._initialized = False
        self._sanitize_config(config)
        self.config = config
        self.agents: list[Agent] = []
        self._num_total_frames = 0
        self._default_agent_id = 0
        self._sensor_registry: dict[str, Sensor] = {}
        self._previous_step_time = 0.0
        self._async_agents: int | list[int] | None = None
        self.__last_state: _LastStates = _LastStates()
        super().__init__(SimulatorConfiguration(), config.metadata_mediator)
        self._set_from_config(config)

    @staticmethod
    def _sanitize_config(config: Configuration) -> None:
        if not config.agents:
            raise RuntimeError("The configuration has no agents; it needs at least one.")
        if config.enable_batch_renderer:
            raise OutOfScope("enable_batch_renderer")
        kinds = {spec.sensor_type for agent in config.agents for spec in agent.sensor_specifications}
        config.sim_cfg.create_renderer = bool(kinds)
        config.sim_cfg.load_semantic_mesh |= SensorType.SEMANTIC in kinds
        config.sim_cfg.requires_textures = SensorType.COLOR in kinds

    def _set_from_config(self, config: Configuration) -> None:
        default = config.agents[config.sim_cfg.default_agent_id]
        self.open_backend(config.sim_cfg, height=default.height, radius=default.radius)
        self._initialized = True
        self._default_agent_id = config.sim_cfg.default_agent_id
        self.frustum_culling = config.sim_cfg.frustum_culling
        self.pathfinder.seed(config.sim_cfg.random_seed)
        if not self.pathfinder.is_loaded:
            logger.info("There is no navigation mesh: nothing is in the agents' way.")
        root = self.get_active_scene_graph().get_root_node()
        self.agents = [Agent(root.create_child(), agent) for agent in config.agents]
        self._sensor_registry.clear()
        self.__last_state.clear()
        for agent_id, agent in enumerate(self.agents):
            agent.controls.move_filter_fn = self.step_filter
            for sensor in agent.sensors.values():
                self._register(sensor)
            self.initialize_agent(agent_id)

    def _register(self, sensor: Any) -> Sensor:
        sensor.wrapper = Sensor(self, sensor)
        self._sensor_registry[sensor.uuid] = sensor.wrapper
        wrapper: Sensor = sensor.wrapper
        return wrapper

    def reconfigure(self, config: Configuration) -> None:
        """Nothing happens if the configuration is equal to the present one and the simulator is open."""
        self._sanitize_config(config)
        if not self._initialized or self.config != config:
            self._set_from_config(config)
            self.config = config

    def close(self, destroy: bool = True) -> None:
        """May be called again, and before `reconfigure`."""
        if not self._initialized:
            return
        self._initialized = False
        self._sensor_registry.clear()
        for agent in self.agents:
            agent.close()
        self.agents = []
        self.__last_state.clear()
        self.close_backend()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close(destroy=True)

    def seed(self, new_seed: int) -> None:
        self.random.seed(new_seed)
        self.pathfinder.seed(new_seed)

    def get_agent(self, agent_id: int) -> Agent:
        return self.agents[agent_id]

    def initialize_agent(self, agent_id: int, initial_state: AgentState | None = None) -> Agent:
        """Put an agent somewhere: at random if no state is given."""
        agent = self.get_agent(agent_id)
        state = initial_state or self._draw_state()
        agent.set_state(state, is_initial=True)
        self.__last_state[agent_id] = (agent, agent.scene_node.find_pose())
        return agent

    def _draw_state(self) -> AgentState:
        state = AgentState()
        if self.pathfinder.is_loaded:
            state.position = np.asarray(self.pathfinder.get_random_navigable_point())
            state.rotation = quat_from_angle_axis(self.random.uniform_float(0, 2.0 * np.pi), np.array([0.0, 1.0, 0.0]))
        return state

    def reset(self, agent_ids: int | list[int] | None = None) -> Any:
        """All agents go back to their initial states; observations of one, or of those that are named."""
        for agent_id in range(len(self.agents)):
            self.reset_agent(agent_id)
        return self._look(self._default_agent_id if agent_ids is None else agent_ids)

    def reset_agent(self, agent_id: int) -> None:
        initial = self.get_agent(agent_id).initial_state
        if initial is None:
            raise RuntimeError(f"Agent {agent_id} was never given an initial state; call initialize_agent first.")
        self.initialize_agent(agent_id, initial)

    def step(self, action: Any, dt: float = 1.0 / 60.0) -> Any:
        """Take an action, or one per agent; observations and whether it collided."""
        self._num_total_frames += 1
        if isinstance(action, MutableMapping):
            collided = {agent_id: self._act(agent_id, key) for agent_id, key in action.items()}
            self.step_world(dt)
            seen: dict[int, ObservationDict] = self._look(list(action))
            for agent_id, observations in seen.items():
                observations["collided"] = collided[agent_id]
            return seen
        agent_id = self._default_agent_id
        has_collided = self._act(agent_id, action)
        self._world_time += dt
        observations = self._observe(self.agents[agent_id])
        observations["collided"] = has_collided
        return observations

    def _act(self, agent_id: int, key: Any) -> bool:
        agent = self.agents[agent_id]
        collided = agent.act(key)
        self.__last_state[agent_id] = (agent, agent.scene_node.find_pose())
        return collided

    def get_sensor_observations(self, agent_ids: int | list[int] = 0) -> Any:
        """What one agent senses, or each of several."""
        return self._look(agent_ids)

    def _look(self, agent_ids: int | list[int]) -> Any:
        if isinstance(agent_ids, int):
            return self._observe(self.agents[agent_ids])
        return {agent_id: self._observe(self.agents[agent_id]) for agent_id in agent_ids}

    def _observe(self, agent: Agent) -> ObservationDict:
        found = agent.scene_node.subtree_sensors
        if not found:
            return {}
        registry = self._sensor_registry
        return self.pictures.take([sensor.wrapper for uuid, sensor in found.items() if uuid in registry])

    @property
    def sensors(self) -> dict[str, Sensor]:
        """All sensors of this simulator, by uuid."""
        return self._sensor_registry

    _sensors = sensors

    def create_sensor(self, spec: SensorSpec, scene_node: SceneNode) -> Sensor:
        """Hang a new sensor on a node."""
        if spec.uuid in self._sensor_registry:
            raise ValueError(f"There is a sensor {spec.uuid!r} already; remove it first with remove_sensor.")
        return self._register(SensorFactory.create_sensors(scene_node, [spec])[spec.uuid])

    def remove_sensor(self, uuid: str) -> None:
        if uuid not in self._sensor_registry:
            raise KeyError(f"There is no sensor {uuid!r}.")
        SensorFactory.delete_sensor(self._sensor_registry.pop(uuid).sensor_object)

    def get_sensor(self, uuid: str) -> Sensor:
        return self._sensor_registry[uuid]

    def render_sensors(self, sensors: list[Sensor] | None = None) -> ObservationDict:
        """The pictures of some sensors, or of all."""
        return self.pictures.take(list(self._sensor_registry.values()) if sensors is None else sensors)

    def add_sensor(self, sensor_spec: SensorSpec, agent_id: int | None = None) -> None:
        """Hang a new sensor on an agent."""
        agent = self.get_agent(self._default_agent_id if agent_id is None else agent_id)
        self.create_sensor(sensor_spec, agent.scene_node)
        if sensor_spec not in agent.agent_config.sensor_specifications:
            agent.agent_config.sensor_specifications.append(sensor_spec)

    def start_async_render(self, agent_ids: int | list[int] = 0) -> None:
        """Nothing is drawn in the background; pictures are taken when they are fetched."""
        if self._async_agents is not None:
            raise RuntimeError("Fetch the observations with get_sensor_observations_async_finish first.")
        self._async_agents = agent_ids

    def start_async_render_and_step_physics(self, dt: float, agent_ids: int | list[int] = 0) -> None:
        self.start_async_render(agent_ids)
        self.step_world(dt)

    def get_sensor_observations_async_finish(self) -> Any:
        if self._async_agents is None:
            raise RuntimeError("Call start_async_render_and_step_physics first.")
        agent_ids, self._async_agents = self._async_agents, None
        return self._look(agent_ids)

    @property
    def _default_agent(self) -> Agent:
        return self.get_agent(self._default_agent_id)

    @property
    def _last_state(self) -> AgentState:
        return self.__last_state[self._default_agent_id]

    @_last_state.setter
    def _last_state(self, state: AgentState) -> None:
        self.__last_state[self._default_agent_id] = state

    def last_state(self, agent_id: int | None = None) -> AgentState:
        return self.__last_state[self._default_agent_id if agent_id is None else agent_id]

    def make_greedy_follower(
        self, agent_id: int | None = None, goal_radius: float | None = None, **keys: Any
    ) -> GreedyGeodesicFollower:
        agent = self.get_agent(self._default_agent_id if agent_id is None else agent_id)
        return GreedyGeodesicFollower(self.pathfinder, agent, goal_radius, **keys)

    def step_filter(self, start_pos: Any, end_pos: Any) -> Any:
        """Where a step ends: along walls or at them, as `allow_sliding` says; anywhere without a mesh."""
        if not self.pathfinder.is_loaded:
            return end_pos
        return self.pathfinder.filter_step(start_pos, end_pos, sliding=self.config.sim_cfg.allow_sliding)

    def step_physics(self, dt: float) -> None:
        self.step_world(dt)


__all__ = [
    "AgentConfiguration",
    "Configuration",
    "MutableMapping",
    "MutableMapping_T",
    "ObservationDict",
    "Simulator",
    "SimulatorConfiguration",
]
