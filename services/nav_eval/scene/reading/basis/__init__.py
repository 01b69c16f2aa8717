"""Basis Universal pictures: KTX 2.0 and .basis files, ETC1S and UASTC blocks.

Written from the public specifications; no native library is needed, and the same bytes give the
same pixels on every machine.
"""

from nav_eval.scene.reading.basis.basis_file import decode_basis, is_basis
from nav_eval.scene.reading.basis.ktx2 import decode_ktx2, is_ktx2
from nav_eval.scene.reading.basis.picture import BrokenPicture

__all__ = ["BrokenPicture", "decode_basis", "decode_ktx2", "is_basis", "is_ktx2"]
