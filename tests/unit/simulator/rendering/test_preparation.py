"""What is made of a scene before it is drawn."""

import numpy as np
from analytic_scenes import SceneBuilder, solid_texture

from nav_eval.scene.model import AlphaMode
from nav_eval.simulator.rendering import prepare_scene

GREY, RED = ((90, 90, 90),), ((200, 0, 0),)


def test_what_is_fine_is_drawn_before_what_is_large():
    """A wall comes before the things in front of it in the file; holes and glass still come last."""
    build = SceneBuilder()
    wall, thing = build.material(solid_texture(GREY)), build.material(solid_texture(RED))
    net = build.material(solid_texture(GREY), alpha_mode=AlphaMode.MASK)
    build.wall((-4, 0), (4, 3), -5, wall)
    for x in range(10):
        build.box((0.3 * x, 0, -4), (0.3 * x + 0.1, 0.1, -3.9), thing)
    build.wall((0, 0), (0.1, 0.1), -2, net)
    batches = prepare_scene(build.build()).batches
    assert [batch.texture for batch in batches] == [thing, wall, net]


def test_every_chunk_is_of_the_batch_that_its_faces_are_drawn_with():
    build = SceneBuilder()
    large, small = build.material(solid_texture(GREY)), build.material(solid_texture(RED))
    build.wall((-4, 0), (4, 3), -5, large, object_id=1)
    build.wall((0, 0), (0.1, 0.1), -2, small, object_id=2)
    scene = prepare_scene(build.build())
    surface = scene.vertices["surface"][scene.chunks.triangles[scene.chunks.first[:-1], 0]]
    shown = [scene.batches[number].texture for number in scene.chunks.batch]
    assert np.array_equal(scene.surfaces[surface, 1], [{small: 2, large: 1}[texture] for texture in shown])
