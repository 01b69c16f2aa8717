"""Shared memory: what is in use is never overwritten, and an agent cannot reach through it."""

import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from nav_eval.agents.shared_memory import PROOF_BYTES, Ring, RingPool
from nav_eval.sensors import SensorSpec
from nav_eval_sdk.arrays import SharedMemory, SharedMemoryCache

SENSORS = {
    "rgb": SensorSpec(kind="rgb", dtype="uint8", shape=(48, 64, 3)),
    "depth": SensorSpec(kind="depth", dtype="float32", shape=(48, 64)),
    "gps": SensorSpec(kind="gps", dtype="float32", shape=(2,)),
    "goal": SensorSpec(kind="imagegoal", dtype="uint8", shape=(0, 0, 3)),
}


@pytest.fixture(params=["anonymous", "file"])
def ring(request: pytest.FixtureRequest, tmp_path: Path) -> Ring:
    return Ring(SENSORS, slots=3, directory=tmp_path if request.param == "file" else None)


def picture(value: int) -> np.ndarray:
    return np.full((48, 64, 3), value, np.uint8)


def test_the_agent_reads_what_was_drawn(ring: Ring) -> None:
    slot = ring.take(1)
    assert slot is not None
    offset = slot.put("rgb", picture(7))
    assert offset is not None
    memory = SharedMemory(ring.path, ring.size)
    assert memory.proof == ring.proof
    seen = memory.array(1, offset=offset, dtype="uint8", shape=(48, 64, 3))
    assert np.array_equal(seen, picture(7))
    assert not seen.flags.writeable


def test_drawing_in_place_is_seen_without_a_copy(ring: Ring) -> None:
    slot = ring.take(1)
    assert slot is not None
    slot.arrays["depth"][:] = 2.5
    offset = slot.put("depth", slot.arrays["depth"])
    assert offset is not None
    seen = SharedMemory(ring.path, ring.size).array(1, offset=offset, dtype="float32", shape=(48, 64))
    assert (seen == 2.5).all()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("gps", np.zeros(2, np.float32)),  # small: it travels in the message
        ("goal", np.zeros((8, 8, 3), np.uint8)),  # its size was not known beforehand
        ("rgb", np.zeros((8, 8, 3), np.uint8)),  # another shape than announced
        ("rgb", np.zeros((48, 64, 3), np.float32)),  # another type
        ("lidar", np.zeros((48, 64), np.float32)),  # not announced at all
    ],
)
def test_what_has_no_place_goes_into_the_message(ring: Ring, name: str, array: np.ndarray) -> None:
    slot = ring.take(1)
    assert slot is not None
    assert slot.put(name, array) is None


def test_slots_that_are_held_are_not_used_again(ring: Ring) -> None:
    slots = [ring.take(sequence) for sequence in (1, 2, 3)]
    assert None not in slots
    assert len({id(slot) for slot in slots}) == 3
    assert ring.take(4) is None  # the message carries the pixels then
    ring.release(held={2})
    assert {id(ring.take(4)), id(ring.take(5))} == {id(slots[0]), id(slots[2])}
    assert ring.take(6) is None
    ring.release()
    assert ring.take(7) is not None


def test_a_slot_that_nobody_holds_serves_again_while_it_is_in_the_cache(ring: Ring) -> None:
    used = set()
    for sequence in range(1, 6):
        used.add(id(ring.take(sequence)))
        ring.release()
    assert len(used) == 1


def test_nobody_can_shrink_or_write_the_anonymous_memory() -> None:
    ring = Ring(SENSORS, slots=1)
    fd = os.open(ring.path, os.O_RDWR)
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 0)
    with pytest.raises(PermissionError):
        os.pwrite(fd, b"x" * PROOF_BYTES, 0)
    with pytest.raises(PermissionError):
        mmap.mmap(fd, ring.size)
    os.close(fd)
    assert SharedMemory(ring.path, ring.size).proof == ring.proof


def test_a_ring_leaves_no_file(tmp_path: Path) -> None:
    ring = Ring(SENSORS, slots=1, directory=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    ring.close()
    assert list(tmp_path.iterdir()) == []


def test_rings_are_used_again_and_go_when_their_episode_is_over(tmp_path: Path) -> None:
    pool = RingPool(SENSORS, slots=1, directory=tmp_path)
    first = pool.take()
    assert first is not None
    pool.give_back(first)
    assert pool.take() is first
    pool.retire()
    assert len(list(tmp_path.iterdir())) == 1, "an episode is still using it"
    pool.give_back(first)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("directory", [Path("/nowhere/at/all"), None])
def test_where_no_memory_can_be_shared_there_is_no_ring(directory: Path | None) -> None:
    sensors = SENSORS if directory else {"gps": SENSORS["gps"]}
    assert RingPool(sensors, slots=1, directory=directory).take() is None


def test_the_sdk_tells_what_the_agent_still_has_and_copies_from_then_on() -> None:
    ring = Ring(SENSORS, slots=2)
    memory = SharedMemory(ring.path, ring.size)
    slot = ring.take(1)
    assert slot is not None
    offset = slot.put("rgb", picture(1))
    assert offset is not None

    def see(sequence: int) -> np.ndarray:
        return memory.array(sequence, offset=offset, dtype="uint8", shape=(48, 64, 3))

    passing = see(1)
    del passing
    assert memory.held() == []
    crop = see(2)[10:20]  # a view of a view keeps it alive
    assert memory.held() == [2]
    copy = see(3)
    assert memory.held() == [2], "an agent that keeps pictures gets copies"
    slot.arrays["rgb"][:] = 9
    assert (copy == 1).all()
    assert (crop == 9).all()
    del crop
    assert memory.held() == []


def test_the_sdk_finds_a_volume_that_is_mounted_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Ring(SENSORS, slots=1, directory=tmp_path)
    elsewhere = f"/obs/{Path(ring.path).name}"
    assert SharedMemoryCache().proof(elsewhere, ring.size) == b""
    monkeypatch.setenv("NAV_EVAL_SHM_DIR", str(tmp_path))
    assert SharedMemoryCache().proof(elsewhere, ring.size) == ring.proof


@pytest.mark.parametrize(("path", "size"), [("/nowhere", 4096), ("/dev/null", 4096), ("", 4096), ("/etc", 4096)])
def test_memory_that_cannot_be_mapped_is_done_without(path: str, size: int) -> None:
    assert SharedMemoryCache().proof(path, size) == b""
    assert SharedMemoryCache().get(path, size) is None
