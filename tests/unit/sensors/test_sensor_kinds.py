"""A kind of sensor that we do not know works like ours: in configurations, in editors, in Gymnasium, in a reading."""

from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from sensor_support import make_context

from nav_eval.checks import ContractBroken, check_sensor
from nav_eval.config.file_kinds import KINDS
from nav_eval.config.json_schema import make_file_schema
from nav_eval.config.schema import TaskConfig
from nav_eval.config_model import Positive
from nav_eval.envs.spaces import make_sensor_space
from nav_eval.records.geometry import Pose
from nav_eval.sensors import (
    SENSORS,
    TEXT,
    BlankPictures,
    Bounds,
    CameraSensor,
    Channel,
    Sensor,
    SensorContext,
    SensorSpec,
    TextValue,
    list_kinds,
    register_sensor,
)

HERE = Pose((0.0, 0.0, 0.0))


class Altimeter(Sensor):
    """Metres above the start."""

    kind: Literal["altimeter"] = "altimeter"
    ceiling: Positive = 100.0
    """Metres; it shows no more."""

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="float32", shape=(1,))

    @property
    def bounds(self) -> Bounds:
        return Bounds(-self.ceiling, self.ceiling)

    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        return np.array([min(context.now.position[1] - context.start.position[1], self.ceiling)], np.float32)


class Nearness(CameraSensor):
    """A camera of its own: 255 at the lens, 0 at ten metres."""

    channel: ClassVar[Channel] = Channel.DEPTH

    kind: Literal["nearness"] = "nearness"

    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="uint8", shape=(self.height, self.width))

    @property
    def bounds(self) -> Bounds:
        return Bounds(0, 255)

    def read(self, name: str, context: SensorContext) -> NDArray[np.uint8]:
        return np.clip(255 - 25.5 * super().read(name, context), 0, 255).astype(np.uint8)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SENSORS, "_entries", dict(SENSORS._entries))
    register_sensor(Altimeter)
    register_sensor(Nearness)


def make_task(**sensors: object) -> TaskConfig:
    return TaskConfig.model_validate({"type": "vln", "actions": ["stop"], "metrics": ["success"], "sensors": sensors})


def test_a_configuration_names_it_and_its_own_keys() -> None:
    task = make_task(altimeter={"ceiling": 5.0}, altimeter_rough=None, far={"kind": "nearness", "fov": 60.0})
    assert task.sensors["altimeter"] == Altimeter(ceiling=5.0)
    assert task.sensors["altimeter_rough"] == Altimeter()
    assert task.sensors["far"] == Nearness(hfov=60.0)
    assert TaskConfig.model_validate_json(task.model_dump_json()) == task
    assert list_kinds()[-2:] == ["altimeter", "nearness"]


def test_a_wrong_key_is_refused_in_its_own_words() -> None:
    with pytest.raises(ValidationError) as refused:
        make_task(altimeter={"ceilling": 5.0}, nearness={"width": -1})
    messages = {error["loc"]: error["msg"] for error in refused.value.errors()}
    assert messages["sensors", "altimeter"].startswith("unknown key. Did you mean 'ceiling'?")
    assert messages["sensors", "nearness", "width"] == "Input should be greater than or equal to 1"


def test_editors_know_it() -> None:
    shown = make_file_schema(KINDS["task"])
    assert shown["$defs"]["Altimeter"]["properties"]["ceiling"]["description"] == "Metres; it shows no more."
    schema = TaskConfig.model_json_schema()
    (entry,) = schema["properties"]["sensors"]["patternProperties"].values()
    kinds = entry["discriminator"]["mapping"]
    assert {"rgb", "altimeter", "nearness"} <= set(kinds)


def test_gymnasium_has_its_bounds() -> None:
    space: Any = make_sensor_space("altimeter", Altimeter(ceiling=5.0), [])
    assert (space.low, space.high, space.dtype, space.shape) == (-5.0, 5.0, np.float32, (1,))
    assert make_sensor_space("near", Nearness(width=4, height=3), []).shape == (3, 4)


def test_what_a_sensor_does_not_bound_is_bounded_by_its_type() -> None:
    class Loose(Altimeter):
        bounds = Sensor.bounds

    assert Loose().bounds == (-np.inf, np.inf)


def test_ours_and_these_keep_the_contract() -> None:
    context = make_context(HERE, Pose((0.0, 2.0, 0.0)), goal=(1.0, 0.0, 0.0), object_category="chair")
    seen = SensorContext(
        episode=context.episode,
        start=HERE,
        now=context.now,
        category_ids=context.category_ids,
        pictures=BlankPictures(),
    )
    for kind in list_kinds():
        if kind != "imagegoal":  # the episode has no picture of its goal
            check_sensor(SENSORS.get(kind)(), seen)


class Restless(Altimeter):
    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        return np.random.default_rng().random(1, np.float32)


class TooWide(Altimeter):
    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        return np.zeros(2, np.float32)


class TooHigh(Altimeter):
    def read(self, name: str, context: SensorContext) -> NDArray[np.float32]:
        return np.array([self.ceiling + 1], np.float32)


class Talks(Altimeter):
    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype=TEXT)


class UnknownType(Altimeter):
    @property
    def spec(self) -> SensorSpec:
        return SensorSpec(kind=self.kind, dtype="complex64", shape=(1,))


class WritesTooMuch(Altimeter):
    def read(self, name: str, context: SensorContext) -> Any:
        return TextValue("high")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (Restless, r"two values for one moment; draw noise from context\.make_generator"),
        (TooWide, r"gave float32\(2,\); its spec says float32\(1,\)"),
        (TooHigh, "reads outside of its bounds"),
        (Talks, "its spec says text: a TextValue"),
        (UnknownType, "its dtype 'text' or one of bool"),
        (WritesTooMuch, "its spec says an array"),
    ],
)
def test_a_broken_sensor_is_told_how(broken: type[Sensor], reason: str) -> None:
    with pytest.raises(ContractBroken, match=reason):
        check_sensor(broken(), make_context(HERE, HERE))
