"""Renderers that the simulators of a process share.

Where one process plays several episodes, each in a thread, one renderer draws for all of them: textures are in memory
once, and what one episode has seen spares the others a first look. Drawing side by side would gain nothing, as OpenGL
calls hold Python's lock. So there is one device per process, one lock around it, and a renderer per scene,
which lives as long as somebody uses it.

Who is alone draws in their own thread. As soon as a second thread wants a picture, one thread draws for all of them: if
each drew in turn, every picture would begin on another core, whose caches know nothing of the scene.
"""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from nav_eval.config.schema.benchmark import RenderingConfig
from nav_eval.scene.model import Scene
from nav_eval.simulator.rendering import Device, PreparedScene, Renderer

Drawn = TypeVar("Drawn")


@dataclass(slots=True, eq=False)
class _Shared:
    """A renderer, and how many simulators draw with it."""

    renderer: Renderer
    users: int = 0


class RendererPool:
    """Whatever uses a renderer goes through `draw`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._choosing = threading.Lock()
        self._alone: int | None = None  #: the thread that has drawn, as long as there is only one
        self._drawer: ThreadPoolExecutor | None = None
        self._devices: dict[int | str, Device] = {}
        self._renderers: dict[Hashable, _Shared] = {}

    def __len__(self) -> int:
        return len(self._renderers)

    def draw(self, work: Callable[[], Drawn]) -> Drawn:
        """What `work` returns; nobody else draws meanwhile."""
        drawer = self._choose_drawer()
        if drawer is None:
            return self._draw_alone(work)
        return drawer.submit(self._draw_alone, work).result()

    def _choose_drawer(self) -> ThreadPoolExecutor | None:
        """The thread that draws for all; None while a single thread has asked."""
        with self._choosing:
            if self._drawer is None and self._alone not in (None, threading.get_ident()):
                self._drawer = ThreadPoolExecutor(1, thread_name_prefix="drawer")
            self._alone = threading.get_ident()
            return self._drawer

    def _draw_alone(self, work: Callable[[], Drawn]) -> Drawn:
        with self.lock:
            return work()

    def take(self, scene: Scene | PreparedScene, settings: RenderingConfig) -> Renderer:
        """A renderer of this scene; give it back when it is not needed any more."""
        with self.lock:
            key = _make_key(scene, settings)
            if key not in self._renderers:
                self._renderers[key] = _Shared(self._open(scene, settings))
            self._renderers[key].users += 1
            return self._renderers[key].renderer

    def give_back(self, renderer: Renderer) -> None:
        """The last user's return is the renderer's end."""
        with self.lock:
            key, shared = next(item for item in self._renderers.items() if item[1].renderer is renderer)
            shared.users -= 1
            if not shared.users:
                del self._renderers[key]
                renderer.release()

    def _open(self, scene: Scene | PreparedScene, settings: RenderingConfig) -> Renderer:
        if settings.gpu not in self._devices:
            self._devices[settings.gpu] = _open_device(settings)
        device = self._devices[settings.gpu]
        return Renderer(scene, device=device, trilinear=_choose_filter(settings), culling=settings.culling)


RENDERERS = RendererPool()
"""Of this process."""


def _make_key(scene: Scene | PreparedScene, settings: RenderingConfig) -> Hashable:
    """Equal keys, equal pictures; a scene that was made for one episode is nobody else's."""
    look = scene.digest if isinstance(scene, PreparedScene) else id(scene)
    return look, settings.gpu, _choose_filter(settings), settings.culling


def _choose_filter(settings: RenderingConfig) -> bool | None:
    """Whether mipmaps are blended; None leaves it to the device."""
    if settings.filter == "auto":
        return False if settings.render_quality == "low" else None
    return settings.filter == "trilinear"


def _open_device(settings: RenderingConfig) -> Device:
    """The device that the configuration names; never silently another one."""
    from nav_eval.simulator.rendering.render_threads import set_render_threads

    set_render_threads(settings.threads)
    gpu = settings.gpu
    if gpu == "cpu":
        return Device.open_software()
    return Device.open(gpu if isinstance(gpu, int) else None)
