"""The OpenGL device: a headless EGL context on one GPU, or Mesa's software rasteriser on the CPU.

There is no fall-back: who asks for a GPU gets that GPU or an error, because pictures of two drivers
differ in their last bits and a score must say which driver it saw.
"""

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import moderngl
import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NoRenderer

MINIMUM_VERSION = 330
SOFTWARE_DEFAULTS = {
    "LP_NUM_THREADS": "0",  # draw in the calling thread: one worker per core beats one worker with many threads
    "GALLIVM_PERF": "brilinear",  # blend mip levels only near their border: a fifth less per textured pixel
}
MAX_DEVICES = 64
EGL_LIBRARY = "libEGL.so.1"


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """An open context. One per process is enough for any number of scenes."""

    context: moderngl.Context
    name: str  #: GL_RENDERER
    driver: str  #: GL_VERSION

    @classmethod
    def open(cls, index: int | None = None) -> Self:
        """EGL device number `index`; without one, the first device.

        What Mesa's software rasteriser should do is set here, unless the environment says otherwise.
        """
        for name, value in SOFTWARE_DEFAULTS.items():
            os.environ.setdefault(name, value)
        context = _create_context(index)
        if context.version_code < MINIMUM_VERSION:
            raise NoRenderer(f"{context.info['GL_RENDERER']} offers OpenGL {context.version_code}; 3.3 is needed.")
        return cls(context, context.info["GL_RENDERER"], context.info["GL_VERSION"])

    @classmethod
    def open_software(cls) -> Self:
        """Mesa's software rasteriser, whichever GPUs come before it."""
        for index in range(MAX_DEVICES):
            device = cls.open(index)
            if device.is_software:
                return device
            device.context.release()
        raise NoRenderer("EGL offers no software rasteriser: apt install libegl1 libgl1-mesa-dri.")

    @property
    def draws_layers(self) -> bool:
        """Whether one submission can draw several pictures: into layers, chosen where vertices are placed."""
        return self.context.version_code >= 430 and "GL_ARB_shader_viewport_layer_array" in self.context.extensions

    @property
    def is_software(self) -> bool:
        return any(name in self.name.lower() for name in ("llvmpipe", "softpipe", "swrast"))


def _create_context(index: int | None) -> moderngl.Context:
    settings: dict[str, Any] = {
        "backend": "egl",
        "device_index": index or 0,
        "libegl": EGL_LIBRARY,
        "libgl": EGL_LIBRARY,  # EGL hands out every GL function, so that libGL need not be installed
    }
    try:
        return moderngl.create_context(standalone=True, **settings)
    except Exception as error:  # moderngl raises nothing more specific
        raise NoRenderer(_format_advice(index, error)) from error


def _format_advice(index: int | None, error: Exception) -> str:
    reason = str(error) or type(error).__name__
    if index is not None:
        return (
            f"EGL device {index} cannot be opened ({reason}). Check the index (0 is the first) and that the GPU driver "
            "offers EGL; in a container that needs NVIDIA_DRIVER_CAPABILITIES=graphics."
        )
    return (
        f"No OpenGL device can be opened ({reason}). For software rendering: apt install libegl1 libgl1-mesa-dri. "
        "For a GPU: install its driver and choose the device by index."
    )


_TEXTURE_2D, _RGBA8, _RGBA, _UNSIGNED_BYTE, _MAX_LEVEL = 0x0DE1, 0x8058, 0x1908, 0x1401, 0x813D
_SRGB8_ALPHA8 = 0x8C43


def upload_levels(texture: int, levels: Sequence[NDArray[np.uint8]], *, decoded: bool = False) -> None:
    """Give a texture of the current context its pixels, level by level: ModernGL can only have them computed.

    `decoded` has sRGB colours turned into light before they are filtered.
    """
    layout = _SRGB8_ALPHA8 if decoded else _RGBA8
    call_gl("glBindTexture", _TEXTURE_2D, texture)
    call_gl("glTexParameteri", _TEXTURE_2D, _MAX_LEVEL, len(levels) - 1)
    for number, level in enumerate(levels):
        height, width = level.shape[:2]
        pixels = np.ascontiguousarray(level)
        call_gl(
            "glTexImage2D", _TEXTURE_2D, number, layout, width, height, 0, _RGBA, _UNSIGNED_BYTE, pixels.ctypes.data
        )


_GL_FUNCTIONS = {
    "glBindBuffer": "ii",
    "glBindFramebuffer": "ii",
    "glBindRenderbuffer": "ii",
    "glBindTexture": "ii",
    "glClearBufferfv": "iip",
    "glClearBufferuiv": "iip",
    "glDeleteFramebuffers": "ip",
    "glDeleteTextures": "ip",
    "glDrawBuffers": "ip",
    "glFramebufferTexture": "iiii",
    "glGenFramebuffers": "ip",
    "glGenTextures": "ip",
    "glGetTexImage": "iiiip",
    "glRenderbufferStorage": "iiii",
    "glTexImage2D": "iiiiiiiip",
    "glTexParameteri": "iii",
    "glTexStorage3D": "iiiiii",
    "glViewport": "iiii",
}
"""What ModernGL has no words for: integers and addresses that each function takes."""
_TYPES = {"i": ctypes.c_int, "p": ctypes.c_void_p}


def call_gl(name: str, *arguments: int) -> None:
    """Call an OpenGL function on the current context."""
    _get_function(name)(*arguments)


@cache
def _get_function(name: str) -> Callable[..., None]:
    """An OpenGL function, from EGL as all the others are."""
    find = ctypes.CDLL(EGL_LIBRARY).eglGetProcAddress
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    types = [_TYPES[letter] for letter in _GL_FUNCTIONS[name]]
    return ctypes.CFUNCTYPE(None, *types)(find(name.encode()))
