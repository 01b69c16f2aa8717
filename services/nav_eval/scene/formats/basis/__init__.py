"""Basis Universal pictures: two containers, ETC1S and UASTC blocks."""

from nav_eval.scene.formats.basis.bits import BrokenPicture
from nav_eval.scene.formats.basis.ktx2_and_basis import decode_basis, decode_ktx2, is_basis, is_ktx2

__all__ = ["BrokenPicture", "decode_basis", "decode_ktx2", "is_basis", "is_ktx2"]
