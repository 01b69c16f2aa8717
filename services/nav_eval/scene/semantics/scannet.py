"""ScanNet: vertices belong to segments (`segs.json`), segments to objects (`aggregation.json`)."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.semantics.labels import Label


class _SegmentGroup(msgspec.Struct, frozen=True, rename="camel"):
    object_id: int
    label: str
    segments: list[int] = []


class _Aggregation(msgspec.Struct, frozen=True, rename="camel"):
    seg_groups: list[_SegmentGroup] = []


class _Segmentation(msgspec.Struct, frozen=True, rename="camel"):
    seg_indices: list[int] = []


def parse_objects(
    aggregation: bytes, segmentation: bytes, *, source: str
) -> tuple[dict[int, Label], NDArray[np.int64]]:
    """Objects by ScanNet's own id, and the object of each vertex (−1 for none)."""
    try:
        groups = msgspec.json.decode(aggregation, type=_Aggregation).seg_groups
        segments = np.array(msgspec.json.decode(segmentation, type=_Segmentation).seg_indices, np.int64)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise SceneError(f"{source}: is not a usable ScanNet annotation: {error}.") from error
    labels = {group.object_id: Label(category=group.label, name=f"{group.label}_{group.object_id}") for group in groups}
    owner = {segment: group.object_id for group in groups for segment in group.segments}
    ids, place = np.unique(segments, return_inverse=True)
    owners = np.array([owner.get(segment, -1) for segment in ids.tolist()], np.int64)
    return labels, owners[place] if len(ids) else np.zeros(0, np.int64)


def triangle_objects(triangles: NDArray[np.uint32], vertex_objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """What two of a triangle's three vertices agree on, else the first vertex's object."""
    a, b, c = vertex_objects[triangles].T
    return np.asarray(np.where(b == c, b, a), np.int64)
