"""Plays files of episodes with the real habitat-lab and its ShortestPathFollower; run by the Python that has the lab.

python lab_player.py SCENES COUNT '[[TASK, DATA], …]'  →  one JSON line per episode
"""

import json
import sys

import numpy as np
from habitat.tasks.nav.shortest_path_follower import ShortestPathFollower

import habitat

NAMES = ("stop", "move_forward", "turn_left", "turn_right", "look_up", "look_down")
CONFIGS = {
    "pointnav": "benchmark/nav/pointnav/pointnav_habitat_test.yaml",
    "imagenav": "benchmark/nav/imagenav/imagenav_test.yaml",
    "objectnav": "benchmark/nav/objectnav/objectnav_mp3d.yaml",
    "instance_imagenav": "benchmark/nav/instance_imagenav/instance_imagenav_hm3d_v1.yaml",
    "vln": "benchmark/nav/vln_r2r.yaml",
}
CAMERA = "habitat.simulator.agents.main_agent.sim_sensors"


def make_config(task, data, scenes):
    cameras = ["rgb_sensor"] if task == "imagenav" else ["rgb_sensor", "depth_sensor"]
    overrides = [
        f"habitat.dataset.data_path={data}",
        f"habitat.dataset.scenes_dir={scenes}",
        "habitat.dataset.split=val",
        "habitat.environment.iterator_options.shuffle=False",
        "habitat.environment.iterator_options.group_by_scene=False",
        *(f"{CAMERA}.{name}.{side}=64" for name in cameras for side in ("width", "height")),
    ]
    if task == "imagenav":  # draws what was seen on a map, which takes as long as all else it does
        overrides.append("habitat.task.measurements.top_down_map.fog_of_war.visibility_dist=1.0")
    if task == "vln":
        overrides.append("habitat.task.measurements.success.success_distance=3.0")
    return habitat.get_config(CONFIGS[task], overrides)


def choose_target(env, task):
    goals = env.current_episode.goals
    if task in ("objectnav", "instance_imagenav"):
        places = [view.agent_state.position for goal in goals for view in goal.view_points]
    else:
        places = [goal.position for goal in goals]
    start = env.sim.get_agent_state().position
    distances = [env.sim.geodesic_distance(start, place) for place in places]
    return places[int(np.argmin(distances))]


def play(env, task):
    observations = env.reset()
    radius = env._config.task.measurements.success.success_distance
    follower = ShortestPathFollower(env.sim, radius, return_one_hot=False)
    target, actions = choose_target(env, task), []
    while not env.episode_over:
        action = follower.get_next_action(target)
        action = 0 if action is None else int(action)
        observations = env.step(action)
        actions.append(NAMES[action])
    numbers = int | float | np.number  # with numpy 2 the lab adds up its path in single precision
    metrics = {name: float(value) for name, value in env.get_metrics().items() if isinstance(value, numbers)}
    shapes = {name: list(np.shape(value)) for name, value in observations.items() if isinstance(value, np.ndarray)}
    position = [float(number) for number in env.sim.get_agent_state().position]
    return {
        "episode": env.current_episode.episode_id,
        "actions": actions,
        "metrics": metrics,
        "shapes": shapes,
        "position": position,
    }


def main():
    scenes, count, jobs = sys.argv[1:]
    for task, data in json.loads(jobs):
        with habitat.Env(config=make_config(task, data, scenes)) as env:
            for _ in range(min(int(count), len(env.episodes))):
                print(json.dumps(play(env, task)), flush=True)


if __name__ == "__main__":
    main()
