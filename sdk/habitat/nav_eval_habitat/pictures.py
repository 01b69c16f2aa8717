"""Takes the pictures of a simulator's sensors: cameras that share a lens and a place are drawn in one go."""

import math
import threading
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from habitat_sim.sensor import CameraSensor
from habitat_sim.sensor_specs import SensorSubType, SensorType
from nav_eval.compilation import compile_nogil_kernel
from nav_eval.errors import NoRenderer
from nav_eval.records.geometry import Quaternion, Vec3, rotate_vector
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.sensors import Channel, LensConfig
from nav_eval.simulator.rendering import Camera, Device, Frame, Renderer
from nav_eval.simulator.wide_lens import draw_wide_picture
from nav_eval_habitat.scope import OutOfScope
from nav_eval_habitat.world import World

_CHANNELS = {
    SensorType.COLOR: Channel.RGB,
    SensorType.DEPTH: Channel.DEPTH,
    SensorType.SEMANTIC: Channel.INSTANCE,
}
_WIDEST = 170.0  #: degrees that one perspective picture can show
_PARALLEL = 1.0  #: degrees; an orthographic camera is one far behind its place with so narrow a lens


class View(NamedTuple):
    """A lens and a pose; equal views are one picture."""

    position: Vec3
    rotation: Quaternion
    width: int
    height: int
    hfov: float
    near: float
    far: float
    lens: LensConfig | None = None  #: None is a pinhole
    behind: float = 0.0  #: metres from the camera to its place; nothing in between is drawn

    def make_camera(self) -> Camera:
        x, y, z = rotate_vector(self.rotation, (0.0, 0.0, self.behind))
        return Camera(
            position=(self.position[0] + x, self.position[1] + y, self.position[2] + z),
            rotation=self.rotation,
            width=self.width,
            height=self.height,
            hfov=self.hfov,
            near=self.behind + self.near,
            far=self.behind + self.far,
        )


class _ThreadRenderer(threading.local):
    """A context draws in the thread that opened it, so each thread has a renderer of its own."""

    renderer: Renderer | None = None


class PictureTaker:
    """Draws one world. Pictures are fresh arrays.

    `find_mesh` is asked when the first picture is taken: where agents can stand says what is worth knowing of a scene.
    """

    def __init__(
        self, world: World | None, *, gpu: int = 0, find_mesh: Callable[[], NavigationMesh | None] = lambda: None
    ) -> None:
        self._world, self._gpu, self._find_mesh = world, gpu, find_mesh
        self._of_thread = _ThreadRenderer()

    @property
    def renderer(self) -> Renderer:
        assert self._world is not None
        if self._of_thread.renderer is None:
            scene = self._world.prepare_for(self._find_mesh())
            self._of_thread.renderer = Renderer(scene, device=open_device(self._gpu))
        return self._of_thread.renderer

    def take(self, sensors: Iterable[Any]) -> dict[str, NDArray[Any]]:
        """The picture of each sensor, with its noise, by uuid."""
        views: dict[View, list[Any]] = {}
        pictures: dict[str, NDArray[Any]] = {}
        for sensor in sensors:
            pictures[sensor.uuid] = np.empty(0)  # keeps the order of the sensors
            views.setdefault(_find_view(sensor.sensor_object), []).append(sensor)
        for view, group in views.items():
            pictures |= self._draw(view, group)
        return pictures

    def _draw(self, view: View, sensors: list[Any]) -> dict[str, NDArray[Any]]:
        channels = {_get_channel(sensor) for sensor in sensors}
        frame = _make_empty(view, channels) if self._world is None else self._render(view, channels)
        return {sensor.uuid: sensor.apply_noise(self._finish(sensor, frame, sensors)) for sensor in sensors}

    def _render(self, view: View, channels: set[Channel]) -> Frame:
        if view.lens is None:
            frame = self.renderer.render(view.make_camera(), channels)
            depth = frame.depth
            if view.behind and depth is not None:
                np.subtract(depth, view.behind, out=depth, where=depth > 0)
            return frame
        return draw_wide_picture(self.renderer, view.make_camera(), view.lens, channels)

    def _finish(self, sensor: Any, frame: Frame, twins: list[Any]) -> NDArray[Any]:
        """As Habitat delivers it: colour with alpha, ids as the data set counts them."""
        channel = _get_channel(sensor)
        picture: NDArray[Any] = getattr(frame, channel)
        if channel is Channel.RGB:
            return add_alpha(picture)
        if channel is Channel.INSTANCE and self._world is not None and self._world.id_shift:
            shifted: NDArray[Any] = picture - np.minimum(picture, np.uint32(self._world.id_shift))
            return shifted
        alone = sum(_get_channel(twin) is channel for twin in twins) == 1
        return picture if alone else picture.copy()

    def close(self) -> None:
        """What other threads have drawn with goes when they end."""
        if self._of_thread.renderer is not None:
            self._of_thread.renderer.release()
        self._of_thread.renderer = None


class _ThreadDevices(threading.local):
    def __init__(self) -> None:
        self.by_gpu: dict[int, Device] = {}


_devices = _ThreadDevices()


def open_device(gpu: int) -> Device:
    """One context per thread and device."""
    if gpu not in _devices.by_gpu:
        _devices.by_gpu[gpu] = _open_device(gpu)
    return _devices.by_gpu[gpu]


def _open_device(gpu: int) -> Device:
    """Published code names its authors' GPU: without that one, any will do."""
    if gpu > 0:
        try:
            return Device.open(gpu)
        except NoRenderer as error:
            warnings.warn(f"Pictures are drawn by another device than gpu_device_id={gpu}: {error}", stacklevel=2)
    return Device.open(None)


def _get_channel(sensor: Any) -> Channel:
    kind = sensor.spec.sensor_type
    if kind not in _CHANNELS:
        raise OutOfScope(f"A sensor of type {kind.name}")
    return _CHANNELS[kind]


def _make_lens(spec: Any) -> LensConfig | None:
    """The lens of a specification; None for a pinhole."""
    if spec.sensor_subtype in (SensorSubType.PINHOLE, SensorSubType.ORTHOGRAPHIC, SensorSubType.NONE):
        return None
    if spec.sensor_subtype is SensorSubType.EQUIRECTANGULAR:
        return LensConfig(model="equirectangular")
    if spec.sensor_subtype is not SensorSubType.FISHEYE:
        raise OutOfScope(f"A camera of the kind {spec.sensor_subtype.name}")
    across, down = (float(pixels) for pixels in spec.focal_length)
    middle = spec.principal_point_offset
    return LensConfig(
        model="fisheye",
        focal_length=(across, down),
        principal_point=None if middle is None else (float(middle[0]), float(middle[1])),
        alpha=spec.alpha,
        xi=spec.xi,
    )


def _find_view(sensor: CameraSensor) -> View:
    spec: Any = sensor.specification()
    place, turn = sensor.node.find_pose()
    height, width = (int(side) for side in spec.resolution)
    near, far = sensor.near_plane_dist, sensor.far_plane_dist
    lens = _make_lens(spec)
    if lens is not None:
        return View(place, turn, width, height, 90.0, near, far, lens)
    if spec.sensor_subtype is SensorSubType.ORTHOGRAPHIC:
        across = 1.0 / (spec.ortho_scale * sensor.zoom_factor)  # metres that the picture is wide
        behind = across / 2 / math.tan(math.radians(_PARALLEL) / 2)
        return View(place, turn, width, height, _PARALLEL, near, far, behind=behind)
    hfov = sensor.lens_degrees
    if not 0.0 < hfov <= _WIDEST:
        raise ValueError(f"The sensor {spec.uuid!r} has an hfov of {hfov:g} degrees; up to {_WIDEST:g} can be drawn.")
    return View(place, turn, width, height, round(hfov, 9), near, far)


def _make_empty(view: View, channels: set[Channel]) -> Frame:
    """A picture of nothing."""
    frame = Frame.empty(view.width, view.height, channels)
    for channel in channels:
        getattr(frame, channel).fill(0)
    return frame


def add_alpha(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Opaque RGBA."""
    rgba = np.empty((*rgb.shape[:2], 4), dtype=np.uint8)
    _add_alpha(rgb.reshape(-1), rgba.reshape(-1).view(np.uint32))
    return rgba


@compile_nogil_kernel
def _add_alpha(rgb: NDArray[np.uint8], pixels: NDArray[np.uint32]) -> None:
    for k in range(len(pixels)):
        red, green, blue = np.uint32(rgb[3 * k]), np.uint32(rgb[3 * k + 1]), np.uint32(rgb[3 * k + 2])
        pixels[k] = red | (green << np.uint32(8)) | (blue << np.uint32(16)) | np.uint32(0xFF000000)
