"""Reading YAML strictly."""

import contextlib
import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.config.yaml_reader import parse_mapping, parse_value, read_text
from nav_eval.config.yaml_writer import to_yaml
from nav_eval.errors import ConfigError

SCALARS = [
    ("5", 5),
    ("-5", -5),
    ("0", 0),
    ("1e-3", 0.001),  # YAML 1.1 would say: a text
    ("1.", 1.0),
    (".5", 0.5),
    ("010", "010"),  # YAML 1.1 would say: 8
    ("00800", "00800"),  # a scene's name
    ("1:30", "1:30"),  # YAML 1.1 would say: 90
    ("0x10", "0x10"),
    ("true", True),
    ("yes", True),
    ("Off", False),
    ("null", None),
    ("~", None),
    ("", None),
    ("'5'", "5"),
    ('"true"', "true"),
    ("2026-09-01", "2026-09-01"),
    ("2026-09-01T00:00:00Z", "2026-09-01T00:00:00Z"),
    ("17DRP5sb8fy", "17DRP5sb8fy"),
    ("en-US", "en-US"),
    ("[1, 2.5, x]", [1, 2.5, "x"]),
    ("{a: 1}", {"a": 1}),
    ("123456789012345678901234567890", 1.2345678901234568e29),  # beyond any whole number we use
]


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_values_are_what_they_look_like(text: str, value: object) -> None:
    parsed = parse_value(text, source="here")
    assert (parsed, type(parsed)) == (value, type(value))


@pytest.mark.parametrize("text", [".nan", ".inf", "-.INF", "1e400", "-1e400", "!!float .nan"])
def test_numbers_are_finite(text: str) -> None:
    with pytest.raises(ConfigError, match="must be finite"):
        parse_value(text, source="here")


@pytest.mark.parametrize("text", ["!!binary aGk=", "!!python/name:os.system", "!local x", "!!set {a, b}", "!!int abc"])
def test_tags_cannot_make_anything_else(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is not allowed|is not a number"):
        parse_value(text, source="here")


def test_aliases_are_fine_as_long_as_they_are_few() -> None:
    layer = parse_mapping("a: &size {width: 5}\nb: *size\n", source="f")
    assert layer.tree == {"a": {"width": 5}, "b": {"width": 5}}
    layer.tree["a"]["width"] = 6
    assert layer.tree["b"]["width"] == 5  # copies, not the same object


def test_every_value_knows_its_line() -> None:
    layer = parse_mapping("a:\n  b: 1\n  c:\n    - x\n    - {d: 2}\n", source="f.yaml")
    lines = {path: origin.line for path, origin in layer.origins.items()}
    assert lines == {
        (): 1,
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "c"): 3,
        ("a", "c", 0): 4,
        ("a", "c", 1): 5,
        ("a", "c", 1, "d"): 5,
    }


def test_a_byte_order_mark_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert parse_mapping(read_text(path), source="f").tree == {"a": 1}


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigError):
        parse_value(text, source="here")


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=12).filter(
    lambda text: "${" not in text
)
NUMBERS = st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text("abcxyz_-", min_size=1, max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), VALUES, max_size=3))
def test_what_we_write_reads_back(tree: dict[str, object]) -> None:
    if tree:
        assert parse_mapping(to_yaml(tree, comment=lambda path: f"about {path}"), source="f").tree == tree


@pytest.mark.parametrize("text", ["0E0", "1e310", "-2E+5", "010", "0x1F", "yes", "~", ".inf", "1_000", "12:30:45", ""])
def test_texts_that_look_like_something_else_stay_texts(text: str) -> None:
    tree = {"one": text, "two": [text], text: 1}
    assert parse_mapping(to_yaml(tree), source="f").tree == tree
    assert yaml.safe_load(to_yaml({"one": text})) == {"one": text}


def test_what_we_write_is_yaml_to_others_too() -> None:
    tree = {"a": [{"b": 1, "c": [1, {"d": math.pi}]}], "e": {}, "f": {"g": {"h": None, "i": []}}, "j": "yes"}
    assert yaml.safe_load(to_yaml(tree)) == tree
