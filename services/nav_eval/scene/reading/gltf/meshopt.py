from nav_eval.errors import SceneError
from nav_eval.scene.reading.gltf.schema import MeshoptView
from nav_eval.scene.reading.limits import ReadLimits


def decode_view(packed: memoryview, view: MeshoptView, *, source: str, limits: ReadLimits) -> bytes:
    raise SceneError(f"{source}: meshopt compression is not read yet.")
