"""Replica: `habitat/mesh_semantic.ply` carries object ids per face, `habitat/info_semantic.json` names them."""

import msgspec

from nav_eval.errors import SceneError
from nav_eval.scene.semantics.labels import Label


class _ReplicaObject(msgspec.Struct, frozen=True):
    id: int
    class_name: str = ""


class _ReplicaInfo(msgspec.Struct, frozen=True):
    objects: list[_ReplicaObject] = []


def parse_info(content: bytes, *, source: str) -> dict[int, Label]:
    """Objects by Replica's own id."""
    try:
        info = msgspec.json.decode(content, type=_ReplicaInfo)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SceneError(f"{source}: is not a usable Replica annotation: {error}.") from error
    return {thing.id: Label(category=thing.class_name, name=f"{thing.class_name}_{thing.id}") for thing in info.objects}
