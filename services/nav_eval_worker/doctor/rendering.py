"""A picture, drawn and looked at. In a process of its own: a broken driver ends or hangs its process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nav_eval.errors import NavEvalError
from nav_eval_worker.doctor.installation import Finding, Installation, confirm, fail

if TYPE_CHECKING:
    from nav_eval.scene.model import Scene

DISTANCE = 2.0
PATIENCE = 60.0  #: seconds without any work of the processor, after which a driver hangs
MOST_WORK = 300.0  #: seconds of it; the first picture on a machine waits for numba, longer where others work too
ADVICE = "For software rendering: apt-get install libegl1 libgl1-mesa-dri. For a GPU: its driver with EGL."


def check_rendering(here: Installation) -> Iterator[Finding]:
    command = [sys.executable, "-m", "nav_eval_worker.doctor.rendering"]
    done = run_while_working(command, dict(here.environment) or None)
    if done is None:
        yield fail("rendering", "no picture, and no work on one", "The graphics driver hangs; update or replace it.")
        return
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
        yield fail("rendering", last[0], ADVICE)
        return
    drawn = json.loads(done.stdout)
    if not drawn["as_expected"]:
        yield fail("rendering", f"{drawn['name']} draws a wrong picture", "Update the graphics driver.")
    else:
        yield confirm("rendering", f"{drawn['name']}, OpenGL {drawn['driver']}")


def run_while_working(
    command: list[str], environment: dict[str, str] | None = None, *, patience: float = PATIENCE
) -> "subprocess.CompletedProcess[str] | None":
    """What a process said; None if it hung. A busy machine is slow, so work is counted and not the clock."""
    with subprocess.Popen(  # noqa: S603
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        worked = -1.0
        while worked < (now := _read_work(process.pid)) < MOST_WORK:
            worked = now
            try:
                said, errors = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                continue
            return subprocess.CompletedProcess(command, process.returncode, said, errors)
        process.kill()
    return None


def _read_work(pid: int) -> float:
    """Seconds that the processor worked for a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def draw_wall() -> dict[str, object]:
    """A red wall, two metres in front of the camera: is the middle of the picture that?"""
    from nav_eval.simulator.rendering import Camera, Channel, Device, Renderer

    device = Device.open()
    with Renderer(_make_red_wall(), device=device) as renderer:
        frame = renderer.render(Camera.from_angles((0, 0, 0), width=64, height=64), [Channel.RGB, Channel.DEPTH])
    assert frame.rgb is not None
    assert frame.depth is not None
    right = frame.rgb[32, 32].tolist() == [255, 0, 0] and float(frame.depth[32, 32]) == DISTANCE
    return {"name": device.name, "driver": device.driver, "as_expected": right}


def _make_red_wall() -> "Scene":
    import numpy as np

    from nav_eval.scene.model import Material, Scene, Texture

    corners = [(-1.0, -1.0, -DISTANCE), (1.0, -1.0, -DISTANCE), (1.0, 1.0, -DISTANCE), (-1.0, 1.0, -DISTANCE)]
    red = Texture(pixels=np.array([[[255, 0, 0, 255]]], dtype=np.uint8))
    return Scene(
        positions=np.array(corners, dtype=np.float32),
        normals=np.array([(0, 0, 1)] * 4, dtype=np.float32),
        uvs=np.array([(0, 1), (1, 1), (1, 0), (0, 0)], dtype=np.float32),
        colors=np.full((4, 4), 255, dtype=np.uint8),
        triangles=np.array([(0, 1, 2), (0, 2, 3)], dtype=np.uint32),
        triangle_material=np.zeros(2, dtype=np.uint16),
        triangle_object=np.zeros(2, dtype=np.uint32),
        triangle_category=np.zeros(2, dtype=np.uint16),
        materials=(Material(texture=0),),
        textures=(red,),
    )


if __name__ == "__main__":
    try:
        print(json.dumps(draw_wall()))
    except NavEvalError as error:
        sys.exit(str(error))
