"""A queue of nodes by key, in buckets: nodes within a fraction of a step of each other come out in any order.

In any order, but always the same one: it depends on nothing but what was put in, so that every machine
gets the same distance field. Each operation takes constant time; a heap takes longer than all the rest
of a field.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.navigation.kernels import inlined

BUCKETS = 1 << 10  #: a ring; keys in the queue differ by a few lattice steps at most
PER_STEP = 4  #: buckets per lattice step: what a node hangs on comes out well before it
NONE = -1


class Queue(NamedTuple):
    nodes: NDArray[Any]
    """Records with `bucket` (0 when not in the queue, numbered from 1), `after` and `before`, its neighbours there."""
    first: NDArray[np.int32]
    """Bucket → its first node."""
    at: NDArray[np.int64]
    """The number of the bucket that is being emptied, and how many nodes are in the queue."""


@inlined
def push(queue: Queue, node: int, key: float) -> None:
    """Add a node, or move it to a new key; keys count buckets. What comes late joins the bucket being emptied."""
    nodes, now = queue.nodes, queue.at[0]
    bucket = min(max(np.int64(key), now), now + BUCKETS - 1) % BUCKETS
    if nodes[node]["bucket"] == bucket + 1:
        return
    if nodes[node]["bucket"] != 0:
        _take_out(queue, node)
    head = queue.first[bucket]
    nodes[node]["bucket"], nodes[node]["after"], nodes[node]["before"] = bucket + 1, head, NONE
    if head != NONE:
        nodes[head]["before"] = node
    queue.first[bucket] = node
    queue.at[1] += 1


@inlined
def pop(queue: Queue) -> int:
    """Take out a node of the first bucket; NONE when the queue is empty."""
    if queue.at[1] == 0:
        return NONE
    while queue.first[queue.at[0] % BUCKETS] == NONE:
        queue.at[0] += 1
    node = int(queue.first[queue.at[0] % BUCKETS])
    _take_out(queue, node)
    return node


@inlined
def _take_out(queue: Queue, node: int) -> None:
    nodes = queue.nodes
    before, after = nodes[node]["before"], nodes[node]["after"]
    if before == NONE:
        queue.first[nodes[node]["bucket"] - 1] = after
    else:
        nodes[before]["after"] = after
    if after != NONE:
        nodes[after]["before"] = before
    nodes[node]["bucket"] = 0
    queue.at[1] -= 1
