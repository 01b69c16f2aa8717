"""Putting one layer of a configuration over another.

Mappings merge key by key and everything else is replaced, lists too: what `OmegaConf.merge` does (a
test holds us to it), written out because the origin of each value has to move along with it. One
thing is more: a mapping over a list, with indices for keys, changes single entries, so that
`scenario_config.robots.0.height=1.2` can be said on a command line.
"""

from collections.abc import Collection
from typing import Any

from nav_eval.config.origin import KeyPath, Layer, Origin


def put_over(base: Layer, over: Layer, *, replacing: Collection[str] = ()) -> Layer:
    """`over` on top of `base`; top-level keys in `replacing` are not merged but exchanged."""
    kept = {key: value for key, value in base.tree.items() if key not in replacing}
    replaced: list[KeyPath] = [(key,) for key in replacing]
    tree = _merge(kept, over.tree, (), replaced)
    origins = {path: origin for path, origin in base.origins.items() if not _inside(path, replaced)}
    return Layer(tree, origins | over.origins)


def nested(path: KeyPath, value: object, origin: Origin) -> Layer:
    """A layer that says one thing: `a.b.c = value`."""
    tree: Any = value
    for key in reversed(path):
        tree = {str(key): tree}
    return Layer(tree, {path: origin})


def _merge(base: Any, over: Any, path: KeyPath, replaced: list[KeyPath]) -> Any:  # noqa: ANN401
    if isinstance(over, dict) and isinstance(base, dict):
        merged = {key: _merge(base[key], value, (*path, key), replaced) for key, value in over.items() if key in base}
        return base | over | merged
    if isinstance(over, dict) and isinstance(base, list) and _indexes(over, base):
        edits = {int(index): value for index, value in over.items()}
        return [
            _merge(item, edits[index], (*path, index), replaced) if index in edits else item
            for index, item in enumerate(base)
        ]
    replaced.append(path)
    return over


def _indexes(over: dict[str, Any], base: list[Any]) -> bool:
    return bool(over) and all(key.isdigit() and int(key) < len(base) for key in over)


def _inside(path: KeyPath, replaced: list[KeyPath]) -> bool:
    return any(path[: len(prefix)] == prefix for prefix in replaced)
