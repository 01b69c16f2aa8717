"""Our own metrics keep the contract; a metric that breaks it is told how."""

from typing import Any, ClassVar

import pytest

from nav_eval.checks import ContractBroken, check_metric
from nav_eval.metrics import METRICS, EpisodeStart, Metric, Step


@pytest.mark.parametrize("name", METRICS.names())
def test_ours_pass(name: str) -> None:
    check_metric(METRICS.get(name))


class Steps(Metric):
    """A metric that is in order; the broken ones below differ from it in one thing each."""

    def reset(self, start: EpisodeStart) -> None:
        self._start, self._steps = start, 0

    def update(self, step: Step) -> None:
        self._steps += 1

    def get(self) -> float:
        return float(self._steps)


def test_a_plain_metric_passes() -> None:
    check_metric(Steps)


class NeverForgets(Steps):
    _steps = 0

    def reset(self, start: EpisodeStart) -> None: ...


class CountsReadings(Steps):
    def get(self) -> float:
        self._steps += 1
        return float(self._steps)


class GivesNothing(Steps):
    def get(self) -> Any:
        return None


class DividesByTheWay(Steps):
    def get(self) -> float:
        return self._steps / self._start.shortest_path_length


class Shared(Steps):
    _seen: ClassVar[list[int]] = []

    def reset(self, start: EpisodeStart) -> None:
        self._seen.clear()

    def update(self, step: Step) -> None:
        self._seen.append(1)

    def get(self) -> float:
        return float(len(self._seen))


class NeedsWhatIsNotThere(Steps):
    requires = ("no_such_metric",)


class NamesOneWord(Steps):
    requires = "success"  # type: ignore[assignment]


class NoDirection(Steps):
    higher_is_better = None  # type: ignore[assignment]


class NoMetric:
    pass


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (NeverForgets, r"after another episode; reset\(\) must forget everything"),
        (CountsReadings, r"returned 1.0 and then 2.0 without a step between"),
        (GivesNothing, r"get\(\) returned None .* return a float, NaN where there is no value"),
        (
            DividesByTheWay,
            r"get\(\) in an episode that begins at its goal must not raise here, but raised ZeroDivisionError",
        ),
        (Shared, "Two Shared at once disturb each other; keep what it counts in self"),
        (NeedsWhatIsNotThere, "requires 'no_such_metric', which is no metric"),
        (NamesOneWord, "requires is 'success'; it must be a tuple of names"),
        (NoDirection, "higher_is_better is None; say True or False"),
        (NoMetric, "no subclass of nav_eval.metrics.Metric"),
    ],
)
def test_what_is_wrong_is_said(broken: type[Metric], reason: str) -> None:
    with pytest.raises(ContractBroken, match=reason):
        check_metric(broken)


def test_a_parameter_that_is_not_declared_is_named() -> None:
    with pytest.raises(ContractBroken, match=r"no parameter radius; name it in Steps\.parameters"):
        check_metric(Steps, {"radius": 1.0})
