"""A depth camera of the Kinect's kind, after Choi, Zhou and Koltun (http://redwood-data.org/indoor/).

Pixels jitter sideways, see every other pixel of every other row, and measure disparity in eighths with noise.
The measured distortion of one camera's lens, which Habitat adds as a table, is left out: it is data of theirs.
"""

import numpy as np
from numpy.typing import NDArray

from habitat_sim.registry import registry
from habitat_sim.sensor_specs import SensorType
from habitat_sim.sensors.noise_models.sensor_noise_model import SensorNoiseModel

_BASELINE, _LEVELS = 35.130, 8.0  #: disparity of one metre; steps of disparity
_JITTER, _DISPARITY_NOISE = 0.25, 0.027778  #: pixels; of disparity
_FARTHEST = 10.0  #: metres; beyond it the camera sees nothing

Depth = NDArray[np.float32]


@registry.register_noise_model
class RedwoodDepthNoiseModel(SensorNoiseModel):
    def __init__(self, *, noise_multiplier: float = 1.0, gpu_device_id: int | None = None) -> None:
        super().__init__(gpu_device_id)
        self.noise_multiplier = noise_multiplier

    @staticmethod
    def is_valid_sensor_type(sensor_type: SensorType) -> bool:
        return sensor_type is SensorType.DEPTH

    def simulate(self, gt_depth: Depth) -> Depth:
        return self.apply(gt_depth)

    def apply(self, sensor_observation: Depth) -> Depth:
        height, width = sensor_observation.shape
        draws = np.random.randn(3, height, width).astype(np.float32) * np.float32(self.noise_multiplier)
        rows = _jitter(np.arange(height)[:, None], draws[0], height)
        columns = _jitter(np.arange(width)[None, :], draws[1], width)
        metres = sensor_observation[rows - rows % 2, columns - columns % 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.round((_BASELINE / metres + draws[2] * _DISPARITY_NOISE) * _LEVELS)
            measured = _BASELINE * _LEVELS / steps
        seen = (metres > 0) & (metres < _FARTHEST) & (steps > 0)
        return np.where(seen, measured, 0.0).astype(np.float32)


def _jitter(places: NDArray[np.int64], draws: Depth, side: int) -> NDArray[np.int64]:
    return np.clip(places + draws * _JITTER + 0.5, 0, side - 1).astype(np.int64)
