"""The part of Magnum's Python bindings that Habitat's users need, in Python.

This is not OpenStack's `magnum`: `habitat_sim` refuses to start where that one is installed too.
"""

from magnum import math, scenegraph, trade
from magnum.angles import Deg, Rad
from magnum.images import ImageView2D, MutableImageView2D, PixelFormat
from magnum.matrices import Matrix3, Matrix4
from magnum.quaternions import Quaternion
from magnum.ranges import Range2D, Range2Di, Range3D
from magnum.vectors import Color3, Color4, Vector2, Vector2i, Vector3, Vector3d, Vector3i, Vector4, Vector4i
from nav_eval_habitat.scope import AbsentManager, make_placeholder

#: scene files are read by nav-eval; rearrangement's code reads meshes with these
meshtools, scenetools = AbsentManager("magnum.meshtools"), AbsentManager("magnum.scenetools")
MeshPrimitive = make_placeholder("MeshPrimitive", package="magnum")
PixelStorage = make_placeholder("PixelStorage", package="magnum")

BUILT_BY = "nav-eval-habitat"  #: how ours is told from another package of this name

__all__ = [
    "Color3",
    "Color4",
    "Deg",
    "ImageView2D",
    "Matrix3",
    "Matrix4",
    "MeshPrimitive",
    "MutableImageView2D",
    "PixelFormat",
    "PixelStorage",
    "Quaternion",
    "Rad",
    "Range2D",
    "Range2Di",
    "Range3D",
    "Vector2",
    "Vector2i",
    "Vector3",
    "Vector3d",
    "Vector3i",
    "Vector4",
    "Vector4i",
    "math",
    "meshtools",
    "scenegraph",
    "scenetools",
    "trade",
]
