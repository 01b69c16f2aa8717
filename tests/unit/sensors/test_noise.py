"""Habitat's noise: the statistics of each model, and the same picture for the same generator."""

import numpy as np
import pytest

from nav_eval.sensors.noise import (
    add_gaussian_noise,
    add_poisson_noise,
    add_redwood_noise,
    add_salt_and_pepper_noise,
    add_speckle_noise,
)

COLOUR = [add_gaussian_noise, add_poisson_noise, add_salt_and_pepper_noise, add_speckle_noise]
GREY = np.full((120, 160, 4), 128, np.uint8)
RAMP = np.tile(np.linspace(0.5, 9.0, 160, dtype=np.float32), (120, 1))


def make_random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("add_noise", COLOUR)
def test_equal_generators_give_equal_pictures_and_the_input_stays(add_noise):
    before = GREY.copy()
    first = add_noise(GREY, make_random())
    assert (first.dtype, first.shape) == (np.uint8, GREY.shape)
    assert np.array_equal(first, add_noise(GREY, make_random()))
    assert not np.array_equal(first, add_noise(GREY, make_random(2)))
    assert np.array_equal(GREY, before)


def test_gaussian_noise_is_a_share_of_white():
    noisy = add_gaussian_noise(GREY, make_random(), intensity=0.1) / 255.0
    assert noisy.mean() == pytest.approx(128 / 255, abs=0.005)
    assert noisy.std() == pytest.approx(0.1, rel=0.03)
    assert np.array_equal(add_gaussian_noise(GREY, make_random(), intensity=0.0), GREY)


def test_speckle_is_in_proportion():
    dark, bright = (add_speckle_noise(np.full_like(GREY, value), make_random()) for value in (0, 120))
    assert not dark.any()
    assert bright.std() == pytest.approx(0.2 * 120, rel=0.05)


def test_poisson_noise_has_the_variance_of_counts():
    picture = np.tile(np.arange(256, dtype=np.uint8), (400, 1))[..., None]  # 256 values: 256 steps
    noisy = add_poisson_noise(picture, make_random()).astype(float)
    for value in (20, 100):
        assert noisy[:, value].mean() == pytest.approx(value, rel=0.06)
        assert noisy[:, value].var() == pytest.approx(value, rel=0.3)


def test_salt_and_pepper_strike_the_share_that_is_asked_for():
    noisy = add_salt_and_pepper_noise(GREY, make_random(), amount=0.1)
    assert (noisy == 1).mean() == pytest.approx(0.05, rel=0.1)
    assert (noisy == 0).mean() == pytest.approx(0.05, rel=0.1)
    assert np.array_equal(np.unique(noisy), [0, 1, 128])


def test_redwood_depth_has_steps_and_an_end():
    noisy = add_redwood_noise(RAMP, make_random())
    assert noisy.dtype == np.float32
    near = noisy[:, 20] > 0
    assert noisy[near, 20].mean() == pytest.approx(RAMP[0, 20], rel=0.02)
    steps = 35.130 * 8 / noisy[noisy > 0]
    assert np.allclose(steps, np.round(steps), atol=1e-3)  # whole steps of disparity
    assert noisy[:, 150].std() > 3 * noisy[:, 20].std()  # error grows with the distance
    assert not add_redwood_noise(np.full((10, 10), 11.0, np.float32), make_random()).any()
    assert not add_redwood_noise(np.zeros((10, 10), np.float32), make_random()).any()


def test_redwood_bends_depths_by_its_table():
    flat = np.full((48, 64), 3.0, np.float32)
    plain = add_redwood_noise(flat, make_random(), multiplier=0.0)
    same = add_redwood_noise(flat, make_random(), multiplier=0.0, distortion=np.ones((80, 80, 5)))
    nearer = add_redwood_noise(flat, make_random(), multiplier=0.0, distortion=np.full((80, 80, 5), 1.5))
    assert np.array_equal(plain, same)
    assert nearer.mean() == pytest.approx(2.0, rel=0.01)
    assert not add_redwood_noise(flat, make_random(), distortion=np.zeros((80, 80, 5))).any()
