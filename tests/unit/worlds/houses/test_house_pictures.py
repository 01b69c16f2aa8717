"""What a camera sees in a house: always something, and in kitchens a kitchen."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from nav_eval.simulator.rendering import Camera, Channel, Renderer
from nav_eval_worlds.houses import GeneratedHouse

pytestmark = pytest.mark.slow

HouseMaker = Callable[..., GeneratedHouse]


def _views(house: GeneratedHouse, room_id: str, count: int) -> list[Camera]:
    room = house.plan.room(room_id)
    rect = next(rect for rect in room.rects if rect != room.stair_well)
    x, z = rect.center
    eye = (x / 1000, house.plan.floor_of(room) / 1000 + 1.7, z / 1000)
    turns = [2 * math.pi * n / count for n in range(count)]
    return [
        Camera.from_angles(eye, yaw=yaw, pitch=pitch, width=320, height=240) for yaw in turns for pitch in (-0.5, 0.3)
    ]


@pytest.mark.parametrize("case", [(1, "flat_1", "seen"), pytest.param((3, "duplex_3", "seen"), marks=pytest.mark.slow)])
def test_no_pixel_looks_past_the_house(house: HouseMaker, case: tuple[int, str, str]) -> None:
    made = house(*case)
    with Renderer(made.scene) as renderer:
        for room in made.plan.rooms:
            for camera in _views(made, room.room_id, 4):
                picture = renderer.render(camera, [Channel.INSTANCE]).instance
                assert picture is not None
                assert (picture > 0).all(), (room.room_id, camera)


def test_a_look_around_a_kitchen_shows_its_units(house: HouseMaker) -> None:
    made = house()
    kitchen = next(room.room_id for room in made.plan.rooms if room.kind == "kitchen")
    seen: set[str] = set()
    with Renderer(made.scene) as renderer:
        for camera in _views(made, kitchen, 6):
            picture = renderer.render(camera, [Channel.SEMANTIC]).semantic
            assert picture is not None
            seen |= {made.scene.semantics.categories[number] for number in np.unique(picture)}
    assert {"stove", "sink", "refrigerator", "kitchen cabinet", "wall", "floor"} <= seen


def test_rooms_are_neither_dark_nor_blown_out(house: HouseMaker) -> None:
    made = house()
    with Renderer(made.scene) as renderer:
        for room in made.plan.rooms:
            pictures = [renderer.render(camera, [Channel.RGB]).rgb for camera in _views(made, room.room_id, 4)]
            assert 60 < float(np.mean(pictures)) < 220, room.room_id
