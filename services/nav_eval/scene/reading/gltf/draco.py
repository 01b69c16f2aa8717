from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.reading.gltf.document import Document
from nav_eval.scene.reading.gltf.schema import Primitive


class DracoMesh(NamedTuple):
    corners: NDArray[np.uint32]
    attributes: dict[str, NDArray[np.generic]]


def decode_primitive(document: Document, primitive: Primitive, *, where: str) -> DracoMesh | None:
    if primitive.extensions.draco is None:
        return None
    raise document.error(f"{where}: Draco is not read yet.")
