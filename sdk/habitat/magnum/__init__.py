"""The part of Magnum's Python bindings that Habitat's users need, in Python.

This is not OpenStack's `magnum`: `habitat_sim` refuses to start where that one is installed too.
"""

from magnum import math, scenegraph, trade
from magnum.angles import Deg, Rad
from magnum.images import ImageView2D, MutableImageView2D, PixelFormat
from magnum.matrices import Matrix3, Matrix4
from magnum.quaternions import Quaternion
from magnum.ranges import Range2D, Range2Di, Range3D
from magnum.vectors import Color3, Color4, Vector2, Vector2i, Vector3, Vector3i, Vector4, Vector4i

BUILT_BY = "nav-eval-habitat"  #: how ours is told from another package of this name

__all__ = [
    "Color3",
    "Color4",
    "Deg",
    "ImageView2D",
    "Matrix3",
    "Matrix4",
    "MutableImageView2D",
    "PixelFormat",
    "Quaternion",
    "Rad",
    "Range2D",
    "Range2Di",
    "Range3D",
    "Vector2",
    "Vector2i",
    "Vector3",
    "Vector3i",
    "Vector4",
    "Vector4i",
    "math",
    "scenegraph",
    "trade",
]
