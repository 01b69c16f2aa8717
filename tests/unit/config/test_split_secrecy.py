"""One switch says who sees what, safe where nothing is said; a hidden split that shows its answers is told."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.config import load_competition
from nav_eval.config.schema.competition import VISIBILITY_PRESETS, PhaseConfig, VisibilityConfig
from nav_eval.errors import ConfigError

ALL = ("public", "team", "organiser")


def write(folder: Path, *phases: dict[str, Any]) -> Path:
    listed = [{"name": f"p{n}", "benchmark": "demo_lh_vln", **phase} for n, phase in enumerate(phases)]
    path = folder / "cup.yaml"
    path.write_text(yaml.safe_dump({"competition": {"name": "cup", "title": "Cup", "phases": listed}}))
    return path


def validate(path: Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["config", "validate", str(path)])
    return result.exit_code, " ".join((result.output + (result.stderr or "")).split())


def test_what_nobody_says_gives_no_answer_away() -> None:
    for usual in (
        PhaseConfig(name="a", benchmark="b").visibility,
        VisibilityConfig(),
        VisibilityConfig.model_validate("test"),
    ):
        assert usual.shown_answers == {}
        assert usual.preset == "test"
        assert (usual.scores, usual.logs) == ("public", "team")


def test_a_preset_is_a_word_or_has_exceptions() -> None:
    assert VisibilityConfig.model_validate("practice").shown_answers == {"replays": "team", "episodes": "team"}
    mixed = VisibilityConfig.model_validate({"preset": "practice", "replays": "public"})
    assert mixed.exceptions == {"replays": "public"}
    assert mixed.shown_answers == {"replays": "public", "episodes": "team"}
    assert VisibilityConfig.model_validate(mixed.model_dump()) == mixed


@pytest.mark.parametrize("preset", VISIBILITY_PRESETS)
@pytest.mark.parametrize("scores", ALL)
@pytest.mark.parametrize("shown", ALL)
def test_answers_are_never_for_more_people_than_the_scores(preset: str, scores: str, shown: str) -> None:
    config = VisibilityConfig.model_validate({"preset": preset, "scores": scores, "replays": shown, "episodes": shown})
    for part in ("replays", "episodes"):
        assert ALL.index(config.get_audience(part)) == max(ALL.index(scores), ALL.index(shown))


@pytest.mark.parametrize(
    ("phases", "note"),
    [
        ([{"visibility": {"preset": "test", "replays": "team"}}], "shows replays to the team: whoever submits twice"),
        (
            [{"visibility": {"scores": "public"}}],
            "names no preset in its visibility, which is deprecated: `test` is taken",
        ),
        ([{"visibility": {"replays": "public", "episodes": "team"}}], "replays to the public and episodes to the team"),
        ([{"visibility": "practice"}, {"visibility": "test"}], "of the episodes that phase 'p1' keeps secret"),
        ([{"visibility": "practice", "benchmark": "vln_test"}], "plays the split 'test'"),
    ],
)
def test_validate_warns_about_answers_that_are_shown(phases: list[dict[str, Any]], note: str, tmp_path: Path) -> None:
    code, said = validate(write(tmp_path, *phases))
    assert (code, note in said) == (0, True), said


@pytest.mark.parametrize("phases", [[{}], [{"visibility": "test"}], [{"visibility": "practice"}]])
def test_validate_is_silent_where_nothing_is_wrong(phases: list[dict[str, Any]], tmp_path: Path) -> None:
    code, said = validate(write(tmp_path, *phases))
    assert code == 0
    assert "note" not in said


def test_what_contradicts_itself_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"visibility": {"scores": "organiser", "episodes": "team"}})
    with pytest.raises(
        ConfigError, match=r"shows episodes to the team and scores to the organiser only.*Write episodes: organiser"
    ):
        load_competition(path, environ={})
    assert validate(path)[0] == 2


def test_an_unknown_preset_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'test' or 'practice'"):
        load_competition(write(tmp_path, {"visibility": {"preset": "open"}}), environ={})
    with pytest.raises(ConfigError, match="'test' or 'practice'"):
        load_competition(write(tmp_path, {"visibility": "open"}), environ={})
