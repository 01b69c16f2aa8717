"""The keyword baseline with cameras of two sizes."""

from types import SimpleNamespace

import numpy as np
import pytest

from nav_eval.agents.keyword_agent import KeywordAgent, resample
from nav_eval.dataset.episode import Instruction, PublicEpisode


@pytest.mark.parametrize("size", [224, 256, 480])
def test_it_goes_where_it_sees_whatever_the_size_of_the_pictures(size: int) -> None:
    agent = KeywordAgent(semantic="semantic", depth="depth", categories="categories")
    agent.reset(PublicEpisode(episode_id="1", instruction=Instruction(text="Go to the sofa.")))
    ids = np.zeros((224, 224), np.uint16)
    ids[100:200, 10:60] = 1  # on the left
    depth = np.full((size, size), 3.0, np.float32)
    observation = SimpleNamespace(sensors={"semantic": ids, "depth": depth}, texts={"categories": "\nsofa"})
    assert agent.act(observation) == "turn_left"
    depth[: size * 3 // 4, : size // 4] = 0.5  # the sofa is near
    assert agent.act(observation) == "stop"


def test_pixels_stay_where_they_are() -> None:
    mask = np.zeros((224, 224), bool)
    mask[112:, 56:112] = True
    larger = resample(mask, (256, 256))
    assert larger.shape == (256, 256)
    assert np.array_equal(np.flatnonzero(larger.any(axis=0)), np.arange(64, 128))
    assert np.array_equal(np.flatnonzero(larger.any(axis=1)), np.arange(128, 256))
