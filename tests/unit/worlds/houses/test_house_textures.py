"""Textures: the same bytes everywhere, seamless where they repeat, different between splits."""

import hashlib

import numpy as np
import pytest

from nav_eval_worlds.materials import FINISH_KINDS, VARIANTS
from nav_eval_worlds.textures.texture import ONCE, PATTERNS, WORN_PATTERNS, compute_mean_light, make_texture
from nav_eval_worlds.textures.wear import CAN_WEAR, WORN


def test_every_pattern_of_every_kind_exists() -> None:
    wanted = {pattern for kind in FINISH_KINDS.values() for pattern in kind.patterns if pattern}
    assert wanted == set(PATTERNS) - set(WORN_PATTERNS)
    assert set(WORN_PATTERNS) == {pattern + WORN for pattern in CAN_WEAR}
    assert wanted > CAN_WEAR


def test_textures_are_opaque_and_of_a_usual_size() -> None:
    for pattern in PATTERNS:
        pixels = make_texture(pattern, 0).pixels
        assert pixels.dtype == np.uint8
        assert pixels.shape[0] in (256, 512)
        assert pixels.shape[1] in (256, 512)
        assert (pixels[..., 3] == 255).all() == (pattern not in ("pane", "smudge"))  # glass, and marks of hands
        assert not pixels.flags.writeable


SEAMLESS = ("plaster", "grain", "planks", "carpet", "marble", "leather", "concrete", "leaves", "pane")
SEAMLESS_WORN = ("plaster worn", "grain worn", "planks worn", "carpet worn", "leather worn", "concrete worn")


@pytest.mark.parametrize("pattern", [*SEAMLESS, *SEAMLESS_WORN])
def test_repeating_textures_have_no_seam(pattern: str) -> None:
    """The step over the border is no larger than steps inside."""
    light = make_texture(pattern, 2).pixels[..., 0].astype(float)
    for image in (light, light.T):
        inside = np.abs(np.diff(image, axis=0)).mean(axis=1)
        border = np.abs(image[0] - image[-1]).mean()
        assert border <= inside.max() + 1


def test_splits_have_their_own_pictures() -> None:
    for pattern in ("landscape", "planks", "rug border"):
        seen = {make_texture(pattern, variant).pixels.tobytes() for variant in range(0, VARIANTS, 2)}
        unseen = {make_texture(pattern, variant).pixels.tobytes() for variant in range(1, VARIANTS, 2)}
        assert len(seen) > 1
        assert not seen & unseen


def test_the_bytes_are_fixed() -> None:
    """A change here is a change of every published house: raise it on purpose only."""
    digest = hashlib.sha256(
        b"".join(make_texture(pattern, 0).pixels.tobytes() for pattern in ("weave", "tiles", "dial"))
    )
    assert digest.hexdigest()[:16] == "a4a3faafda1d5ab9"


def test_mean_light_is_that_of_the_picture() -> None:
    assert compute_mean_light("plaster", 0)[0] > 0.85
    assert "plaster" not in ONCE
