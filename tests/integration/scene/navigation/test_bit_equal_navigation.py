"""The same actions give the same bits in every process, and on every kind of processor."""

import os
import subprocess
import sys

import pytest

from support.paths import TESTS

WORLDS = TESTS / "unit/scene/navigation"

WALK = """
import hashlib
import numpy as np
from navigation_worlds import Box, room
from nav_eval.records.geometry import Pose, make_yaw_rotation
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.simulator.motion import DiscreteMotion, make_standard_actions

geometry, _ = room(8, 6, Box(-1, 0.5, 0.4, 0.7, 31), Box(1.5, -1, 0.6, 0.2, -12), turn=17)
mesh = build_navigation(geometry, AgentShape(radius=0.18))
motion = DiscreteMotion(mesh, make_standard_actions(turn_angle=15))
state = motion.start(Pose(mesh.random_navigable_point(1), make_yaw_rotation(0.75)))
field = mesh.distance_field([mesh.random_navigable_point(2), mesh.random_navigable_point(3)])
digest = hashlib.sha256()
for array in mesh.surface[1:]:
    digest.update(array.tobytes())
rng = np.random.default_rng(4)
for action in rng.choice(["move_forward", "move_forward", "turn_left", "turn_right"], 3000):
    state = motion.apply(state, str(action))
    digest.update(np.array([*state.position, *state.rotation, field.distance(state.position)]).tobytes())
    digest.update(bytes([state.collided]))
print(digest.hexdigest(), state.collisions)
"""


def run(**environment):
    result = subprocess.run(
        [sys.executable, "-c", WALK],
        env=os.environ | {"PYTHONPATH": str(WORLDS)} | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return result.stdout.split()


@pytest.mark.integration
def test_two_processes_walk_the_same_bits():
    first, second = run(PYTHONHASHSEED="1"), run(PYTHONHASHSEED="2")
    assert first == second
    assert int(first[1]) > 50  # walls were met


@pytest.mark.integration
@pytest.mark.slow
def test_another_processor_walks_the_same_bits(tmp_path):
    plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(**plain) == run()


REPLAY = """
import hashlib
import sys
import numpy as np
from pathlib import Path
from nav_eval.records.geometry import Pose, make_yaw_rotation
from nav_eval.scene.navigation.mesh import load_mesh
from nav_eval.simulator.motion import DiscreteMotion, make_standard_actions

{first}
mesh, digest = load_mesh(Path(sys.argv[1])), hashlib.sha256()
motion = DiscreteMotion(mesh, make_standard_actions(turn_angle=15))
state = motion.start(Pose((-2.5, 0.0, -1.5), make_yaw_rotation(0.75)))
field = mesh.distance_field([(2.0, 0.0, 1.5), (-2.5, 0.0, 2.0)])
rng = np.random.default_rng(4)
for action in rng.choice(["move_forward", "move_forward", "turn_left", "turn_right"], 1000):
    state = motion.apply(state, str(action))
    digest.update(np.array([*state.position, *state.rotation, field.distance(state.position)]).tobytes())
print(digest.hexdigest(), state.collisions, "numba" in sys.modules)
import numba  # which stands beside what was loaded without it
print(mesh.snap_point((2.0, 1.0, 1.5)))
"""


@pytest.mark.integration
def test_a_replay_without_numba_walks_the_same_bits(tmp_path, monkeypatch):
    """Its object files are there once a process has compiled them."""
    monkeypatch.syspath_prepend(str(WORLDS))
    from navigation_worlds import Box, room

    from nav_eval.scene.navigation import AgentShape, build_navigation
    from nav_eval.scene.navigation.mesh import save_mesh

    geometry, _ = room(8, 6, Box(-1, 0.5, 0.4, 0.7, 31), Box(1.5, -1, 0.6, 0.2, -12))
    save_mesh(build_navigation(geometry, AgentShape(radius=0.18)), tmp_path / "mesh")

    def replay(first=""):
        command = [sys.executable, "-c", REPLAY.format(first=first), str(tmp_path / "mesh")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    compiled, loaded = (
        replay("from nav_eval import machine_code; machine_code.load_function = lambda _: None"),
        replay(),
    )
    assert int(compiled[1]) > 20  # walls were met
    assert (compiled.pop(2), loaded.pop(2)) == ("True", "False")
    assert loaded == compiled
