"""Names, requirements and plug-ins."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints

import pytest

import nav_eval.registry
from nav_eval.errors import ConfigError, NameTaken, UnknownName
from nav_eval.metrics import METRICS, EpisodeStart, Metric, MetricSuite, Step, register_metric
from nav_eval.registry import Registry

START = EpisodeStart(position=(0.0, 0.0, 0.0), distance_to_goal=2.0, shortest_path_length=2.0, success_distance=1.0)


class Counting(Metric):
    def reset(self, start: EpisodeStart) -> None:
        self.count = 0

    def update(self, step: Step) -> None:
        self.count += 1

    def get(self) -> float:
        return float(self.count)


@pytest.fixture
def extra_metrics() -> Iterator[None]:
    known = dict(METRICS._entries)
    yield
    METRICS._entries.clear()
    METRICS._entries.update(known)


@pytest.mark.parametrize("order", [("sdtw", "spl"), ("spl", "sdtw"), ("success", "sdtw", "spl")])
def test_requirements_are_found_whatever_the_order(order: tuple[str, ...]) -> None:
    suite = MetricSuite(order)
    suite.reset(START)
    suite.update(Step(position=(0.0, 0.0, -2.0), distance_to_goal=0.0, stopped=True))
    values = suite.values()
    assert tuple(values) == order
    assert values["spl"] == 1.0


def test_a_metric_is_asked_for_once_even_if_listed_twice() -> None:
    assert MetricSuite(["steps", "steps"]).names == ("steps",)


def test_a_suite_starts_afresh_with_every_episode() -> None:
    suite = MetricSuite(["steps", "path_length", "collisions"])
    for _ in range(2):
        suite.reset(START)
        suite.update(Step(position=(0.0, 0.0, -1.0), distance_to_goal=1.0, collided=True))
        assert suite.values() == {"steps": 1.0, "path_length": 1.0, "collisions": 1.0}


def test_a_metric_may_have_its_own_threshold() -> None:
    suite = MetricSuite(["oracle_success"], parameters={"oracle_success": {"success_distance": 0.5}})
    suite.reset(START)
    suite.update(Step(position=(0.0, 0.0, -1.3), distance_to_goal=0.7))
    assert suite.values() == {"oracle_success": 0.0}


def test_a_parameter_that_a_metric_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError, match="'steps' has no parameter 'radius'"):
        MetricSuite(["steps"], parameters={"steps": {"radius": 1.0}})


def test_an_unknown_name_is_refused_with_a_hint() -> None:
    with pytest.raises(UnknownName, match=r"no metric 'sucess'\. Did you mean 'success'"):
        MetricSuite(["sucess"])


@pytest.mark.usefixtures("extra_metrics")
def test_a_name_can_be_taken_once() -> None:
    register_metric("counting")(Counting)
    register_metric("counting")(Counting)  # the same class again is the same thing
    with pytest.raises(NameTaken, match="'counting' is already Counting"):
        register_metric("counting")(type("Other", (Counting,), {}))


@pytest.mark.usefixtures("extra_metrics")
def test_a_circle_of_requirements_is_named() -> None:
    register_metric("hen")(type("Hen", (Counting,), {"requires": ("egg",)}))
    register_metric("egg")(type("Egg", (Counting,), {"requires": ("hen",)}))
    with pytest.raises(ConfigError, match="hen → egg → hen"):
        MetricSuite(["hen"])


def test_plug_ins_are_found_through_their_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name="counting", value=f"{__name__}:Counting", group="some.group")
    monkeypatch.setattr(nav_eval.registry, "_scan_entry_points", lambda _: EntryPoints([point]))
    registry: Registry[type[Metric]] = Registry("metric", entry_point_group="some.group")
    assert registry.get("counting") is Counting
    assert registry.names() == ["counting"]
    assert list(registry) == ["counting"]
