"""Noise on colour pictures. Draws come from numpy's global generator, as Habitat's do."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from habitat_sim.registry import registry
from habitat_sim.sensor_specs import SensorType
from habitat_sim.sensors.noise_models.sensor_noise_model import SensorNoiseModel

Picture = NDArray[np.uint8]


class _ColorNoise(SensorNoiseModel):
    @staticmethod
    def is_valid_sensor_type(sensor_type: SensorType) -> bool:
        return sensor_type is SensorType.COLOR

    def simulate(self, image: Picture) -> Picture:
        return self.apply(image)

    def apply(self, sensor_observation: Picture) -> Picture:
        raise NotImplementedError


class _ScaledNoise(_ColorNoise):
    """Normal noise of some strength."""

    def __init__(
        self, *, intensity_constant: float = 0.2, mean: float = 0, sigma: float = 1, gpu_device_id: int | None = None
    ) -> None:
        super().__init__(gpu_device_id)
        self.intensity_constant, self.mean, self.sigma = intensity_constant, mean, sigma

    def _draw(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.random.normal(self.mean, self.sigma, shape) * self.intensity_constant


@registry.register_noise_model
class GaussianNoiseModel(_ScaledNoise):
    def apply(self, sensor_observation: Picture) -> Picture:
        return _to_bytes(sensor_observation / 255.0 + self._draw(sensor_observation.shape))


@registry.register_noise_model
class SpeckleNoiseModel(_ScaledNoise):
    """Brighter pixels get more of it."""

    def apply(self, sensor_observation: Picture) -> Picture:
        image = sensor_observation / 255.0
        return _to_bytes(image + image * self._draw(image.shape))


@registry.register_noise_model
class PoissonNoiseModel(_ColorNoise):
    """As if light were counted: the number of levels is that of different values, as a power of two."""

    def apply(self, sensor_observation: Picture) -> Picture:
        image = sensor_observation / 255.0
        levels = 2.0 ** np.ceil(np.log2(max(2, len(np.unique(image)))))
        return _to_bytes(np.random.poisson(image * levels) / levels)


@registry.register_noise_model
class SaltAndPepperNoiseModel(_ColorNoise):
    """Some values become the brightest, some the darkest."""

    def __init__(self, *, s_vs_p: float = 0.5, amount: float = 0.05, gpu_device_id: int | None = None) -> None:
        super().__init__(gpu_device_id)
        self.s_vs_p, self.amount = s_vs_p, amount

    def apply(self, sensor_observation: Picture) -> Picture:
        noisy = np.array(sensor_observation)
        for share, value in ((self.s_vs_p, 255), (1.0 - self.s_vs_p, 0)):
            count = int(np.ceil(self.amount * noisy.size * share))
            noisy[tuple(np.random.randint(0, side, count) for side in noisy.shape)] = value
        return noisy


def _to_bytes(image: NDArray[Any]) -> Picture:
    made: Picture = (np.clip(image, 0.0, 1.0) * 255.0).astype(np.uint8)
    return made
