"""Merging: what OmegaConf does, with origins that move along."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from nav_eval.config.layers import ConfigLayer, KeyPath, Origin, make_nested_layer, merge_layers

KEYS = st.sampled_from(["a", "b", "c"])
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["x", "y"])


def trees(depth: int = 3, *, mixed: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings whose lists hold scalars, and that have a list or a mapping under a key but never both.

    If `mixed`, there is a key under which one tree may have a scalar and another a mapping.
    """
    below = trees(depth - 1, mixed=mixed) if depth else st.just({})
    always = {"a": SCALARS, "b": below, "c": st.lists(SCALARS, max_size=3)}
    return st.fixed_dictionaries({}, optional=always | ({"d": SCALARS | below} if mixed else {}))


def layer(tree: dict[str, Any], source: str = "f") -> ConfigLayer:
    origins: dict[KeyPath, Origin] = {}

    def walk(node: object, path: KeyPath) -> None:
        origins[path] = Origin(source)
        if isinstance(node, dict | list):
            for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                walk(value, (*path, key))

    walk(tree, ())
    return ConfigLayer(tree, origins)


@settings(max_examples=60)
@given(trees(), trees())
def test_merging_is_omegaconfs(base: dict[str, Any], over: dict[str, Any]) -> None:
    expected = OmegaConf.to_container(OmegaConf.merge(base, over))
    assert merge_layers(layer(base), layer(over)).tree == expected


@settings(max_examples=40)
@given(trees(mixed=False), trees(mixed=False), trees(mixed=False))
def test_merging_is_associative(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    left = merge_layers(merge_layers(layer(a), layer(b)), layer(c))
    right = merge_layers(layer(a), merge_layers(layer(b), layer(c)))
    assert left.tree == right.tree


def test_a_scalar_between_mappings_wipes_the_lower_one() -> None:
    """The reason why layers are put on one by one, from below."""
    lower, wiping, upper = layer({"d": {"a": 1}}), layer({"d": None}), layer({"d": {"b": 2}})
    assert merge_layers(merge_layers(lower, wiping), upper).tree == {"d": {"b": 2}}


@settings(max_examples=30)
@given(trees())
def test_the_empty_layer_changes_nothing(tree: dict[str, Any]) -> None:
    assert merge_layers(layer(tree), layer({})).tree == merge_layers(layer({}), layer(tree)).tree == tree


@settings(max_examples=50)
@given(trees(), trees())
def test_every_value_has_the_origin_of_the_layer_it_came_from(base: dict[str, Any], over: dict[str, Any]) -> None:
    merged = merge_layers(layer(base, "base"), layer(over, "over"))

    def walk(node: object, path: KeyPath) -> None:
        if isinstance(node, dict) and node:
            for key, value in node.items():
                walk(value, (*path, key))
        elif path:
            assert str(merged.origin(path)) == ("over" if _has(over, path) else "base")

    walk(merged.tree, ())


def _has(tree: Any, path: KeyPath) -> bool:
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return False
        tree = tree[key]
    return True


def test_single_entries_of_a_list_can_be_changed() -> None:
    base = layer({"robots": [{"name": "a", "height": 1}, {"name": "b", "height": 2}]})
    merged = merge_layers(base, make_nested_layer(("robots", 1, "height"), 5, Origin("cli")))
    assert merged.tree == {"robots": [{"name": "a", "height": 1}, {"name": "b", "height": 5}]}
    assert str(merged.origin(("robots", 1, "height"))) == "cli"
    assert str(merged.origin(("robots", 1, "name"))) == "f"


def test_replacing_starts_a_key_afresh() -> None:
    merged = merge_layers(
        layer({"task": {"a": 1}, "x": {"a": 1}}), layer({"task": {"b": 2}, "x": {"b": 2}}), replacing=["task"]
    )
    assert merged.tree == {"task": {"b": 2}, "x": {"a": 1, "b": 2}}
    assert ("task", "a") not in merged.origins
